"""Grade the stored outputs of a session again, without starting an agent.

The new session is written beside the old one, which stays as it is. Without --judge-model both
parts are graded anew, the judge's by the model that judged before. With it the automated scores are
held fixed and only the judge's part is replaced.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_evoclaw.judge_settings import JudgeSettings
    from pytest_evoclaw.results import TrialResult
    from pytest_evoclaw.stored_sessions import StoredSession

_NEED_JUDGE = ("hybrid", "llm_judge")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("session", type=Path, help="Folder of the session, below evo-results")
    parser.add_argument("--tasks", metavar="ID,…", help="Grade these tasks alone, by their ids")
    parser.add_argument("--judge-model", metavar="MODEL", help="Model that judges")
    parser.add_argument("--judge", choices=("on", "off"), default="on", help="off: no judge")
    parser.add_argument(
        "--judge-base-url", metavar="URL", help="OpenAI-compatible API of the judge"
    )
    parser.add_argument("--judge-repeat", metavar="N", type=_read_count, default=1)
    parser.add_argument("--judge-concurrency", metavar="N", type=_read_count, default=4)
    parser.add_argument("--judge-timeout", metavar="SECONDS", type=float, default=120.0)
    parser.add_argument("--root", type=Path, metavar="DIR", help="Folder that holds the tasks")


def run(arguments: argparse.Namespace) -> int:
    """Grade again; return 1 if a trial has no score because of it."""
    from pytest_evoclaw.grading import forkserver
    from pytest_evoclaw.stored_sessions import read_session

    old = read_session(arguments.session)
    with tempfile.TemporaryDirectory(prefix="evoclaw-judge-") as places:
        try:
            return _regrade(arguments, old, Path(places))
        finally:
            forkserver.close()


def _regrade(arguments: argparse.Namespace, old: StoredSession, places: Path) -> int:
    import os

    from pytest_evoclaw.grading.judge import make_judge
    from pytest_evoclaw.regrading import Regrading
    from pytest_evoclaw.regrading import describe_regrading
    from pytest_evoclaw.regrading import find_root
    from pytest_evoclaw.regrading import name_beside
    from pytest_evoclaw.slots import SlotPool
    from pytest_evoclaw.stored_sessions import write_session
    from pytest_evoclaw.summary import format_counts
    from pytest_evoclaw.summary import format_judges
    from pytest_evoclaw.summary import format_table

    chosen = _choose(old, arguments.tasks)
    settings = _settle_judge(arguments, old, chosen)
    target = name_beside(old)
    pool = SlotPool(folder=places, size=settings.concurrency)
    regrading = Regrading(
        old=old,
        target=target,
        root=arguments.root or find_root(old.folder, chosen, Path.cwd()),
        judge=make_judge(settings, os.environ, pool),
        hold_automated=arguments.judge_model is not None,
        workers=settings.concurrency,
    )
    results = regrading.grade_all(chosen)
    metrics = write_session(target, describe_regrading(regrading, results), results)
    lines = (*format_table(metrics), format_counts(metrics), *format_judges(metrics))
    sys.stdout.write("\n".join([*lines, f"metrics: {target / 'metrics.json'}", ""]))
    return int(any(result.failure is not None for result in results))


def _choose(old: StoredSession, tasks: str | None) -> list[TrialResult]:
    from pytest_evoclaw.errors import SettingsError

    if tasks is None:
        return list(old.results)
    wanted = [name.strip() for name in tasks.split(",") if name.strip()]
    known = {result.trial.task_id for result in old.results}
    if unknown := [name for name in wanted if name not in known]:
        allowed = ", ".join(sorted(known))
        raise SettingsError(f"--tasks: found {', '.join(unknown)}, allowed {allowed}")
    return [result for result in old.results if result.trial.task_id in wanted]


def _settle_judge(
    arguments: argparse.Namespace, old: StoredSession, chosen: list[TrialResult]
) -> JudgeSettings:
    from pytest_evoclaw.errors import SettingsError
    from pytest_evoclaw.judge_settings import JudgeSettings

    needed = any(result.trial.grading_type in _NEED_JUDGE for result in chosen)
    model: str | None = arguments.judge_model or old.facts.judge_model
    if arguments.judge == "off":
        if arguments.judge_model:
            raise SettingsError("--judge-model: found a model, allowed none with --judge=off")
        model = None
    elif needed and model is None:
        raise SettingsError(
            "--judge-model: found no judge for hybrid tasks; name one, or give --judge=off, which "
            "grades their automated part alone"
        )
    return JudgeSettings(
        on=arguments.judge == "on",
        model=model if needed else None,
        base_url=arguments.judge_base_url,
        samples=arguments.judge_repeat,
        concurrency=arguments.judge_concurrency,
        seconds=arguments.judge_timeout,
    )


def _read_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed a whole number from 1")
    return int(text)
