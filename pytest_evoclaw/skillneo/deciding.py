"""The deployment decision of one generation, from its complete and consistent records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evoclaw.skillneo.acceptance import Acceptance
from pytest_evoclaw.skillneo.acceptance import Margins
from pytest_evoclaw.skillneo.acceptance import compute_floor
from pytest_evoclaw.skillneo.acceptance import find_standing
from pytest_evoclaw.skillneo.acceptance import judge_child
from pytest_evoclaw.skillneo.executions import Conditions
from pytest_evoclaw.skillneo.ranking import Batch
from pytest_evoclaw.skillneo.ranking import Standing
from pytest_evoclaw.skillneo.ranking import rank_batches
from pytest_evoclaw.skillneo.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Who was compared in a generation; ``left_out`` says why a version has no complete record."""

    generation: int
    standings: tuple[Standing, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on a comparison: ``deployed`` is the incumbent from now on."""

    comparison: Comparison
    incumbent: str
    deployed: str
    floor: float
    acceptance: Acceptance

    @property
    def held(self) -> bool:
        """Whether the incumbent stayed."""
        return not self.acceptance.accepted

    @property
    def lost(self) -> bool:
        """Whether the best child's official mean is below the incumbent's: a negative Hold."""
        gain = self.acceptance.official_gain
        return self.held and gain is not None and gain < 0

    @property
    def deployed_official(self) -> float | None:
        """The deployed version's official score in this comparison, if it has one."""
        standing = find_standing(self.comparison.standings, self.deployed)
        return None if standing is None else standing.official

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "incumbent": self.incumbent,
            "deployed": self.deployed,
            "floor": self.floor if self.floor >= 0 else None,
            "why": self.acceptance.why,
            "official_gain": self.acceptance.official_gain,
            "auxiliary_gain": self.acceptance.auxiliary_gain,
            "standings": [[s.name, s.official, s.auxiliary] for s in self.comparison.standings],
            "left_out": list(self.comparison.left_out),
        }


def compare_versions(
    tree: Tree, generation: int, names: Sequence[str], incumbent: str, conditions: Conditions
) -> Comparison:
    """Rank the versions that have all repeats under ``conditions``; leave out the others."""
    batches = []
    left_out = []
    for name in names:
        records = tree[name].list_batch(generation)
        strange = [each for each in records if each.conditions != conditions]
        if len(records) < tree.repeats:
            left_out.append(f"{name}: {len(records)} of {tree.repeats} executions measured")
        elif strange:
            left_out.append(f"{name}: {_describe_difference(strange[0].conditions, conditions)}")
        else:
            batches.append(Batch(name=name, records=records))
    standings = rank_batches(batches, incumbent=incumbent)
    return Comparison(generation=generation, standings=tuple(standings), left_out=tuple(left_out))


def decide_deployment(
    tree: Tree, comparison: Comparison, incumbent: str, margins: Margins
) -> Decision:
    """Decide between the best complete child and the incumbent."""
    children = [each for each in comparison.standings if each.name != incumbent]
    child = children[0] if children else None
    floor = compute_floor(tree.root.records, tree[incumbent].records)
    current = find_standing(comparison.standings, incumbent)
    acceptance = judge_child(child, current, floor, margins)
    accepted = acceptance.accepted and child is not None
    return Decision(
        comparison=comparison,
        incumbent=incumbent,
        deployed=child.name if accepted and child is not None else incumbent,
        floor=floor,
        acceptance=acceptance,
    )


def _describe_difference(found: Conditions, allowed: Conditions) -> str:
    parts = ("task", "model", "environment", "verifier")
    return "; ".join(
        f"{part}: found {getattr(found, part)!r}, allowed {getattr(allowed, part)!r}"
        for part in parts
        if getattr(found, part) != getattr(allowed, part)
    )
