"""The wire formats of three model APIs: requests read, replies written plain or as events."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.model_talk import Api
from tests.model_talk import Call
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.model_talk import Role
from tests.model_talk import Said

Event = tuple[str | None, dict[str, Any]]  # the name of a server-sent event, if it has one; data
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One API: how a request is read, and how a reply is written."""

    api: Api
    read: Callable[[Mapping[str, Any]], tuple[str, tuple[Said, ...], dict[str, Any]]]
    write: Callable[[Reply, str, str], dict[str, Any]]
    stream: Callable[[dict[str, Any]], Iterator[Event]]
    end: bytes = b""


def read_request(wire: Wire, body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
    system, messages, tools = wire.read(body)
    return ModelRequest(
        api=wire.api,
        model=str(body.get("model", "")),
        system=system,
        messages=messages,
        tools=tools,
        stream=bool(body.get("stream")),
        body=body,
        headers=headers,
    )


def join_text(content: Any) -> str:
    """Return the text of a string or of a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if part.get("text") is not None)


def _read_chat(body: Mapping[str, Any]) -> tuple[str, tuple[Said, ...], dict[str, Any]]:
    system, messages = [], []
    for each in body.get("messages", []):
        text = join_text(each.get("content"))
        if each["role"] not in ROLES:
            system.append(text)
            continue
        calls = tuple(
            Call(name=one["function"]["name"], arguments=one["function"]["arguments"], id=one["id"])
            for one in each.get("tool_calls") or []
        )
        messages.append(Said(role=ROLES[each["role"]], text=text, calls=calls))
    functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
    tools = {function["name"]: function.get("parameters", {}) for function in functions}
    return "\n".join(system), tuple(messages), tools


def _write_chat(reply: Reply, identifier: str, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": each.id,
                "type": "function",
                "function": {"name": each.name, "arguments": each.text},
            }
            for each in reply.calls
        ]
    answer = {
        "id": identifier,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if reply.calls else "stop",
            }
        ],
    }
    if reply.tokens:
        answer["usage"] = {
            "prompt_tokens": reply.tokens.prompt,
            "completion_tokens": reply.tokens.completion,
            "total_tokens": reply.tokens.prompt + reply.tokens.completion,
            "prompt_tokens_details": {"cached_tokens": reply.tokens.cached},
            "completion_tokens_details": {"reasoning_tokens": reply.tokens.reasoning},
        }
    return answer


def _stream_chat(answer: dict[str, Any]) -> Iterator[Event]:
    (choice,) = answer["choices"]
    base = {key: answer[key] for key in ("id", "created", "model")}
    base["object"] = "chat.completion.chunk"

    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return None, {**base, "choices": choices}

    yield chunk({"role": "assistant", "content": ""})
    for piece in split_text(choice["message"]["content"]):
        yield chunk({"content": piece})
    for index, each in enumerate(choice["message"].get("tool_calls", [])):
        function = {"name": each["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{**each, "index": index, "function": function}]})
        for piece in split_text(each["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if "usage" in answer:
        yield None, {**base, "choices": [], "usage": answer["usage"]}


def _read_responses(body: Mapping[str, Any]) -> tuple[str, tuple[Said, ...], dict[str, Any]]:
    given = body.get("input", [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system, messages = [str(body.get("instructions") or "")], []
    for item in items:
        match item:
            case {"type": "function_call", "name": name, "arguments": arguments}:
                call = Call(name=name, arguments=arguments, id=item["call_id"])
                messages.append(Said(role="assistant", calls=(call,)))
            case {"type": "function_call_output", "output": output}:
                messages.append(Said(role="tool", text=join_text(output)))
            case {"role": role, "content": content} if role in ROLES:
                messages.append(Said(role=ROLES[role], text=join_text(content)))
            case {"role": _, "content": content}:
                system.append(join_text(content))
    functions = [tool for tool in body.get("tools") or [] if tool.get("type") == "function"]
    tools = {function["name"]: function.get("parameters", {}) for function in functions}
    return "\n".join(system), tuple(messages), tools


def _write_responses(reply: Reply, identifier: str, model: str) -> dict[str, Any]:
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{each.id}",
            "call_id": each.id,
            "name": each.name,
            "arguments": each.text,
            "status": "completed",
        }
        for each in reply.calls
    ]
    if reply.text or not output:
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        message = {"type": "message", "id": f"msg_{identifier}", "role": "assistant"}
        output.insert(0, {**message, "status": "completed", "content": [part]})
    usage = reply.tokens and {
        "input_tokens": reply.tokens.prompt,
        "input_tokens_details": {"cached_tokens": reply.tokens.cached},
        "output_tokens": reply.tokens.completion,
        "output_tokens_details": {"reasoning_tokens": reply.tokens.reasoning},
        "total_tokens": reply.tokens.prompt + reply.tokens.completion,
    }
    base = {"id": identifier, "object": "response", "created_at": 0, "model": model}
    return {**base, "status": "completed", "output": output, "usage": usage}


def _stream_responses(answer: dict[str, Any]) -> Iterator[Event]:
    for number, (kind, facts) in enumerate(_list_responses(answer)):
        yield kind, {"type": kind, "sequence_number": number, **facts}


def _list_responses(answer: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    for index, item in enumerate(answer["output"]):
        at = {"item_id": item["id"], "output_index": index}
        is_call = item["type"] == "function_call"
        empty: dict[str, Any] = {"arguments": ""} if is_call else {"content": []}
        started = {**item, "status": "in_progress", **empty}
        yield "response.output_item.added", {"output_index": index, "item": started}
        if is_call:
            kind = "response.function_call_arguments"
            for piece in split_text(item["arguments"]):
                yield f"{kind}.delta", {**at, "delta": piece}
            yield f"{kind}.done", {**at, "arguments": item["arguments"]}
        else:
            (part,) = item["content"]
            at["content_index"] = 0
            yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
            for piece in split_text(part["text"]):
                yield "response.output_text.delta", {**at, "delta": piece}
            yield "response.output_text.done", {**at, "text": part["text"]}
            yield "response.content_part.done", {**at, "part": part}
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": answer}


def _read_messages(body: Mapping[str, Any]) -> tuple[str, tuple[Said, ...], dict[str, Any]]:
    messages = []
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
        if (text := join_text(parts)) or calls:
            messages.append(Said(role=ROLES[each["role"]], text=text, calls=calls))
    tools = {
        tool["name"]: tool["input_schema"]
        for tool in body.get("tools") or []
        if "input_schema" in tool
    }
    return join_text(body.get("system")), tuple(messages), tools


def _write_messages(reply: Reply, identifier: str, model: str) -> dict[str, Any]:
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


def _stream_messages(answer: dict[str, Any]) -> Iterator[Event]:
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


def split_text(text: str) -> list[str]:
    """Return a text in two pieces, or none if it is empty."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def write_plain(wire: Wire, answer: Mapping[str, Any]) -> bytes:
    """Return the body of an answer that is not streamed."""
    data = dict(answer)
    if wire.api == "messages":
        data["content"] = [
            {key: value for key, value in part.items() if key != "_text"}
            for part in answer["content"]
        ]
    return json.dumps(data).encode()


def write_events(wire: Wire, answer: dict[str, Any]) -> Iterator[bytes]:
    """Yield the server-sent events of an answer."""
    for name, data in wire.stream(answer):
        head = f"event: {name}\n" if name else ""
        yield f"{head}data: {json.dumps(data)}\n\n".encode()
    if wire.end:
        yield wire.end


WIRES: dict[str, Wire] = {
    "/v1/chat/completions": Wire(
        api="chat",
        read=_read_chat,
        write=_write_chat,
        stream=_stream_chat,
        end=b"data: [DONE]\n\n",
    ),
    "/v1/responses": Wire(
        api="responses", read=_read_responses, write=_write_responses, stream=_stream_responses
    ),
    "/v1/messages": Wire(
        api="messages", read=_read_messages, write=_write_messages, stream=_stream_messages
    ),
}
