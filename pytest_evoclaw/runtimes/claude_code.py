"""The agent ``claude-code`` (npm: @anthropic-ai/claude-code): one ``claude -p`` a phase.

It speaks Anthropic's API alone (``/v1/messages``), so its model must be offered there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evoclaw.agent_programs import ask_version
from pytest_evoclaw.agent_programs import find_start
from pytest_evoclaw.agent_programs import give_prompt
from pytest_evoclaw.agent_programs import read_lines
from pytest_evoclaw.agent_programs import read_tail
from pytest_evoclaw.agent_programs import void
from pytest_evoclaw.chat_messages import read_text
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
from pytest_evoclaw.transcript import Item
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import ToolCallItem
from pytest_evoclaw.transcript import Transcript

WANTED = Wanted(
    package="@anthropic-ai/claude-code",
    name="claude",
    node=22,
    install=(
        "install it (npm install @anthropic-ai/claude-code) or name it: "
        "--evo-runtime-bin claude-code=PATH"
    ),
)
# What is its own beside the workspace's skills, and what asks other servers than the model's.
VARIABLES = {
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
    "CLAUDE_CODE_DISABLE_CRON": "1",
    "CLAUDE_CODE_DISABLE_FEATURE_FLAGS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_WORKFLOWS": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # the gateway's policy is the one for all
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "IS_SANDBOX": "1",  # it refuses to work without questions as root otherwise
}
SETTINGS = {
    "attribution": {"commit": "", "pr": ""},
    "autoMemoryEnabled": False,
    "enabledPlugins": {
        "cc-plugin-plugin-authoring@builtin": False,
        "cc-plugin-mods-guide@builtin": False,
    },
}
_WITHOUT = ("WebFetch", "WebSearch")


class ClaudeCode:
    """Claude Code in one turn: it works until it has nothing more to do, or until time is up."""

    name = "claude-code"
    uses_model = True
    own_files: tuple[str, ...] = (".claude",)
    skill_folders: tuple[str, ...] = (".claude/skills",)

    def __init__(self, binary: Path | None) -> None:
        self._binary = binary
        self._start: tuple[tuple[str, ...], tuple[Path, ...]] | None = None

    def check(self) -> str:
        """Return its version."""
        return ask_version(self._find()[0], WANTED.install)

    def prepare(self, assignment: Assignment) -> Launch:
        """Write settings and prompt; the key is in a variable, never in a file."""
        if assignment.endpoint is None:
            raise NotScored(Reason.HARNESS, "claude-code was started without a model")
        start, folders = self._find()
        settings = assignment.folders.state / "settings.json"
        settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
        argv = (
            *(*start, "-p", "--output-format", "stream-json", "--verbose"),
            *("--model", assignment.endpoint.model, "--dangerously-skip-permissions"),
            *("--strict-mcp-config", "--settings", assignment.seen(settings)),
            *("--disallowedTools", *_WITHOUT),
        )
        return Launch(
            argv=give_prompt(assignment, argv),
            variables={
                **VARIABLES,
                "ANTHROPIC_API_KEY": assignment.endpoint.api_key,
                "ANTHROPIC_BASE_URL": assignment.endpoint.base_url.removesuffix("/v1"),
                "ANTHROPIC_SMALL_FAST_MODEL": assignment.endpoint.model,
                "CLAUDE_CONFIG_DIR": assignment.seen(assignment.folders.state / "claude"),
            },
            read_only=folders,
        )

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Read what it told on stdout while it worked."""
        events = read_lines(assignment.folders.logs, "stdout.txt")
        result = next((each for each in events if each.get("type") == "result"), None)
        prompt = Message(role="user", items=(TextItem(text=assignment.prompt),))
        messages = read_messages(events)
        usage = _read_usage(result.get("usage")) if result else UNKNOWN_USAGE
        return Account(
            transcript=Transcript((prompt, *messages)),
            usage=replace(usage, partial=ended.limit is not None),
            turns=sum(each.role == "assistant" for each in messages),
            problem=_find_problem(result, ended, assignment),
        )

    def _find(self) -> tuple[tuple[str, ...], tuple[Path, ...]]:
        if self._start is None:
            self._start = find_start(WANTED, self._binary)
        return self._start


def read_messages(events: Iterable[dict[str, Any]]) -> list[Message]:
    """Return the conversation; the pieces in which an answer comes are one message again."""
    messages: list[Message] = []
    last = None
    for event in events:
        message = event.get("message")
        if event.get("type") not in ("assistant", "user") or not isinstance(message, dict):
            continue
        content = message.get("content")
        if event["type"] == "user":
            messages.extend(_read_results(content))
        elif message.get("model") != "<synthetic>":  # its own words about an error
            items = tuple(_read_items(content))
            if message.get("id") == last and messages and messages[-1].role == "assistant":
                messages[-1] = replace(messages[-1], items=(*messages[-1].items, *items))
            else:
                messages.append(Message(role="assistant", items=items))
            last = message.get("id")
    return messages


def _read_items(content: Any) -> Iterable[Item]:
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "text", "text": str(text)}:
                yield TextItem(text=text)
            case {"type": "tool_use", "name": str(name)}:
                given = part.get("input")
                arguments = given if isinstance(given, dict) else {"_raw": given}
                yield ToolCallItem(id=str(part.get("id", "")), name=name, arguments=arguments)


def _read_results(content: Any) -> Iterable[Message]:
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "tool_result", "tool_use_id": str(identifier)}:
                yield Message(
                    role="toolResult",
                    items=read_text(part.get("content")),
                    tool_call_id=identifier,
                    is_error=part.get("is_error") is True,
                )


def _read_usage(data: Any) -> Usage:
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    )
    counts = [data.get(name) if isinstance(data, dict) else None for name in names]
    known = [count if isinstance(count, int) else None for count in counts]
    if not any(known):
        return UNKNOWN_USAGE
    return Usage(
        input_tokens=known[0],
        output_tokens=known[1],
        cache_read_tokens=known[2],
        cache_write_tokens=known[3],
        source="provider",
    )


def _find_problem(
    result: dict[str, Any] | None, ended: Ended, assignment: Assignment
) -> Problem | None:
    if result is not None and result.get("is_error") is True:
        words = f"claude-code: {result.get('terminal_reason')}: {result.get('result')}"
        return void(Reason.PROVIDER, words, assignment.endpoint)
    if result is None and ended.limit is None:
        words = f"claude-code ended with {ended.exit_code} and without a result"
        tail = read_tail(assignment.folders)
        return void(Reason.RUNTIME, f"{words}\n{tail}", assignment.endpoint)
    return None


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return ClaudeCode(settings.binary)
