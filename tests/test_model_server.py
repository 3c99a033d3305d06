from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request
from urllib.request import urlopen

import pytest

from tests.model_server import CUT
from tests.model_server import EMPTY
from tests.model_server import HANG
from tests.model_server import Call
from tests.model_server import ModelRequest
from tests.model_server import ModelServer
from tests.model_server import Reply
from tests.model_server import Tokens
from tests.model_server import always
from tests.model_server import call
from tests.model_server import faulty
from tests.model_server import play
from tests.model_server import say
from tests.model_server import solver
from tests.model_server import write_file
from tests.model_server import write_skill
from tests.model_talk import Said

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "content": {}}}
PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
APIS = pytest.mark.parametrize("api", PATHS)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
ASKED: dict[str, dict[str, Any]] = {
    "chat": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Two numbers, "},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "function": {"name": "write", "arguments": '{"path": "a"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "ok"}]},
        ],
        "tools": [{"type": "function", "function": {"name": "write", "parameters": SCHEMA}}],
    },
    "responses": {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Two numbers, "}]},
            {"type": "reasoning", "summary": []},
            {
                "type": "function_call",
                "call_id": "c",
                "name": "write",
                "arguments": '{"path": "a"}',
            },
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
        ],
        "tools": [
            {"type": "function", "name": "write", "parameters": SCHEMA},
            {"type": "web_search"},
        ],
    },
    "messages": {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Two numbers, "},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c", "name": "write", "input": {"path": "a"}}
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}],
            },
        ],
        "tools": [{"name": "write", "input_schema": SCHEMA}],
    },
}


def ask(server: ModelServer, api: str, **facts: Any) -> bytes:
    body = json.dumps({"model": "scripted-1", **ASKED[api], **facts}).encode()
    request = Request(server.base_url + PATHS[api], data=body)
    with urlopen(request, timeout=20) as response:
        data: bytes = response.read()
    return data


def read_events(data: bytes) -> list[dict[str, Any]]:
    lines = data.decode().splitlines()
    texts = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(text) for text in texts if text != "[DONE]"]


def join_chat(events: list[dict[str, Any]]) -> Mapping[str, Any]:
    """Put the deltas of chat completions together, as a client does."""
    text, reason, usage = "", None, None
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        usage = event.get("usage", usage)
        for choice in event["choices"]:
            text += choice["delta"].get("content", "")
            reason = choice["finish_reason"] or reason
            for part in choice["delta"].get("tool_calls", []):
                one = calls.setdefault(part["index"], {**part, "text": ""})
                one["text"] += part["function"]["arguments"]
    made = [(one["id"], one["function"]["name"], one["text"]) for one in calls.values()]
    return {"text": text, "calls": made, "reason": reason, "usage": usage}


@APIS
@STREAMS
def test_a_brain_sees_the_same_request_in_every_api(api, stream):
    with ModelServer(always(say("Hello."))) as server:
        ask(server, api, stream=stream)
    (request,) = server.requests
    assert (request.api, request.model, request.stream) == (api, "scripted-1", stream)
    assert (request.system, request.prompt) == ("Be brief.", "Two numbers, ")
    assert [said.role for said in request.messages] == ["user", "assistant", "tool"]
    assert [(each.id, each.name) for each in request.calls] == [("c", "write")]
    assert (request.results, request.tools) == (("ok",), {"write": SCHEMA})


def test_chat_answers_plainly_and_in_events_with_the_same():
    reply = Reply(text="Hello.", calls=(Call(name="f", arguments={"é": 1}), Call(name="g")))
    with ModelServer(always(reply)) as server:
        plain = json.loads(ask(server, "chat"))
        events = ask(server, "chat", stream=True)
    message = plain["choices"][0]["message"]
    assert events.endswith(b"data: [DONE]\n\n")
    joined = join_chat(read_events(events))
    assert joined["text"] == message["content"] == "Hello."
    assert joined["calls"] == [("call_2_0", "f", '{"é": 1}'), ("call_2_1", "g", "{}")]
    assert [each["function"]["arguments"] for each in message["tool_calls"]] == ['{"é": 1}', "{}"]
    assert joined["reason"] == plain["choices"][0]["finish_reason"] == "tool_calls"
    assert joined["usage"] == plain["usage"]
    assert plain["usage"]["prompt_tokens_details"] == {"cached_tokens": 400}
    assert plain["usage"]["total_tokens"] == 1050


