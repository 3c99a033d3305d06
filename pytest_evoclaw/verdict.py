"""From a result to an outcome, and to the words a person reads when it is not a pass."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from pytest_evoclaw.results import Check
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import TrialResult

CHECKS_SHOWN = 40


def find_faults(result: TrialResult, pass_score: float) -> tuple[str, ...]:
    """Return why a trial does not pass, one line each; empty if it does."""
    if result.failure is not None:
        return (f"not scored: {result.failure.reason}",)
    faults = []
    if result.score is None or result.score < pass_score:
        faults.append(_describe_score(result, pass_score))
    for phase in result.phases:
        if phase.skill_changes:
            faults.append(f"skills changed during {phase.name}: {_join(phase.skill_changes)}")
        if phase.fixture_changes:
            faults.append(f"inputs changed during {phase.name}: {_join(phase.fixture_changes)}")
    return tuple(faults)


def describe_outcome(result: TrialResult, pass_score: float, session: Path) -> str:
    """Return the failure text: faults, failed checks by sub-problem, status, artifacts.

    ``session`` is the folder that the phases' folders are relative to.
    """
    lines = list(find_faults(result, pass_score))
    if result.failure is not None:
        lines.extend(f"  {line}" for line in result.failure.detail.splitlines())
    elif result.primary is not None and result.primary.grade is not None:
        lines.extend(_list_checks(result.primary.grade.checks))
    lines.extend(_describe_phase(phase, session) for phase in result.phases)
    return "\n".join(lines)


def _describe_score(result: TrialResult, pass_score: float) -> str:
    if result.primary is None or result.primary.grade is None:
        return "not scored: no graded phase"
    checks = result.primary.grade.checks
    full = sum(check.score == 1 for check in checks)
    wanted = "" if pass_score == 1 else f", {pass_score:g} wanted"
    return f"score {result.score:.2f}{wanted} ({full} of {len(checks)} checks)"


def _list_checks(checks: tuple[Check, ...]) -> list[str]:
    failed = [check for check in checks if check.score < 1]
    lines = []
    for number, group in groupby(failed[:CHECKS_SHOWN], key=lambda check: check.sub_problem):
        lines.append("" if number is None else f"sub-problem {number}")
        for check in group:
            partly = f" ({check.score:.2f})" if check.score else ""
            message = check.message.replace("\n", "\n      ")
            lines.append(f"  {check.name}{partly}: {message}")
    if len(failed) > CHECKS_SHOWN:
        lines.append(f"  … and {len(failed) - CHECKS_SHOWN} more")
    return lines


def _describe_phase(phase: PhaseResult, session: Path) -> str:
    execution = phase.execution
    words = [f"{phase.name}: {execution.status}"]
    if execution.limit:
        words.append(f"ended by {execution.limit}")
    elif execution.exit_code:
        words.append(f"exit code {execution.exit_code}")
    words.append(f"{execution.seconds:.1f} s")
    if phase.partial is not None and phase.partial.automated is not None:
        words.append(f"automated part {phase.partial.automated.score:.2f}, not judged")
    if execution.survivors:
        words.append(f"{execution.survivors} processes left behind were ended")
    words.append(str(session / phase.folder))
    return ", ".join(words)


def _join(changes: tuple[str, ...]) -> str:
    shown = "; ".join(changes[:5])
    return shown if len(changes) <= 5 else f"{shown}; … and {len(changes) - 5} more"
