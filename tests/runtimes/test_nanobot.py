from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

import pytest

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.environments.local import create as create_local
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.runtimes.nanobot import Nanobot
from pytest_evoclaw.runtimes.nanobot import create
from pytest_evoclaw.task import read_task
from pytest_evoclaw.workspace import create_folders
from tests.model_server import CUT
from tests.model_server import EMPTY
from tests.model_server import HANG
from tests.model_server import Brain
from tests.model_server import ModelRequest
from tests.model_server import ModelServer
from tests.model_server import Reply
from tests.model_server import always
from tests.model_server import call
from tests.model_server import fail
from tests.model_server import faulty
from tests.model_server import play
from tests.model_server import say
from tests.model_server import solver
from tests.model_server import write_skill

KEY = "sk-test-0123456789"
PROMPT = "Write the sum to `outputs/sum.json`."
FILES = {"outputs/sum.json": '{"value": 6}', "outputs/größe.txt": "größe 中文\n"}
TASK = """\
---
id: task_01_sum
name: Sum
category: arithmetic
grading_type: automated
timeout_seconds: 20
sub_problems: 1
---

## Prompt

Add.

## Expected Behavior

Adds.

## Sub-Problems

### Sub-Problem 1: sum

Add.

## Grading Criteria

- [ ] The sum is right.

## Automated Checks

```python
def grade(transcript, workspace_path):
    return {"sum": 1.0}
```
"""
WEIRD = [
    "/help",
    "/compact",
    "--no-logs -m x",
    " \t\r\nleading and trailing\r\n\t ",
    "`id` $(touch pwned) ${HOME} %s \\ \" ' ; & | < > \x00\x1b[31m 🦀 \u202e",
    "把总和写入文件。\n" * 4_500,
]


@pytest.fixture(scope="session")
def nanobot_binary() -> Path:
    found = shutil.which(os.environ.get("EVO_NANOBOT_BIN") or "nanobot")
    if found is None:
        pytest.skip("nanobot is not installed: set EVO_NANOBOT_BIN")
    return Path(found)


@pytest.fixture(scope="session")
def nanobot(nanobot_binary) -> Nanobot:
    return Nanobot(nanobot_binary)


@dataclass
class Desk:
    """Where one phase is worked on."""

    folders: Folders
    nanobot: Nanobot
    task_path: Path
    prompt: str = PROMPT
    seconds: float = 60.0
    variables: dict[str, str] = field(default_factory=dict)

    def assign(self, base_url: str | None) -> Assignment:
        url = base_url and Endpoint(model="scripted-1", base_url=base_url, api_key=KEY)
        return Assignment(
            prompt=self.prompt,
            folders=self.folders,
            environment=create_local(),
            seconds=self.seconds,
            endpoint=url or None,
            task=read_task(self.task_path, self.task_path.parent),
            mode="baseline",
            phase="execution",
            authoring=False,
        )

    def start(self, launch: Launch) -> Ended:
        return create_local().run(
            Command(
                argv=launch.argv,
                variables={**self.variables, **launch.variables},
                folders=self.folders,
                seconds=self.seconds,
            )
        )

    def work(self, base_url: str) -> tuple[Ended, Account]:
        assignment = self.assign(base_url)
        ended = self.start(self.nanobot.prepare(assignment))
        return ended, self.nanobot.read(assignment, ended)

    def read(self, events: str, **end: object) -> Account:
        """Read what a driver could have left."""
        (self.folders.state / "events.jsonl").write_text(events, encoding="utf-8")
        return self.nanobot.read(self.assign("http://127.0.0.1:9/v1"), end_with(**end))

    def file(self, name: str) -> str:
        return (self.folders.workspace / name).read_text(encoding="utf-8")


def end_with(**facts: object) -> Ended:
    return Ended(**{"exit_code": 0, "seconds": 1.0, **facts})  # type: ignore[arg-type]


@pytest.fixture
def read_desk(tmp_path: Path) -> Desk:
    """A desk at which nothing is started."""
    path = tmp_path / "task_01_sum.md"
    path.write_text(TASK, encoding="utf-8")
    folders = create_folders(tmp_path / "phase")
    return Desk(folders=folders, nanobot=Nanobot(None), task_path=path)


@pytest.fixture
def desk(read_desk: Desk, nanobot: Nanobot) -> Desk:
    read_desk.nanobot = nanobot
    return read_desk


@contextmanager
def listen() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        yield listener


def show_text(account: Account) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in account.transcript.messages]


def test_check_returns_the_version(nanobot):
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", nanobot.check())


