"""Shards of one suite, joined into one session."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.metrics import compute_metrics
from pytest_evoclaw.metrics import name_group_files
from pytest_evoclaw.metrics import write_json
from pytest_evoclaw.results import Trial
from pytest_evoclaw.stored import JOURNAL
from pytest_evoclaw.stored import MERGED_FROM
from pytest_evoclaw.stored import METRICS
from pytest_evoclaw.stored import StoredSession
from pytest_evoclaw.stored import list_differences


def merge_sessions(shards: Sequence[StoredSession], into: Path, *, mixed: bool = False) -> None:
    """Write the folder ``into``: journals one after the other, artifacts, and metrics of all.

    SettingsError if the folder has something in it, if a trial is in two shards, or if shards
    differ in settings and are not to be ``mixed``. Metrics are written last: without them it is
    no session.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise SettingsError(f"--into {into}: found something there, allowed a new or empty folder")
    _refuse_twins(shards)
    differences = _find_differences(shards)
    if differences and not mixed:
        raise SettingsError(
            f"settings differ, and only --mixed merges such sessions: {'; '.join(differences)}"
        )
    into.mkdir(parents=True, exist_ok=True)
    for shard in shards:
        if (shard.folder / "trials").is_dir():
            shutil.copytree(
                shard.folder / "trials", into / "trials", symlinks=True, dirs_exist_ok=True
            )
    (into / JOURNAL).write_bytes(b"".join(_read_lines(shard) for shard in shards))
    _write_metrics(shards, into, differences)


def _refuse_twins(shards: Sequence[StoredSession]) -> None:
    seen: dict[Trial, Path] = {}
    for shard in shards:
        for result in shard.results:
            # The same task in another check-out is the same task.
            trial = replace(result.trial, task_path="")
            if trial in seen:
                raise SettingsError(
                    f"{result.nodeid} is in {seen[trial]} and in {shard.folder}: "
                    "found a trial twice, allowed once"
                )
            seen[trial] = shard.folder


def _find_differences(shards: Sequence[StoredSession]) -> list[str]:
    first = shards[0]
    found = [
        f"{first.facts.run_id} and {other.facts.run_id}: {words}"
        for other in shards[1:]
        for words in list_differences(first.facts, other.facts)
    ]
    return list(dict.fromkeys(found))


def _read_lines(shard: StoredSession) -> bytes:
    whole, newline, _torn = (shard.folder / JOURNAL).read_bytes().rpartition(b"\n")
    return whole + newline


def _write_metrics(shards: Sequence[StoredSession], into: Path, differences: Sequence[str]) -> None:
    results = [result for shard in shards for result in shard.results]
    facts = _join_facts(shards, into.resolve().name, differences)
    metrics = compute_metrics(results, facts)
    metrics["counts"]["not_run"] = sum(shard.not_run for shard in shards)
    for name, group in name_group_files(metrics).items():
        write_json(into / name, group)
    write_json(into / METRICS, metrics)


def _join_facts(
    shards: Sequence[StoredSession], run_id: str, differences: Sequence[str]
) -> SessionFacts:
    facts = [shard.facts for shard in shards]
    tasks = [{result.trial.task_id for result in shard.results} for shard in shards]
    # Tasks that a shard collected and never tried are not in its journal.
    untried = sum(
        max(0, each.loaded_task_count - len(found))
        for each, found in zip(facts, tasks, strict=True)
    )
    loaded = len(set().union(*tasks)) + untried
    sanity = max(each.loaded_task_count - each.official_task_count for each in facts)
    return replace(
        facts[0],
        run_id=run_id,
        timestamp=min(each.timestamp for each in facts),
        workers=max(each.workers for each in facts),
        modes=_unite(each.modes for each in facts),
        models=_unite(each.models for each in facts),
        runtimes=_join([each.runtimes for each in facts]),
        loaded_task_count=loaded,
        official_task_count=loaded - sanity,
        options={**facts[0].options, MERGED_FROM: [each.run_id for each in facts]},
        warnings=(
            *_unite(each.warnings for each in facts),
            *(f"merged though settings differ: {words}" for words in differences),
        ),
    )


def _unite(lists: Any) -> tuple[Any, ...]:
    """Return what is in any of the lists, once, in the order it comes."""
    return tuple(dict.fromkeys(each for values in lists for each in values))


def _join(mappings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the union; of a key in several the first one counts."""
    joined: dict[str, Any] = {}
    for mapping in mappings:
        joined = {**mapping, **joined}
    return joined