def test_responses_end_with_the_answer_that_is_sent_plainly():
    with ModelServer(always(Reply(text="Hi", calls=(Call(name="f"),)))) as server:
        plain = json.loads(ask(server, "responses"))
        events = read_events(ask(server, "responses", stream=True))
    assert [item["type"] for item in plain["output"]] == ["message", "function_call"]
    assert plain["usage"]["input_tokens_details"] == {"cached_tokens": 400}
    assert events[0]["type"] == "response.created"
    final = events[-1]["response"]
    assert events[-1]["type"] == "response.completed"
    assert (final["usage"], final["status"]) == (plain["usage"], "completed")
    pieces = [each["delta"] for each in events if each["type"] == "response.output_text.delta"]
    assert "".join(pieces) == final["output"][0]["content"][0]["text"] == "Hi"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_messages_count_cached_tokens_apart():
    with ModelServer(
        always(Reply(text="Hi", calls=(Call(name="f", arguments={"a": 1}),)))
    ) as server:
        plain = json.loads(ask(server, "messages"))
        events = read_events(ask(server, "messages", stream=True))
    assert plain["content"] == [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "call_1_0", "name": "f", "input": {"a": 1}},
    ]
    assert (plain["stop_reason"], plain["usage"]["output_tokens"]) == ("tool_use", 50)
    usage = events[0]["message"]["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (600, 400)
    assert [event["type"] for event in (events[0], *events[-2:])] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    pieces = [each["delta"]["partial_json"] for each in events if "partial_json" in str(each)]
    assert json.loads("".join(pieces)) == {"a": 1}


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_broken_arguments_are_sent_as_they_are(api):
    with ModelServer(always(call("f", '{"a'))) as server:
        plain = json.loads(ask(server, api))
    (made,) = plain["choices"][0]["message"]["tool_calls"] if api == "chat" else plain["output"]
    assert made.get("function", made)["arguments"] == '{"a'


@APIS
@STREAMS
def test_an_empty_answer_is_a_whole_answer(api, stream):
    with ModelServer(always(EMPTY)) as server:
        data = ask(server, api, stream=stream)
    assert read_events(data) if stream else json.loads(data)
    assert server.tokens == Tokens()


@APIS
def test_a_fault_has_its_status_and_says_when_to_come_again(api):
    with ModelServer(faulty(429, retry_after=3)) as server:
        with pytest.raises(HTTPError) as caught:
            ask(server, api)
        with caught.value as error:
            assert (error.code, error.headers["Retry-After"]) == (429, "3")
            assert json.loads(error.read())["error"]["type"] == "rate_limit_error"
    assert server.tokens == Tokens(prompt=0, cached=0, completion=0)


@APIS
@STREAMS
def test_a_cut_answer_ends_in_the_middle_and_is_not_counted(api, stream):
    with ModelServer(always(CUT)) as server, pytest.raises(http.client.IncompleteRead):
        ask(server, api, stream=stream)
    assert server.tokens == Tokens(prompt=0, cached=0, completion=0)


def test_usage_can_be_left_out():
    with ModelServer(always(Reply(text="Hi", tokens=None))) as server:
        plain = json.loads(ask(server, "chat"))
        events = read_events(ask(server, "chat", stream=True))
    assert "usage" not in plain
    assert not any("usage" in event for event in events)


def test_a_server_that_is_closed_lets_nobody_hang():
    with ModelServer(always(HANG)) as server:
        thread = threading.Thread(target=ask, args=(server, "chat"))
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        assert not server.replies
    thread.join(timeout=20)
    assert not thread.is_alive()


def test_the_fault_of_a_brain_fails_the_test():
    def break_down(request: ModelRequest) -> Reply:
        raise LookupError("nothing to say")

    def use() -> None:
        with ModelServer(break_down) as server, contextlib.suppress(http.client.HTTPException):
            ask(server, "chat")

    with pytest.raises(LookupError, match="nothing to say"):
        use()


def test_models_and_token_counts_are_told():
    with ModelServer(always(EMPTY), model="m-1") as server:
        with urlopen(f"{server.base_url}/models", timeout=20) as response:
            listed = json.load(response)
        body = Request(f"{server.root_url}/v1/messages/count_tokens", data=b"{}")
        with urlopen(body, timeout=20) as response:
            assert json.load(response) == {"input_tokens": 1000}
    assert [model["id"] for model in listed["data"]] == ["m-1"]


def make_request(prompt: str, *calls: Call, tools: Mapping[str, Any] | None = None) -> ModelRequest:
    said = [Said(role="user", text=prompt)]
    said += [Said(role="assistant", calls=(each,)) for each in calls]
    return ModelRequest(
        api="chat",
        model="m",
        system="",
        messages=tuple(said),
        tools={"write_file": SCHEMA} if tools is None else tools,
        stream=False,
        body={},
    )


def test_a_solver_writes_one_file_after_the_other_and_then_is_done():
    brain = solver({"numbers": {"a": "1", "b": "2"}})
    first = brain(make_request("Two numbers"))
    second = brain(make_request("Two numbers", *first.calls))
    third = brain(make_request("Two numbers", *first.calls, *second.calls))
    assert [each.arguments for each in (*first.calls, *second.calls)] == [
        {"path": "a", "content": "1"},
        {"path": "b", "content": "2"},
    ]
    assert (third.text, third.calls) == ("Done.", ())


def test_a_solver_can_write_all_files_in_one_answer():
    reply = solver({"": {"a": "1", "b": "2"}}, parallel=True)(make_request("x"))
    assert [each.name for each in reply.calls] == ["write_file", "write_file"]


def test_a_solver_writes_a_skill_where_it_is_asked_to():
    brain = solver({"x": {"a": "1"}}, skills=write_skill("s"), authoring=lambda text: "Au" in text)
    (made,) = brain(make_request("Author for x")).calls
    assert isinstance(made.arguments, dict)
    assert made.arguments["path"] == "skills/s/SKILL.md"
    assert made.arguments["content"].startswith("---\nname: s\n")


def test_a_solver_has_nothing_to_do_for_a_prompt_that_it_does_not_know():
    assert solver({"x": {"a": "1"}})(make_request("y")) == say("Done.")


def test_many_agents_share_a_server():
    brain = solver({f"task {n}.": {f"out-{n}": str(n)} for n in range(8)})

    def work(number: int) -> str:
        user = {"role": "user", "content": f"task {number}."}
        answer = json.loads(ask(server, "chat", messages=[user], tools=ASKED["chat"]["tools"]))
        arguments = answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
        path: str = json.loads(arguments)["path"]
        return path

    with ModelServer(brain) as server, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [f"out-{n}" for n in range(8)]
    assert server.tokens.completion == 8 * 50


def test_replies_are_played_in_order_and_the_last_for_ever():
    brain = play(say("one"), say("two"))
    asked = [make_request("x", *[Call(name="f")] * n) for n in range(4)]
    assert [brain(each).text for each in asked] == ["one", "two", "two", "two"]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("write", {"path": {}, "content": {}}),
        ("Write", {"file_path": {}, "content": {}}),
        ("create_file", {"filename": {}, "text": {}}),
    ],
)
def test_a_file_is_written_with_the_tool_that_the_agent_has(name, keys):
    made = write_file({"read": {}, name: {"properties": keys}}, "a/b", "text")
    assert (made.name, made.arguments) == (name, dict(zip(keys, ("a/b", "text"), strict=True)))


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("exec", {"command": {"type": "string"}}),
        ("shell", {"command": {"type": "array"}}),
        ("exec_command", {"cmd": {"type": "string"}}),
    ],
)
def test_an_agent_with_nothing_but_a_shell_writes_by_it(tmp_path, name, schema):
    made = write_file({name: {"properties": schema}}, "deep er/it's", "é 'x' $(id)\n")
    assert made.name == name
    assert isinstance(made.arguments, dict)
    (words,) = made.arguments.values()
    argv = words if isinstance(words, list) else ["bash", "-c", words]
    subprocess.run(argv, cwd=tmp_path, check=True, timeout=20)
    assert (tmp_path / "deep er/it's").read_text(encoding="utf-8") == "é 'x' $(id)\n"


def test_an_agent_without_tools_that_write_is_an_error_of_the_test():
    with pytest.raises(LookupError, match="no tool that writes"):
        write_file({"look": {}}, "a", "b")
