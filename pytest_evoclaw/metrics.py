"""The numbers of a session: ``metrics.json``, and one published file per runtime and model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from itertools import pairwise
from pathlib import Path
from typing import Any

from pytest_evoclaw.group_metrics import PUBLISHED_MODES
from pytest_evoclaw.group_metrics import TIE
from pytest_evoclaw.group_metrics import compute_group_metrics
from pytest_evoclaw.judge_metrics import describe_judge_usage
from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import order_naturally
from pytest_evoclaw.measures import select_all
from pytest_evoclaw.measures import total_usage
from pytest_evoclaw.published import describe_arm
from pytest_evoclaw.published import name_reason
from pytest_evoclaw.published import name_slug
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.statistics import describe_statistics
from pytest_evoclaw.verdict import find_faults

BENCHMARK = "EvoClawBench"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What a session was: the validity checklist of the paper (Appendix N), and our settings.

    ``timestamp`` is in Unix seconds, ``runtimes`` maps a name to its version (None if unknown),
    ``workspaces`` says where agents worked, ``loaded_task_count`` counts the collected tasks and
    ``official_task_count`` those without the sanity task. ``options`` are builtins.
    """

    run_id: str
    timestamp: float
    version: str
    environment: str
    workers: int
    runs_per_task: int
    modes: tuple[str, ...]
    runtimes: Mapping[str, str | None]
    models: tuple[str | None, ...]
    loaded_task_count: int
    official_task_count: int
    environment_description: str = ""
    judge_model: str | None = None
    pass_score: float = 1.0
    tie_band: float = TIE
    timeout_factor: float = 1.0
    feedback: str = "checks"
    workspaces: str = ""
    python: str = ""
    platform: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """The published word: ``all`` for the three modes, else their names."""
        return "all" if set(self.modes) == set(PUBLISHED_MODES) else ",".join(self.modes)


def compute_metrics(results: Sequence[TrialResult], facts: SessionFacts) -> dict[str, Any]:
    """Compute the whole of ``metrics.json``; the order of ``results`` does not matter.

    Trials without a score are counted, and in no mean. Raises ValueError if two results are of
    one trial, because one of them would have to be dropped.
    """
    ordered = sorted(results, key=_order_result)
    _refuse_twins(ordered)
    keys = sorted({(r.trial.runtime, r.trial.model) for r in ordered}, key=_order_group)
    groups = [
        _describe_group([r for r in ordered if (r.trial.runtime, r.trial.model) == key], facts)
        for key in keys
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "session": _describe_session(facts),
        "counts": {
            **_count_trials(ordered, facts.pass_score),
            "by_mode": {
                mode: _count_trials([r for r in ordered if r.trial.mode == mode], facts.pass_score)
                for mode in _list_modes(ordered)
            },
        },
        "groups": groups,
    }


def group_file_name(run_id: str, model: str | None, runtime: str) -> str:
    """Return ``{run_id}_{model slug}_{runtime}.json``."""
    return f"{run_id}_{name_slug(model)}_{runtime}.json"


