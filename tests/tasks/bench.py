"""A task's workspace on the bench: pristine fixtures, the agent's copies, and grading of them."""

from __future__ import annotations

import copy
import importlib
import json
import shutil
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frontmatter

from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.workspace import GradedWorkspace
from pytest_evoclaw.results import Grade

ROOT = Path(__file__).parent.parent.parent


class Bench:
    """One task with its fixtures in a workspace that may be spoilt at will."""

    def __init__(self, task_id: str, path: Path) -> None:
        self.task_id = task_id
        self.path = path
        self.grader = importlib.import_module(f"graders.{task_id}")
        self.task = frontmatter.load(str(ROOT / "tasks" / f"{task_id}.md"))
        self.inputs: list[str] = self.task.metadata["workspace_files"]  # type: ignore[assignment]
        for name in [*self.inputs, "outputs/x"]:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
        for name in self.inputs:
            shutil.copy(ROOT / name, path / name)

    def open(self) -> GradedWorkspace:
        fixtures = {name: ROOT / name for name in self.inputs}
        return GradedWorkspace(self.path, fixtures=fixtures, task_id=self.task_id)

    def solve(self) -> None:
        self.grader.solve(self.open())

    def grade(self) -> Grade:
        check = Checklist()
        self.grader.grade(self.open(), check)
        return Grade(checks=check.checks)

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs that are there, in order."""
        return sorted(path.name for path in (self.path / "outputs").iterdir())

    def read(self, name: str) -> Any:
        return json.loads((self.path / "outputs" / name).read_text(encoding="utf-8"))

    def write(self, name: str, value: Any) -> None:
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        (self.path / "outputs" / name).write_bytes(content)

    def change(self, name: str, change: Callable[[Any], object]) -> None:
        """Rewrite an output after ``change`` has worked on its value."""
        value = self.read(name)
        change(value)
        self.write(name, value)

    def failed(self) -> list[str]:
        """The keys of the checks without full score."""
        return [check.key for check in self.grade().checks if check.score < 1]

    def message(self, key: str) -> str:
        return next(check.message for check in self.grade().checks if check.key == key)


def mutate(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each copy of ``value`` in which one place differs, with words for the place."""
    for steps, leaf in _walk(value, ()):
        for words, other in _others(leaf):
            yield f"{'/'.join(map(str, steps))}: {words}", _put(value, steps, other)
        if steps and isinstance(steps[-1], str):
            yield f"{'/'.join(map(str, steps))}: gone", _drop(value, steps)


def _walk(value: Any, steps: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield steps, value
    keys = range(len(value)) if isinstance(value, list) else value
    for key in keys if isinstance(value, list | dict) else ():
        yield from _walk(value[key], (*steps, key))


def _others(leaf: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(leaf, bool):
        yield "other bool", not leaf
        yield "as number", int(leaf)
    elif isinstance(leaf, int | float):
        yield "next", leaf + 1
        yield "as text", str(leaf)
        yield "other kind of number", float(leaf) if isinstance(leaf, int) else int(leaf)
    elif isinstance(leaf, str):
        yield "longer", f"{leaf}x"
        yield "null", None
    elif isinstance(leaf, dict):
        yield "surplus key", {**leaf, "surplus": None}
        yield "empty", None if leaf == {} else {}
    elif isinstance(leaf, list):
        yield "surplus element", [*leaf, None]
        yield "shorter", None if leaf == [] else leaf[:-1]
    else:
        yield "text for null", "null"


def _put(value: Any, steps: tuple[Any, ...], other: Any) -> Any:
    if not steps:
        return other
    changed = copy.copy(value)
    changed[steps[0]] = _put(value[steps[0]], steps[1:], other)
    return changed


def _drop(value: Any, steps: tuple[Any, ...]) -> Any:
    changed = copy.copy(value)
    if len(steps) == 1:
        del changed[steps[0]]
    else:
        changed[steps[0]] = _drop(value[steps[0]], steps[1:])
    return changed
