"""What ends an agent that goes on and on."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.gateway.conftest import ask
from tests.gateway.provider import Reply
from tests.gateway.provider import plain
from tests.gateway.provider import refuse
from tests.gateway.provider import stream


def test_the_request_after_the_last_turn_is_refused_and_the_agent_is_stopped(desk):
    desk.provider.replies = [plain()]
    traffic = desk.open(max_turns=2)
    assert [ask(traffic.endpoint.base_url).status for _ in range(2)] == [200, 200]
    assert desk.stops == []
    got = ask(traffic.endpoint.base_url)
    assert (got.status, "after 2 turns" in json.loads(got.body)["error"]["message"]) == (400, True)
    assert desk.stops == ["turns"]
    report = traffic.close()
    assert (report.turns, report.requests, report.limit) == (2, 3, "turns")
    assert report.problem is None
    assert len(desk.provider.seen) == 2


def test_an_agent_that_ends_with_its_last_turn_has_reached_no_limit(desk):
    desk.provider.replies = [plain()]
    traffic = desk.open(max_turns=1)
    ask(traffic.endpoint.base_url)
    assert (traffic.close().limit, desk.stops) == (None, [])


@pytest.mark.parametrize("make", [plain, stream])
def test_tokens_of_all_kinds_count(desk, make):
    desk.provider.replies = [make(), plain()]  # 1050 tokens each
    traffic = desk.open(max_tokens=1051)
    body = {"model": "m", "stream": True}
    assert [ask(traffic.endpoint.base_url, body=body).status for _ in range(3)] == [200, 200, 400]
    report = traffic.close()
    assert (report.limit, report.usage.total_tokens, desk.stops) == ("tokens", 2100, ["tokens"])


def test_parallel_requests_never_get_more_turns_than_allowed(desk):
    desk.provider.replies = [plain(pause=0.05)]
    traffic = desk.open(max_turns=3)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, traffic.endpoint.base_url) for _ in range(8)]
        statuses = sorted(each.result().status for each in asked)
    assert statuses == [200] * 3 + [400] * 5
    assert (traffic.close().turns, len(desk.provider.seen), set(desk.stops)) == (3, 3, {"turns"})


def test_a_request_that_waits_for_the_last_turn_gets_it_if_the_other_fails(desk):
    desk.provider.replies = [refuse(404, pause=0.3), plain()]
    traffic = desk.open(max_turns=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, traffic.endpoint.base_url)
        while not desk.provider.seen:
            time.sleep(0.01)
        second = pool.submit(ask, traffic.endpoint.base_url)
    assert (first.result().status, second.result().status) == (404, 200)
    assert traffic.close().limit is None


def test_other_requests_pass_after_the_limit(desk):
    desk.provider.replies = [plain(), Reply(pieces=(b"{}",))]
    traffic = desk.open(max_turns=1)
    ask(traffic.endpoint.base_url)
    assert ask(traffic.endpoint.base_url, "models", method="GET").status == 200
    assert traffic.close().limit is None
