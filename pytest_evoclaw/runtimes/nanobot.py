"""The agent ``nanobot`` (PyPI: nanobot-ai), one process a phase, through its Python interface.

Its command line exits with 0 when the model cannot be asked, and leaves children behind when it is
ended; a driver in nanobot's own interpreter does neither, and tells of each call as it happens.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evoclaw import drivers
from pytest_evoclaw.chat_messages import read_message
from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.safe_files import MissingFile
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import read_regular
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import Transcript

DRIVER = Path(drivers.__file__).with_name("nanobot_driver.py")
KEY_VARIABLE = "EVO_MODEL_KEY"
EVENTS_BYTES = 100_000_000
INSTALL = "install it (pip install nanobot-ai) or name it: --evo-runtime-bin nanobot=PATH"
_PROBE = """\
import importlib.metadata, importlib.util, json, sys
print(json.dumps({
    "version": importlib.metadata.version("nanobot-ai"),
    "interface": importlib.util.find_spec("nanobot.llm_usage.models") is not None,
    "folders": [sys.prefix, sys.base_prefix],
}))
"""


class Nanobot:
    """nanobot in one turn: it works until it has nothing more to do, or until time is up."""

    name = "nanobot"
    uses_model = True
    own_files: tuple[str, ...] = (".nanobot", "memory")
    skill_folders: tuple[str, ...] = ()

    def __init__(self, binary: Path | None) -> None:
        self._binary = binary
        self._installation: _Installation | None = None

    def check(self) -> str:
        """Return the version of nanobot-ai."""
        return self._find().version

    def prepare(self, assignment: Assignment) -> Launch:
        """Write configuration and prompt; the key is in a variable, never in a file."""
        if assignment.endpoint is None:
            raise NotScored(Reason.HARNESS, "nanobot was started without a model")
        installation = self._find()
        folders = assignment.folders
        config = json.dumps(build_config(assignment.endpoint), indent=2)
        (folders.state / "config.json").write_text(config, encoding="utf-8")
        prompt = assignment.prompt.encode("utf-8", "backslashreplace")
        (folders.state / "prompt.md").write_bytes(prompt)
        paths = (assignment.seen(folders.state), assignment.seen(folders.workspace))
        return Launch(
            argv=(str(installation.python), "-I", "-X", "utf8", str(DRIVER), *paths),
            variables={KEY_VARIABLE: assignment.endpoint.api_key},
            read_only=(DRIVER, *installation.folders),
        )

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Read the driver's events; usage is what the model's server reported."""
        try:
            log = _Log.of(_read_events(assignment.folders))
        except UnsafeFile as error:
            log = _Log()
            problem: Problem | None = _void(Reason.RUNTIME, f"nanobot's events: {error.reason}")
        else:
            problem = _find_problem(log, ended, assignment.folders)
        if problem is not None and assignment.endpoint is not None:
            problem = replace(problem, detail=_hide(problem.detail, assignment.endpoint.api_key))
        prompt = Message(role="user", items=(TextItem(text=assignment.prompt),))
        cut_off = ended.limit is not None or log.result is None
        return Account(
            transcript=Transcript((prompt, *log.messages)),
            usage=replace(Usage.total(log.usages), partial=cut_off),
            turns=len(log.usages),
            problem=problem,
        )

    def _find(self) -> _Installation:
        if self._installation is None:
            self._installation = _find_installation(self._binary)
        return self._installation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installation:
    """Where nanobot is: its interpreter, and the folders that it must be able to read."""

    version: str
    python: Path
    folders: tuple[Path, ...]


def _find_installation(binary: Path | None) -> _Installation:
    found = shutil.which(binary or "nanobot")
    if found is None:
        raise SettingsError(f"found no program {str(binary or 'nanobot')!r}: {INSTALL}")
    python = _find_python(Path(found))
    probe = [str(python), "-I", "-c", _PROBE]
    try:
        words = subprocess.run(probe, capture_output=True, check=True, timeout=60).stdout
        facts = json.loads(words)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise SettingsError(f"{found}: {python} has no nanobot-ai ({error}): {INSTALL}") from error
    if not facts["interface"]:
        version = facts["version"]
        raise SettingsError(f"{found}: found nanobot-ai {version}, allowed 0.3.5 and later")
    folders = tuple(Path(folder) for folder in dict.fromkeys(facts["folders"]))
    return _Installation(version=facts["version"], python=python, folders=folders)


def _find_python(script: Path) -> Path:
    """Return the interpreter in the first line of a console script, or the one beside it."""
    with script.open("rb") as file:
        line = file.readline(1000).decode("utf-8", "replace").strip()
    named = Path(line.removeprefix("#!").strip())
    beside = script.resolve().parent / "python"
    for python in (named, beside):
        if python.name.startswith("python") and python.is_absolute() and python.exists():
            return python
    raise SettingsError(f"{script}: found {line[:80]!r}, allowed a script of Python's pip or uv")


