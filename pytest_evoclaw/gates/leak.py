"""``gate[leak]``: no answer, no grader and no solution is where an agent can see it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any

from pytest_evoclaw.answers import Answers
from pytest_evoclaw.gates import Finding
from pytest_evoclaw.gates import Gate
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import WorkspaceFile
from pytest_evoclaw.task_frontmatter import read_frontmatter
from pytest_evoclaw.workbench import Workbench

LINE_CHARACTERS = 40  # shorter lines of code are everybody's
LINES = 3
_COMMENT = re.compile(r"<!--[\s\S]*?-->|/\*[\s\S]*?\*/|(?:^|\s)(?:#|//|--|;)\s.*", re.M)
_TELLING = re.compile(
    r"\bdecoys?\b|\b(right|correct|expected)[ _-](answers?|outputs?|solution)\b|\banswer[ _-]key\b",
    re.I,
)


class Leak:
    """Looks for the solution's values and for the grader's code in what an agent is given."""

    name = "leak"

    def inspect(self, bench: Workbench) -> Finding:
        """Find answers in prompt, frontmatter, names and comments; ways to the grader."""
        task = bench.task
        answers = Answers.of(bench.solution.outputs, task)
        faults = [
            *_look_at_task(task, answers),
            *_look_at_names(task, answers),
            *_look_at_comments(task, answers),
            *_look_at_places(task),
            *_look_for_code(task),
        ]
        return Finding(faults=tuple(faults), remarks=(f"{len(answers.places)} values looked for",))


def create() -> Gate:
    """Return the gate."""
    return Leak()


def _look_at_task(task: Task, answers: Answers) -> Iterator[str]:
    """Look at prompt and frontmatter; the other sections are for people and judges."""
    lines = task.path.read_text(encoding="utf-8-sig").splitlines()
    end = next((n for n, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), 0)
    length = len(task.prompt.splitlines())
    first = _find_first_line(lines, task)
    for start, part, words in (
        (0, lines[:end], "frontmatter"),
        (first, lines[first : first + length], "Prompt"),
    ):
        for number, line in enumerate(part, start=start + 1):
            for value in answers.find_in(line):
                yield (
                    f"{task.path}:{number}: {words}: found {value!r}, "
                    f"which is the answer at {answers.places[value]}"
                )
            if words == "Prompt" and re.search(r"\bgraders?/|\bsolve\(workspace", line):
                yield f"{task.path}:{number}: Prompt: names the grader"


def _find_first_line(lines: list[str], task: Task) -> int:
    opening = task.prompt.splitlines()[0]
    numbers = range(task.prompt_line - 1, len(lines))
    return next((n for n in numbers if lines[n].rstrip() == opening.rstrip()), task.prompt_line)


def _look_at_names(task: Task, answers: Answers) -> Iterator[str]:
    for file in task.workspace_files:
        words = re.sub(r"[_/]", " ", file.dest)
        if _TELLING.search(words):
            yield f"{file.dest}: the name of this input tells what it is for"
        for value in answers.find_in(words):
            yield (
                f"{file.dest}: the name of this input holds {value!r}, "
                f"which is the answer at {answers.places[value]}"
            )


def _look_at_comments(task: Task, answers: Answers) -> Iterator[str]:
    for file in task.workspace_files:
        text = file.read_bytes().decode("utf-8", "replace")
        rest = _COMMENT.sub(" ", text)
        for match in _COMMENT.finditer(text):
            number = text.count("\n", 0, match.start() + len(match[0]) - len(match[0].lstrip())) + 1
            if _TELLING.search(match[0]):
                yield f"{file.dest}:{number}: this comment tells how to answer"
            for value in answers.find_in(match[0]):
                if value not in rest:
                    yield (
                        f"{file.dest}:{number}: this comment holds {value!r}, "
                        f"which is the answer at {answers.places[value]}"
                    )


def _look_at_places(task: Task) -> Iterator[str]:
    text = task.path.read_text(encoding="utf-8-sig")
    frontmatter = read_frontmatter(task.path, text)
    entries: list[Any] = frontmatter.fields.get("workspace_files", [])
    hidden = {path.resolve() for path in (task.grader, task.path) if path is not None}
    for number, (entry, file) in enumerate(zip(entries, task.workspace_files, strict=True)):
        if file.source is None:
            continue
        place = f"{task.path}:{frontmatter.find_line(('workspace_files', number))}: workspace_files"
        written = entry if isinstance(entry, str) else entry["source"]
        if link := _find_link(task.root, written):
            yield f"{place}: found {written!r}, where {link} is a symlink"
        top = task.root.resolve()
        if file.source in hidden or any(
            file.source.is_relative_to(top / folder) for folder in ("graders", "tasks")
        ):
            yield f"{place}: found {written!r}, which gives the grader or the task file to agents"


def _find_link(root: Path, name: str) -> str:
    parts = PurePosixPath(name).parts
    paths = [root.joinpath(*parts[:count]) for count in range(1, len(parts) + 1)]
    return next((str(path.relative_to(root)) for path in paths if path.is_symlink()), "")


def _look_for_code(task: Task) -> Iterator[str]:
    if task.grader is None:
        return
    code = {line.strip() for line in task.grader.read_text(encoding="utf-8").splitlines()}
    telling = {line for line in code if len(line) >= LINE_CHARACTERS and _is_code(line)}
    for file in task.workspace_files:
        shared = _find_shared(file, telling)
        if len(shared) >= LINES:
            number, line = min(shared.items())
            words = f"{len(shared)} lines of {task.grader.name}, such as {line!r}"
            yield f"{file.dest}:{number}: holds {words}"


def _is_code(line: str) -> bool:
    return not line.startswith(("from ", "import ", "#", '"'))


def _find_shared(file: WorkspaceFile, telling: set[str]) -> dict[int, str]:
    lines = file.read_bytes().decode("utf-8", "replace").splitlines()
    shared = {n: text.strip() for n, text in enumerate(lines, start=1) if text.strip() in telling}
    return shared if len(Counter(shared.values())) >= LINES else {}
