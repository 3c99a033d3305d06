"""Show one trial of a stored session: score, faults, failed checks, usage and skills.

TRIAL is the trial's node id, or a part of it that only one trial has.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_evoclaw.results import PhaseResult
    from pytest_evoclaw.results import TrialResult
    from pytest_evoclaw.stored import StoredSession

NAMED = 20  # trials in an error message


def add_arguments(parser: ArgumentParser) -> None:
    """Take the session and the trial."""
    parser.add_argument("session", type=Path, help="Folder of the session, below evo-results")
    parser.add_argument("trial", metavar="TRIAL", help="Node id, or an unambiguous part of it")


def run(arguments: Namespace) -> int:
    """Print the trial."""
    from pytest_evoclaw.stored import read_session

    session = read_session(arguments.session)
    result = find_result(session.results, arguments.trial)
    text = "\n".join(_describe(session, result))
    # What agents wrote must not steer a terminal.
    safe = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    sys.stdout.write(f"{safe}\n")
    return 0


def find_result(results: Sequence[TrialResult], name: str) -> TrialResult:
    """Return the trial of that node id, or the only one with it as a part; else SettingsError."""
    from pytest_evoclaw.errors import SettingsError

    exact = [result for result in results if result.nodeid == name]
    found = exact or [result for result in results if name in result.nodeid]
    if len(found) == 1:
        return found[0]
    fault = f"found {len(found)} trials" if found else "found no trial"
    ids = [result.nodeid for result in found or results]
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    raise SettingsError(f"{name!r}: {fault}, allowed one of {', '.join(ids[:NAMED])}{more}")


def _describe(session: StoredSession, result: TrialResult) -> list[str]:
    from pytest_evoclaw.verdict import describe_outcome

    trial = result.trial
    score = "not scored" if result.score is None else f"score {result.score:.4f}"
    model = f" {trial.model}" if trial.model else ""
    return [
        result.nodeid,
        f"{trial.task_id}, {trial.mode}, {trial.runtime}{model}, repeat {trial.repeat}: {score}",
        describe_outcome(result, session.facts.pass_score, session.folder),
        *(line for phase in result.phases for line in _describe_phase(phase)),
    ]


def _describe_phase(phase: PhaseResult) -> list[str]:
    usage = phase.execution.usage
    numbers = (
        ("tokens", usage.total_tokens, ",d"),
        ("cost $", usage.cost_usd, ".4f"),
        ("requests", usage.request_count, "d"),
        ("turns", phase.execution.turns, "d"),
    )
    words = [f"{name} {'-' if n is None else format(n, form)}" for name, n, form in numbers]
    skills = [f"  wrote skill {skill.name} ({skill.path})" for skill in phase.created_skills]
    return [f"{phase.name}: {', '.join(words)} ({usage.source})", *skills]
