"""One turn of nanobot, for nanobot's own interpreter: ``nanobot_driver.py STATE WORKSPACE``.

STATE holds ``config.json`` and ``prompt.md``. What happens is appended to ``events.jsonl`` there,
one object a line, so that a turn that is cut off has left what it did until then:

- ``asking``: the model is about to be asked
- ``call``: one attempt to ask it ended, with ``finish_reason``, ``usage``, ``status`` and ``kind``
- ``message``: an answer or the result of a tool, in the form of chat completions
- ``result``: the turn is over, with ``stop_reason`` and ``error``

Exits with 0, with 1 if the model could not be asked, with 143 if it was told to stop.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

KEY_VARIABLE = "EVO_MODEL_KEY"
LOOPBACK = "127.0.0.1,localhost,::1"


class Journal:
    """The file of events."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def write(self, event: str, **facts: Any) -> None:
        """Append one event, at once."""
        self._file.write(json.dumps({"event": event, **facts}, default=str) + "\n")
        self._file.flush()

    def write_call(self, record: Any) -> None:
        """Append what nanobot reports of one attempt."""
        self.write(
            "call",
            finish_reason=record.finish_reason,
            usage=None if record.usage is None else dataclasses.asdict(record.usage),
            status=record.error_status_code,
            kind=record.error_kind,
        )


class Recorder:
    """The part of an ``AgentHook`` that writes down new messages of the conversation."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self._written = 0

    async def before_run(self, context: Any) -> None:
        """Skip what is there before the first answer: system text and prompt."""
        self._written = len(context.messages)

    async def before_iteration(self, context: Any) -> None:
        """Say that the model is asked."""
        self._journal.write("asking")

    async def before_execute_tools(self, context: Any) -> None:
        """Write the calls before they are made, for they may never return."""
        self._write(context.messages, ())

    async def after_iteration(self, context: Any) -> None:
        """Write answers and results, but not the words that nanobot puts in place of an answer."""
        if context.error:
            self._written = len(context.messages)
        self._write(context.messages, context.tool_events)

    async def on_finally(self, context: Any) -> None:
        """Write what is left."""
        self._write(context.messages, ())

    def _write(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, str]]) -> None:
        states = iter(tools)
        for message in messages[self._written :]:
            state = next(states, {}) if message.get("role") == "tool" else {}
            content = _leave_out_data(message.get("content"))
            self._journal.write(
                "message",
                message={**message, "content": content},
                is_error=state.get("status") == "error",
            )
        self._written = max(self._written, len(messages))


def _leave_out_data(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        part if part.get("type") == "text" else {"type": "text", "text": f"[{part.get('type')}]"}
        for part in content
        if isinstance(part, dict)
    ]


async def ignore_command(command: Any) -> None:
    """Let a prompt that begins with a slash be a prompt: no command is known."""
    command.raw = ""


def refuse_download(url: str) -> bytes:
    """Stand in for tiktoken's download; without its table nanobot estimates by bytes."""
    raise OSError(f"{url} is not downloaded: only the model is asked")


def prepare_process(state: Path) -> None:
    """Keep this process off the network and off nanobot's own skills; pass variables to tools."""
    tables: Any = import_module("tiktoken.load")
    tables.read_file = refuse_download
    # By disabledSkills a skill of the same name in the workspace would be hidden too.
    skills: Any = import_module("nanobot.agent.skills")
    if not skills.BUILTIN_SKILLS_DIR.is_dir():
        raise FileNotFoundError(f"{skills.BUILTIN_SKILLS_DIR}: nanobot's own skills are elsewhere")
    skills.BUILTIN_SKILLS_DIR = state / "no-skills"
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), LOOPBACK)))
    path = state / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["tools"]["exec"]["allowedEnvKeys"] = sorted(set(os.environ) - {KEY_VARIABLE})
    path.write_text(json.dumps(config, indent=2), encoding="utf-8")
    import_module("nanobot.config.loader").set_config_path(path)


async def work(state: Path, workspace: Path, journal: Journal) -> int:
    """Give the prompt to nanobot and wait for the end of the turn."""
    bot = import_module("nanobot").Nanobot.from_config(state / "config.json", workspace=workspace)
    bot._loop.provider.set_llm_call_observer(journal.write_call)
    bot._loop.commands.dispatch = ignore_command
    hook = type("Hook", (Recorder, import_module("nanobot.agent.hook").AgentHook), {})
    prompt = (state / "prompt.md").read_bytes().decode()
    async with bot:
        result = await bot.run(prompt, session_key="evo:phase", hooks=[hook(journal)])
        journal.write("result", stop_reason=result.stop_reason, error=result.error)
    return 1 if result.stop_reason == "error" else 0


async def work_until_told(state: Path, workspace: Path, journal: Journal) -> int:
    """Work, and end tools and turn when told to stop."""
    task = asyncio.create_task(work(state, workspace, journal))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM


def main(state: Path, workspace: Path) -> int:
    """Return the exit code."""
    logger = import_module("loguru").logger
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    prepare_process(state)
    return asyncio.run(work_until_told(state, workspace, Journal(state / "events.jsonl")))


if __name__ == "__main__":
    sys.exit(main(*(Path(argument) for argument in sys.argv[1:])))
