"""Compare stored sessions, task by task: each later one with the first.

Prints regressions first, then gains, then the means of the paired tasks with intervals, and cost
beside the scores. Exit code 1 says that --fail-below or --fail-on-regression failed.
"""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser
from argparse import ArgumentTypeError
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_evoclaw.comparison import Comparison
    from pytest_evoclaw.comparison import ModeComparison
    from pytest_evoclaw.group_metrics import Pair
    from pytest_evoclaw.stored import StoredSession

FAILED = 1
CHANGES = ("task", "runtime", "mode", "before %", "after %", "delta", "cost $", "cost after $")
MEANS = (
    "runtime", "mode", "tasks", "before %", "after %", "delta", "95 % interval", "p",
    "tokens", "tokens after", "cost $", "cost after $",
)  # fmt: skip


def add_arguments(parser: ArgumentParser) -> None:
    """Take the sessions and the limits."""
    parser.add_argument("first", type=Path, help="Folder of the session to compare with")
    parser.add_argument("others", type=Path, nargs="+", help="Folders of the sessions to judge")
    parser.add_argument(
        "--mode", action="append", default=[], help="Compare this mode only; can be repeated"
    )
    parser.add_argument(
        "--tie-band",
        type=read_score,
        default=1e-9,
        metavar="SCORE",
        help="Greatest difference of a task's score, of 1, that is a tie (default: none)",
    )
    parser.add_argument(
        "--fail-below",
        type=read_score,
        metavar="SCORE",
        help="Fail if a mode's mean score, of 1, is lower in a later session, or has no score",
    )
    parser.add_argument(
        "--fail-on-regression",
        action="store_true",
        help="Fail if a task got worse by more than the tie band, or lost its score",
    )


def read_score(text: str) -> float:
    """Read a number within 0..1."""
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:
        raise ArgumentTypeError(f"found {text!r}, allowed a number within 0..1")
    return score


def run(arguments: Namespace) -> int:
    """Print a comparison for each later session; return 1 if a limit is broken."""
    from pytest_evoclaw.comparison import compare_sessions
    from pytest_evoclaw.stored import read_session

    first = read_session(arguments.first)
    faults: list[str] = []
    for folder in arguments.others:
        other = read_session(folder)
        compared = compare_sessions(first, other, arguments.mode)
        _write(_format(compared, (first, other), arguments.tie_band))
        if arguments.fail_on_regression:
            faults += _find_regressions(compared, other, arguments.tie_band)
        if arguments.fail_below is not None:
            faults += _find_low_means(other, arguments.fail_below, arguments.mode)
    _write([f"FAILED: {fault}" for fault in faults])
    return FAILED if faults else 0


def _format(
    compared: Comparison, sessions: tuple[StoredSession, StoredSession], tie_band: float
) -> list[str]:
    from pytest_evoclaw.stored import list_differences

    first, other = sessions
    changes = compared.list_changes(tie_band)
    worse = [_show_change(*change) for change in changes if change[1].delta < 0]
    better = [_show_change(*change) for change in reversed(changes) if change[1].delta > 0]
    paired = sum(len(mode.pairs) for mode in compared.modes)
    unpaired = [line for mode in compared.modes for line in _list_unpaired(mode)]
    return [
        f"{first.facts.run_id} → {other.facts.run_id}",
        f"regressions {len(worse)}, gains {len(better)}, ties {paired - len(changes)}, "
        f"not comparable {len(unpaired)}",
        *(f"settings differ: {words}" for words in list_differences(first.facts, other.facts)),
        *_tabulate("regressions", CHANGES, worse),
        *_tabulate("gains", CHANGES, better),
        *_tabulate(
            "means of paired tasks", MEANS, [_show_mode(m, tie_band) for m in compared.modes]
        ),
        *(f"not comparable: {words}" for words in unpaired),
        *(f"only in one session: {words}" for words in compared.left_out),
        "",
    ]


def _list_unpaired(mode: ModeComparison) -> list[str]:
    where = f"{mode.mode} ({mode.label})"
    lost = [f"{task} {where}: scored only before" for task in mode.lost]
    return lost + [f"{task} {where}: scored only after" for task in mode.gained]


def _find_regressions(compared: Comparison, other: StoredSession, tie_band: float) -> list[str]:
    name = other.facts.run_id
    worse = [
        f"{name}: {pair.candidate.task_id} {mode.mode} got worse by {-100 * pair.delta:.2f} points"
        for mode, pair in compared.list_changes(tie_band)
        if pair.delta < 0
    ]
    # Nobody knows whether a task without a score would have got worse.
    lost = [
        f"{name}: {task} {mode.mode} has no score any more"
        for mode in compared.modes
        for task in mode.lost
    ]
    return worse + lost


def _find_low_means(session: StoredSession, least: float, modes: Sequence[str]) -> list[str]:
    from pytest_evoclaw.measures import compute_mean

    faults = []
    for group in session.groups:
        for mode in group.modes:
            scores = [arm.mean_score for arm in group.select(mode) if arm.mean_score is not None]
            mean = compute_mean(scores)
            if (not modes or mode in modes) and (mean is None or mean < least):
                found = "no score" if mean is None else f"a mean of {100 * mean:.2f} %"
                where = f"{session.facts.run_id}: {group.label} {mode}"
                faults.append(f"{where} has {found}, at least {100 * least:g} % wanted")
    return faults


def _show_change(mode: ModeComparison, pair: Pair) -> list[str]:
    alone = replace(mode, pairs=(pair,))
    before, after = alone.means
    return [
        pair.candidate.task_id,
        mode.label,
        mode.mode,
        _show_percent(before),
        _show_percent(after),
        f"{100 * pair.delta:+.2f}",
        *(_show(cost, ".4f") for cost in alone.cost),
    ]


def _show_mode(mode: ModeComparison, tie_band: float) -> list[str]:
    difference = mode.describe_difference(tie_band)
    interval = difference["interval_t"]
    delta = difference["mean"]
    return [
        mode.label,
        mode.mode,
        str(difference["tasks"]),
        *map(_show_percent, mode.means),
        "-" if delta is None else f"{100 * delta:+.2f}",
        "-" if interval is None else f"{100 * interval[0]:+.2f} to {100 * interval[1]:+.2f}",
        _show(difference["p_value"], ".3f"),
        *(_show(tokens, ",.0f") for tokens in mode.tokens),
        *(_show(cost, ".4f") for cost in mode.cost),
    ]


def _tabulate(title: str, head: Sequence[str], rows: list[list[str]]) -> list[str]:
    from tabulate import tabulate

    if not rows:
        return []
    return ["", title, tabulate(rows, headers=head, disable_numparse=True, stralign="right")]


def _show(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _show_percent(score: float | None) -> str:
    return "-" if score is None else f"{100 * score:.2f}"


def _write(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
