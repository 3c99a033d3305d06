"""Agent programs: the file name is the value of ``--evo-runtime``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Protocol

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.results import UNKNOWN_USAGE
from pytest_evoclaw.results import Usage
from pytest_evoclaw.task import Task
from pytest_evoclaw.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """What the command line says to a runtime: its program, and a script to play."""

    binary: Path | None = None
    script: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one phase asks of the agent. ``seconds`` is its time limit.

    ``task``, ``mode`` and ``phase`` are for the harness's own agents (oracle, scripted …); an
    adapter of a real agent passes on the prompt and nothing else. ``authoring`` is true when the
    phase wants skills instead of outputs.
    """

    prompt: str
    folders: Folders
    environment: Environment
    seconds: float
    endpoint: Endpoint | None
    task: Task
    mode: str
    phase: str
    authoring: bool

    def seen(self, path: Path) -> str:
        """Return ``path`` as the agent's process sees it."""
        return self.environment.seen(path, self.folders)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start the agent: paths in ``argv`` and ``variables`` as the agent sees them.

    ``slow_start`` says that it takes seconds of CPU until the model is asked: few start at a time
    then, and the task's time limit counts from the first request.
    """

    argv: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    read_only: tuple[Path, ...] = ()
    slow_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why an execution is void: a value of Reason, and words."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What the agent left behind, read after its end.

    ``turns`` counts answers of the model, None for agents without one. ``problem`` is set when the
    execution is void although the process may have exited 0: the provider failed, say.
    """

    transcript: Transcript
    usage: Usage = UNKNOWN_USAGE
    turns: int | None = None
    problem: Problem | None = None


class Runtime(Protocol):
    """One agent program. It never starts a process for a phase: the environment does.

    Its file has ``create(settings: RuntimeSettings) -> Runtime``.
    """

    name: str
    uses_model: bool  # zero model turns void the execution, and ``--evo-model`` is needed
    own_files: tuple[str, ...]  # names that the program itself writes at the workspace's top
    skill_folders: tuple[str, ...]  # where it looks for skills, besides ``skills/``

    def check(self) -> str:
        """Return the version; raise SettingsError if the program is missing or unusable."""

    def prepare(self, assignment: Assignment) -> Launch:
        """Write private files into ``folders.state`` and return how to start the agent."""

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Read transcript and usage; never raises for what an agent can have written."""
