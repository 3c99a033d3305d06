"""Messages in the form of OpenAI's chat completions, read into a transcript, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_evoclaw.transcript import Item
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import ToolCallItem


def read_message(data: Any) -> Message | None:
    """Return the message of a user, an assistant or a tool; None for anything else."""
    if not isinstance(data, Mapping):
        return None
    items = read_text(data.get("content"))
    match data.get("role"):
        case "user":
            return Message(role="user", items=items)
        case "assistant":
            return Message(role="assistant", items=(*items, *read_calls(data.get("tool_calls"))))
        case "tool":
            return Message(
                role="toolResult",
                items=items,
                tool_call_id=str(data.get("tool_call_id", "")),
                tool_name=str(data.get("name", "")),
            )
    return None


def read_text(content: Any) -> tuple[Item, ...]:
    """Return the texts of ``content``, which is a string or a list of parts."""
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return tuple(TextItem(text=text) for text in texts if isinstance(text, str) and text)


def read_calls(calls: Any) -> tuple[Item, ...]:
    """Return tool calls; arguments that are no JSON object are kept under ``_raw``."""
    items = []
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"function": {"name": str(name)} as function}:
                arguments = read_arguments(function.get("arguments"))
                identifier = str(call.get("id", ""))
                items.append(ToolCallItem(id=identifier, name=name, arguments=arguments))
    return tuple(items)


def read_arguments(written: Any) -> dict[str, Any]:
    """Return the arguments of a call, which models write as a text of JSON."""
    try:
        arguments = json.loads(written)
    except (TypeError, ValueError, RecursionError):
        arguments = written
    return arguments if isinstance(arguments, dict) else {"_raw": written}
