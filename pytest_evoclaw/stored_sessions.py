"""A session's folder, read back and written: journal, metrics, one file per runtime and model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields
from pathlib import Path
from typing import Any

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.journal import append_result
from pytest_evoclaw.journal import read_journal
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.metrics import compute_metrics
from pytest_evoclaw.metrics import name_group_files
from pytest_evoclaw.metrics import write_json
from pytest_evoclaw.results import TrialResult

JOURNAL = "trials.jsonl"
METRICS = "metrics.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """What a session left in its folder."""

    folder: Path
    facts: SessionFacts
    results: tuple[TrialResult, ...]


def read_session(folder: Path) -> StoredSession:
    """Read a session back; SettingsError if the folder holds none, or one that never ended.

    Of a trial that is in the journal more than once, the last line counts.
    """
    for name in (JOURNAL, METRICS):
        if not (folder / name).is_file():
            raise SettingsError(f"{folder}: found no {name}, allowed the folder of a session")
    try:
        results = read_journal(folder / JOURNAL)
        facts = read_session_facts(folder / METRICS)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    last = {(result.nodeid, result.trial): result for result in results}
    return StoredSession(folder=folder, facts=facts, results=tuple(last.values()))


def read_session_facts(path: Path) -> SessionFacts:
    """Return what ``metrics.json`` says of its session; ValueError if that is not readable."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["session"]
        known = {field.name for field in fields(SessionFacts)}
        tuples = {name: tuple(data[name]) for name in ("modes", "models", "warnings")}
        return SessionFacts(**{k: v for k, v in data.items() if k in known} | tuples)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no facts of a session: {error}") from error


def write_session(
    folder: Path, facts: SessionFacts, results: Sequence[TrialResult]
) -> dict[str, Any]:
    """Write journal, metrics and group files; return the metrics."""
    for result in results:
        append_result(folder / JOURNAL, result)
    metrics = compute_metrics(results, facts)
    write_json(folder / METRICS, metrics)
    for name, group in name_group_files(metrics).items():
        write_json(folder / name, group)
    return metrics