def build_config(endpoint: Endpoint) -> dict[str, Any]:
    """Return nanobot's configuration: one model, files and shell, and no limit but the time."""
    off = {"enable": False}
    return {
        "providers": {"evo": {"apiKey": f"${{{KEY_VARIABLE}}}", "apiBase": endpoint.base_url}},
        "agents": {
            "defaults": {
                "provider": "evo",
                "model": endpoint.model,
                "temperature": 0,
                "maxToolIterations": 10_000,
                "timezone": "UTC",
                "dream": {"enabled": False},
                "idleCompactAfterMinutes": 0,
            }
        },
        "tools": {
            # The environment isolates; nanobot's own rule also stops harmless commands.
            "restrictToWorkspace": False,
            "exec": {"timeout": 600},
            "web": off,
            "my": off,
            "cliApps": off,
        },
    }


def _read_events(folders: Folders) -> list[dict[str, Any]]:
    try:
        data = read_regular(folders.state, "events.jsonl", EVENTS_BYTES)
    except MissingFile:
        return []
    events = []
    for line in data.decode("utf-8", "replace").split("\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # the last line of a process that was killed
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


@dataclass(slots=True)
class _Log:
    """What the events say. ``usages`` has one entry an answer, ``failures`` those since the last.

    ``result`` is None if the turn did not come to its end.
    """

    asked: bool = False
    messages: list[Message] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    result: dict[str, Any] | None = None

    @classmethod
    def of(cls, events: Iterable[dict[str, Any]]) -> _Log:
        log = cls()
        attributed = 0
        for event in events:
            match event.get("event"):
                case "asking":
                    log.asked = True
                case "call":
                    log._add_call(event)
                case "message":
                    attributed = log._add_message(event, attributed)
                case "result":
                    log.result = event
        return log

    def _add_message(self, event: dict[str, Any], attributed: int) -> int:
        """Add a message; return how many usages are on messages now."""
        message = read_message(event.get("message"))
        if message is None:
            return attributed
        if message.role == "assistant" and (new := self.usages[attributed:]):
            message = replace(message, usage=Usage.total(new))
            attributed = len(self.usages)
        self.messages.append(replace(message, is_error=event.get("is_error") is True))
        return attributed

    def _add_call(self, event: dict[str, Any]) -> None:
        match event.get("finish_reason"):
            case "cancelled":
                return
            case "error":
                status, kind = event.get("status"), event.get("kind")
                self.failures.append(f"HTTP {status}" if status else str(kind or "error"))
            case _:
                self.failures.clear()
                self.usages.append(_read_usage(event.get("usage")))


def _read_usage(data: Any) -> Usage:
    # Where the server says nothing, nanobot guesses by counting bytes.
    if not isinstance(data, dict) or data.get("estimated_tokens"):
        return Usage(request_count=1)
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    counts = (data.get(name) for name in names)
    total, output, read, written = (n if isinstance(n, int) else None for n in counts)
    return Usage(
        input_tokens=None if total is None else total - (read or 0) - (written or 0),
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        request_count=1,
        source="provider",
    )


def _find_problem(log: _Log, ended: Ended, folders: Folders) -> Problem | None:
    failures = ", ".join(log.failures)
    if log.result is not None and log.result.get("stop_reason") == "error":
        return _void(Reason.PROVIDER, f"{log.result.get('error')}\ncalls: {failures}")
    if log.result is None and ended.limit is None:
        words = f"nanobot ended with {ended.exit_code} and without a result"
        return _void(Reason.RUNTIME, f"{words}\n{_read_tail(folders)}")
    if log.result is None and ended.limit == "timeout" and log.failures:
        return _void(Reason.PROVIDER, f"time was up after failed calls: {failures}")
    if log.asked and not log.usages and ended.limit == "timeout":
        return _void(Reason.PROVIDER, f"no answer within {ended.seconds:.0f} s")
    if not log.usages:
        return _void(Reason.NO_TURNS, "nanobot ended without one answer of the model")
    if log.result is not None and not any(each.role == "assistant" for each in log.messages):
        words = f"{len(log.usages)} answers with neither text nor a tool call"
        return _void(Reason.PROVIDER, words)
    return None


def _void(reason: Reason, detail: str) -> Problem:
    return Problem(reason=reason.value, detail=detail)


def _hide(text: str, key: str) -> str:
    return text.replace(key, "…") if len(key) >= 8 else text


def _read_tail(folders: Folders, lines: int = 20) -> str:
    path = folders.logs / "stderr.txt"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return "\n".join(text.splitlines()[-lines:])


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return Nanobot(settings.binary)
