"""``gate[lint]``: what a person would refuse in a review of a task, as far as a program sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pytest_evoclaw.gates import Finding
from pytest_evoclaw.gates import Gate
from pytest_evoclaw.personal import find_private
from pytest_evoclaw.task import Task
from pytest_evoclaw.workbench import Workbench
from pytest_evoclaw.workspace import OUTPUTS

PROMPT_CHARACTERS = 100
TIMEOUT = (10, 3600)  # seconds
FILE_BYTES = 2_000_000
TOTAL_BYTES = 10_000_000
# Fixtures of other formats are text, and then UTF-8 unless the prompt names their encoding.
BINARY = (".docx", ".xlsx", ".pdf", ".png", ".jpg", ".gz", ".zip", ".tar", ".sqlite", ".db", ".bin")
ENCODING = re.compile(
    r"\b(latin-?1|iso-?8859|windows-?125\d|cp-?125\d|utf-?16|shift.?jis|not utf-8)", re.I
)
_CODE = re.compile(r"`([^`\n]+)`")
_PLACE = re.compile(r"<[^<>]+>|\{[^{}]+\}|\*|\bN+\b")


class Lint:
    """Reads the task and its inputs, and asks the prompt for each graded path."""

    name = "lint"

    def inspect(self, bench: Workbench) -> Finding:
        """Find unnamed paths, unreadable or private inputs, and terms out of bounds."""
        faults = [
            *_look_at_terms(bench.task),
            *_look_for_inputs(bench.task),
            *_look_for_outputs(bench),
            *_look_at_fixtures(bench.task),
            *_look_for_private(bench.task),
        ]
        return Finding(faults=tuple(faults))


def create() -> Gate:
    """Return the gate."""
    return Lint()


def _look_at_terms(task: Task) -> Iterator[str]:
    place = f"{task.path}:{task.prompt_line}: Prompt"
    if len(task.prompt) < PROMPT_CHARACTERS:
        yield f"{place}: found {len(task.prompt)} characters, allowed {PROMPT_CHARACTERS} and more"
    least, most = TIMEOUT
    if not least <= task.timeout_seconds <= most:
        found = f"found {task.timeout_seconds:g}, allowed {least}..{most}"
        yield f"{task.path}:1: timeout_seconds: {found}"


def _look_for_inputs(task: Task) -> Iterator[str]:
    for file in task.workspace_files:
        path = PurePosixPath(file.dest)
        folders = [f"{folder}/" for folder in path.parents if folder.name]
        if not any(_names(task.prompt, name) for name in (file.dest, path.name, *folders)):
            yield (
                f"{task.path}:{task.prompt_line}: Prompt: names neither the input {file.dest} "
                "nor its folder"
            )


def _look_for_outputs(bench: Workbench) -> Iterator[str]:
    task = bench.task
    for name in bench.solution.outputs:
        if states_path(task.prompt, name):
            continue
        graded = bench.grade_with(name, None)
        keys = [check.key for check in graded.checks if check.score < 1]
        if keys:
            yield (
                f"{task.path}:{task.prompt_line}: Prompt: does not name {name}, "
                f"which is graded by {', '.join(keys)}"
            )


def states_path(prompt: str, path: str) -> bool:
    """Whether the prompt names a path: whole, as folder and name, or by a pattern in backticks."""
    name = PurePosixPath(path).name
    folder = str(PurePosixPath(path).parent)
    if _names(prompt, path) or (_names(prompt, name) and _names(prompt, f"{folder}/")):
        return True
    return any(_fits(path, word.strip("/ ")) for word in _CODE.findall(prompt))


def _names(prompt: str, path: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w-])", prompt) is not None


def _fits(path: str, word: str) -> bool:
    if not _PLACE.search(word):
        return False
    # In a pattern only the places are free: glob's own signs mean themselves.
    pattern = "*".join(part.replace("[", "[[]").replace("?", "[?]") for part in _PLACE.split(word))
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"{OUTPUTS}/{pattern}")


def _look_at_fixtures(task: Task) -> Iterator[str]:
    total = 0
    for file in task.workspace_files:
        data = file.read_bytes()
        total += len(data)
        if len(data) > FILE_BYTES:
            yield f"{file.dest}: found {len(data)} bytes, allowed {FILE_BYTES}"
        if PurePosixPath(file.dest).suffix.lower() in BINARY or ENCODING.search(task.prompt):
            continue
        yield from _look_at_text(file.dest, data)
    if total > TOTAL_BYTES:
        yield f"{task.path}:1: workspace_files: found {total} bytes, allowed {TOTAL_BYTES}"


def _look_at_text(name: str, data: bytes) -> Iterator[str]:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        yield (
            f"{name}:{line}: found byte 0x{data[error.start]:02x}, allowed UTF-8, or the name of "
            "the encoding in the prompt"
        )
    if b"\0" in data:
        yield f"{name}:{data[: data.index(0)].count(10) + 1}: found a zero byte in a text file"


def _look_for_private(task: Task) -> Iterator[str]:
    yield from find_private(str(task.path), task.path.read_text(encoding="utf-8-sig"))
    for file in task.workspace_files:
        yield from find_private(file.dest, file.read_bytes().decode("utf-8", "replace"))
