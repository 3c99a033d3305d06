"""The agent ``codex`` (npm: @openai/codex): one ``codex exec`` a phase.

It speaks OpenAI's newer API alone (``/v1/responses``), so its model must be offered there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evoclaw.agent_programs import KEY_VARIABLE
from pytest_evoclaw.agent_programs import ask_version
from pytest_evoclaw.agent_programs import find_start
from pytest_evoclaw.agent_programs import give_prompt
from pytest_evoclaw.agent_programs import read_lines
from pytest_evoclaw.agent_programs import read_tail
from pytest_evoclaw.agent_programs import void
from pytest_evoclaw.chat_messages import read_arguments
from pytest_evoclaw.chat_messages import read_text
from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.node_programs import Wanted
from pytest_evoclaw.results import UNKNOWN_USAGE
from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.safe_files import walk_regular
from pytest_evoclaw.transcript import Item
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import ToolCallItem
from pytest_evoclaw.transcript import Transcript

WANTED = Wanted(
    package="@openai/codex",
    name="codex",
    node=16,
    install="install it (npm install @openai/codex) or name it: --evo-runtime-bin codex=PATH",
)
SESSIONS = "codex/sessions"
_SILENCE_MS = 3_600_000  # how long it waits for the model: longer than the task may take
# What asks other servers than the model's, and what goes on for ever without an answer.
_OFF = ("apps", "plugins", "remote_plugin", "tool_suggest", "unbounded_connection_retries")


class Codex:
    """Codex in one turn: it works until it has nothing more to do, or until time is up."""

    name = "codex"
    uses_model = True
    own_files: tuple[str, ...] = (".agents",)
    skill_folders: tuple[str, ...] = (".agents/skills",)

    def __init__(self, binary: Path | None) -> None:
        self._binary = binary
        self._start: tuple[tuple[str, ...], tuple[Path, ...]] | None = None

    def check(self) -> str:
        """Return its version."""
        return ask_version(self._find()[0], WANTED.install)

    def prepare(self, assignment: Assignment) -> Launch:
        """Write configuration and prompt; the key is in a variable, never in a file."""
        if assignment.endpoint is None:
            raise NotScored(Reason.HARNESS, "codex was started without a model")
        start, folders = self._find()
        home = assignment.folders.state / "codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(build_config(assignment.endpoint), encoding="utf-8")
        argv = (
            *(*start, "exec", "--json", "--skip-git-repo-check"),
            *("--dangerously-bypass-approvals-and-sandbox", "-"),
        )
        return Launch(
            argv=give_prompt(assignment, argv),
            variables={
                KEY_VARIABLE: assignment.endpoint.api_key,
                "CODEX_HOME": assignment.seen(home),
            },
            read_only=folders,
        )

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Read the file of its session, which grows as it works, and the end that it told."""
        told = read_lines(assignment.folders.logs, "stdout.txt")
        messages = read_messages(_read_session(assignment.folders.state))
        prompt = Message(role="user", items=(TextItem(text=assignment.prompt),))
        done = next((each for each in told if each.get("type") == "turn.completed"), None)
        usage = _read_usage(done.get("usage")) if done else UNKNOWN_USAGE
        return Account(
            transcript=Transcript((prompt, *messages)),
            usage=replace(usage, partial=ended.limit is not None),
            turns=sum(each.role == "assistant" for each in messages),
            problem=None if done else _find_problem(told, ended, assignment),
        )

    def _find(self) -> tuple[tuple[str, ...], tuple[Path, ...]]:
        if self._start is None:
            self._start = find_start(WANTED, self._binary)
        return self._start


def build_config(endpoint: Endpoint) -> str:
    """Return Codex's configuration: one model, its shell, and the workspace's skills only."""
    lines = [
        f"model = {json.dumps(endpoint.model)}",
        'model_provider = "evo"',
        "check_for_update_on_startup = false",
        'web_search = "disabled"',
        "[model_providers.evo]",
        'name = "evo"',
        f"base_url = {json.dumps(endpoint.base_url)}",
        f'env_key = "{KEY_VARIABLE}"',
        'wire_api = "responses"',
        "request_max_retries = 0",  # the gateway's policy is the one for all
        "stream_max_retries = 0",
        f"stream_idle_timeout_ms = {_SILENCE_MS}",
        "[skills.bundled]",
        "enabled = false",
        "[analytics]",
        "enabled = false",
        "[history]",
        'persistence = "none"',
        "[features]",
        *(f"{name} = false" for name in _OFF),
    ]
    return "\n".join(lines) + "\n"


def _read_session(state: Path) -> list[dict[str, Any]]:
    names = [name for name in walk_regular(state / SESSIONS, 1000) if isinstance(name, str)]
    files = sorted(name for name in names if name.endswith(".jsonl"))
    return [event for name in files for event in read_lines(state / SESSIONS, name)]


def read_messages(events: Iterable[dict[str, Any]]) -> list[Message]:
    """Return the conversation; the items of which an answer consists are one message again."""
    messages: list[Message] = []
    for event in events:
        item = event.get("payload")
        if event.get("type") != "response_item" or not isinstance(item, dict):
            continue
        if (result := _read_result(item)) is not None:
            messages.append(result)
        elif items := tuple(_read_items(item)):
            if messages and messages[-1].role == "assistant":
                messages[-1] = replace(messages[-1], items=(*messages[-1].items, *items))
            else:
                messages.append(Message(role="assistant", items=items))
    return messages


def _read_items(item: dict[str, Any]) -> Iterable[Item]:
    match item:
        case {"type": "message", "role": "assistant"}:
            yield from read_text(item.get("content"))
        case {"type": "function_call", "name": str(name)}:
            arguments = read_arguments(item.get("arguments"))
            yield ToolCallItem(id=str(item.get("call_id")), name=name, arguments=arguments)
        case {"type": "custom_tool_call", "name": str(name)}:
            arguments = {"_raw": item.get("input")}
            yield ToolCallItem(id=str(item.get("call_id")), name=name, arguments=arguments)


def _read_result(item: dict[str, Any]) -> Message | None:
    match item:
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": str(call)}:
            output = item.get("output")
            items = read_text(output.get("content") if isinstance(output, dict) else output)
            return Message(role="toolResult", items=items, tool_call_id=call)
    return None


def _read_usage(data: Any) -> Usage:
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_output_tokens")
    counts = [data.get(name) if isinstance(data, dict) else None for name in names]
    total, output, cached, reasoning = (n if isinstance(n, int) else None for n in counts)
    if total is None:
        return UNKNOWN_USAGE
    return Usage(
        input_tokens=total - (cached or 0),
        output_tokens=output,
        cache_read_tokens=cached,
        reasoning_tokens=reasoning,
        source="provider",
    )


def _find_problem(
    told: list[dict[str, Any]], ended: Ended, assignment: Assignment
) -> Problem | None:
    failed = next((each for each in told if each.get("type") == "turn.failed"), None)
    if failed is not None:
        words = f"codex: {json.dumps(failed.get('error'), ensure_ascii=False)}"
        return void(Reason.PROVIDER, words, assignment.endpoint)
    if ended.limit is None:
        words = f"codex ended with {ended.exit_code} and without a result"
        tail = read_tail(assignment.folders)
        return void(Reason.RUNTIME, f"{words}\n{tail}", assignment.endpoint)
    return None


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return Codex(settings.binary)