def name_group_files(metrics: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each group of :func:`compute_metrics` by its file's name; no two names are equal."""
    files: dict[str, dict[str, Any]] = {}
    taken: set[str] = set()
    for group in metrics["groups"]:
        name, number = group_file_name(group["run_id"], group["model"], group["runtime"]), 1
        stem = name.removesuffix(".json")
        while name.casefold() in taken:  # models may differ only in what a file name cannot hold
            number += 1
            name = f"{stem}-{number}.json"
        taken.add(name.casefold())
        files[name] = group
    return files


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write ``data`` in its own order, all or nothing; the same data give the same bytes.

    Raises ValueError for NaN and infinite numbers, which JSON does not have.
    """
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    draft = path.with_name(f"{path.name}.tmp")
    # A file name that is not UTF-8 is a lone surrogate here; its escape is right in JSON, too.
    draft.write_bytes(text.encode("utf-8", "backslashreplace"))
    draft.replace(path)


def _describe_session(facts: SessionFacts) -> dict[str, Any]:
    return {
        "benchmark": BENCHMARK,
        "version": facts.version,
        "run_id": facts.run_id,
        "timestamp": facts.timestamp,
        "mode": facts.mode,
        "modes": list(facts.modes),
        "runtimes": dict(sorted(facts.runtimes.items())),
        "models": list(facts.models),
        "environment": facts.environment,
        "environment_description": facts.environment_description,
        "workers": facts.workers,
        "judge_model": facts.judge_model,
        "runs_per_task": facts.runs_per_task,
        "loaded_task_count": facts.loaded_task_count,
        "official_task_count": facts.official_task_count,
        "pass_score": facts.pass_score,
        "tie_band": facts.tie_band,
        "timeout_factor": facts.timeout_factor,
        "feedback": facts.feedback,
        "workspaces": facts.workspaces,
        "python": facts.python,
        "platform": facts.platform,
        "options": dict(sorted(facts.options.items())),
        "warnings": list(facts.warnings),
    }


def _describe_group(results: Sequence[TrialResult], facts: SessionFacts) -> dict[str, Any]:
    runtime, model = results[0].trial.runtime, results[0].trial.model
    modes = _list_modes(results)
    arms = collect_arms(results)
    official = [arm for arm in arms if arm.official]
    return {
        "benchmark": BENCHMARK,
        "version": facts.version,
        "model": model,
        "runtime": runtime,
        "mode": facts.mode,
        "run_id": facts.run_id,
        "timestamp": facts.timestamp,
        "judge_model": facts.judge_model,
        "runs_per_task": facts.runs_per_task,
        "workers": facts.workers,
        "environment": facts.environment,
        **{
            f"{mode}_results": {a.task_id: describe_arm(a) for a in arms if a.mode == mode}
            for mode in modes
        },
        "metrics": compute_group_metrics(official, modes, facts.pass_score),
        "metrics_loaded": compute_group_metrics(arms, modes, facts.pass_score),
        "schema_version": SCHEMA_VERSION,
        "runtime_version": facts.runtimes.get(runtime),
        "loaded_task_count": facts.loaded_task_count,
        "official_task_count": facts.official_task_count,
        "pass_score": facts.pass_score,
        "counts": _count_trials(results, facts.pass_score),
        "usage_all_trials": total_usage(select_all(result) for result in results),
        "statistics": describe_statistics(official, modes, facts.pass_score, facts.tie_band),
        **describe_judge_usage(results),
    }


def collect_arms(results: Sequence[TrialResult]) -> list[Arm]:
    """Gather the results of one runtime and model by task and mode, in the order they come."""
    cells: dict[tuple[str, str], list[TrialResult]] = {}
    for result in results:
        cells.setdefault((result.trial.task_id, result.trial.mode), []).append(result)
    return [Arm(task_id=t, mode=m, results=tuple(rs)) for (t, m), rs in cells.items()]


def _count_trials(results: Sequence[TrialResult], pass_score: float) -> dict[str, Any]:
    scored = [result for result in results if result.score is not None]
    failed = sum(bool(find_faults(result, pass_score)) for result in scored)
    reasons = Counter(name_reason(result) for result in results if result.score is None)
    return {
        "trials": len(results),
        "scored": len(scored),
        "not_scored": len(results) - len(scored),
        "not_scored_by_reason": dict(sorted(reasons.items())),
        "passed": len(scored) - failed,
        "failed": failed,
    }


def _list_modes(results: Iterable[TrialResult]) -> list[str]:
    found = {result.trial.mode for result in results}
    return [*PUBLISHED_MODES, *sorted(found - {*PUBLISHED_MODES})]


def _order_result(result: TrialResult) -> tuple[Any, ...]:
    trial = result.trial
    return (
        order_naturally(trial.task_id),
        *_order_mode(trial.mode),
        *_order_group((trial.runtime, trial.model)),
        trial.repeat,
        -1 if trial.variant is None else trial.variant,
    )


def _order_mode(mode: str) -> tuple[int, str]:
    known = mode in PUBLISHED_MODES
    return PUBLISHED_MODES.index(mode) if known else len(PUBLISHED_MODES), mode


def _order_group(key: tuple[str, str | None]) -> tuple[str, bool, str]:
    runtime, model = key
    return runtime, model is not None, model or ""


def _refuse_twins(ordered: Sequence[TrialResult]) -> None:
    for left, right in pairwise(ordered):
        if _order_result(left) == _order_result(right):
            trial = left.trial
            raise ValueError(
                f"two results of one trial: {trial.task_id}, {trial.mode}, {trial.runtime}, "
                f"model {trial.model}, repeat {trial.repeat}, variant {trial.variant}"
            )
