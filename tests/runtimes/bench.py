"""Whole trials of a real agent, against a model that the test plays."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.environments.local import create as create_local
from pytest_evoclaw.gateway import NO_LIMITS
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway import TrafficLimits
from pytest_evoclaw.gateway.service import Gateway
from pytest_evoclaw.grading import choose_grader
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import PhaseSettings
from pytest_evoclaw.registry import make_part
from pytest_evoclaw.results import Trial
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.skills import read_skill_creator
from pytest_evoclaw.task import read_task
from pytest_evoclaw.transcript import Transcript
from pytest_evoclaw.trials import Parts
from pytest_evoclaw.trials import TrialRunner
from tests.conftest import GRADER
from tests.conftest import TASK
from tests.model_brains import Solver
from tests.model_brains import break_arguments
from tests.model_brains import call_unknown_tool
from tests.model_brains import faulty
from tests.model_brains import offers_skill
from tests.model_brains import sequence
from tests.model_brains import wants_skill
from tests.model_brains import write_skill
from tests.model_talk import CUT
from tests.model_talk import EMPTY
from tests.model_talk import TOO_LONG
from tests.model_talk import Api
from tests.model_talk import Brain
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.model_talk import fail

PROMPT = "Read `inputs/numbers.json`."  # how the prompt of the task begins
FILES = {"outputs/sum.json": '{"value": 6}', "outputs/max.json": '{"value": 3}'}
SKILL = write_skill("adding")
SOLVE = Solver(
    files={"numbers.json": FILES}, skills=SKILL, authoring=wants_skill, reading=offers_skill
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """What the contract has to know of a runtime.

    ``variable`` names its program. ``lists_skills`` says that it shows the model which skills there
    are, ``at_once`` how many the tests start together, ``seconds`` how long it takes at most, on a
    busy machine, from its start to the end of a trial in which the model answers at once.
    ``ends_by_text`` says that an answer without a call ends its work.
    """

    name: str
    program: str
    variable: str
    api: Api
    lists_skills: bool = True
    ends_by_text: bool = True
    at_once: int = 8
    seconds: float = 120.0

    @property
    def short(self) -> float:
        """Return seconds in which it can begin to work, and no test has to wait long for."""
        return 20.0 if self.seconds < 200 else 30.0

    def find(self) -> Path | None:
        """Return its program, if it is installed."""
        found = shutil.which(os.environ.get(self.variable) or self.program)
        return None if found is None else Path(found)

    def make(self) -> Runtime:
        runtime: Runtime = make_part("runtimes", self.name, RuntimeSettings(binary=self.find()))
        return runtime


ADAPTERS = (
    Adapter(name="nanobot", program="nanobot", variable="EVO_NANOBOT_BIN", api="chat"),
    Adapter(
        name="openclaw",
        program="openclaw",
        variable="EVO_OPENCLAW_BIN",
        api="chat",
        at_once=4,
        seconds=240.0,
    ),
    Adapter(name="claude-code", program="claude", variable="EVO_CLAUDE_BIN", api="messages"),
    Adapter(name="codex", program="codex", variable="EVO_CODEX_BIN", api="responses"),
    Adapter(
        name="mini-swe-agent",
        program="mini",
        variable="EVO_MINI_BIN",
        api="chat",
        lists_skills=False,
        ends_by_text=False,
        at_once=4,
        seconds=240.0,
    ),
)


def go_on(request: ModelRequest) -> Reply:
    """Solve the task after :func:`break_arguments`, whose call some agents mend and others keep."""
    messages = (
        replace(said, calls=tuple(each for each in said.calls if "broken" not in each.text))
        for said in request.messages
    )
    return SOLVE(replace(request, messages=tuple(messages)))


# What a model or its server does wrong, and whether the trial is scored all the same.
FAULTS: dict[str, tuple[Brain | None, bool]] = {
    "refused": (None, False),
    "401": (faulty(401), False),
    "429 then fine": (sequence(fail(429, 0), SOLVE), True),
    "429 for ever": (faulty(429), False),
    "500": (faulty(500), False),
    "cut stream": (lambda request: CUT, False),
    "broken arguments": (sequence(break_arguments, go_on), True),
    "unknown tool": (sequence(call_unknown_tool, SOLVE), True),
    "empty answer": (lambda request: EMPTY, False),
    "context overflow": (sequence(SOLVE, TOO_LONG), True),
}


def make_fault(name: str) -> Brain | None:
    """Return a fresh brain, because sequences count."""
    fresh: dict[str, Brain] = {
        "429 then fine": sequence(fail(429, 0), SOLVE),
        "broken arguments": sequence(break_arguments, go_on),
        "unknown tool": sequence(call_unknown_tool, SOLVE),
        "context overflow": sequence(SOLVE, TOO_LONG),
    }
    return fresh.get(name) or FAULTS[name][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is not as usual in a trial."""

    mode: str = "baseline"
    prompt: str = ""
    seconds: float | None = None
    limits: TrafficLimits = NO_LIMITS
    environment: Environment = field(default_factory=create_local)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A trial that is over, how long it took, and how many of its processes were left."""

    result: TrialResult
    session: Path
    seconds: float
    left: int

    def read_transcript(self, phase: int = -1) -> Transcript:
        lines = self._read(phase, "transcript.jsonl").splitlines()
        return Transcript.from_events(json.loads(line) for line in lines)

    def read_requests(self, phase: int = -1) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._read(phase, "requests.jsonl").splitlines()]

    def read_prompt(self, phase: int = -1) -> str:
        return (self.session / self.result.phases[phase].folder / "prompt.md").read_text("utf-8")

    def _read(self, phase: int, name: str) -> str:
        return (self.session / self.result.phases[phase].folder / name).read_text("utf-8")


@dataclass
class Bench:
    """A place for trials of one runtime, with a gateway."""

    root: Path
    runtime: Runtime
    gateway: Gateway
    default_seconds: float = 60.0

    @classmethod
    @contextmanager
    def open(cls, root: Path, adapter: Adapter, **settings: Any) -> Iterator[Bench]:
        """Open a bench; faults of the provider are tried again once, without long waits."""
        chosen = {"retries": 1, "retry_seconds": 10.0, **settings}
        gateway = Gateway(GatewaySettings(**chosen), random.Random(1))
        try:
            yield cls(root, adapter.make(), gateway, adapter.seconds)
        finally:
            gateway.close()

    def run(self, url: str, name: str, wish: Wish | None = None) -> Outcome:
        """Run one trial; ``name`` is new for each."""
        wish = wish or Wish()
        folder = self.root / name
        task = self._write_task(folder, wish)
        trial = Trial(
            task_id=task.id, task_path=str(task.path), mode=wish.mode, runtime=self.runtime.name
        )
        creator = read_skill_creator(None)
        parts = Parts(
            mode=make_part(
                "modes", wish.mode, ModeSettings(skill_creator=creator, feedback="checks")
            ),
            runtime=self.runtime,
            environment=wish.environment,
            grader=make_part("grading", choose_grader(task)),
            endpoint=Endpoint(model="scripted-1", base_url=url, api_key="sk-real-0123456789"),
            gateway=self.gateway,
        )
        settings = PhaseSettings(
            session=folder / "results", workspaces=folder / "work shop", limits=wish.limits
        )
        started = time.monotonic()
        result = TrialRunner(trial=trial, task=task, parts=parts, settings=settings).run_trial()
        seconds = time.monotonic() - started
        left = count_processes(folder)
        return Outcome(result=result, session=folder / "results", seconds=seconds, left=left)

    def _write_task(self, folder: Path, wish: Wish) -> Any:
        text = TASK.format(id="task_01_numbers").replace(PROMPT, f"{PROMPT} {wish.prompt}")
        for path, content in (
            ("tasks/task_01_numbers.md", text),
            ("graders/task_01_numbers.py", GRADER),
        ):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content.encode())
        task = read_task(folder / "tasks/task_01_numbers.md", folder)
        return replace(task, timeout_seconds=wish.seconds or self.default_seconds)


def tell_usage(usage: Usage) -> tuple[int | None, ...]:
    """Return what a server of any of the APIs tells: input, output, cached, requests."""
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    return (*counts, usage.request_count)


def count_processes(folder: Path) -> int:
    """Return how many processes work below ``folder``, or have it in their environment."""
    return sum(_belongs(each, str(folder)) for each in psutil.process_iter())


def _belongs(process: psutil.Process, folder: str) -> bool:
    try:
        return process.cwd().startswith(folder) or folder in process.environ().get("HOME", "")
    except psutil.Error:
        return False


def find_closed_url() -> str:
    """Return the URL of a port at which nobody listens."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unheard.getsockname()[1]}/v1"
