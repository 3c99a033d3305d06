"""The agreement of two judges for people, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_evoclaw.agreement import FAR
from pytest_evoclaw.agreement import NEAR
from pytest_evoclaw.agreement import Agreement
from pytest_evoclaw.agreement import Comparison
from pytest_evoclaw.agreement import Pair
from pytest_evoclaw.agreement import Side

_HEAD = ("over", "pairs", "Pearson", "mean absolute delta", f"within {NEAR}", f"within {FAR:.2f}")


def format_comparison(found: Comparison) -> str:
    """Return the whole report."""
    rows = [
        _describe("scores", found.scores),
        _describe("judges' parts alone", found.parts),
        *(_describe(f"scores, {mode}", each) for mode, each in found.modes.items()),
    ]
    parts = [
        "# Agreement of two judges",
        f"{_name_side('A', found.first)}\n{_name_side('B', found.second)}",
        _format_table(_HEAD, rows),
        "## Largest disagreements",
        _format_pairs(found.scores.largest) or "None: all scores are equal.",
        "## All pairs",
        _format_pairs(found.scores.pairs) or "None.",
    ]
    if found.left_out:
        listed = "\n".join(f"- {name}" for name in found.left_out)
        parts += ["## Left out, judged and scored in one session only", listed]
    return "\n\n".join(parts) + "\n"


def _name_side(letter: str, side: Side) -> str:
    noise = "" if side.noise is None else f"; its own noise {side.noise:.4f} (mean deviation)"
    origin = f", graded again from {side.regraded_from}" if side.regraded_from else ""
    return f"- {letter}: {side.run_id}, judge {side.judge_model or 'none'}{origin}{noise}"


def _describe(over: str, found: Agreement) -> tuple[str, ...]:
    count = len(found.pairs)
    return (
        over,
        str(count),
        _show(found.pearson),
        _show(found.mean_absolute_delta),
        _show_share(found.count_within(NEAR), count),
        _show_share(found.count_within(FAR), count),
    )


def _format_pairs(pairs: Sequence[Pair]) -> str:
    rows = [
        (
            pair.task_id,
            pair.mode,
            " ".join(word for word in (pair.runtime, pair.model) if word),
            f"{pair.first:.4f}",
            f"{pair.second:.4f}",
            f"{pair.delta:+.4f}",
        )
        for pair in pairs
    ]
    return _format_table(("task", "mode", "runtime", "A", "B", "B - A"), rows) if rows else ""


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '¦') for cell in line)} |" for line in lines)


def _show(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def _show_share(part: int, count: int) -> str:
    return f"{part} of {count}" + (f" ({100 * part / count:.1f} %)" if count else "")
