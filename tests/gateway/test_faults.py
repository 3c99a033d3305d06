"""What a provider can do wrong, how long an agent waits for it, and what the report says."""

from __future__ import annotations

import json
import random
import re
import time

import pytest

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.gateway.retries import RetryPolicy
from pytest_evoclaw.gateway.retries import read_retry_after
from tests.gateway.conftest import ask
from tests.gateway.provider import PATHS
from tests.gateway.provider import Reply
from tests.gateway.provider import plain
from tests.gateway.provider import refuse
from tests.gateway.provider import sse
from tests.gateway.provider import stream

SOON = {"retry-after": "0"}
GONE = Reply(status=0, ending="cut")
STREAMING = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    "fault",
    [
        *(pytest.param(refuse(s, headers=SOON), id=str(s)) for s in (408, 409, 429, 500, 503, 529)),
        pytest.param(GONE, id="closed"),
        pytest.param(plain(ending="cut"), id="cut-plain"),
        pytest.param(stream(pieces=(), ending="cut"), id="cut-before-the-first-event"),
        pytest.param(stream(pieces=()), id="empty-stream"),
    ],
)
def test_a_passing_fault_is_tried_again_and_the_agent_never_knows(desk, fault):
    desk.provider.replies = [fault, plain()]
    traffic = desk.open()
    assert ask(traffic.endpoint.base_url).status == 200
    report = traffic.close()
    assert (report.turns, report.requests, report.problem) == (1, 1, None)
    assert len(desk.lines()[0]["attempts"]) == 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(refuse(429, "slow down"), "HTTP 429.*slow down", id="429"),
        pytest.param(refuse(500, "oops"), "HTTP 500.*oops", id="500"),
        pytest.param(GONE, "Disconnected", id="closed"),
    ],
)
def test_a_lasting_fault_is_a_final_error_of_the_api(make_desk, path, fault, words):
    desk = make_desk(retries=1)
    desk.provider.replies = [fault]
    traffic = desk.open()
    got = ask(traffic.endpoint.base_url, path)
    error = json.loads(got.body)["error"]
    assert (got.status, error["type"]) == (400, "invalid_request_error")
    # Agents look for such words, and would try again for minutes.
    assert not {"429", "500", "limit", "slow", "timeout"} & set(error["message"].split())
    report = traffic.close()
    assert (report.turns, report.problem.reason) == (0, "provider_error")
    assert re.search(words, report.problem.detail, re.DOTALL)
    [line] = desk.lines()
    assert (line["outcome"], line["status"]) == ("failed", fault.status or None)


def test_after_a_lasting_fault_every_request_of_the_phase_fails_at_once(make_desk):
    desk = make_desk(retries=1)
    desk.provider.replies = [refuse(500)]
    traffic, other = desk.open(), desk.open("other")
    ask(traffic.endpoint.base_url)
    started = time.monotonic()
    assert [ask(traffic.endpoint.base_url, path).status for path in PATHS * 3] == [400] * 9
    assert time.monotonic() - started < 1
    assert len(desk.provider.seen) == 2
    desk.provider.replies = [plain()]
    assert ask(other.endpoint.base_url).status == 200
    assert traffic.close().problem is not None
    assert other.close().problem is None


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refused_key_is_final_at_once(desk, status):
    desk.provider.replies = [refuse(status, "bad key")]
    traffic = desk.open()
    assert [ask(traffic.endpoint.base_url).status for _ in range(3)] == [400] * 3
    assert len(desk.provider.seen) == 1
    assert f"HTTP {status}" in traffic.close().problem.detail


def test_spent_quota_is_not_tried_again(desk):
    body = b'{"error": {"code": "insufficient_quota"}}'
    desk.provider.replies = [Reply(pieces=(body,), status=429)]
    traffic = desk.open()
    assert ask(traffic.endpoint.base_url).status == 400
    assert len(desk.provider.seen) == 1


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_wrong_request_passes_back_as_it_is_and_does_not_end_the_phase(desk, status):
    reply = refuse(status, "maximum context length")
    desk.provider.replies = [reply, plain(), reply]
    traffic = desk.open()
    got = [ask(traffic.endpoint.base_url) for _ in range(3)]
    assert [each.status for each in got] == [status, 200, status]
    assert got[0].body == reply.pieces[0]
    report = traffic.close()
    # The agent asked what cannot be answered: what it had done by then counts.
    assert (report.turns, report.problem) == (1, None)


def test_no_request_that_ever_succeeded_is_a_problem(desk):
    desk.provider.replies = [refuse(404, "no such model")]
    traffic = desk.open()
    ask(traffic.endpoint.base_url)
    problem = traffic.close().problem
    assert (problem.reason, "no such model" in problem.detail) == ("provider_error", True)


def test_a_stream_cut_within_an_answer_is_cut_for_the_agent_too(desk):
    reply = stream(ending="cut", pieces=stream().pieces[:4])
    desk.provider.replies = [reply]
    traffic = desk.open()
    got = ask(traffic.endpoint.base_url, body=STREAMING)
    assert (got.status, got.cut, got.body) == (200, True, b"".join(reply.pieces))
    report = traffic.close()
    assert (report.turns, report.usage.partial) == (0, True)
    assert (report.problem.reason, "broken off" in report.problem.detail) == (
        "provider_error",
        True,
    )
    assert len(desk.provider.seen) == 1


