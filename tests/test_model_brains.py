"""Agents of five dialects, each with its own tools, ask the solver over HTTP until it is done."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request
from urllib.request import urlopen

import pytest

from pytest_evoclaw import preambles
from tests.model_brains import PIECE
from tests.model_server import ModelServer
from tests.model_server import Solver
from tests.model_server import break_arguments
from tests.model_server import call_unknown_tool
from tests.model_server import fail
from tests.model_server import offers_skill
from tests.model_server import say
from tests.model_server import sequence
from tests.model_server import wants_skill
from tests.model_server import write_skill

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
FILES: dict[str, str | bytes] = {
    "outputs/plain.json": '{"größe": "1 %", "quote": "it\'s $HOME `x` \\\\"}\n',
    "outputs/deep er/empty.txt": "",
    "outputs/lines.csv": "a,b\r\n1,2\r\n",
    "outputs/marked.csv": "\ufeffa;b\n",
    "outputs/book.xlsx": bytes(range(256)) * 500,
}
Done = tuple[str, dict[str, Any]]  # the name and the arguments of a call that was made


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one agent asks: its API, the parameters of its tools by name, its system text."""

    api: str
    tools: Mapping[str, Mapping[str, Any]]
    system: str = "Be brief."


TEXT = {"type": "string"}
DIALECTS = {
    "nanobot": Dialect(
        api="chat",
        tools={
            "exec": {"command": TEXT, "working_dir": TEXT},
            "read_file": {"path": TEXT},
            "write_file": {"path": TEXT, "content": TEXT},
        },
    ),
    "openclaw": Dialect(
        api="chat",
        tools={
            "read": {"path": TEXT},
            "write": {"path": TEXT, "content": TEXT},
            "exec": {"command": TEXT},
        },
    ),
    "codex": Dialect(api="responses", tools={"exec_command": {"cmd": TEXT}}),
    "codex-old": Dialect(api="responses", tools={"shell": {"command": {"type": "array"}}}),
    "claude-code": Dialect(
        api="messages",
        tools={
            "Bash": {"command": TEXT},
            "Read": {"file_path": TEXT},
            "Write": {"file_path": TEXT, "content": TEXT},
        },
        system="# Environment\n - Primary working directory: FOLDER\n - Platform: linux",
    ),
    "mini": Dialect(api="chat", tools={"bash": {"command": TEXT}}, system=f"End with `{SUBMIT}`."),
}
PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}


