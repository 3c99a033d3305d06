"""How far two judges agree on the same outputs (paper, section 5.3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any

from pytest_evoclaw.measures import order_naturally
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.stored_sessions import StoredSession

NEAR, FAR = 0.05, 0.10
LARGEST = 5
_ROUNDING = 1e-9  # 0.3 - 0.25 is a little more than 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A task in one mode as both sessions scored it: means over ``repeats``, within 0..1."""

    task_id: str
    mode: str
    runtime: str
    model: str | None
    variant: int | None
    repeats: int
    first: float
    second: float

    @property
    def delta(self) -> float:
        """What the second session scores more than the first."""
        return self.second - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Numbers over pairs; None where they are undefined.

    ``pearson`` needs two pairs and scores that differ. ``within_005`` and ``within_010`` count
    the pairs whose scores are that close.
    """

    pairs: tuple[Pair, ...]

    @property
    def pearson(self) -> float | None:
        """Pearson's correlation, within -1..1."""
        first, second = [p.first for p in self.pairs], [p.second for p in self.pairs]
        if len(set(first)) < 2 or len(set(second)) < 2:
            return None
        return statistics.correlation(first, second)

    @property
    def mean_absolute_delta(self) -> float | None:
        """Mean distance of the scores, within 0..1."""
        if not self.pairs:
            return None
        return math.fsum(abs(pair.delta) for pair in self.pairs) / len(self.pairs)

    def count_within(self, distance: float) -> int:
        """Count the pairs whose scores are at most ``distance`` apart."""
        return sum(abs(pair.delta) <= distance + _ROUNDING for pair in self.pairs)

    @property
    def largest(self) -> tuple[Pair, ...]:
        """The largest disagreements, the largest first; pairs that agree are none."""
        ordered = sorted(self.pairs, key=lambda pair: -abs(pair.delta))
        return tuple(pair for pair in ordered[:LARGEST] if pair.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, and without repetition the pairs they are from."""
        return {
            "pairs": len(self.pairs),
            "pearson": self.pearson,
            "mean_absolute_delta": self.mean_absolute_delta,
            "within_005": self.count_within(NEAR),
            "within_010": self.count_within(FAR),
            "largest": [{**asdict(pair), "delta": pair.delta} for pair in self.largest],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A session: who judged, and its own noise where phases were judged more than once."""

    run_id: str
    judge_model: str | None
    noise: float | None
    regraded_from: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sessions. ``parts`` compares the judges' parts, without weights and automated scores.

    ``left_out`` names the cells that only one of them has scored.
    """

    first: Side
    second: Side
    scores: Agreement
    parts: Agreement
    left_out: tuple[str, ...]

    @property
    def modes(self) -> dict[str, Agreement]:
        """The agreement on scores by mode."""
        names = dict.fromkeys(pair.mode for pair in self.scores.pairs)
        return {
            name: Agreement(pairs=tuple(p for p in self.scores.pairs if p.mode == name))
            for name in names
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as builtins."""
        return {
            "first": asdict(self.first),
            "second": asdict(self.second),
            "scores": self.scores.to_dict(),
            "judge_parts": self.parts.to_dict(),
            "modes": {name: each.to_dict() for name, each in self.modes.items()},
            "pairs": [{**asdict(pair), "delta": pair.delta} for pair in self.scores.pairs],
            "left_out": list(self.left_out),
        }


def compare_judges(first: StoredSession, second: StoredSession) -> Comparison:
    """Compare two sessions over what a judge had a part in, scored in both; repeat by repeat."""
    ours, theirs = _collect(first.results), _collect(second.results)
    common = sorted(ours.keys() & theirs.keys(), key=_order)
    lonely = sorted(ours.keys() ^ theirs.keys(), key=_order)
    return Comparison(
        first=_describe_side(first),
        second=_describe_side(second),
        scores=_pair(common, ours, theirs, lambda grade: grade.score),
        parts=_pair(common, ours, theirs, lambda grade: grade.judge_score),
        left_out=tuple(_name(trial) for trial in lonely),
    )


_Key = tuple[str, str, str, str | None, int | None, int]


def _collect(results: Iterable[TrialResult]) -> dict[_Key, Grade]:
    grades: dict[_Key, Grade] = {}
    for result in results:
        grade = result.primary.grade if result.primary is not None else None
        if grade is not None and grade.judge is not None:
            t = result.trial
            grades[(t.task_id, t.mode, t.runtime, t.model, t.variant, t.repeat)] = grade
    return grades


def _pair(
    keys: Sequence[_Key],
    ours: dict[_Key, Grade],
    theirs: dict[_Key, Grade],
    measure: Callable[[Grade], float | None],
) -> Agreement:
    cells: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for key in keys:
        left, right = measure(ours[key]), measure(theirs[key])
        if left is not None and right is not None:
            cells.setdefault(key[:-1], []).append((left, right))
    return Agreement(
        pairs=tuple(
            Pair(
                task_id=task_id,
                mode=mode,
                runtime=runtime,
                model=model,
                variant=variant,
                repeats=len(scores),
                first=statistics.fmean(left for left, _ in scores),
                second=statistics.fmean(right for _, right in scores),
            )
            for (task_id, mode, runtime, model, variant), scores in cells.items()
        )
    )


def _describe_side(session: StoredSession) -> Side:
    judgements = [facts for result in session.results for facts in result.judgements]
    noises = [facts.noise for facts in judgements if facts.noise is not None]
    origin = session.facts.options.get("regraded_from")
    return Side(
        run_id=session.facts.run_id,
        judge_model=session.facts.judge_model,
        noise=statistics.fmean(noises) if noises else None,
        regraded_from=None if origin is None else str(origin),
    )


def _order(key: _Key) -> tuple[Any, ...]:
    task_id, mode, runtime, model, variant, repeat = key
    return order_naturally(task_id), mode, runtime, model or "", variant or 0, repeat


def _name(key: _Key) -> str:
    task_id, mode, runtime, model, variant, repeat = key
    fresh = f"variant {variant}" if variant is not None else ""
    return " ".join(w for w in (task_id, mode, runtime, model, fresh, f"repeat {repeat}") if w)
