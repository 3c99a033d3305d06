"""What goes through: bytes, headers, keys; and what is measured on the way."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request
from urllib.request import urlopen

import pytest

from pytest_evoclaw.results import Usage
from tests.gateway.conftest import KEY
from tests.gateway.conftest import ask
from tests.gateway.provider import CHAT_USAGE_EVENT
from tests.gateway.provider import PATHS
from tests.gateway.provider import Reply
from tests.gateway.provider import plain
from tests.gateway.provider import refuse
from tests.gateway.provider import sse
from tests.gateway.provider import stream

STREAMING = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
EXPECTED = {
    "chat/completions": Usage(
        input_tokens=600,
        output_tokens=50,
        cache_read_tokens=400,
        reasoning_tokens=7,
        request_count=1,
        cost_usd=0.25,
        source="provider",
    ),
    "responses": Usage(
        input_tokens=600,
        output_tokens=50,
        cache_read_tokens=400,
        reasoning_tokens=7,
        request_count=1,
        source="provider",
    ),
    "messages": Usage(
        input_tokens=600,
        output_tokens=50,
        cache_read_tokens=400,
        cache_write_tokens=30,
        request_count=1,
        source="provider",
    ),
}


@pytest.mark.parametrize("make", [plain, stream])
@pytest.mark.parametrize("path", PATHS)
def test_an_answer_passes_byte_for_byte_and_its_usage_is_the_providers(desk, path, make):
    reply = make(path)
    desk.provider.replies = [reply]
    traffic = desk.open()
    got = ask(traffic.endpoint.base_url, path, STREAMING)
    assert (got.status, got.body) == (200, b"".join(reply.pieces))
    assert got.headers["content-type"] == reply.kind
    report = traffic.close()
    assert (report.turns, report.requests, report.problem) == (1, 1, None)
    assert report.usage == EXPECTED[path]


@pytest.mark.parametrize("path", PATHS)
def test_a_request_passes_byte_for_byte(desk, path):
    desk.provider.replies = [plain(path)]
    raw = '{ "model":"m",\n "text": "Grüße \\u00fc \\ud83d", "n": 1.0 }'.encode()
    ask(desk.open().endpoint.base_url, f"{path}?beta=true&x=%2F", raw)
    [seen] = desk.provider.seen
    assert (seen.path, seen.raw) == (f"/base/v1/{path}?beta=true&x=%2F", raw)


def test_usage_of_several_answers_adds_up(desk):
    desk.provider.replies = [plain(), stream("messages"), plain("responses")]
    traffic = desk.open()
    for path in ("chat/completions", "messages", "responses"):
        ask(traffic.endpoint.base_url, path)
    usage = traffic.close().usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (1800, 1200, 150)
    assert (usage.request_count, usage.cost_usd, usage.source) == (3, None, "provider")


def test_one_answer_without_usage_makes_the_numbers_unknown(desk):
    bare = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    desk.provider.replies = [plain(), Reply(pieces=(json.dumps(bare).encode(),))]
    traffic = desk.open()
    for _ in range(2):
        ask(traffic.endpoint.base_url)
    report = traffic.close()
    assert (report.turns, report.usage.request_count) == (2, 2)
    assert (report.usage.input_tokens, report.usage.source) == (None, "unknown")


@pytest.mark.parametrize(
    ("style", "value", "expected"),
    [
        ("authorization", "Bearer dummy", f"Bearer {KEY}"),
        ("x-api-key", "dummy", KEY),
        ("api-key", "dummy", KEY),
    ],
)
def test_the_real_key_is_sent_in_the_style_that_came_in(desk, style, value, expected):
    desk.provider.replies = [plain()]
    traffic = desk.open()
    ask(traffic.endpoint.base_url, headers={style: value, "x-other": "1", "connection": "te"})
    [seen] = desk.provider.seen
    keys = {"authorization", "x-api-key", "api-key"} & set(seen.headers)
    assert (keys, seen.headers[style], seen.headers["x-other"]) == ({style}, expected, "1")
    assert seen.headers["accept-encoding"] == "identity"
    assert KEY not in repr(traffic.endpoint)
    assert traffic.endpoint.api_key != KEY


@pytest.mark.parametrize("reply", [plain, stream], ids=["plain", "stream"])
def test_a_key_that_the_provider_echoes_reaches_neither_agent_nor_log(desk, reply):
    echo = f'data: {{"choices": [], "error": "{KEY}"}}\n\n'.encode()
    pieces = (echo[:35], echo[35:44], echo[44:])
    desk.provider.replies = [reply(pieces=pieces, headers={"x-echo": KEY})]
    traffic = desk.open()
    got = ask(traffic.endpoint.base_url, body=STREAMING)
    traffic.close()
    assert got.body == echo.replace(KEY.encode(), b"<key>")
    assert got.headers["x-echo"] == "<key>"
    assert KEY not in desk.log().read_text(encoding="utf-8")


def test_usage_is_asked_for_where_the_agent_did_not_and_hidden_from_it(desk):
    desk.provider.replies = [stream()]
    raw = b'{\n"model": "m", "stream": true}'
    traffic = desk.open()
    got = ask(traffic.endpoint.base_url, body=raw)
    added = b'{"stream_options":{"include_usage":true},\n"model": "m", "stream": true}'
    assert desk.provider.seen[0].raw == added
    [hidden] = sse(CHAT_USAGE_EVENT)
    assert got.body == b"".join(stream().pieces).replace(hidden, b"")
    assert traffic.close().usage == EXPECTED["chat/completions"]


def test_an_agent_that_refuses_usage_is_measured_all_the_same(desk):
    desk.provider.replies = [stream()]
    traffic = desk.open()
    body = {**STREAMING, "stream_options": {"include_usage": False, "other": 1}}
    ask(traffic.endpoint.base_url, body=body)
    sent = desk.provider.seen[0].body["stream_options"]
    assert sent == {"include_usage": True, "other": 1}
    assert traffic.close().usage == EXPECTED["chat/completions"]


def test_a_compressed_request_passes_as_it_is_and_is_logged_as_text(desk):
    desk.provider.replies = [plain()]
    raw = gzip.compress(b'{"model": "zipped"}')
    traffic = desk.open()
    headers = {"authorization": "x", "content-encoding": "gzip"}
    ask(traffic.endpoint.base_url, body=raw, headers=headers)
    traffic.close()
    assert desk.provider.seen[0].raw == raw
    assert desk.provider.seen[0].headers["content-encoding"] == "gzip"
    [line] = desk.lines()
    assert (line["model"], line["request"]) == ("zipped", '{"model": "zipped"}')


def test_a_compressed_answer_passes_as_it_is_and_is_measured(desk):
    body = gzip.compress(b"".join(plain().pieces))
    desk.provider.replies = [Reply(pieces=(body,), headers={"content-encoding": "gzip"})]
    traffic = desk.open()
    assert ask(traffic.endpoint.base_url).body == body
    assert traffic.close().usage == EXPECTED["chat/completions"]


def test_events_are_passed_on_when_they_come(desk):
    first = threading.Event()
    desk.provider.replies = [stream(ending="hang")]
    traffic = desk.open()

    def read() -> None:
        url = f"{traffic.endpoint.base_url}/chat/completions"
        with urlopen(Request(url, json.dumps(STREAMING).encode()), timeout=20) as response:
            assert response.read(9) == b": hello\n\n"
            first.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert first.wait(5)
    reader.join(10)


def test_other_paths_pass_and_are_no_turns(desk):
    desk.provider.replies = [Reply(pieces=(b'{"data": []}',))]
    traffic = desk.open()
    for method, path in (("GET", "models"), ("POST", "messages/count_tokens"), ("POST", "other")):
        assert ask(traffic.endpoint.base_url, path, method=method).body == b'{"data": []}'
    report = traffic.close()
    assert (report.turns, report.requests, report.problem) == (0, 0, None)
    assert [line["outcome"] for line in desk.lines()] == ["passed"] * 3


def test_the_address_works_with_and_without_the_version(desk):
    desk.provider.replies = [plain("messages")]
    traffic = desk.open()
    assert ask(traffic.root_url, "v1/messages").status == 200
    assert ask(traffic.root_url, "", method="HEAD").status == 200


def test_an_unknown_or_ended_token_is_refused_and_reaches_nobody(desk):
    desk.provider.replies = [plain()]
    traffic = desk.open()
    port = traffic.endpoint.base_url.split("/")[2]
    assert ask(f"http://{port}/wrong/v1").status == 403
    traffic.close()
    got = ask(traffic.endpoint.base_url)
    assert (got.status, "error" in json.loads(got.body)) == (403, True)
    assert desk.provider.seen == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("chat/completions", {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}),
        ("responses", {"output": [], "status": "completed"}),
        ("messages", {"content": [], "stop_reason": "end_turn"}),
    ],
)
def test_an_empty_answer_is_no_turn_and_no_fault(desk, path, body):
    desk.provider.replies = [Reply(pieces=(json.dumps(body).encode(),))]
    traffic = desk.open()
    ask(traffic.endpoint.base_url, path)
    report = traffic.close()
    assert (report.turns, report.requests, report.problem) == (0, 1, None)


def test_fifty_streams_at_once_are_all_whole_and_all_counted(make_desk):
    desk = make_desk(concurrency=50)
    reply = stream(pause=0.01)
    desk.provider.replies = [reply]
    traffic = desk.open()
    with ThreadPoolExecutor(50) as pool:
        asked = [pool.submit(ask, traffic.endpoint.base_url, body=STREAMING) for _ in range(50)]
        bodies = {each.result().body for each in asked}
    report = traffic.close()
    assert bodies == {b"".join(reply.pieces)}
    assert (report.turns, report.usage.input_tokens) == (50, 50 * 600)
    assert desk.provider.most_at_once > 10


def test_no_more_requests_than_allowed_reach_the_provider_at_once(make_desk):
    desk = make_desk(concurrency=3)
    desk.provider.replies = [stream(pause=0.01)]
    ways = [desk.open(f"phase-{n}") for n in range(4)]
    with ThreadPoolExecutor(12) as pool:
        for way in ways * 3:
            pool.submit(ask, way.endpoint.base_url, body=STREAMING)
    assert [way.close().turns for way in ways] == [3, 3, 3, 3]
    assert desk.provider.most_at_once == 3


def test_a_line_of_the_log_says_what_happened(make_desk):
    desk = make_desk(body_bytes=30)
    desk.provider.replies = [refuse(500, headers={"retry-after": "0"}), plain()]
    traffic = desk.open()
    ask(traffic.endpoint.base_url, body={"model": "m", "text": "x" * 100})
    traffic.close()
    [line] = desk.lines()
    assert (line["number"], line["api"], line["model"]) == (1, "chat", "m")
    assert (line["outcome"], line["status"], line["path"]) == ("answered", 200, "chat/completions")
    assert [attempt["status"] for attempt in line["attempts"]] == [500, 200]
    assert 0 < line["first_byte_seconds"] <= line["seconds"]
    assert (len(line["request"]), line["request_cut"]) == (30, line["request_bytes"] - 30)
    assert line["answer_cut"] == line["answer_bytes"] - 30
    assert line["usage"]["input_tokens"] == 600


def test_the_end_of_a_phase_ends_what_is_under_way(desk):
    desk.provider.replies = [Reply(ending="hang")]
    traffic = desk.open()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, traffic.endpoint.base_url)
        while not desk.provider.seen:
            time.sleep(0.01)
        started = time.monotonic()
        report = traffic.close()
        assert time.monotonic() - started < 3
        assert isinstance(asked.exception(), ConnectionError)
    assert (report.turns, report.requests, report.problem) == (0, 1, None)
    assert desk.lines()[0]["outcome"] == "abandoned"


def test_usage_that_comes_after_the_agent_has_left_is_counted(desk):
    reply = stream(pause=0.05)
    desk.provider.replies = [reply]
    traffic = desk.open()
    url = f"{traffic.endpoint.base_url}/chat/completions"
    with urlopen(Request(url, json.dumps(STREAMING).encode()), timeout=20) as response:
        read = b""
        while b"finish_reason" not in read:
            read += response.read1(40)
    report = traffic.close()
    assert (report.turns, report.usage) == (1, EXPECTED["chat/completions"])


def test_a_gateway_can_be_closed_twice_and_serves_again_when_asked(desk):
    desk.provider.replies = [plain()]
    desk.gateway.close()
    assert ask(desk.open().endpoint.base_url).status == 200
    desk.gateway.close()
    desk.gateway.close()
    assert not [t for t in threading.enumerate() if t.name == "evo-gateway"]


def test_a_unix_socket_serves_too(desk):
    desk.provider.replies = [plain()]
    traffic = desk.open()
    path = desk.folder / "model.sock"
    desk.gateway.listen_at(path)
    token = traffic.root_url.rpartition("/")[2]
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        head = f"POST /{token}/v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
        client.sendall(f"{head}content-length: 2\r\n\r\n{{}}".encode())
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"".join(plain().pieces))
    assert traffic.close().turns == 1