class Agent:
    """Asks, does what it is told in its folder, and asks again, until it is told nothing."""

    def __init__(self, dialect: Dialect, folder: Path, url: str) -> None:
        self.dialect = dialect
        self.folder = folder
        self.url = url + PATHS[dialect.api]
        self.done: list[Done] = []
        self.said = ""

    def work(self, prompt: str) -> None:
        history: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        for _ in range(40):
            data = json.dumps(self._build_body(history)).encode()
            with urlopen(Request(self.url, data=data), timeout=20) as response:
                answer = json.load(response)
            if not self._follow(answer, history) or self._has_submitted():
                return
        raise AssertionError(f"not done after 40 answers: {self.done[-3:]}")

    def _build_body(self, history: list[dict[str, Any]]) -> dict[str, Any]:
        system = self.dialect.system.replace("FOLDER", str(self.folder))
        schemas = [
            (name, {"type": "object", "properties": properties})
            for name, properties in self.dialect.tools.items()
        ]
        match self.dialect.api:
            case "chat":
                facts = [{"name": name, "parameters": schema} for name, schema in schemas]
                tools = [{"type": "function", "function": each} for each in facts]
                messages = [{"role": "system", "content": system}, *history]
                return {"model": "m", "messages": messages, "tools": tools}
            case "responses":
                tools = [{"type": "function", "name": n, "parameters": s} for n, s in schemas]
                return {"model": "m", "instructions": system, "input": history, "tools": tools}
            case _:
                tools = [{"name": name, "input_schema": schema} for name, schema in schemas]
                return {"model": "m", "system": system, "messages": history, "tools": tools}

    def _follow(self, answer: dict[str, Any], history: list[dict[str, Any]]) -> bool:
        """Make the calls of an answer and add it, with their results; return if there were any."""
        match self.dialect.api:
            case "chat":
                message = answer["choices"][0]["message"]
                self.said = message["content"]
                calls = message.get("tool_calls", [])
                history.append(message)
                for one in calls:
                    result = self._call(one["function"]["name"], one["function"]["arguments"])
                    history.append({"role": "tool", "tool_call_id": one["id"], "content": result})
            case "responses":
                calls = [item for item in answer["output"] if item["type"] == "function_call"]
                self.said = answer["output"][0].get("content", [{"text": ""}])[0]["text"]
                for one in calls:
                    result = self._call(one["name"], one["arguments"])
                    facts = {"call_id": one["call_id"], "output": result}
                    history += [one, {"type": "function_call_output", **facts}]
            case _:
                calls = [part for part in answer["content"] if part["type"] == "tool_use"]
                self.said = "".join(part.get("text", "") for part in answer["content"])
                history.append({"role": "assistant", "content": answer["content"]})
                for one in calls:
                    result = self._call(one["name"], json.dumps(one["input"]))
                    facts = {"tool_use_id": one["id"], "content": result}
                    history.append({"role": "user", "content": [{"type": "tool_result", **facts}]})
        return bool(calls)

    def _call(self, name: str, text: str) -> str:
        try:
            arguments = json.loads(text)
        except ValueError:
            return "Error: these arguments are no JSON"
        if not arguments or set(arguments) - set(self.dialect.tools.get(name, {})):
            return f"Error: no tool {name} with {sorted(arguments)}"
        self.done.append((name, arguments))
        if (words := arguments.get("command", arguments.get("cmd"))) is not None:
            argv = words if isinstance(words, list) else ["bash", "-c", words]
            ended = subprocess.run(
                argv, cwd=self.folder, capture_output=True, check=True, timeout=20
            )
            output: str = ended.stdout.decode()
            return output
        path: Path = self.folder / arguments.get("path", arguments.get("file_path"))
        if "content" not in arguments:
            return path.read_text(encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(arguments["content"], encoding="utf-8")  # ends of lines: as tools may do
        return "written"

    def _has_submitted(self) -> bool:
        return bool(self.done) and SUBMIT in self.done[-1][1].values()


def find_files(prompt: str) -> Mapping[str, str | bytes]:
    return FILES if "Make five files" in prompt else {}


@pytest.fixture(params=DIALECTS)
def dialect(request):
    return DIALECTS[request.param]


def test_every_agent_is_led_to_the_files_byte_for_byte(dialect, tmp_path):
    with ModelServer(Solver(files=find_files)) as server:
        agent = Agent(dialect, tmp_path, server.base_url)
        agent.work("Make five files")
    wanted = {
        path: data if isinstance(data, bytes) else data.encode() for path, data in FILES.items()
    }
    assert {path: (tmp_path / path).read_bytes() for path in wanted} == wanted
    assert agent.said == "Done." or agent.done[-1] == ("bash", {"command": SUBMIT})
    names = {name for name, _ in agent.done}
    assert names == {tool for tool in dialect.tools if not tool.lower().startswith("read")}


def test_every_agent_writes_a_skill_where_one_is_wanted_and_reads_it_where_one_is_there(
    dialect, tmp_path
):
    skill = write_skill("five-files", "Make them, one after the other.")
    brain = Solver(
        files=find_files, skills=skill, authoring=wants_skill, reading=offers_skill, parallel=False
    )
    with ModelServer(brain) as server:
        author = Agent(dialect, tmp_path, server.base_url)
        author.work(preambles.assemble_prompt(preambles.AUTHOR, "Make five files"))
        written = [path for path in tmp_path.rglob("*") if path.is_file()]
        user = Agent(dialect, tmp_path, server.base_url)
        user.work(preambles.assemble_prompt(preambles.REUSE, "Make five files"))
        results = server.requests[-1].results
    (path, text) = skill.popitem()
    assert written == [tmp_path / path]
    assert "SKILL.md" in str(user.done[0])
    assert "SKILL.md" not in str(user.done[1:])
    assert results[0] == text
    assert (tmp_path / "outputs/plain.json").is_file()


def test_calls_of_a_kind_that_fails_are_made_up_for(dialect, tmp_path):
    brain = sequence(call_unknown_tool, break_arguments, Solver(files=find_files))
    with ModelServer(brain) as server:
        agent = Agent(dialect, tmp_path, server.base_url)
        agent.work("Make five files")
        results = server.requests[2].results
    assert [result[:5] for result in results] == ["Error", "Error"]
    assert all((tmp_path / path).is_file() for path in FILES)


def test_a_large_file_goes_through_a_shell_in_pieces_that_linux_takes(tmp_path):
    data = bytes(range(251)) * (3 * PIECE // 251)
    with ModelServer(Solver(files={"": {"big.bin": data}})) as server:
        agent = Agent(DIALECTS["codex"], tmp_path, server.base_url)
        agent.work("Go")
    assert len(agent.done) == 3
    assert (tmp_path / "big.bin").read_bytes() == data


def test_an_agent_that_offers_no_tools_is_told_that_all_is_done(tmp_path):
    with ModelServer(Solver(files=find_files)) as server:
        agent = Agent(Dialect(api="messages", tools={}), tmp_path, server.base_url)
        agent.work("Make five files")
    assert (agent.said, agent.done) == ("Done.", [])


@pytest.mark.parametrize(
    ("preamble", "wanted", "offered"),
    [
        (preambles.BASELINE, False, False),
        (preambles.AUTHOR, True, False),
        (preambles.SUMMARY, True, False),
        (preambles.REUSE, False, True),
    ],
    ids=["baseline", "author", "summary", "reuse"],
)
def test_phases_are_told_apart_by_their_preambles(preamble, wanted, offered):
    prompt = f"[Mon 12:00] {preambles.assemble_prompt(preamble, 'Add.')} (runtime: x)"
    assert (wants_skill(prompt), offers_skill(prompt)) == (wanted, offered)


def test_a_sequence_goes_on_by_the_request_whoever_asks():
    brain = sequence(fail(500), fail(429, retry_after=0), lambda request: say(request.model))
    with ModelServer(brain) as server:
        request = Request(f"{server.base_url}/messages", data=b'{"model": "m", "messages": []}')
        for _ in range(2):
            with pytest.raises(OSError, match="HTTP Error"):
                urlopen(request, timeout=20)
        with urlopen(request, timeout=20) as response:
            assert json.load(response)["content"][0]["text"] == "m"
    assert [reply.status for reply in server.replies] == [500, 429, 200]
