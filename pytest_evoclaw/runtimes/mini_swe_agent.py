"""The agent ``mini-swe-agent`` (PyPI: mini-swe-agent): one ``mini`` a phase, a shell and no more.

It knows nothing of skills: what a prompt says of ``skills/`` is all that it hears of them.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from pytest_evoclaw.agent_programs import LOG_BYTES
from pytest_evoclaw.agent_programs import ask_version
from pytest_evoclaw.agent_programs import read_tail
from pytest_evoclaw.agent_programs import void
from pytest_evoclaw.chat_messages import read_message
from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import read_regular
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import Transcript

INSTALL = (
    "install it (pip install mini-swe-agent) or name it: --evo-runtime-bin mini-swe-agent=PATH"
)
TRAJECTORY = "trajectory.json"
_LEFT_LOOSE = ("Submitted", "LimitsExceeded", "")


class MiniSweAgent:
    """mini-swe-agent in one turn: it works until it submits, or until time is up."""

    name = "mini-swe-agent"
    uses_model = True
    own_files: tuple[str, ...] = ()
    skill_folders: tuple[str, ...] = ()

    def __init__(self, binary: Path | None) -> None:
        self._binary = binary
        self._python: Path | None = None

    def check(self) -> str:
        """Return the version of mini-swe-agent."""
        probe = "import importlib.metadata; print(importlib.metadata.version('mini-swe-agent'))"
        return ask_version((str(self._find()), "-I", "-c", probe), INSTALL)

    def prepare(self, assignment: Assignment) -> Launch:
        """Write the configuration, which holds the prompt; the key is in a variable."""
        if assignment.endpoint is None:
            raise NotScored(Reason.HARNESS, "mini-swe-agent was started without a model")
        python = self._find()
        state = assignment.folders.state
        trajectory = assignment.seen(state / TRAJECTORY)
        config = build_config(assignment.endpoint, assignment.prompt, trajectory)
        text = yaml.safe_dump(config, allow_unicode=True)
        (state / "evo.yaml").write_bytes(text.encode("utf-8", "backslashreplace"))
        return Launch(
            argv=(
                *(str(python), "-I", "-X", "utf8", "-m", "minisweagent.run.mini"),
                *("-c", "mini.yaml", "-c", assignment.seen(state / "evo.yaml")),
                *("--yolo", "--exit-immediately", "-o", trajectory),
            ),
            variables={
                "OPENAI_API_KEY": assignment.endpoint.api_key,
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # it downloads prices otherwise
                "MSWEA_CONFIGURED": "true",
                "MSWEA_COST_TRACKING": "ignore_errors",
                "MSWEA_GLOBAL_CONFIG_DIR": assignment.seen(state),
                "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",  # the gateway's policy is for all
                "MSWEA_SILENT_STARTUP": "1",
            },
            read_only=_list_folders(python),
            slow_start=True,
        )

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Read the trajectory, which grows as it works."""
        trajectory = _read_trajectory(assignment.folders)
        messages = read_messages(trajectory)
        prompt = Message(role="user", items=(TextItem(text=assignment.prompt),))
        return Account(
            transcript=Transcript((prompt, *messages)),
            turns=sum(each.role == "assistant" for each in messages),
            problem=_find_problem(trajectory, ended, assignment),
        )

    def _find(self) -> Path:
        if self._python is None:
            found = shutil.which(self._binary or "mini")
            python = found and Path(found).resolve().with_name("python")
            if not python or not python.exists():
                name = str(self._binary or "mini")
                raise SettingsError(f"found no program {name!r} beside a python: {INSTALL}")
            self._python = python
        return self._python


def _list_folders(python: Path) -> tuple[Path, ...]:
    """Return the virtual environment, and the installation that its interpreter belongs to."""
    real = python.resolve()
    return tuple(dict.fromkeys((python.parent.parent, real.parent.parent)))


def build_config(endpoint: Endpoint, prompt: str, trajectory: str) -> dict[str, Any]:
    """Return its configuration: one model, and no limit but the time."""
    return {
        "run": {"task": prompt},
        "agent": {"cost_limit": 0.0, "step_limit": 0, "output_path": trajectory},
        "environment": {"timeout": 600},
        "model": {
            "model_name": f"openai/{endpoint.model}",
            "model_kwargs": {"api_base": endpoint.base_url, "max_retries": 0, "timeout": 3600},
        },
    }


def _read_trajectory(folders: Folders) -> dict[str, Any]:
    try:
        data = json.loads(read_regular(folders.state, TRAJECTORY, LOG_BYTES))
    except (UnsafeFile, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def read_messages(trajectory: dict[str, Any]) -> list[Message]:
    """Return the conversation after the prompt; tool results get the names of their tools."""
    written = trajectory.get("messages")
    read = [read_message(each) for each in written] if isinstance(written, list) else []
    messages = [message for message in read if message is not None]
    first = next((n for n, each in enumerate(messages) if each.role == "assistant"), 0)
    names = {call.id: call.name for each in messages for call in each.tool_calls}
    return [
        replace(each, tool_name=names.get(each.tool_call_id or "", "bash"))
        if each.role == "toolResult"
        else each
        for each in messages[first:]
        if each.role != "user"
    ]


def _find_problem(
    trajectory: dict[str, Any], ended: Ended, assignment: Assignment
) -> Problem | None:
    info = trajectory.get("info")
    status = info.get("exit_status") if isinstance(info, dict) else None
    if ended.limit is not None:
        return None
    if status is None:
        words = f"mini-swe-agent ended with {ended.exit_code} and without a result"
        tail = read_tail(assignment.folders)
        return void(Reason.RUNTIME, f"{words}\n{tail}", assignment.endpoint)
    if str(status) not in _LEFT_LOOSE:
        return void(Reason.PROVIDER, f"mini-swe-agent: {status}", assignment.endpoint)
    return None


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return MiniSweAgent(settings.binary)
