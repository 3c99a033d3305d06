"""Whether a child replaces the deployed incumbent (SkillNEO, equations 7 and 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_evoclaw.skillneo.executions import Records
from pytest_evoclaw.skillneo.ranking import DIGITS
from pytest_evoclaw.skillneo.ranking import Standing

NO_FLOOR = -math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """What a child must gain, in percentage points, and whether history sets a floor."""

    official: float = 0.0
    auxiliary: float = 30.0
    strict_floor: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The verdict on the best child; differences are None where there was nothing to compare."""

    accepted: bool
    why: str
    official_gain: float | None = None
    auxiliary_gain: float | None = None


def pool_score(records: Records) -> float | None:
    """Return the mean official reward within 0..100 in which each distinct execution counts once.

    Records of one execution are averaged first. None if nothing was measured.
    """
    by_identity: dict[str, list[float]] = {}
    for record in records:
        if record.official is not None:
            by_identity.setdefault(record.identity, []).append(record.official)
    if not by_identity:
        return None
    means = [math.fsum(rewards) / len(rewards) for rewards in by_identity.values()]
    return round(100 * math.fsum(means) / len(means), DIGITS)


def compute_floor(root: Records, incumbent: Records) -> float:
    """Return the larger pooled score of root and incumbent, ``-inf`` if there is none."""
    scores = [score for score in (pool_score(root), pool_score(incumbent)) if score is not None]
    return max(scores, default=NO_FLOOR)


def judge_child(
    child: Standing | None, incumbent: Standing | None, floor: float, margins: Margins
) -> Acceptance:
    """Decide on the highest-ranked complete child against the incumbent of the same comparison."""
    if child is None:
        return Acceptance(accepted=False, why="no child has a complete record")
    if incumbent is None:
        return Acceptance(accepted=True, why="the incumbent has no complete record")
    gain = round(child.official - incumbent.official, DIGITS)
    auxiliary = round(child.auxiliary - incumbent.auxiliary, DIGITS)
    accepted, why = _judge_gains(gain, auxiliary, margins)
    if accepted and margins.strict_floor and child.official <= floor:
        accepted, why = False, f"not above the floor {floor:.1f}"
    return Acceptance(accepted=accepted, why=why, official_gain=gain, auxiliary_gain=auxiliary)


def _judge_gains(gain: float, auxiliary: float, margins: Margins) -> tuple[bool, str]:
    if gain > margins.official:
        return True, "official gain"
    if gain == 0 and auxiliary > margins.auxiliary:
        return True, "official tie, auxiliary gain"
    return False, "official gain within the margin" if gain > 0 else "no gain"


def find_standing(standings: Sequence[Standing], name: str) -> Standing | None:
    """Return the standing of ``name``, if it took part."""
    return next((each for each in standings if each.name == name), None)
