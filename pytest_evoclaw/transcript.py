"""What an agent said and did, in one form for all runtimes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any
from typing import Literal

from pytest_evoclaw.results import Usage

Role = Literal["user", "assistant", "toolResult"]
ROLES: tuple[Role, ...] = ("user", "assistant", "toolResult")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextItem:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallItem:
    """A call of a tool by the model."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


Item = TextItem | ToolCallItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. ``tool_call_id``, ``tool_name`` and ``is_error`` belong to tool results."""

    role: Role
    items: tuple[Item, ...] = ()
    usage: Usage | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """All text of the message."""
        return "\n".join(item.text for item in self.items if isinstance(item, TextItem))

    @property
    def tool_calls(self) -> tuple[ToolCallItem, ...]:
        """The tool calls of the message, in order."""
        return tuple(item for item in self.items if isinstance(item, ToolCallItem))

    def to_event(self) -> dict[str, Any]:
        """Return the event that fenced graders of this family of benchmarks read."""
        message: dict[str, Any] = {
            "role": self.role,
            "content": [_write_item(item) for item in self.items],
        }
        if self.role == "toolResult":
            message["toolCallId"] = self.tool_call_id
            message["toolName"] = self.tool_name
            message["isError"] = self.is_error
        if self.usage is not None:
            message["usage"] = _write_usage(self.usage)
        return {"type": "message", "message": message}


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of one execution, in order."""

    messages: tuple[Message, ...] = ()

    @property
    def tool_calls(self) -> tuple[ToolCallItem, ...]:
        """All tool calls, in order."""
        return tuple(call for message in self.messages for call in message.tool_calls)

    def to_events(self) -> list[dict[str, Any]]:
        """Return the canonical events, as builtins."""
        return [message.to_event() for message in self.messages]

    @classmethod
    def from_events(cls, events: Iterable[Any]) -> Transcript:
        """Read events; what is no message of a known role is left out, whatever it is."""
        messages = (_read_message(event) for event in events)
        return cls(tuple(message for message in messages if message is not None))

    def write_jsonl(self, path: Path) -> None:
        """Write one event a line."""
        lines = (json.dumps(event, ensure_ascii=False) + "\n" for event in self.to_events())
        path.write_bytes("".join(lines).encode("utf-8", "backslashreplace"))

    def summarise(self, limit: int) -> list[str]:
        """Return a digest of at most about ``limit`` characters, one line a text, call or result.

        Long texts are cut, with the number of characters left out; when the lines are too many
        the middle ones go, and a line says how many.
        """
        lines = [line for message in self.messages for line in _summarise(message)]
        return _cut_middle(lines, limit)


EMPTY = Transcript()
_TEXT = 600  # characters shown of one text, argument list or tool result


def _summarise(message: Message) -> list[str]:
    if message.role == "toolResult":
        kind = "error" if message.is_error else "result"
        return [f"{kind} of {message.tool_name or 'a tool'}: {_cut(message.text)}"]
    lines = []
    for item in message.items:
        if isinstance(item, ToolCallItem):
            arguments = json.dumps(item.arguments, ensure_ascii=False, sort_keys=True)
            lines.append(f"{message.role} calls {item.name}: {_cut(arguments)}")
        elif item.text:
            lines.append(f"{message.role}: {_cut(item.text)}")
    return lines


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    left_out = len(flat) - _TEXT
    return flat if left_out <= 0 else f"{flat[:_TEXT]} … ({left_out} characters more)"


def _cut_middle(lines: Sequence[str], limit: int) -> list[str]:
    if sum(map(len, lines)) <= limit:
        return list(lines)
    head: list[str] = []
    tail: list[str] = []
    room = limit
    front, back = 0, len(lines) - 1
    while front <= back:
        index = front if len(head) <= len(tail) else back
        room -= len(lines[index])
        if room < 0:
            break
        if index == front:
            head.append(lines[index])
            front += 1
        else:
            tail.append(lines[index])
            back -= 1
    gap = back - front + 1
    return [*head, f"… {gap} line{'s' * (gap > 1)} left out …", *reversed(tail)]


def _write_item(item: Item) -> dict[str, Any]:
    if isinstance(item, TextItem):
        return {"type": "text", "text": item.text}
    return {"type": "toolCall", "id": item.id, "name": item.name, "arguments": item.arguments}


def _write_usage(usage: Usage) -> dict[str, Any]:
    written: dict[str, Any] = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cacheRead": usage.cache_read_tokens,
        "cacheWrite": usage.cache_write_tokens,
        "totalTokens": usage.total_tokens,
    }
    if usage.cost_usd is not None:
        written["cost"] = {"total": usage.cost_usd}
    return written


def _read_message(event: Any) -> Message | None:
    message = event.get("message") if isinstance(event, dict) else None
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        return None
    return Message(
        role=message["role"],
        items=_read_items(message.get("content")),
        usage=_read_usage(message.get("usage")),
        tool_call_id=_read_text(message.get("toolCallId")),
        tool_name=_read_text(message.get("toolName")),
        is_error=message.get("isError") is True,
    )


def _read_items(content: Any) -> tuple[Item, ...]:
    if isinstance(content, str):
        return (TextItem(text=content),)
    items: list[Item] = []
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "text", "text": str(text)}:
                items.append(TextItem(text=text))
            case {"type": "toolCall", "name": str(name)}:
                arguments = part.get("arguments")
                known = arguments if isinstance(arguments, dict) else {"_raw": arguments}
                items.append(ToolCallItem(id=str(part.get("id", "")), name=name, arguments=known))
    return tuple(items)


def _read_usage(data: Any) -> Usage | None:
    if not isinstance(data, dict):
        return None
    cost = data.get("cost")
    tokens_in = _read_count(data.get("input", data.get("prompt_tokens")))
    tokens_out = _read_count(data.get("output", data.get("completion_tokens")))
    return Usage(
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cache_read_tokens=_read_count(data.get("cacheRead")),
        cache_write_tokens=_read_count(data.get("cacheWrite")),
        request_count=1,
        cost_usd=_read_cost(cost.get("total") if isinstance(cost, dict) else None),
        source="unknown" if tokens_in is None and tokens_out is None else "provider",
    )


def _read_count(value: Any) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if known else None


def _read_cost(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return value if known and 0 <= value < math.inf else None


def _read_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
