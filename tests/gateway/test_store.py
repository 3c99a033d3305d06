"""Sessions that are had again, with nobody to ask."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_evoclaw.gateway.digests import compute_digest
from pytest_evoclaw.gateway.digests import normalise
from pytest_evoclaw.gateway.requests import read_request
from tests.gateway.conftest import KEY
from tests.gateway.conftest import Desk
from tests.gateway.conftest import ask
from tests.gateway.provider import PATHS
from tests.gateway.provider import Reply
from tests.gateway.provider import plain
from tests.gateway.provider import refuse
from tests.gateway.provider import stream


def say(*texts: str, **more: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": t} for t in texts], **more}


def replay(make_desk: Callable[..., Desk], desk: Desk, tmp_path: Path) -> Desk:
    """Return a desk that replays what another one has recorded; its provider is gone."""
    desk.gateway.close()
    desk.provider.close()
    return make_desk(replay=tmp_path / "store")


@pytest.fixture
def recorder(make_desk, tmp_path):
    return make_desk(record=tmp_path / "store", retries=0)


def test_a_session_is_had_again_with_the_provider_gone(make_desk, recorder, tmp_path):
    recorder.provider.choose = lambda seen: (
        stream(seen.path.split("/v1/")[1]) if seen.body.get("stream") else plain()
    )
    requests = [(path, say("a", "b", stream=True)) for path in PATHS]
    requests.append(("chat/completions", say("plain")))

    def play(desk: Desk) -> Any:
        traffic = desk.open()
        got = [ask(traffic.endpoint.base_url, path, body) for path, body in requests]
        return [(each.status, each.body) for each in got], traffic.close()

    first = play(recorder)
    again = play(replay(make_desk, recorder, tmp_path))
    assert again == first
    assert (first[1].turns, first[1].problem) == (4, None)


def test_equal_requests_get_their_own_answers_in_order(make_desk, recorder, tmp_path):
    numbers = iter(range(100))
    recorder.provider.choose = lambda seen: Reply(pieces=(b'{"n": %d}' % next(numbers),))

    def play(desk: Desk) -> Any:
        traffic = desk.open()
        return [ask(traffic.endpoint.base_url, body=say("same")).body for _ in range(4)]

    first = play(recorder)
    assert len(set(first)) == 4
    assert play(replay(make_desk, recorder, tmp_path)) == first


def test_parallel_phases_with_equal_requests_get_their_own_answers(make_desk, recorder, tmp_path):
    numbers = iter(range(100))
    recorder.provider.choose = lambda seen: Reply(pieces=(b'{"n": %d}' % next(numbers),))

    def play(desk: Desk) -> Any:
        ways = {f"task/{n}": desk.open(f"task-{n}") for n in range(8)}

        def go(name):
            return [ask(ways[name].endpoint.base_url, body=say("same")).body for _ in range(3)]

        with ThreadPoolExecutor(8) as pool:
            return dict(zip(ways, pool.map(go, ways), strict=True))

    first = play(recorder)
    assert len({body for bodies in first.values() for body in bodies}) == 24
    assert play(replay(make_desk, recorder, tmp_path)) == first


def test_a_miss_is_an_error_that_says_what_differs_and_asks_nobody(make_desk, recorder, tmp_path):
    recorder.provider.replies = [plain()]
    ask(recorder.open().endpoint.base_url, body=say("write seven lines"))
    recorder.gateway.close()
    desk = make_desk(replay=tmp_path / "store")
    traffic = desk.open()
    got = ask(traffic.endpoint.base_url, body=say("write eight lines"))
    again = ask(traffic.endpoint.base_url, body=say("write seven lines"))
    assert (got.status, again.status) == (400, 400)
    assert len(desk.provider.seen) == 1
    problem = traffic.close().problem
    assert problem.reason == "harness_error"
    digest = desk.lines()[0]["stored_as"]
    for words in ("replay: no stored answer", digest, "write eight", "write seven"):
        assert words in problem.detail


def test_a_request_asked_more_often_than_stored_says_so(make_desk, recorder, tmp_path):
    recorder.provider.replies = [plain()]
    ask(recorder.open().endpoint.base_url, body=say("once"))
    desk = replay(make_desk, recorder, tmp_path)
    traffic = desk.open()
    assert [ask(traffic.endpoint.base_url, body=say("once")).status for _ in range(2)] == [200, 400]
    assert "asked more often" in str(traffic.close().problem)


def test_another_phase_has_no_answers_to_give(make_desk, recorder, tmp_path):
    recorder.provider.replies = [plain()]
    ask(recorder.open("one").endpoint.base_url, body=say("x"))
    desk = replay(make_desk, recorder, tmp_path)
    traffic = desk.open("two")
    assert ask(traffic.endpoint.base_url, body=say("x")).status == 400
    assert "nothing is stored for this phase" in str(traffic.close().problem)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(refuse(400, "too long"), id="400"),
        pytest.param(refuse(500, "oops"), id="500"),
        pytest.param(refuse(401, "key"), id="401"),
        pytest.param(stream(ending="cut", pieces=stream().pieces[:5]), id="cut"),
        pytest.param(stream(pieces=stream().pieces[:5]), id="ended-early"),
        pytest.param(Reply(pieces=(b"\xff\xfe",), kind="audio/x"), id="bytes"),
    ],
)
def test_faults_are_had_again_too(make_desk, recorder, tmp_path, reply):
    recorder.provider.replies = [reply]

    def play(desk: Desk) -> Any:
        traffic = desk.open()
        got = ask(traffic.endpoint.base_url, body=say("x", stream=True))
        report = traffic.close()
        return (got.status, got.body, got.cut), (report.turns, report.problem is None)

    first = play(recorder)
    assert play(replay(make_desk, recorder, tmp_path)) == first


def test_an_answer_that_never_came_does_not_come_again(make_desk, recorder, tmp_path):
    recorder.provider.replies = [Reply(ending="hang")]

    def play(desk: Desk) -> Any:
        traffic = desk.open()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask, traffic.endpoint.base_url, body=say("x"))
            time.sleep(0.4)
            assert not asked.done()
            report = traffic.close()
            assert isinstance(asked.exception(), ConnectionError)
        return report.turns, report.problem

    first = play(recorder)
    assert play(replay(make_desk, recorder, tmp_path)) == first == (0, None)


def test_recording_a_phase_anew_forgets_the_old_answers(make_desk, recorder, tmp_path):
    recorder.provider.replies = [plain()]
    for text in ("old", "new"):
        traffic = recorder.open()
        ask(traffic.endpoint.base_url, body=say(text))
        traffic.close()
    [stored] = (tmp_path / "store").rglob("*.json")
    assert "new" in stored.read_text(encoding="utf-8")
    assert stored.parent == tmp_path / "store" / "trials" / "phase"


def test_the_key_is_not_stored(recorder, tmp_path):
    recorder.provider.replies = [refuse(400, KEY)]
    traffic = recorder.open()
    ask(traffic.endpoint.base_url, body=say("x"))
    traffic.close()
    [stored] = (tmp_path / "store").rglob("*.json")
    assert KEY not in stored.read_text(encoding="utf-8")


def digest(text: str, root: str = "/w/1", **more: object) -> str:
    raw = json.dumps(say(text, **more)).encode()
    target = ("POST", "chat/completions", "")
    return compute_digest(normalise(read_request(target, (), raw, "none"), Path(root)))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("now 2026-12-01T10:11:12.123Z.", "now 2027-01-31T23:59:59.9Z."),
        ("Tuesday, December 1, 2026 at 1:26 AM", "Friday, January 22, 2027 at 11:59 PM"),
        ("Current Time: 2026-12-01 01:26 (Tuesday)", "Current Time: 2026-12-04 21:26 (Friday)"),
        ("drwx 2 root root 4096 Dec  1 01:26 a", "drwx 2 root root 4096 Jan 31 11:00 a"),
        (
            "session 0a1b2c3d-1111-2222-3333-444455556666",
            "session ffffffff-0000-1111-2222-aaaabbbbcccc",
        ),
        ("127.0.0.1:4000/abcdefghij_-klmnopqrst/v1", "127.0.0.1:51234/ABCDEFGHIJ_-klmnopqrst/v1"),
        ("session=explicit:20261201-012345-ab12", "session=explicit:20270101-112345-ff00"),
        ("Wall time: 0.0511 seconds", "Wall time: 12.3 seconds"),
        ("at 1764552000123", "at 1764559999999"),
        ("/tmp/tmpab12cd34/x", "/tmp/tmp_z9y8x7w/x"),
        ("call_607254906", "call_114"),
        ("pid 4711, Chunk ID: 5fb3b9", "pid 99, Chunk ID: aa00ff"),
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_what_changes_from_session_to_session_does_not_count(one, two):
    assert digest(one) == digest(two)


def test_the_folder_of_the_phase_does_not_count_however_it_is_spelled():
    one = "in /tmp/a/12ab/workspace, named -tmp-a-12ab-workspace"
    two = "in /var/b_c/99ff/workspace, named -var-b-c-99ff-workspace"
    assert digest(one, "/tmp/a/12ab") == digest(two, "/var/b_c/99ff")


def test_settings_and_names_of_users_do_not_count():
    assert digest("x", user="a", temperature=0.1) == digest("x", metadata={"id": 2})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("sum 12 and 14", "sum 12 and 15"),
        ("version 1.2.3", "version 1.2.4"),
        ("march on", "may be"),
        ("message_one", "message_two"),
        ("deadbeef", "deadbeee"),
    ],
)
def test_what_was_asked_does_count(one, two):
    assert digest(one) != digest(two)


@pytest.mark.parametrize("more", [{"tools": [{"name": "a"}]}, {"model": "n"}, {"stream": True}])
def test_model_tools_and_streaming_count(more):
    assert digest("x") != digest("x", **more)
