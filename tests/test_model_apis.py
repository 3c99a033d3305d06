"""What clients of the three APIs rely on: order of events, usage, errors, many at once."""

from __future__ import annotations

import gzip
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_evoclaw.results import Usage
from tests.model_server import TOO_LONG
from tests.model_server import Call
from tests.model_server import ModelRequest
from tests.model_server import ModelServer
from tests.model_server import Reply
from tests.model_server import Tokens
from tests.model_server import always
from tests.model_server import cut
from tests.model_server import faulty
from tests.model_server import hang
from tests.model_server import say

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
APIS = pytest.mark.parametrize("api", PATHS)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
TALK = Reply(text="Hi", calls=(Call(name="f", arguments={"a": 1}),))
TEXT_PART = ["response.content_part.added"]
TEXT_PART += ["response.output_text.delta"] * 2
TEXT_PART += ["response.output_text.done", "response.content_part.done"]
CALL_PART = ["response.function_call_arguments.delta"] * 2
CALL_PART += ["response.function_call_arguments.done"]
ADDED, DONE = "response.output_item.added", "response.output_item.done"
BLOCK = ["content_block_start", *["content_block_delta"] * 2, "content_block_stop"]
ORDERS = {
    "responses": [
        "response.created",
        *(ADDED, *TEXT_PART, DONE),
        *(ADDED, *CALL_PART, DONE),
        "response.completed",
    ],
    "messages": ["message_start", *BLOCK, *BLOCK, "message_delta", "message_stop"],
}


def post(
    server: ModelServer, api: str, facts: dict[str, Any], headers: dict[str, str] | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    key = "input" if api == "responses" else "messages"
    body = {"model": "m", key: [{"role": "user", "content": "Hello"}], **facts}
    data = json.dumps(body).encode()
    if headers and headers.get("Content-Encoding") == "gzip":
        data = gzip.compress(data)
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=30)
    try:
        connection.request("POST", PATHS[api], data, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def read_blocks(data: bytes) -> list[dict[str, str]]:
    """Return the fields of each server-sent event; each must be whole."""
    assert data.endswith(b"\n\n")
    blocks = data.decode().removesuffix("\n\n").split("\n\n")
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


@pytest.mark.parametrize("api", ORDERS)
def test_events_come_in_their_order_and_their_names_are_their_types(api):
    with ModelServer(always(TALK)) as server:
        _, headers, data = post(server, api, {"stream": True})
    blocks = read_blocks(data)
    types = [json.loads(block["data"])["type"] for block in blocks]
    assert headers["Content-Type"] == "text/event-stream"
    assert [block["event"] for block in blocks] == types == ORDERS[api]


def test_the_deltas_of_a_chat_end_with_a_reason_usage_and_the_word_done():
    with ModelServer(always(TALK)) as server:
        _, _, data = post(server, "chat", {"stream": True})
    *chunks, last = [block["data"] for block in read_blocks(data)]
    *deltas, usage = [json.loads(chunk) for chunk in chunks]
    assert last == "[DONE]"
    assert {chunk["object"] for chunk in (*deltas, usage)} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in (*deltas, usage)}) == 1
    assert deltas[0]["choices"][0]["delta"]["role"] == "assistant"
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in deltas]
    assert reasons == [None] * (len(deltas) - 1) + ["tool_calls"]
    assert (usage["choices"], usage["usage"]["total_tokens"]) == ([], 1050)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, False),
        ({"stream_options": None}, False),
        ({"stream_options": {"include_usage": True}}, True),
    ],
    ids=["not asked", "null", "asked"],
)
def test_a_strict_server_tells_the_usage_of_a_streamed_chat_if_asked(options, told):
    with ModelServer(always(say("Hi")), usage_if_asked=True) as server:
        _, _, streamed = post(server, "chat", {"stream": True, **options})
        assert (b'"usage"' in streamed) is told
        assert server.tokens.prompt == 1000 * told
        assert b'"usage"' in post(server, "chat", options)[2]
        assert b'"usage"' in post(server, "responses", {"stream": True})[2]


@APIS
@STREAMS
def test_usage_that_is_left_out_is_nowhere(api, stream):
    with ModelServer(always(Reply(text="Hi", tokens=None))) as server:
        _, _, data = post(server, api, {"stream": stream})
    assert b'"input_tokens"' not in data
    assert b'"prompt_tokens"' not in data
    assert server.sent_usage.total_tokens == 0


@APIS
def test_what_was_sent_adds_up_with_input_and_cached_tokens_apart(api):
    tokens = Tokens(prompt=100, cached=30, completion=20, reasoning=5)
    with ModelServer(always(Reply(text="Hi", tokens=tokens))) as server:
        for stream in (False, True, True):
            post(server, api, {"stream": stream})
    assert server.sent_usage == Usage(
        input_tokens=210,
        output_tokens=60,
        cache_read_tokens=90,
        reasoning_tokens=15,
        request_count=3,
        source="provider",
    )


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_reasoning_is_a_part_of_the_output(api):
    with ModelServer(always(Reply(text="Hi", tokens=Tokens(reasoning=7)))) as server:
        usage = json.loads(post(server, api, {})[2])["usage"]
    details = usage.get("completion_tokens_details", usage.get("output_tokens_details"))
    assert details == {"reasoning_tokens": 7}


