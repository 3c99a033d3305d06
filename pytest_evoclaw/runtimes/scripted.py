"""The agent that plays a YAML script (``--evo-script``): for tests, examples and dry runs.

The script is a list of entries; the first whose ``task``, ``mode`` and ``phase`` patterns match
(shell style, all optional) is played::

    - phase: "*execution"
      steps:
        - write: outputs/a.json        # file in the workspace, with text or base64
          text: "[1, 2]"
        - sleep: 0.5
        - spawn: [sleep, "60"]         # a child; with detached: true in its own session
        - print: hello                 # or error: …, for stderr
        - solve: true                  # the task's reference solution
        - python: "import os; …"       # any code, in the agent's process
        - exit: 3
      turns: 2                         # answers of the model; 0 voids the execution
      usage: {input_tokens: 10, output_tokens: 5}
      transcript: [...]                # canonical events
      problem: {reason: provider_error, detail: "HTTP 500"}
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pytest_evoclaw import drivers
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.reference import launch_solution
from pytest_evoclaw.results import UNKNOWN_USAGE
from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.transcript import EMPTY
from pytest_evoclaw.transcript import Transcript

SELECTORS = ("task", "mode", "phase")
STEPS = ("write", "sleep", "spawn", "print", "error", "solve", "python", "exit")
ENTRY_KEYS = (*SELECTORS, "steps", "turns", "usage", "transcript", "problem")


class Scripted:
    """Plays the first entry that matches the phase; plays nothing if none does."""

    name = "scripted"
    uses_model = False
    own_files: tuple[str, ...] = ()
    skill_folders: tuple[str, ...] = ()

    def __init__(self, script: Path | None) -> None:
        self._script = script
        self._entries: list[dict[str, Any]] | None = None

    def check(self) -> str:
        """Return the version; raise SettingsError if the script is missing or malformed."""
        self._load()
        return "built in"

    def prepare(self, assignment: Assignment) -> Launch:
        """Write the steps for the player and return its process."""
        entry = self._find(assignment)
        steps = [dict(step) for step in entry.get("steps", [])]
        read_only: tuple[Path, ...] = ()
        for step in steps:
            if step.pop("solve", None):
                solution = launch_solution(assignment, "oracle")
                step["call"] = list(solution.argv)
                read_only = solution.read_only
        script = assignment.folders.state / "steps.json"
        script.write_text(json.dumps(steps), encoding="utf-8")
        player = Path(drivers.__file__).with_name("play.py")
        words = (str(player), assignment.seen(script))
        return Launch(argv=(sys.executable, "-I", *words), read_only=(player, *read_only))

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Return what the script says that the agent reports."""
        entry = self._find(assignment)
        usage, problem = entry.get("usage"), entry.get("problem")
        events = entry.get("transcript")
        return Account(
            transcript=EMPTY if events is None else Transcript.from_events(events),
            usage=UNKNOWN_USAGE if usage is None else Usage(**{"source": "provider", **usage}),
            turns=entry.get("turns"),
            problem=_read_problem(entry.get("turns"), problem),
        )

    def _find(self, assignment: Assignment) -> dict[str, Any]:
        facts = {"task": assignment.task.id, "mode": assignment.mode, "phase": assignment.phase}
        for entry in self._load():
            if all(fnmatchcase(facts[key], entry.get(key, "*")) for key in SELECTORS):
                return entry
        return {}

    def _load(self) -> list[dict[str, Any]]:
        if self._entries is None:
            self._entries = load_script(self._script)
        return self._entries


def load_script(path: Path | None) -> list[dict[str, Any]]:
    """Read and check a script; raise SettingsError with file, entry, found and allowed."""
    import yaml

    if path is None:
        raise SettingsError("scripted needs --evo-script FILE")
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"--evo-script {path}: {error}") from error
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise SettingsError(f"--evo-script {path}: found no list of mappings")
    for number, entry in enumerate(entries, start=1):
        _check_keys(f"--evo-script {path}: entry {number}", entry, ENTRY_KEYS)
        for step in entry.get("steps", []):
            if not isinstance(step, dict) or not set(step) & set(STEPS):
                found = f"found {step!r}, allowed {', '.join(STEPS)}"
                raise SettingsError(f"--evo-script {path}: entry {number}: {found}")
    return entries


def _check_keys(where: str, found: dict[str, Any], allowed: tuple[str, ...]) -> None:
    if unknown := sorted(set(found) - set(allowed)):
        raise SettingsError(f"{where}: found {', '.join(unknown)}, allowed {', '.join(allowed)}")


def _read_problem(turns: int | None, problem: dict[str, str] | None) -> Problem | None:
    if problem is not None:
        return Problem(**problem)
    if turns == 0:
        return Problem(reason=Reason.NO_TURNS.value, detail="the script says: no model turns")
    return None


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return Scripted(settings.script)
