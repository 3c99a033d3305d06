"""What adapters of real agents share: finding a program, giving it its prompt, reading lines."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.node_programs import Wanted
from pytest_evoclaw.node_programs import find_program
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import read_regular

KEY_VARIABLE = "EVO_MODEL_KEY"
LOG_BYTES = 100_000_000
_PROMPT = "prompt.md"
# Environments close stdin; an argument would be bounded to 128 KiB and visible to everybody.
_WITH_INPUT = ("/bin/sh", "-c", 'exec "$@" <"$0"')


def find_start(wanted: Wanted, named: Path | None) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return how to start a program from npm, and the folders that it must be able to read.

    It may be a program of its own, or a script for Node.js. Raises SettingsError.
    """
    found = shutil.which(named or wanted.name)
    if found is not None and not _is_script(Path(found)):
        real = Path(found).resolve()
        modules = next((each for each in real.parents if each.name == "node_modules"), real)
        return (str(real),), (modules,)
    program = find_program(wanted, named)
    if not _is_script(program.script):
        return (str(program.script),), program.folders
    return (str(program.node), str(program.script)), program.folders


def _is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def ask_version(start: tuple[str, ...], install: str) -> str:
    """Return the first word of what ``--version`` says that has a digit; raise SettingsError."""
    argv = [*start, "--version"]
    try:
        done = subprocess.run(argv, capture_output=True, check=True, timeout=60, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SettingsError(f"{start[-1]}: {error}: {install}") from error
    words = (word for word in done.stdout.split() if word[0].isdigit())
    if (version := next(words, None)) is None:
        raise SettingsError(
            f"{start[-1]}: found {done.stdout[:80]!r}, allowed a version: {install}"
        )
    return version


def write_prompt(assignment: Assignment) -> str:
    """Write the prompt byte for byte into the private folder; return its path for the agent."""
    path = assignment.folders.state / _PROMPT
    path.write_bytes(assignment.prompt.encode("utf-8", "backslashreplace"))
    return assignment.seen(path)


def give_prompt(assignment: Assignment, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command line that starts ``argv`` with the prompt as its input."""
    return (*_WITH_INPUT, write_prompt(assignment), *argv)


def read_lines(root: Path, name: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a file of lines; what cannot be read is left out."""
    try:
        data = read_regular(root, name, LOG_BYTES)
    except UnsafeFile:
        return []
    return list(_parse(data.decode("utf-8", "replace").split("\n")))


def _parse(lines: list[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):  # the last line of a process that was killed
            continue
        if isinstance(data, dict):
            yield data


def read_tail(folders: Folders, lines: int = 20) -> str:
    """Return the last lines of what a program wrote to stderr."""
    path = folders.logs / "stderr.txt"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return "\n".join(text.splitlines()[-lines:])


def void(reason: Reason, detail: str, endpoint: Endpoint | None) -> Problem:
    """Return a problem whose words do not hold the key."""
    problem = Problem(reason=reason.value, detail=detail)
    key = "" if endpoint is None else endpoint.api_key
    return replace(problem, detail=detail.replace(key, "…")) if len(key) >= 8 else problem
