"""A task: one markdown file with what an agent is asked, and how its outputs are graded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_evoclaw.errors import TaskFormatError
from pytest_evoclaw.task_frontmatter import Frontmatter
from pytest_evoclaw.task_frontmatter import read_frontmatter
from pytest_evoclaw.task_inputs import WorkspaceFile
from pytest_evoclaw.task_inputs import find_file
from pytest_evoclaw.task_inputs import list_inputs
from pytest_evoclaw.task_sections import InlineGrader
from pytest_evoclaw.task_sections import Section
from pytest_evoclaw.task_sections import SubProblem
from pytest_evoclaw.task_sections import find_inline_grader
from pytest_evoclaw.task_sections import list_criteria
from pytest_evoclaw.task_sections import list_sub_problems
from pytest_evoclaw.task_sections import read_sections

__all__ = [
    "GradingWeights",
    "InlineGrader",
    "SubProblem",
    "Task",
    "WorkspaceFile",
    "find_root",
    "read_task",
]

GradingType = Literal["automated", "llm_judge", "hybrid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingWeights:
    """Weights of the two parts of a hybrid grade; they add up to 1."""

    automated: float = 0.5
    llm_judge: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. ``root`` is the suite root, ``grader`` the absolute path of a module.

    Only ``prompt`` is ever given to an agent.
    """

    path: Path
    root: Path
    id: str
    name: str
    category: str
    grading_type: GradingType
    timeout_seconds: float
    prompt: str
    prompt_line: int
    expected_behavior: str
    sub_problems: tuple[SubProblem, ...]
    criteria: tuple[str, ...]
    rubric: str = ""
    skill_category: str = ""
    family: str = ""
    workspace_files: tuple[WorkspaceFile, ...] = ()
    grading_weights: GradingWeights | None = None
    grader: Path | None = None
    inline_grader: InlineGrader | None = None


def find_root(task_path: Path, configured: Path | None) -> Path:
    """Return the suite root: ``configured``, else the nearest folder above that holds ``tasks``.

    A task file outside any ``tasks`` folder is its own suite: the root is its folder.
    """
    if configured is not None:
        return configured
    for folder in task_path.parents:
        if (folder / "tasks").is_dir() and task_path.is_relative_to(folder / "tasks"):
            return folder
    return task_path.parent


def read_task(path: Path, root: Path) -> Task:
    """Read a task file; TaskFormatError (``file:line: field: found X, allowed Y``) if malformed."""
    text = _read_text(path)
    frontmatter = read_frontmatter(path, text)
    body = "\n".join(text.split("\n")[frontmatter.end :])
    sections = read_sections(path, body, frontmatter.end + 1)
    fields = frontmatter.fields
    task = Task(
        path=path,
        root=root,
        id=fields["id"],
        name=fields["name"].strip(),
        category=fields["category"],
        grading_type=fields["grading_type"],
        timeout_seconds=float(fields["timeout_seconds"]),
        prompt=sections["Prompt"].text,
        prompt_line=sections["Prompt"].line,
        expected_behavior=sections["Expected Behavior"].text,
        sub_problems=_read_sub_problems(frontmatter, sections),
        criteria=list_criteria(path, sections["Grading Criteria"]),
        rubric=sections["LLM Judge Rubric"].text if "LLM Judge Rubric" in sections else "",
        skill_category=fields.get("skill_category", ""),
        family=fields.get("task_family", ""),
        workspace_files=tuple(list_inputs(frontmatter, root)),
        grading_weights=_read_weights(frontmatter),
        grader=_find_grader(frontmatter, root),
        inline_grader=_read_inline(path, sections),
    )
    _check_grader(frontmatter, task)
    return task


def _read_text(path: Path) -> str:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Counts from behind a BOM, as ``error.object`` does.
        before = _unify_newlines(error.object[: error.start].decode())
        message = f"found byte 0x{error.object[error.start]:02x}, allowed UTF-8"
        raise TaskFormatError(path, before.count("\n") + 1, "encoding", message) from error
    text = _unify_newlines(text)
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise TaskFormatError(path, line, "encoding", "found a NUL character, allowed text")
    return text


def _unify_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_sub_problems(
    frontmatter: Frontmatter, sections: Mapping[str, Section]
) -> tuple[SubProblem, ...]:
    wanted = frontmatter.fields["sub_problems"]
    section = sections.get("Sub-Problems")
    found = () if section is None else list_sub_problems(frontmatter.path, section)
    if len(found) != wanted:
        message = f"found {wanted}, allowed {len(found)}: the number of Sub-Problem headings"
        frontmatter.fail(("sub_problems",), message)
    return found


def _read_weights(frontmatter: Frontmatter) -> GradingWeights | None:
    weights = frontmatter.fields.get("grading_weights")
    grading_type = frontmatter.fields["grading_type"]
    if grading_type != "hybrid":
        if weights is not None:
            message = f"found weights of a task that is {grading_type}, allowed for hybrid only"
            frontmatter.fail(("grading_weights",), message)
        return None
    if weights is None:
        return GradingWeights()
    total = weights["automated"] + weights["llm_judge"]
    if total <= 0:
        message = "found weights that add up to 0, allowed a sum above 0"
        frontmatter.fail(("grading_weights",), message)
    return GradingWeights(
        automated=weights["automated"] / total, llm_judge=weights["llm_judge"] / total
    )


def _find_grader(frontmatter: Frontmatter, root: Path) -> Path | None:
    text = frontmatter.fields.get("grader")
    if text is None:
        path = root.absolute() / "graders" / f"{frontmatter.fields['id']}.py"
        return path if path.is_file() else None
    find_file(frontmatter, ("grader",), text, root)
    return root.absolute() / str(text)


def _read_inline(path: Path, sections: Mapping[str, Section]) -> InlineGrader | None:
    section = sections.get("Automated Checks")
    return None if section is None else find_inline_grader(path, section)


def _check_grader(frontmatter: Frontmatter, task: Task) -> None:
    if task.grading_type != "llm_judge" and task.grader is None and task.inline_grader is None:
        message = (
            f"found {task.grading_type!r} without a grader, allowed with graders/{task.id}.py, a "
            "'grader' field, or a Python fence in 'Automated Checks'"
        )
        frontmatter.fail(("grading_type",), message)