def test_a_stream_that_ends_before_the_answer_does_is_no_turn(desk):
    desk.provider.replies = [stream(pieces=sse({"choices": [{"delta": {"content": "x"}}]}))]
    traffic = desk.open()
    assert not ask(traffic.endpoint.base_url, body=STREAMING).cut
    report = traffic.close()
    assert (report.turns, "before the answer did" in report.problem.detail) == (0, True)


@pytest.mark.parametrize(
    ("path", "reply"),
    [
        ("chat/completions", Reply(pieces=(b'{"error": {"message": "overloaded"}}',))),
        ("chat/completions", stream(pieces=sse({"error": {"message": "overloaded"}}))),
        (
            "messages",
            stream(pieces=sse({"type": "error", "error": {"message": "overloaded"}})),
        ),
        (
            "responses",
            stream(
                pieces=sse(
                    {"type": "response.failed", "response": {"error": {"message": "overloaded"}}}
                )
            ),
        ),
    ],
    ids=["plain", "chat", "messages", "responses"],
)
def test_an_error_within_an_answer_is_no_turn(desk, path, reply):
    desk.provider.replies = [reply]
    traffic = desk.open()
    assert ask(traffic.endpoint.base_url, path).body == b"".join(reply.pieces)
    report = traffic.close()
    assert (report.turns, "overloaded" in report.problem.detail) == (0, True)


def test_a_fault_that_the_agent_got_over_is_no_problem(desk):
    desk.provider.replies = [stream(ending="cut", pieces=stream().pieces[:4]), stream()]
    traffic = desk.open()
    for _ in range(2):
        ask(traffic.endpoint.base_url, body=STREAMING)
    report = traffic.close()
    assert (report.turns, report.problem, report.usage.partial) == (1, None, True)


def test_silence_before_an_answer_is_a_fault(make_desk):
    desk = make_desk(first_byte_seconds=0.3, retries=1)
    desk.provider.replies = [Reply(ending="hang"), plain()]
    traffic = desk.open()
    assert ask(traffic.endpoint.base_url).status == 200
    assert desk.lines()[0]["attempts"][0]["error"] == "no answer in time"


def test_silence_within_an_answer_cuts_it(make_desk):
    desk = make_desk(idle_seconds=0.3)
    desk.provider.replies = [stream(ending="hang", pieces=stream().pieces[:4])]
    traffic = desk.open()
    assert ask(traffic.endpoint.base_url, body=STREAMING).cut
    assert "silent for 0.3 s" in traffic.close().problem.detail


def test_a_provider_that_is_not_there_is_a_fault(make_desk):
    desk = make_desk(retries=1)
    desk.provider.close()
    traffic = desk.open()
    started = time.monotonic()
    assert ask(traffic.endpoint.base_url).status == 400
    assert time.monotonic() - started < 5
    assert "Cannot connect" in traffic.close().problem.detail


def test_a_log_that_cannot_be_written_is_a_problem_and_no_silence(desk):
    desk.provider.replies = [plain()]
    endpoint = Endpoint(model="m", base_url=desk.provider.url, api_key="none")
    log = desk.folder / "missing" / "requests.jsonl"
    traffic = desk.gateway.open(PhaseTraffic(endpoint=endpoint, log=log), desk.stops.append)
    assert [ask(traffic.endpoint.base_url).status for _ in range(2)] == [200, 400]
    problem = traffic.close().problem
    assert (problem.reason, str(log) in problem.detail) == ("harness_error", True)


def test_waits_double_with_jitter_and_end_with_the_attempts():
    policy = RetryPolicy(retries=3, seconds=60, randomness=random.Random(3))
    waits = [policy.find_wait(attempts, 0, None) for attempts in (1, 2, 3, 4)]
    assert waits[3] is None
    bounds = [(0.375, 0.625), (0.75, 1.25), (1.5, 2.5)]
    assert all(
        low <= (wait or 0) <= high for wait, (low, high) in zip(waits[:3], bounds, strict=True)
    )
    again = RetryPolicy(retries=3, seconds=60, randomness=random.Random(3))
    assert again.find_wait(1, 0, None) == waits[0]


@pytest.mark.parametrize(
    ("elapsed", "asked", "waits"),
    [(0, 5.0, True), (0, 61.0, False), (58, 5.0, False), (59.9, None, False)],
)
def test_the_providers_wish_is_kept_if_there_is_time_for_it(elapsed, asked, waits):
    policy = RetryPolicy(retries=3, seconds=60, randomness=random.Random(3))
    wait = policy.find_wait(1, elapsed, asked)
    assert (wait is not None) == waits
    assert wait is None or asked <= wait <= asked + 0.1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("", None), ("soon", None)),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(value, seconds):
    assert read_retry_after(value) == seconds


def test_a_long_wish_of_the_provider_ends_the_phase_instead_of_waiting(desk):
    desk.provider.replies = [refuse(429, headers={"retry-after": "3600"})]
    traffic = desk.open()
    started = time.monotonic()
    assert ask(traffic.endpoint.base_url).status == 400
    assert time.monotonic() - started < 1
