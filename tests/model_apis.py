"""The wire formats of three model APIs: requests read, replies written plain or as events."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.model_messages import read_messages
from tests.model_messages import stream_messages
from tests.model_messages import write_messages
from tests.model_talk import ROLES
from tests.model_talk import Api
from tests.model_talk import Call
from tests.model_talk import Event
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.model_talk import Said
from tests.model_talk import join_text
from tests.model_talk import split_text


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
        api="messages", read=read_messages, write=write_messages, stream=stream_messages
    ),
}
