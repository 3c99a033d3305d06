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
    """Look at frontmatter and prompt; the other sections are for people and judges."""
    text = task.path.read_text(encoding="utf-8-sig")
    frontmatter = read_frontmatter(task.path, text)
    for name, value in frontmatter.fields.items():
        if name != "workspace_files":
            place = f"{task.path}:{frontmatter.find_line((name,))}: {name}"
            yield from _name_answers(place, str(value), answers)
    lines = text.splitlines()
    first = _find_first_line(lines, task)
    shown = lines[first : first + len(task.prompt.splitlines())]
    for number, line in enumerate(shown, start=first + 1):
        place = f"{task.path}:{number}: Prompt"
        yield from _name_answers(place, line, answers)
        if re.search(r"\bgraders?/|\bsolve\(workspace", line):
            yield f"{place}: names the grader"


def _name_answers(place: str, text: str, answers: Answers) -> Iterator[str]:
    for value in answers.find_in(text):
        yield f"{place}: found {value!r}, which is the answer at {answers.places[value]}"


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
    """Look for links among the inputs; graders and task files are refused by the reader."""
    text = task.path.read_text(encoding="utf-8-sig")
    frontmatter = read_frontmatter(task.path, text)
    entries: list[Any] = frontmatter.fields.get("workspace_files", [])
    for number, (entry, file) in enumerate(zip(entries, task.workspace_files, strict=True)):
        if file.source is None:
            continue
        place = f"{task.path}:{frontmatter.find_line(('workspace_files', number))}: workspace_files"
        written = entry if isinstance(entry, str) else entry["source"]
        if link := _find_link(task.root, written):
            yield f"{place}: found {written!r}, where {link} is a symlink"


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