@pytest.mark.parametrize(
    ("first_line", "message"),
    [
        (f"#!{sys.executable}", "has no nanobot-ai"),
        ("#!/usr/bin/env bash", "found '#!/usr/bin/env bash', allowed a script of Python's"),
        ("\x7fELF", "allowed a script of Python's"),
    ],
    ids=["another program", "a shell script", "a binary"],
)
def test_a_program_that_is_not_nanobot_is_a_usage_error(tmp_path, first_line, message):
    program = tmp_path / "nanobot"
    program.write_text(f"{first_line}\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(SettingsError, match=re.escape(message)):
        create(RuntimeSettings(binary=program)).check()


def test_a_link_to_the_program_is_as_good_as_the_program(nanobot_binary, tmp_path):
    (tmp_path / "nb").symlink_to(nanobot_binary)
    assert Nanobot(tmp_path / "nb").check() == Nanobot(nanobot_binary).check()


def test_it_cannot_start_without_a_model(desk):
    with pytest.raises(NotScored, match="without a model"):
        desk.nanobot.prepare(desk.assign(None))


def test_it_solves_a_task_and_tells_what_it_did(desk):
    with ModelServer(solver({"the sum": FILES})) as server:
        ended, account = desk.work(server.base_url)
    assert (ended.exit_code, ended.limit, ended.survivors) == (0, None, 0)
    assert {name: desk.file(name) for name in FILES} == FILES
    assert account.problem is None
    assert account.turns == 3
    assert [(call.name, call.arguments) for call in account.transcript.tool_calls] == [
        ("write_file", {"path": path, "content": text}) for path, text in FILES.items()
    ]
    roles = [message.role for message in account.transcript.messages]
    assert roles == ["user", *["assistant", "toolResult"] * 2, "assistant"]
    first, *_, last = show_text(account)
    assert (first, last) == (("user", PROMPT), ("assistant", "Done."))
    call_message, result = account.transcript.messages[1:3]
    assert result.tool_call_id == call_message.tool_calls[0].id
    assert (result.tool_name, result.is_error) == ("write_file", False)


def test_usage_is_what_the_server_reported_with_cached_tokens_apart(desk):
    with ModelServer(solver({"the sum": FILES}, parallel=True)) as server:
        _, account = desk.work(server.base_url)
    assert server.tokens.prompt == 2000
    assert account.usage == Usage(
        input_tokens=1200,
        output_tokens=100,
        cache_read_tokens=800,
        request_count=2,
        source="provider",
    )
    of_messages = [each.usage for each in account.transcript.messages if each.usage]
    assert Usage.total(of_messages) == account.usage


def test_usage_that_the_server_does_not_report_is_unknown_and_not_estimated(desk):
    with ModelServer(solver({"the sum": FILES}, tokens=None)) as server:
        _, account = desk.work(server.base_url)
    assert account.usage == Usage(request_count=3, source="unknown")
    assert (account.turns, account.problem) == (3, None)


def test_only_its_own_files_appear_beside_the_outputs(desk):
    with ModelServer(solver({"the sum": {}})) as server:
        desk.work(server.base_url)
    names = {path.name for path in desk.folders.workspace.iterdir()} - {"outputs"}
    assert names == set(desk.nanobot.own_files)
    assert not any(desk.folders.home.iterdir())


def test_the_request_is_the_one_that_was_ordered(desk):
    with ModelServer(always(say("Done."))) as server:
        desk.work(server.base_url)
    (request,) = server.requests
    assert (request.model, request.body["temperature"]) == ("scripted-1", 0)
    assert {"read_file", "write_file", "exec"} <= set(request.tools)
    assert not any(name.startswith(("web", "my", "cron")) for name in request.tools)


def test_skills_of_the_workspace_are_offered_and_no_others(desk):
    for name in ("skill-creator", "weather-station"):
        for path, text in write_skill(name).items():
            target = desk.folders.workspace / path
            target.parent.mkdir(parents=True)
            target.write_text(text, encoding="utf-8")
    with ModelServer(always(say("Done."))) as server:
        desk.work(server.base_url)
    listed = re.findall(r"^- \*\*(.+?)\*\*", server.requests[0].system, re.MULTILINE)
    assert sorted(listed) == ["skill-creator", "weather-station"]


@pytest.mark.parametrize("prompt", WEIRD, ids=lambda prompt: repr(prompt[:12]))
def test_a_prompt_arrives_byte_for_byte(desk, prompt):
    desk.prompt = prompt
    with ModelServer(always(say("Done."))) as server:
        _, account = desk.work(server.base_url)
    (request,) = server.requests
    assert request.prompt == prompt
    assert account.problem is None
    assert show_text(account) == [("user", prompt), ("assistant", "Done.")]
    assert not (desk.folders.workspace / "pwned").exists()


def test_the_key_is_on_no_disk_and_in_no_tool(desk):
    brain = play(call("exec", {"command": "env"}), say("Done."))
    with ModelServer(brain) as server:
        _, account = desk.work(server.base_url)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "PATH=" in account.transcript.messages[2].text
    root = desk.folders.workspace.parent
    files = [path for path in root.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_tools_get_the_variables_of_the_environment(desk):
    desk.variables = {"PASSED_ON": "yes"}
    command = 'echo "$PASSED_ON $HOME $TMPDIR"; command -v ls'
    with ModelServer(play(call("exec", {"command": command}), say("Done."))) as server:
        _, account = desk.work(server.base_url)
    result = account.transcript.messages[2].text
    assert result.startswith(f"yes {desk.folders.home} {desk.folders.tmp}\n/")


def test_broken_arguments_and_unknown_tools_go_back_to_the_model(desk):
    brain = play(call("exec", '{"command": "ech'), call("fly", {"to": "Rome"}), say("Done."))
    with ModelServer(brain) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is None
    assert [each.arguments for each in account.transcript.tool_calls] == [
        {"_raw": '{"command": "ech'},
        {"to": "Rome"},
    ]
    results = [each for each in account.transcript.messages if each.role == "toolResult"]
    assert [result.is_error for result in results] == [True, True]
    assert len(server.requests[-1].results) == 2


@pytest.mark.parametrize(
    ("brain", "words"),
    [
        (faulty(401), "Incorrect API key"),
        (faulty(429, retry_after=1), "HTTP 429"),
        (faulty(500), "HTTP 500"),
        (always(CUT), "connection"),
    ],
    ids=["401", "429", "500", "cut stream"],
)
def test_a_failing_model_voids_the_execution(desk, brain, words):
    with ModelServer(brain) as server:
        ended, account = desk.work(server.base_url)
    assert account.problem is not None
    assert account.problem.reason == "provider_error"
    assert words in account.problem.detail
    assert KEY not in account.problem.detail
    assert (ended.exit_code, account.turns) == (1, 0)
    assert account.usage == Usage()
    assert show_text(account) == [("user", PROMPT)]


def test_a_model_that_is_not_there_voids_the_execution(desk):
    with listen() as listener:
        port = listener.getsockname()[1]
    _, account = desk.work(f"http://127.0.0.1:{port}/v1")
    assert account.problem is not None
    assert account.problem.reason == "provider_error"
    assert account.turns == 0


def test_a_model_that_fails_after_some_work_voids_the_execution_and_keeps_the_usage(desk):
    brain = play(call("exec", {"command": "echo hi"}), fail(400))
    with ModelServer(brain) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is not None
    assert account.problem.reason == "provider_error"
    assert (account.turns, account.usage.output_tokens) == (1, 50)
    assert [role for role, _ in show_text(account)] == ["user", "assistant", "toolResult"]


def test_a_failure_that_is_over_at_the_next_attempt_is_no_problem(desk):
    asked: list[ModelRequest] = []

    def falter(request: ModelRequest) -> Reply:
        asked.append(request)
        return fail(503) if len(asked) == 1 else say("Done.")

    with ModelServer(falter) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is None
    assert (len(server.requests), account.turns, account.usage.output_tokens) == (2, 1, 50)


def test_only_empty_answers_void_the_execution(desk):
    with ModelServer(always(EMPTY)) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is not None
    assert account.problem.reason == "provider_error"
    assert "neither text nor a tool call" in account.problem.detail
    assert show_text(account) == [("user", PROMPT)]


def test_an_empty_answer_after_work_is_graded(desk):
    brain = play(call("write_file", {"path": "outputs/a", "content": "1"}), EMPTY)
    with ModelServer(brain) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is None
    assert desk.file("outputs/a") == "1"


def test_a_model_that_never_answers_voids_the_execution(desk):
    desk.seconds = 10.0
    with ModelServer(always(HANG)) as server:
        ended, account = desk.work(server.base_url)
    assert ended.limit == "timeout"
    assert account.problem is not None
    assert account.problem.reason == "provider_error"
    assert "no answer within 10 s" in account.problem.detail


@pytest.mark.parametrize(
    ("brain", "steps"),
    [
        (play(call("exec", {"command": "echo hi"}), HANG), ["assistant", "toolResult"]),
        (always(call("exec", {"command": "sleep 300"})), ["assistant"]),
    ],
    ids=["in the model", "in a tool"],
)
def test_an_agent_that_is_out_of_time_has_left_transcript_and_usage(
    desk, brain: Brain, steps: list[str]
):
    desk.seconds = 10.0
    with ModelServer(brain) as server:
        ended, account = desk.work(server.base_url)
    assert (ended.limit, ended.survivors) == ("timeout", 0)
    assert account.problem is None
    assert [role for role, _ in show_text(account)][1 : len(steps) + 1] == steps
    assert account.turns == 1
    assert (account.usage.output_tokens, account.usage.partial) == (50, True)


def test_nanobot_that_breaks_voids_the_execution_with_its_last_words(desk):
    with ModelServer(always(say("Done."))) as server:
        assignment = desk.assign(server.base_url)
        launch = desk.nanobot.prepare(assignment)
        (desk.folders.state / "prompt.md").unlink()
        ended = desk.start(launch)
        account = desk.nanobot.read(assignment, ended)
    assert ended.exit_code == 1
    assert account.problem is not None
    assert account.problem.reason == "runtime_failed"
    assert "FileNotFoundError" in account.problem.detail


def write_events(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


ASKING = {"event": "asking"}
ANSWER = {"event": "call", "finish_reason": "stop", "usage": None}
FAILED = {"event": "call", "finish_reason": "error", "status": 503}
CANCELLED = {"event": "call", "finish_reason": "cancelled"}
SAID = {"event": "message", "message": {"role": "assistant", "content": "hi"}}
RESULT = {"event": "result", "stop_reason": "completed", "error": None}


@pytest.mark.parametrize(
    ("events", "end", "reason"),
    [
        ([ASKING, ANSWER, SAID, RESULT], {}, None),
        ([ASKING, ANSWER, SAID], {"exit_code": 1}, "runtime_failed"),
        ([ASKING, ANSWER, SAID], {"limit": "timeout"}, None),
        ([ASKING, ANSWER, SAID, FAILED, CANCELLED], {"limit": "timeout"}, "provider_error"),
        ([ASKING, FAILED, ANSWER, SAID, CANCELLED], {"limit": "timeout"}, None),
        ([ASKING, ANSWER, SAID, FAILED], {"limit": "turns"}, None),
        ([ASKING, CANCELLED], {"limit": "timeout"}, "provider_error"),
        ([ASKING], {"limit": "output"}, "no_model_turns"),
        ([], {"limit": "timeout"}, "no_model_turns"),
        ([], {"exit_code": 2}, "runtime_failed"),
        ([RESULT], {}, "no_model_turns"),
    ],
    ids=[
        "answered",
        "broke after an answer",
        "out of time after an answer",
        "out of time after a failure",
        "out of time after a failure that was made good",
        "another limit after a failure",
        "out of time without an answer",
        "another limit without an answer",
        "out of time before it asked",
        "broke at once",
        "ended without asking",
    ],
)
def test_what_voids_an_execution(read_desk, events, end, reason):
    account = read_desk.read(write_events(*events), **end)
    assert (account.problem and account.problem.reason) == reason


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "7",
        "[" * 100_000,
        '{"event": "call"}',
        '{"event": "call", "usage": {"input_tokens": "many", "cache_read_tokens": []}}',
        '{"event": "message"}',
        '{"event": "message", "message": {"role": "assistant", "tool_calls": [7, {}]}}',
        '{"event": "message", "message": {"role": ["user"], "content": 7}}',
        '{"event": ["result"]}',
    ],
    ids=lambda line: line[:60],
)
def test_events_of_any_shape_are_read_as_far_as_they_are_known(read_desk, line):
    account = read_desk.read(f"{line}\n{write_events(ASKING, ANSWER, SAID, RESULT)}{line}")
    assert account.problem is None
    assert ("assistant", "hi") in show_text(account)


@pytest.mark.parametrize(
    "put",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")],
    ids=["folder", "fifo", "link"],
)
def test_events_that_are_no_file_void_the_execution(read_desk, put: Callable[[Path], None]):
    put(read_desk.folders.state / "events.jsonl")
    assignment = read_desk.assign("http://127.0.0.1:9/v1")
    account = read_desk.nanobot.read(assignment, end_with())
    assert account.problem is not None
    assert account.problem.reason == "runtime_failed"
    assert "not a regular file" in account.problem.detail
