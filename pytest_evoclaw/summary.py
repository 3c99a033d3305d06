"""What a session's end looks like in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HEAD = (
    "runtime", "mode", "tasks", "scored", "passed", "score", "vs baseline", "skills",
    "tokens", "cost $", "agent s",
)  # fmt: skip
UNKNOWN = "-"


def format_table(metrics: Mapping[str, Any]) -> list[str]:
    """Return one line per runtime, model and mode; ``metrics`` is the content of metrics.json.

    Scores are execution-only means over official tasks, in percent; tokens, cost and seconds are
    end-to-end sums over scored trials.
    """
    from tabulate import tabulate

    rows = [row for group in metrics["groups"] for row in _list_rows(group)]
    if not rows:
        return []
    return tabulate(rows, headers=HEAD, disable_numparse=True, stralign="right").splitlines()


def format_counts(metrics: Mapping[str, Any]) -> str:
    """Return the counts of trials in words: nothing that has no score is left unsaid."""
    counts = metrics["counts"]
    plural = "" if counts["trials"] == 1 else "s"
    words = f"{counts['trials']} trial{plural}: {counts['scored']} scored"
    if reasons := counts["not_scored_by_reason"]:
        listed = ", ".join(f"{reason} {number}" for reason, number in reasons.items())
        words += f", {counts['not_scored']} not scored ({listed})"
    return words


def format_judges(metrics: Mapping[str, Any]) -> list[str]:
    """Return what judges used, one line per runtime and model, and the session's warnings.

    No sum of the table has it in.
    """
    lines = []
    for group in metrics["groups"]:
        if used := group.get("judge_usage"):
            whose = f"{group['runtime']} {group['model']}" if group["model"] else group["runtime"]
            lines.append(
                f"judge {metrics['session']['judge_model']} of {whose}: "
                f"{used['judgements']} judgements, {_show(used['total_tokens'], ',d')} tokens, "
                f"cost $ {_show(used['cost_usd'], '.4f')}, in none of the sums above"
            )
    return [*lines, *(f"warning: {words}" for words in metrics["session"]["warnings"])]


def _list_rows(group: Mapping[str, Any]) -> list[tuple[str, ...]]:
    official = group["metrics"]
    loaded = group["metrics_loaded"]
    # With nothing but the sanity task there are no official numbers to show.
    numbers = official if any(c["tasks"] for c in official["task_counts"].values()) else loaded
    runtime = f"{group['runtime']} {group['model']}" if group["model"] else group["runtime"]
    modes = [mode for mode, count in numbers["task_counts"].items() if count["tasks"]]
    return [(runtime, mode, *_describe_mode(numbers, mode)) for mode in modes]


def _describe_mode(numbers: Mapping[str, Any], mode: str) -> tuple[str, ...]:
    count = numbers["task_counts"][mode]
    scope = numbers["execution_only"]
    usage = numbers["end_to_end"]["usage"][mode]
    return (
        str(count["tasks"]),
        str(count["scored"]),
        str(count["passed"]),
        _show_percent(scope["mean_scores"][mode]),
        _show_ratio(scope["ratios_vs_baseline"].get(mode)),
        _show(numbers["created_skills"].get(f"{mode}_count"), "d"),
        _show(usage["total_tokens"], ",d"),
        _show(usage["total_cost_usd"], ".4f"),
        _show(usage["total_execution_time_seconds"], ".1f"),
    )


def _show(value: float | None, form: str) -> str:
    return UNKNOWN if value is None else format(value, form)


def _show_percent(score: float | None) -> str:
    return UNKNOWN if score is None else f"{100 * score:.2f}"


def _show_ratio(ratio: float | str | None) -> str:
    return ratio if isinstance(ratio, str) else _show(ratio, ".3f")
