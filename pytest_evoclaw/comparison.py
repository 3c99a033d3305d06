"""Two stored sessions beside each other, paired by task, mode, runtime and model."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.group_metrics import Measure
from pytest_evoclaw.group_metrics import Pair
from pytest_evoclaw.group_metrics import measure_tasks
from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import compute_mean
from pytest_evoclaw.measures import select_all
from pytest_evoclaw.measures import total_cost
from pytest_evoclaw.measures import total_tokens
from pytest_evoclaw.statistics import describe_difference
from pytest_evoclaw.stored import StoredGroup
from pytest_evoclaw.stored import StoredSession

Cell = tuple[str, tuple[int, ...]]  # a task, and the seeds of its fixtures if not the official ones


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeComparison:
    """One mode of one runtime and model; in each pair the first session is the baseline.

    ``lost`` are the tasks that only the first session has scored, ``gained`` only the second one.
    """

    label: str
    mode: str
    pairs: tuple[Pair, ...]
    lost: tuple[str, ...]
    gained: tuple[str, ...]

    @property
    def means(self) -> tuple[float | None, float | None]:
        """The mean scores of the paired tasks."""
        before = [pair.baseline.mean_score or 0.0 for pair in self.pairs]
        after = [pair.candidate.mean_score or 0.0 for pair in self.pairs]
        return compute_mean(before), compute_mean(after)

    @property
    def tokens(self) -> tuple[float | None, float | None]:
        """End-to-end tokens of the paired tasks, per task the mean over repeats."""
        return self._measure(total_tokens)

    @property
    def cost(self) -> tuple[float | None, float | None]:
        """End-to-end US dollars, as for tokens."""
        return self._measure(total_cost)

    def describe_difference(self, tie_band: float) -> dict[str, Any]:
        """Return second minus first session: mean, intervals, p-value, wins, ties and losses."""
        return describe_difference([pair.delta for pair in self.pairs], tie_band)

    def _measure(self, measure: Measure) -> tuple[float | None, float | None]:
        before = measure_tasks([pair.baseline for pair in self.pairs], select_all, measure)
        after = measure_tasks([pair.candidate for pair in self.pairs], select_all, measure)
        return before, after


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All modes that two sessions have; ``left_out`` says what only one of them has."""

    modes: tuple[ModeComparison, ...]
    left_out: tuple[str, ...]

    def list_changes(self, tie_band: float) -> list[tuple[ModeComparison, Pair]]:
        """Return the tasks that differ by more than the tie band, the greatest losses first."""
        changes = [
            (mode, pair) for mode in self.modes for pair in mode.pairs if abs(pair.delta) > tie_band
        ]
        return sorted(changes, key=lambda change: change[1].delta)


def compare_sessions(
    one: StoredSession, other: StoredSession, modes: Sequence[str] = ()
) -> Comparison:
    """Pair two sessions, in ``modes`` only if any are named.

    Two sessions with one runtime and model each are paired, whatever these are. SettingsError if
    the sessions have nothing in common.
    """
    groups = list(_match_groups(one.groups, other.groups))
    found: list[ModeComparison] = []
    left_out = _list_unmatched(groups, one, other)
    for before, after in groups:
        wanted = [m for m in (*before.modes, *after.modes) if not modes or m in modes]
        for mode in dict.fromkeys(wanted):
            if before.select(mode) and after.select(mode):
                found.append(_compare_mode(before, after, mode))
            else:
                left_out.append(f"{before.label} {mode}")
    if not found:
        raise SettingsError(
            f"{one.folder} and {other.folder}: found no runtime, model and mode in both"
        )
    return Comparison(modes=tuple(found), left_out=tuple(left_out))


def _match_groups(
    ones: Sequence[StoredGroup], others: Sequence[StoredGroup]
) -> Iterator[tuple[StoredGroup, StoredGroup]]:
    if len(ones) == len(others) == 1:
        yield ones[0], others[0]
        return
    by_key = {(group.runtime, group.model): group for group in others}
    for group in ones:
        if match := by_key.get((group.runtime, group.model)):
            yield group, match


def _list_unmatched(
    groups: Sequence[tuple[StoredGroup, StoredGroup]], one: StoredSession, other: StoredSession
) -> list[str]:
    matched = {group.label for pair in groups for group in pair}
    labels = [group.label for group in (*one.groups, *other.groups)]
    return [label for label in labels if label not in matched]


def _compare_mode(before: StoredGroup, after: StoredGroup, mode: str) -> ModeComparison:
    ones, others = _index(before.select(mode)), _index(after.select(mode))
    pairs = [Pair(ones[cell], others[cell]) for cell in ones if cell in others]
    label = before.label if before.label == after.label else f"{before.label} → {after.label}"
    return ModeComparison(
        label=label,
        mode=mode,
        pairs=tuple(pairs),
        lost=_list_missing(ones, others),
        gained=_list_missing(others, ones),
    )


def _index(arms: Sequence[Arm]) -> dict[Cell, Arm]:
    """Return the arms with a score; other fixtures make it another task."""
    scored: dict[Cell, Arm] = {}
    for arm in arms:
        variants = {r.trial.variant for r in arm.scored if r.trial.variant is not None}
        if arm.scored:
            scored[arm.task_id, tuple(sorted(variants))] = arm
    return scored


def _list_missing(ones: Mapping[Cell, Arm], others: Mapping[Cell, Arm]) -> tuple[str, ...]:
    return tuple(task_id for task_id, variants in ones if (task_id, variants) not in others)
