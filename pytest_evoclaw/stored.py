"""A session that is over, by runtime and model: what studies, comparisons and merges are of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_evoclaw import stored_sessions
from pytest_evoclaw.group_metrics import PUBLISHED_MODES
from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import order_naturally
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.metrics import collect_arms
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.stored_sessions import JOURNAL as JOURNAL
from pytest_evoclaw.stored_sessions import METRICS as METRICS

# What must be equal for scores of two sessions to be measured in the same way.
SETTINGS = (
    "version",
    "environment",
    "judge_model",
    "runs_per_task",
    "pass_score",
    "timeout_factor",
    "feedback",
)
MERGED_FROM = "merged_from"  # an option that only says where a session is from


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """One runtime and model of a session; ``arms`` are those of official tasks, if there are any.

    They are in natural order of tasks.
    """

    runtime: str
    model: str | None
    arms: tuple[Arm, ...]

    @property
    def label(self) -> str:
        """The runtime and its model, for people."""
        return f"{self.runtime} {self.model}" if self.model else self.runtime

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that were tried: those of the paper first, then by name."""
        found = {arm.mode for arm in self.arms}
        published = [mode for mode in PUBLISHED_MODES if mode in found]
        return (*published, *sorted(found.difference(published)))

    def select(self, mode: str) -> list[Arm]:
        """Return the tasks of one mode."""
        return [arm for arm in self.arms if arm.mode == mode]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session's facts and results; of a trial with several attempts the last one counts."""

    folder: Path
    facts: SessionFacts
    results: tuple[TrialResult, ...]
    not_run: int = 0

    @property
    def groups(self) -> tuple[StoredGroup, ...]:
        """The results by runtime and model."""
        keys = {(r.trial.runtime, r.trial.model) for r in self.results}
        return tuple(
            _make_group(runtime, model, self.results)
            for runtime, model in sorted(keys, key=lambda key: (key[0], key[1] or ""))
        )


def read_session(folder: Path) -> StoredSession:
    """Read a session's folder; SettingsError names what is missing or damaged in it."""
    stored = stored_sessions.read_session(folder)
    metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    last = {result.trial: result for result in stored.results}
    return StoredSession(
        folder=folder,
        facts=stored.facts,
        results=tuple(last.values()),
        not_run=metrics.get("counts", {}).get("not_run", 0),
    )


def list_differences(one: SessionFacts, other: SessionFacts) -> list[str]:
    """Return the settings that differ, as ``name: found X and Y``; empty if scores compare."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in SETTINGS}
    for name in sorted({*one.options, *other.options} - {MERGED_FROM}):
        pairs[name] = (one.options.get(name), other.options.get(name))
    for name in sorted({*one.runtimes} & {*other.runtimes}):
        pairs[name] = (one.runtimes[name], other.runtimes[name])
    return [
        f"{name}: found {left!r} and {right!r}"
        for name, (left, right) in pairs.items()
        if left != right
    ]


def _order_result(result: TrialResult) -> tuple[Any, ...]:
    trial = result.trial
    variant = -1 if trial.variant is None else trial.variant
    return order_naturally(trial.task_id), trial.mode, trial.repeat, variant


def _make_group(runtime: str, model: str | None, results: Iterable[TrialResult]) -> StoredGroup:
    mine = [r for r in results if (r.trial.runtime, r.trial.model) == (runtime, model)]
    mine.sort(key=_order_result)
    arms = collect_arms(mine)
    official = tuple(arm for arm in arms if arm.official)
    return StoredGroup(runtime=runtime, model=model, arms=official or tuple(arms))