FAULTS = {
    401: ("invalid_request_error", "invalid_api_key", "authentication_error"),
    404: ("invalid_request_error", "model_not_found", "not_found_error"),
    422: ("invalid_request_error", None, "invalid_request_error"),
    429: ("rate_limit_error", "rate_limit_exceeded", "rate_limit_error"),
    500: ("server_error", None, "api_error"),
    529: ("server_error", None, "overloaded_error"),
}


@APIS
@pytest.mark.parametrize("status", FAULTS)
def test_errors_are_worded_as_the_vendor_does(api, status):
    with ModelServer(faulty(status, message="Mind the gap")) as server:
        found, _, data = post(server, api, {"stream": True})
    body = json.loads(data)
    kind, code, of_messages = FAULTS[status]
    assert (found, body["error"]["message"]) == (status, "Mind the gap")
    if api == "messages":
        assert (body["type"], body["error"]["type"]) == ("error", of_messages)
    else:
        assert (body["error"]["type"], body["error"]["code"]) == (kind, code)
    assert server.sent_usage.total_tokens == 0


@APIS
def test_a_prompt_that_is_too_long_has_an_error_of_its_own(api):
    with ModelServer(always(TOO_LONG)) as server:
        status, _, data = post(server, api, {})
    error = json.loads(data)["error"]
    assert (status, error["type"]) == (400, "invalid_request_error")
    if api == "messages":
        assert error["message"].startswith("prompt is too long")
    else:
        assert error["code"] == "context_length_exceeded"


@APIS
def test_a_stream_is_cut_after_some_of_the_text(api):
    caught = pytest.raises(http.client.IncompleteRead)
    with ModelServer(always(cut("begun but"))) as server, caught as error:
        post(server, api, {"stream": True})
    assert b"begu" in error.value.partial
    ends = (b"[DONE]", b"response.completed", b"message_stop", b'"finish_reason": "stop"')
    assert not any(end in error.value.partial for end in ends)


def test_a_hanging_answer_comes_when_its_time_is_over():
    with ModelServer(always(hang(0.2))) as server:
        assert post(server, "chat", {})[0] == 200


def test_a_request_is_recorded_as_it_came():
    with ModelServer(always(say("Hi"))) as server:
        headers = {"Content-Encoding": "gzip", "X-Api-Key": "k", "Content-Type": "application/json"}
        post(server, "messages", {"max_tokens": 5}, headers)
    (request,) = server.requests
    assert (request.path, request.headers["x-api-key"]) == ("/v1/messages", "k")
    assert json.loads(request.raw) == request.body
    assert request.body["max_tokens"] == 5


def test_a_turn_of_many_calls_counts_once():
    seen = []

    def count(request: ModelRequest) -> Reply:
        seen.append(request.turn)
        return say("Hi")

    calls = [{"type": "function_call", "call_id": n, "name": "f", "arguments": "{}"} for n in "ab"]
    results = [{"type": "function_call_output", "call_id": n, "output": ""} for n in "ab"]
    user = [{"role": "user", "content": "Hello"}]
    with ModelServer(count) as server:
        post(server, "responses", {"input": user})
        post(server, "responses", {"input": [*user, *calls, *results]})
    assert seen == [0, 1]


def test_words_of_the_system_between_messages_are_not_the_users():
    talk = [{"role": "user", "content": "Hello"}, {"role": "system", "content": "Hurry."}]
    with ModelServer(always(say("Hi"))) as server:
        post(server, "messages", {"system": "Be brief.", "messages": talk})
        post(server, "chat", {"messages": talk})
    assert [each.system for each in server.requests] == ["Be brief.\nHurry.", "Hurry."]
    assert {each.prompt for each in server.requests} == {"Hello"}


def test_clients_by_dozens_are_served_at_once():
    def echo(request: ModelRequest) -> Reply:
        return say(request.prompt)

    def work(number: int) -> bool:
        user = [{"role": "user", "content": f"number {number}."}]
        api = list(PATHS)[number % 3]
        key = "input" if api == "responses" else "messages"
        status, _, data = post(server, api, {key: user, "stream": False})
        return status == 200 and f'"number {number}."'.encode() in data

    with ModelServer(echo) as server, ThreadPoolExecutor(32) as pool:
        assert all(pool.map(work, range(96)))
    assert server.sent_usage.request_count == len(server.requests) == 96


def test_paths_that_are_not_known_are_not_found():
    with ModelServer(always(say("Hi"))) as server:
        connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=30)
        statuses = []
        for method, path in [("HEAD", "/"), ("GET", "/v1/no"), ("POST", "/v1/no")]:
            connection.request(method, path, b"{}" if method == "POST" else None)
            with connection.getresponse() as response:
                response.read()
                statuses.append(response.status)
        connection.close()
    assert statuses == [200, 404, 404]
