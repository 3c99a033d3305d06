"""The wire format of Anthropic's API for messages."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from tests.model_talk import ROLES
from tests.model_talk import Call
from tests.model_talk import Event
from tests.model_talk import Reply
from tests.model_talk import Said
from tests.model_talk import join_text
from tests.model_talk import split_text


def read_messages(body: Mapping[str, Any]) -> tuple[str, tuple[Said, ...], dict[str, Any]]:
    system, messages = [join_text(body.get("system"))], []
    for each in body.get("messages", []):
        content = each["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        messages += [
            Said(role="tool", text=join_text(part.get("content")))
            for part in parts
            if part["type"] == "tool_result"
        ]
        calls = tuple(
            Call(name=part["name"], arguments=part["input"], id=part["id"])
            for part in parts
            if part["type"] == "tool_use"
        )
        text = join_text(parts)
        if each["role"] not in ROLES:  # Claude Code puts reminders of the system in between
            system.append(text)
        elif text or calls:
            messages.append(Said(role=ROLES[each["role"]], text=text, calls=calls))
    tools = {
        tool["name"]: tool["input_schema"]
        for tool in body.get("tools") or []
        if "input_schema" in tool
    }
    return "\n".join(system), tuple(messages), tools


def write_messages(reply: Reply, identifier: str, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for each in reply.calls:
        arguments = each.arguments if isinstance(each.arguments, Mapping) else {}
        use = {"type": "tool_use", "id": each.id, "name": each.name}
        content.append({**use, "input": dict(arguments), "_text": each.text})
    answer: dict[str, Any] = {
        "id": identifier,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
    }
    if tokens := reply.tokens:
        answer["usage"] = {
            "input_tokens": tokens.prompt - tokens.cached,
            "cache_read_input_tokens": tokens.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": tokens.completion,
        }
    return answer


def stream_messages(answer: dict[str, Any]) -> Iterator[Event]:
    for kind, facts in _list_messages(answer):
        yield kind, {"type": kind, **facts}


def _list_messages(answer: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**answer, "content": [], "stop_reason": None}
    count: dict[str, Any] = {}
    if usage := answer.get("usage"):
        begun["usage"] = {**usage, "output_tokens": 1}
        count = {"usage": {"output_tokens": usage["output_tokens"]}}
    yield "message_start", {"message": begun}
    for index, part in enumerate(answer["content"]):
        text = part.get("_text", part.get("text"))
        is_call = part["type"] == "tool_use"
        block = {key: value for key, value in part.items() if key != "_text"}
        empty: dict[str, Any] = {"input": {}} if is_call else {"text": ""}
        yield "content_block_start", {"index": index, "content_block": {**block, **empty}}
        kind, key = ("input_json_delta", "partial_json") if is_call else ("text_delta", "text")
        for piece in split_text(text):
            yield "content_block_delta", {"index": index, "delta": {"type": kind, key: piece}}
        yield "content_block_stop", {"index": index}
    ended = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ended, **count}
    yield "message_stop", {}
