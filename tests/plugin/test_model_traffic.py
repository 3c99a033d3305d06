"""Sessions whose agents ask a model: limits, faults, usage, and sessions had again."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Suite
from tests.model_server import CUT
from tests.model_server import ModelServer
from tests.model_server import Reply
from tests.model_server import call
from tests.model_server import fail
from tests.model_server import faulty
from tests.model_server import play
from tests.model_server import solver
from tests.model_server import write_skill
from tests.plugin.calling_agent import AGENT
from tests.plugin.calling_agent import CONFTEST

FILES = {"outputs/sum.json": '{"value": 6}', "outputs/max.json": '{"value": 3}'}
SUM, MAX = (
    call("write_file", {"path": path, "content": content}) for path, content in FILES.items()
)
STUBBORN = call("write_file", {"path": "outputs/stubborn", "content": ""})


@pytest.fixture
def calling(suite):
    """The suite with an agent that asks a model."""
    suite.write("conftest.py", CONFTEST)
    suite.write("agent.py", AGENT)
    return suite


def run(
    suite: Suite, server: ModelServer | str, *args: str, mode: str = "baseline"
) -> pytest.RunResult:
    url = server if isinstance(server, str) else server.base_url
    return suite.run_apart(
        "--evo-runtime=caller", "--evo-model=m", f"--evo-base-url={url}", *args, mode=mode
    )


def find_phase(suite: Suite) -> tuple[dict[str, Any], dict[str, Any]]:
    [trial] = suite.journal
    return trial, trial["phases"][-1]


def test_usage_and_turns_are_what_the_server_sent_whatever_the_runtime_says(calling):
    with ModelServer(solver({"numbers": FILES})) as server:
        result = run(calling, server)
    result.assert_outcomes(passed=1)
    _, phase = find_phase(calling)
    usage, sent = phase["execution"]["usage"], server.tokens
    assert phase["execution"]["turns"] == len(server.replies) == 3
    assert usage["input_tokens"] == sent.prompt - sent.cached
    assert usage["cache_read_tokens"] == sent.cached
    assert usage["output_tokens"] == sent.completion
    assert usage["request_count"] == 3
    assert any("own usage differs" in note for note in phase["notes"])
    log = calling.session / phase["folder"] / "requests.jsonl"
    assert len(log.read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize(
    ("brain", "words"),
    [
        (faulty(500), "HTTP 500"),
        (faulty(429), "HTTP 429"),
        (faulty(401), "HTTP 401"),
        (faulty(400), "HTTP 400"),
        (play(SUM, MAX, fail(500)), "HTTP 500"),
        (play(SUM, CUT), "after 1 attempts"),
    ],
    ids=["500", "429", "401", "400", "500-after-turns", "cut"],
)
def test_a_provider_that_fails_is_no_score(calling, brain, words):
    with ModelServer(brain) as server:
        result = run(calling, server, "--evo-model-retries=0")
    result.assert_outcomes(errors=1)
    trial, _ = find_phase(calling)
    assert trial["failure"]["reason"] == "provider_error"
    assert words in trial["failure"]["detail"]


def test_a_passing_fault_costs_no_trial(calling):
    faults = iter([fail(500), fail(429, retry_after=0)])
    solve = solver({"numbers": FILES})
    with ModelServer(lambda request: next(faults, None) or solve(request)) as server:
        result = run(calling, server)
    result.assert_outcomes(passed=1)


def test_an_agent_that_never_hears_from_a_model_is_no_score(calling):
    with ModelServer(play(Reply())) as server:
        result = run(calling, server)
    result.assert_outcomes(errors=1)
    trial, _ = find_phase(calling)
    assert trial["failure"]["reason"] == "no_model_turns"


@pytest.mark.parametrize(
    ("option", "limit", "turns"),
    [("--evo-max-turns=3", "turns", 3), ("--evo-max-tokens-per-phase=4000", "tokens", 4)],
)
def test_a_looping_model_is_ended_by_a_limit_and_its_work_is_graded(calling, option, limit, turns):
    loop = [SUM, MAX, *[SUM] * 100]
    with ModelServer(play(*loop)) as server:
        result = run(calling, server, option)
    result.assert_outcomes(passed=1)
    trial, phase = find_phase(calling)
    assert (phase["execution"]["limit"], phase["execution"]["turns"]) == (limit, turns)
    assert len(server.replies) == turns
    assert trial["settings"]["replayed"] is False


def test_an_agent_that_stays_after_its_last_turn_is_ended(calling):
    with ModelServer(play(SUM, MAX, STUBBORN, SUM)) as server:
        run(calling, server, "--evo-max-turns=3")
    _, phase = find_phase(calling)
    execution = phase["execution"]
    assert (execution["limit"], execution["exit_code"]) == ("turns", None)
    assert execution["seconds"] < 15
    assert phase["grade"] is not None


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_session_is_had_again_with_the_server_down_and_without_a_key(
    calling, monkeypatch, workers
):
    calling.add_task("task_02_numbers")
    store = calling.path / "store"
    authoring = {"authoring": lambda prompt: "SKILL.md" in prompt, "skills": write_skill("adding")}
    brain = solver({"numbers": FILES}, **authoring)
    options = ("--evo-repeat=2", *workers)
    with ModelServer(brain) as server:
        run(calling, server, f"--evo-record={store}", *options, mode="all")
        first, url = calling.session, server.base_url
        asked = len(server.requests)
    assert asked == len(list(store.rglob("*.json")))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    again = run(calling, url, f"--evo-replay={store}", *options, mode="all")
    assert calling.session != first
    assert read_results(calling.session) == read_results(first)
    assert again.parseoutcomes().get("errors", 0) == 0


def read_results(session: Path) -> dict[str, Any]:
    """Return scores, turns and usage by trial and phase."""
    lines = (session / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    found = {}
    for trial in map(json.loads, lines):
        for phase in trial["phases"]:
            execution, grade = phase["execution"], phase["grade"]
            found[phase["folder"]] = (
                execution["turns"],
                execution["usage"],
                execution["status"],
                grade and grade["checks"],
            )
    return found


def test_what_is_not_stored_is_an_error_and_nobody_is_asked(calling):
    store = calling.path / "store"
    with ModelServer(solver({"numbers": FILES})) as server:
        run(calling, server, f"--evo-record={store}")
        asked = len(server.requests)
        task = calling.path / "tasks" / "task_01_numbers.md"
        text = task.read_text(encoding="utf-8").replace("Write the sum", "Put the sum")
        task.write_text(text, encoding="utf-8")
        result = run(calling, server, f"--evo-replay={store}")
        assert len(server.requests) == asked
    result.assert_outcomes(errors=1)
    trial, _ = find_phase(calling)
    assert trial["failure"]["reason"] == "harness_error"
    for words in ("replay: no stored answer", "Put the sum", "Write the sum"):
        assert words in trial["failure"]["detail"]


def test_a_server_that_is_not_there_is_no_score(calling):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    result = run(calling, url, "--evo-model-retries=1")
    result.assert_outcomes(errors=1)
    assert find_phase(calling)[0]["failure"]["reason"] == "provider_error"


def test_the_real_key_is_in_no_artifact(calling, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-and-secret-0123")
    with ModelServer(solver({"numbers": FILES})) as server:
        run(calling, server, f"--evo-record={calling.path / 'store'}")
    assert {r.headers["authorization"] for r in server.requests} == {
        "Bearer sk-real-and-secret-0123"
    }
    for folder in ("evo-results", "store"):
        for path in (calling.path / folder).rglob("*"):
            if path.is_file():
                assert b"sk-real-and-secret" not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--evo-max-turns=0",), "*--evo-max-turns: found '0', allowed a whole number from 1"),
        (("--evo-model-retries=-1",), "*--evo-model-retries: found '-1', allowed*from 0"),
        (("--evo-replay=nowhere",), "*--evo-replay: found *nowhere*, allowed a folder*"),
        (("--evo-record=a", "--evo-replay=a"), "*--evo-record, --evo-replay: found both*"),
    ],
)
def test_wrong_values_are_usage_errors(suite, arguments, message):
    result = suite.run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--collect-only", "--evo-runtime=nop"),
        ("--collect-only", "--evo-runtime=caller", "--evo-model=m", "--evo-base-url=http://localhost/v1"),
        ("--evo-runtime=oracle",),
    ],
    ids=["nop", "caller", "oracle"],
)  # fmt: skip
def test_no_http_library_is_loaded_where_no_model_is_asked(calling, arguments):
    watch = """
import sys
def pytest_unconfigure():
    print("loaded:", [name for name in ("aiohttp", "yarl") if name in sys.modules])
"""
    calling.write("conftest.py", CONFTEST + watch)
    result = calling.run_apart(*arguments)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*loaded: []"])
