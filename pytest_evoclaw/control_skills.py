"""Skills that no agent wrote, for the ablations: one says nothing, one nothing to the point."""

from __future__ import annotations

from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile

_EMPTY = b"""\
---
name: task-notes
description: Notes for this task. Use when working on it.
---
"""
_IRRELEVANT = b"""\
---
name: pruning-apple-trees
description: How to prune old apple trees in winter. Use when a tree bears little fruit.
---

# Pruning apple trees

1. Choose a dry day without frost, late in winter, while the buds are still closed.
2. Take out dead and broken branches first, then those that rub against each other.
3. Open the crown: of two branches that grow into each other, keep the one that points outwards.
4. Cut just above a bud that faces away from the trunk, at a slant, with a clean blade.
5. Remove no more than a quarter of the living wood in one winter, or the tree answers with
   upright shoots that bear no fruit.
6. Look again in summer, and rub off new shoots on the trunk while they are soft.
"""

EMPTY_SKILL = SkillBundle((SkillFile(path="task-notes/SKILL.md", data=_EMPTY),))
IRRELEVANT_SKILL = SkillBundle((SkillFile(path="pruning-apple-trees/SKILL.md", data=_IRRELEVANT),))
