"""Going back to earlier versions after a lost comparison (SkillNEO, Appendix B.1)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_evoclaw.skillneo.ranking import Standing
from pytest_evoclaw.skillneo.tree import Tree
from pytest_evoclaw.skillneo.tree import order_by_score


def retire_losers(tree: Tree, standings: Sequence[Standing], incumbent: str) -> list[str]:
    """Retire what this comparison has beaten, and return the names that are new to it.

    These are complete children below the incumbent, and compared parents above all of their
    evaluated children.
    """
    bar = next(each.official for each in standings if each.name == incumbent)
    beaten = [each.name for each in standings if each.official < bar]
    beaten += [each.name for each in standings if _is_above_children(tree, each)]
    new = [name for name in dict.fromkeys(beaten) if name not in tree.retired]
    tree.retired.update(new)
    return new


def _is_above_children(tree: Tree, parent: Standing) -> bool:
    scores = [tree.find_score(child.name) for child in tree.list_children(parent.name)]
    known = [score for score in scores if score is not None]
    return bool(known) and all(score < parent.official for score in known)


def find_survivors(tree: Tree, slots: int) -> list[str]:
    """Return up to ``slots`` unretired leaves, best official score first.

    Versions with all repeats come alone if there are any; only without them the thinner ones.
    """
    leaves = [
        each.name
        for each in tree
        if each.name not in tree.retired
        and each.bundle is not None
        and all(child.name in tree.retired for child in tree.list_children(each.name))
    ]
    complete = [name for name in leaves if tree.is_complete(name)]
    return order_by_score(tree, complete or leaves)[:slots]
