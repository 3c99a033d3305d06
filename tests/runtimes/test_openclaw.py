"""The real OpenClaw. One start takes seconds, so that a test looks at all that one start shows."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

import pytest

from pytest_evoclaw.drivers import reaper
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
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.runtimes.openclaw import Openclaw
from pytest_evoclaw.runtimes.openclaw import create
from pytest_evoclaw.task import read_task
from pytest_evoclaw.workspace import create_folders
from tests.model_brains import always
from tests.model_brains import faulty
from tests.model_brains import play
from tests.model_brains import solver
from tests.model_brains import write_skill
from tests.model_server import ModelServer
from tests.model_talk import HANG
from tests.model_talk import Call
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.runtimes.test_nanobot import TASK

KEY = "sk-test-0123456789"
PROMPT = "Write the sum to `outputs/sum.json`."
FILES = {"outputs/sum.json": '{"value": 6}', "outputs/größe.txt": "größe 中文\n" * 200}
WEIRD = (
    "/compact $(touch pwned) `id` ${HOME} %s {x} \\ \" ' ; & | < > 🦀 \u202e\r\n \t\n"
    + "把总和写入文件。\n" * 4_500
    + "  the end \n\n"
)


def call(name: str, arguments: dict[str, str] | str) -> Reply:
    return Reply(calls=(Call(name=name, arguments=arguments),))


@pytest.fixture(scope="session")
def openclaw_binary() -> Path:
    found = shutil.which(os.environ.get("EVO_OPENCLAW_BIN") or "openclaw")
    if found is None:
        pytest.skip("openclaw is not installed: set EVO_OPENCLAW_BIN")
    return Path(found)


@pytest.fixture(scope="session")
def openclaw(openclaw_binary) -> Openclaw:
    return Openclaw(openclaw_binary)


@dataclass
class Desk:
    """Where one phase is worked on."""

    folders: Folders
    openclaw: Openclaw
    task_path: Path
    prompt: str = PROMPT
    seconds: float = 240.0
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

    def work(self, base_url: str) -> tuple[Ended, Account]:
        assignment = self.assign(base_url)
        launch = self.openclaw.prepare(assignment)
        ended = create_local().run(
            Command(
                argv=launch.argv,
                variables={**self.variables, **launch.variables},
                folders=self.folders,
                seconds=self.seconds,
            )
        )
        return ended, self.openclaw.read(assignment, ended)

    def put(self, files: dict[str, str], root: Path | None = None) -> None:
        for name, text in files.items():
            path = (root or self.folders.workspace) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def file(self, name: str) -> str:
        return (self.folders.workspace / name).read_text(encoding="utf-8")


@pytest.fixture
def desk(tmp_path: Path, openclaw: Openclaw) -> Desk:
    path = tmp_path / "task_01_sum.md"
    path.write_text(TASK, encoding="utf-8")
    folders = create_folders(tmp_path / "a phase with spaces")
    return Desk(folders=folders, openclaw=openclaw, task_path=path)


def list_calls(server: ModelServer) -> list[tuple[str, object]]:
    return [
        (each.name, each.arguments)
        for reply in server.replies
        if reply.status == 200
        for each in reply.calls
    ]


def read_users(request: ModelRequest) -> list[object]:
    return [each["content"] for each in request.body["messages"] if each["role"] == "user"]


def test_check_returns_both_versions(openclaw):
    assert re.fullmatch(r"\d{4}\.\d+\.\d+\S* \(node \d+\.\d+\.\d+\)", openclaw.check())


def test_npm_s_prefix_names_the_program_too(openclaw, openclaw_binary):
    prefix = next(
        each.parent for each in openclaw_binary.resolve().parents if each.name == "node_modules"
    )
    assert Openclaw(prefix).check() == openclaw.check()


def test_a_missing_program_is_a_usage_error_that_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NPM_CONFIG_PREFIX", raising=False)
    with pytest.raises(SettingsError, match=r"found no program 'openclaw' on PATH: install both"):
        create(RuntimeSettings()).check()


def test_a_program_that_is_not_openclaw_is_a_usage_error(tmp_path):
    program = tmp_path / "openclaw"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="found no package 'openclaw' around"):
        create(RuntimeSettings(binary=program)).check()


def test_an_old_node_is_a_usage_error_that_says_what_was_found(monkeypatch, tmp_path):
    package = tmp_path / "node_modules/openclaw"
    package.mkdir(parents=True)
    manifest = json.dumps({"name": "openclaw", "version": "2026.9.6"})
    (package / "package.json").write_text(manifest, encoding="utf-8")
    (package / "openclaw.mjs").write_text("", encoding="utf-8")
    node = tmp_path / "bin/node"
    node.parent.mkdir()
    node.write_text(f'#!/bin/sh\necho \'["20.1.0", "{node}"]\'\n', encoding="utf-8")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", f"{node.parent}:/usr/bin:/bin")
    monkeypatch.setattr("pytest_evoclaw.node_programs.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"bin/node 20\.1\.0.*allowed 24 and later: install"):
        create(RuntimeSettings(binary=package / "openclaw.mjs")).check()


def test_it_cannot_start_without_a_model(desk):
    with pytest.raises(NotScored, match="without a model"):
        desk.openclaw.prepare(desk.assign(None))


def test_it_solves_a_task_and_tells_what_it_did(desk):
    with ModelServer(solver({"the sum": FILES})) as server:
        ended, account = desk.work(server.base_url)
    assert (ended.exit_code, ended.limit, ended.survivors) == (0, None, 0)
    assert account.problem is None
    assert {name: desk.file(name) for name in FILES} == FILES
    calls = account.transcript.tool_calls
    assert [(each.name, each.arguments) for each in calls] == list_calls(server)
    roles = [message.role for message in account.transcript.messages]
    assert roles == ["user", *["assistant", "toolResult"] * 2, "assistant"]
    assert account.transcript.messages[0].text == PROMPT
    assert account.transcript.messages[-1].text == "Done."
    # The second call is so long that its event is stored compressed.
    assert account.transcript.messages[4].tool_call_id == calls[1].id
    assert account.turns == 3
    assert account.usage == Usage(
        input_tokens=1800,
        output_tokens=150,
        cache_read_tokens=1200,
        cache_write_tokens=0,
        request_count=3,
        source="provider",
    )
    each_own = Usage.total(each.usage for each in account.transcript.messages if each.usage)
    assert each_own == account.usage
    names = {path.name for path in desk.folders.workspace.iterdir()}
    assert names - set(desk.openclaw.own_files) == {"outputs"}


def test_only_the_workspace_s_skills_are_offered_and_the_prompt_is_all_there(desk):
    desk.prompt = WEIRD
    desk.put(write_skill("weather-station"))
    for place in (".openclaw", ".agents", ".claude"):
        desk.put(
            {f"{place}/{path}": text for path, text in write_skill("homely").items()},
            desk.folders.home,
        )
    command = "cat skills/weather-station/SKILL.md; env"
    with ModelServer(play(call("exec", {"command": command}), Reply(text="Done."))) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is None
    request = server.requests[0]
    listed = re.findall(r"<name>(.*?)</name>", request.system)
    assert listed == ["weather-station"]
    assert "homely" not in json.dumps(request.body)
    assert any(isinstance(each, str) and WEIRD in each for each in read_users(request))
    assert account.transcript.messages[0].text == WEIRD
    assert not (desk.folders.workspace / "pwned").exists()
    assert {"read", "write", "exec"} <= set(request.tools)
    assert not any(name.startswith(("web", "browser", "cron")) for name in request.tools)
    assert "Read, then write." in server.requests[1].results[0]
    files = [path for path in desk.folders.workspace.parent.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_it_writes_a_skill_when_it_is_asked_to(desk):
    desk.prompt = "Author a skill for sums."
    skill = write_skill("adding")
    brain = solver({"sum": FILES}, skills=skill, authoring=lambda prompt: "Author" in prompt)
    with ModelServer(brain) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is None
    assert desk.file("skills/adding/SKILL.md") == skill["skills/adding/SKILL.md"]


def test_a_call_of_a_tool_that_it_does_not_have_is_in_the_transcript(desk):
    with ModelServer(play(call("fly", {"to": "Rome"}), Reply(text="Done."))) as server:
        _, account = desk.work(server.base_url)
    assert (account.problem, account.turns) == (None, len(server.requests))
    assert [each.name for each in account.transcript.tool_calls] == ["fly"]
    assert account.usage.output_tokens == 50 * len(server.requests)


def test_calls_that_cannot_be_read_are_the_agent_s_own_failure(desk):
    with ModelServer(always(call("exec", '{"command": "ech'))) as server:
        ended, account = desk.work(server.base_url)
    assert ended.exit_code == 1
    assert account.problem is None
    assert account.turns == len(server.requests)


def test_a_model_that_refuses_the_key_voids_the_execution(desk):
    with ModelServer(faulty(401)) as server:
        _, account = desk.work(server.base_url)
    assert account.problem is not None
    assert account.problem.reason == "provider_error"
    assert "401" in account.problem.detail
    assert KEY not in account.problem.detail
    assert (account.turns, account.usage.output_tokens, len(server.requests)) == (0, None, 1)


def test_time_ends_a_hanging_model_and_everything_that_was_started(desk):
    desk.seconds = 90  # a start alone may take 30 s on a busy machine
    command = "sleep 987654 & echo started"
    with ModelServer(play(call("exec", {"command": command}), HANG)) as server:
        ended, account = desk.work(server.base_url)
    assert (ended.limit, ended.exit_code) == ("timeout", None)
    assert account.problem is None
    assert (account.turns, account.usage.output_tokens, account.usage.partial) == (1, 50, True)
    assert [each.name for each in account.transcript.tool_calls] == ["exec"]
    words = [Path(f"/proc/{pid}/cmdline") for pid in reaper.list_pids()]
    left = [each.read_bytes() for each in words if each.exists()]
    assert not [each for each in left if b"987654" in each]
    assert not [each for each in left if str(desk.folders.state).encode() in each]


def read_left(desk: Desk, stdout: str, **end: object) -> Account:
    """Read what OpenClaw could have left."""
    folders = desk.folders
    folders.logs.mkdir(exist_ok=True)
    (folders.logs / "stdout.txt").write_text(stdout, encoding="utf-8")
    (folders.logs / "stderr.txt").write_text("words on stderr", encoding="utf-8")
    facts = {"exit_code": 1, "seconds": 9.0, **end}
    return desk.openclaw.read(desk.assign("http://127.0.0.1:9/v1"), Ended(**facts))  # type: ignore[arg-type]


def write_envelope(status: str, kind: str, **more: object) -> str:
    error = {"kind": kind, "message": f"words about {kind}"}
    return json.dumps({"status": status, "error": error, **more})


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        ("timeout", "timeout", "provider_error"),
        ("error", "exception", "runtime_failed"),
        ("error", "agent_error", "runtime_failed"),
        ("error", "incomplete_turn", None),
        ("error", "fallback_exhausted", None),
        ("error", "context_overflow", None),
        ("error", "error_payload", None),
    ],
)
def test_the_kind_of_error_decides_and_not_the_exit_code(desk, status, kind, reason):
    account = read_left(desk, write_envelope(status, kind, assistantTurns=2))
    assert (account.problem and account.problem.reason) == reason
    assert account.turns == 2


@pytest.mark.parametrize("stdout", ["", "[]", "{", "[" * 100_000, "Segmentation fault"])
def test_an_end_without_a_result_is_the_runtime_s_failure(desk, stdout):
    account = read_left(desk, stdout, exit_code=139)
    assert account.problem is not None
    assert account.problem.reason == "runtime_failed"
    assert "ended with 139" in account.problem.detail
    assert "words on stderr" in account.problem.detail


def test_no_answer_until_time_is_up_is_the_provider_s_failure(desk):
    account = read_left(desk, "", exit_code=None, limit="timeout")
    assert account.problem is not None
    assert account.problem.reason == "provider_error"


def test_a_store_that_is_a_trap_is_the_runtime_s_failure(desk):
    path = desk.folders.state / "agents/main/agent/openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1000)
    account = read_left(desk, write_envelope("ok", ""))
    assert account.problem is not None
    assert account.problem.reason == "runtime_failed"
