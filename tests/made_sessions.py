"""Folders as sessions would leave them, for tests of what is made of them."""

from __future__ import annotations

from pathlib import Path

from pytest_evoclaw.journal import append_result
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.metrics import compute_metrics
from pytest_evoclaw.metrics import write_json
from pytest_evoclaw.results import TrialResult


def write_session(folder: Path, results: list[TrialResult], facts: SessionFacts) -> Path:
    folder.mkdir(parents=True)
    for result in results:
        append_result(folder / "trials.jsonl", result)
    metrics = compute_metrics(results, facts)
    metrics["counts"]["not_run"] = 0
    write_json(folder / "metrics.json", metrics)
    return folder
