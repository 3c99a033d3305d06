"""Completions against a server whose bytes, faults and silences are known."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.llm import Completer
from pytest_evoclaw.llm import CompletionFailed
from pytest_evoclaw.llm import CompletionLimits
from tests.gateway.provider import Provider
from tests.gateway.provider import Reply

KEY = "sk-the-real-one-1234"
ASKED = [{"role": "user", "content": "Hello"}]
# A busy machine may take seconds for what takes milliseconds.
PATIENT = CompletionLimits(call_seconds=20.0, total_seconds=60.0, retries=3)


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


def answer(text: Any = "fine", **fields: Any) -> Reply:
    message = {"role": "assistant", "content": text}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **fields}
    return Reply((json.dumps(body).encode(),))


def fail(status: int, text: str = "no", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": text}}).encode()
    return Reply((body,), status=status, headers=headers)


def make_completer(provider: Provider, limits: CompletionLimits = PATIENT) -> Completer:
    endpoint = Endpoint(model="m-1", base_url=provider.url, api_key=KEY)
    return Completer(endpoint=endpoint, limits=limits, randomness=random.Random(1))


def test_an_answer_comes_with_usage_and_cost(provider):
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 40},
        "cost": 0.25,
    }
    provider.replies = [answer(usage=usage)]
    got = make_completer(provider).complete(ASKED, {"temperature": 0})
    assert (got.text, got.finish_reason, got.requests) == ("fine", "stop", 1)
    assert (got.usage.input_tokens, got.usage.cache_read_tokens) == (60, 40)
    assert (got.usage.output_tokens, got.usage.cost_usd) == (7, 0.25)
    (seen,) = provider.seen
    assert seen.body == {"model": "m-1", "messages": ASKED, "temperature": 0}
    assert seen.headers["authorization"] == f"Bearer {KEY}"


def test_usage_that_nobody_reports_is_unknown(provider):
    provider.replies = [answer()]
    usage = make_completer(provider).complete(ASKED, {}).usage
    assert (usage.input_tokens, usage.cost_usd, usage.source) == (None, None, "unknown")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_passing_fault_is_tried_again(provider, status):
    provider.replies = [fail(status), answer()]
    got = make_completer(provider).complete(ASKED, {})
    assert (got.text, got.requests) == ("fine", 2)


@pytest.mark.parametrize("ending", ["cut", "hang"])
def test_a_broken_or_silent_connection_is_tried_again(provider, ending):
    provider.replies = [Reply((b'{"choi',), ending=ending), answer()]
    limits = CompletionLimits(call_seconds=3.0, total_seconds=60.0, retries=3)
    got = make_completer(provider, limits).complete(ASKED, {})
    assert (got.text, got.requests) == ("fine", 2)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_final(provider, status):
    provider.replies = [fail(status, "not you")]
    with pytest.raises(CompletionFailed, match=rf"HTTP {status}: .*not you.* \(after 1 request in"):
        make_completer(provider).complete(ASKED, {})
    assert len(provider.seen) == 1


def test_the_provider_says_how_long_to_wait(provider):
    provider.replies = [fail(429, **{"Retry-After": "1"}), answer()]
    started = time.monotonic()
    make_completer(provider).complete(ASKED, {})
    assert time.monotonic() - started >= 1


def test_a_wait_that_does_not_fit_the_time_is_not_begun(provider):
    provider.replies = [fail(429, "slow down", **{"Retry-After": "3600"})]
    started = time.monotonic()
    with pytest.raises(CompletionFailed, match=r"HTTP 429: .*slow down"):
        make_completer(provider).complete(ASKED, {})
    assert time.monotonic() - started < 30


def test_endless_faults_end_within_the_total_time(provider):
    provider.replies = [Reply((b"x",), ending="hang")]
    limits = CompletionLimits(call_seconds=0.3, total_seconds=1.5, retries=50)
    started = time.monotonic()
    with pytest.raises(CompletionFailed, match="no answer within"):
        make_completer(provider, limits).complete(ASKED, {})
    assert time.monotonic() - started < 20


def test_a_stream_of_single_bytes_is_no_way_around_the_limit(provider):
    provider.replies = [Reply((b"x",) * 100, pause=0.1)]
    limits = CompletionLimits(call_seconds=0.5, total_seconds=0.6, retries=0)
    with pytest.raises(CompletionFailed, match=r"no answer within 0\.5 s"):
        make_completer(provider, limits).complete(ASKED, {})


def test_an_answer_without_end_is_a_fault(provider):
    provider.replies = [answer("x" * 10_000)]
    limits = CompletionLimits(retries=0, reply_bytes=1000)
    with pytest.raises(CompletionFailed, match="more than 1000 bytes"):
        make_completer(provider, limits).complete(ASKED, {})


@pytest.mark.parametrize(
    "body", [b"<html>busy</html>", b"", b"\xff"], ids=["html", "none", "bytes"]
)
def test_an_answer_that_is_no_json_is_a_fault(provider, body):
    provider.replies = [Reply((body,))]
    limits = CompletionLimits(retries=0)
    with pytest.raises(CompletionFailed, match="no JSON"):
        make_completer(provider, limits).complete(ASKED, {})


@pytest.mark.parametrize(
    "body", ["[]", "{}", '{"choices": []}', '{"choices": [1]}', '{"choices": [{"message": null}]}']
)
def test_an_answer_without_a_message_is_an_empty_text(provider, body):
    provider.replies = [Reply((body.encode(),))]
    assert make_completer(provider).complete(ASKED, {}).text == ""


def test_text_may_come_in_parts(provider):
    provider.replies = [answer([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])]
    assert make_completer(provider).complete(ASKED, {}).text == "ab"


def test_what_a_provider_does_not_know_is_left_out_from_then_on(provider):
    refused = "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"
    provider.replies = [fail(400, refused), fail(400, "response_format: unknown"), answer()]
    completer = make_completer(provider)
    asked = {"max_tokens": 5, "response_format": {"type": "x"}, "temperature": 0}
    got = completer.complete(ASKED, asked)
    assert got.parameters == {"max_completion_tokens": 5, "temperature": 0}
    assert completer.complete(ASKED, asked).requests == 1


def test_a_key_that_the_provider_echoes_is_in_no_message(provider):
    provider.replies = [fail(401, f"the key {KEY} is wrong")]
    with pytest.raises(CompletionFailed) as caught:
        make_completer(provider).complete(ASKED, {})
    assert KEY not in str(caught.value)
    assert "the key *** is wrong" in str(caught.value)


def test_nobody_there_is_a_fault_in_bounded_time():
    endpoint = Endpoint(model="m", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    completer = Completer(endpoint=endpoint, limits=CompletionLimits(retries=1))
    with pytest.raises(CompletionFailed, match="Connection error"):
        completer.complete(ASKED, {})
