"""A search as text, to be read beside Algorithm 1; the numbers in brackets are its lines."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from pytest_evoclaw.skillneo.journal import Event


def render_trace(events: Sequence[Event]) -> str:
    """Return the story of a journal, one line for each step."""
    return "".join(f"{line}\n" for event in _order(events) for line in _render(event))


def _order(events: Sequence[Event]) -> list[Event]:
    """Return executions of one stage together, whatever order they ended in."""
    merged: list[Event] = []
    for event in events:
        stage = event.get("stage")
        last = merged[-1] if merged else {}
        if event["event"] == "execution" and last.get("stages") == _find_stages(stage):
            last["executions"].append(event)
        elif event["event"] == "execution":
            stages = _find_stages(stage)
            merged.append({"event": "executions", "stages": stages, "executions": [event]})
        else:
            merged.append(event)
    return merged


def _find_stages(stage: str | None) -> str:
    return "compare" if stage in ("promote", "incumbent") else str(stage)


def _render(event: Event) -> Iterator[str]:
    writers = {
        "search": _render_start,
        "proposals": _render_proposals,
        "draft": _render_draft,
        "executions": _render_executions,
        "interrupted": _render_interruption,
        "decision": _render_decision,
    }
    yield from writers[event["event"]](event)


def _render_start(event: Event) -> Iterator[str]:
    settings = event["settings"]
    names = ("generations", "width", "promoted", "repeats")
    shown = ", ".join(f"{name} {settings[name]}" for name in names)
    archive = "on" if settings["archive"] else "off"
    yield f"[1-2]   search: {shown}, policy {settings['policy']}, archive {archive}"


def _render_proposals(event: Event) -> Iterator[str]:
    count = len(event["edits"])
    yield f"[5-7]   generation {event['generation']}, round {event['round']}: {count} proposals"


def _render_draft(event: Event) -> Iterator[str]:
    edit = event["edit"]
    donors = f" with {', '.join(edit['donors'])}" if edit["donors"] else ""
    name = event.get("name", "---")
    why = f": {event['why']}" if event.get("why") else ""
    outcome = f"{event['outcome']}{why}"
    yield f"[8-9]     {name} = {edit['parent']}{donors} + {edit['direction']} -> {outcome}"


def _render_executions(event: Event) -> Iterator[str]:
    lines = {"root": "[3]    ", "screen": "[10]   ", "compare": "[14-15]"}
    shown = (f"{each['candidate']} {_show_reward(each['record'])}" for each in event["executions"])
    yield f"{lines[event['stages']]}   {event['stages']}: {', '.join(shown)}"


def _show_reward(record: dict[str, Any]) -> str:
    if record["official"] is None:
        return str(record["kind"])
    checks = "" if record["passed"] is None else f" ({record['passed']}/{len(record['coverage'])})"
    return f"{100 * record['official']:.1f}{checks}"


def _render_interruption(event: Event) -> Iterator[str]:
    yield f"[11-12] generation {event['generation']} interrupted: {event['why']}"


def _render_decision(event: Event) -> Iterator[str]:
    ranking = ", ".join(f"{name} {s:.1f}/{a:.1f}" for name, s, a in event["standings"])
    yield f"[16-17]   ranking (official/auxiliary): {ranking}"
    for reason in event["left_out"]:
        yield f"[16]      left out: {reason}"
    floor = "none" if event["floor"] is None else f"{event['floor']:.1f}"
    gains = [event["official_gain"], event["auxiliary_gain"]]
    shown = "/".join("-" if gain is None else f"{gain:+.1f}" for gain in gains)
    verdict = f"deploy {event['deployed']}"
    if event["deployed"] == event["incumbent"]:
        verdict = f"hold {event['incumbent']}"
    yield f"[18-27]   {verdict} ({event['why']}; gain {shown}, floor {floor}), z = {event['holds']}"
    if event.get("retired"):
        yield f"[29]      retired: {', '.join(event['retired'])}"
    source = "archive" if event.get("revisited") else "ordinary"
    if event.get("exhausted"):
        source = "exhausted"
    yield f"[28-31]   parents ({source}): {', '.join(event['parents'])}"
