"""The inputs of a task: which files an agent finds in its workspace, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any

from pytest_evoclaw.task_frontmatter import Frontmatter
from pytest_evoclaw.task_frontmatter import Place

# What belongs to the agent or to the harness: no input may lie there.
RESERVED = ("outputs", "skills", ".evoclawbench")
# What says how a task is graded: no input may come from there.
SECRET = ("graders", "tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    """An input: ``dest`` in the workspace, from a file on disk or from the frontmatter itself."""

    dest: str
    source: Path | None = None
    content: str | None = None

    def read_bytes(self) -> bytes:
        """Return the input's bytes."""
        if self.source is not None:
            return self.source.read_bytes()
        return (self.content or "").encode()


def list_inputs(frontmatter: Frontmatter, root: Path) -> Iterator[WorkspaceFile]:
    """Read ``workspace_files``; TaskFormatError for one that may not be given to an agent."""
    taken: dict[str, int] = {}
    for number, entry in enumerate(frontmatter.fields.get("workspace_files", [])):
        place, file = _read_input(frontmatter, ("workspace_files", number), entry, root)
        if file.dest.split("/")[0] in RESERVED:
            allowed = f"a path outside {', '.join(f'{name}/' for name in RESERVED)}"
            frontmatter.fail(place, f"found {file.dest!r}, allowed {allowed}")
        for other, owner in taken.items():
            if f"{file.dest}/".startswith(f"{other}/") or other.startswith(f"{file.dest}/"):
                taken_by = f"which entry {owner} already uses as {other!r}"
                frontmatter.fail(place, f"found {file.dest!r}, {taken_by}; allowed a free path")
        taken[file.dest] = number + 1
        yield file


def find_file(frontmatter: Frontmatter, place: Place, text: str, root: Path) -> Path:
    """Return the real path of a regular file below the root; TaskFormatError if it is none."""
    check_path(frontmatter, place, text)
    path = root / text
    try:
        if not path.exists():
            message = f"found {text!r}, which is missing below {root}; allowed a file"
            frontmatter.fail(place, message)
        target = path.resolve()
        if not target.is_relative_to(root.resolve()):
            leads = f"which leads out of {root} to {target}"
            frontmatter.fail(place, f"found {text!r}, {leads}; allowed a file inside")
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "no regular file"
            frontmatter.fail(place, f"found {text!r}, which is {kind}; allowed a file")
    except OSError as error:
        # Such as a name that is too long, or a folder that may not be entered.
        message = f"found {text[:80]!r}, allowed a file: {error.strerror}"
        raise frontmatter.make_error(place, message) from error
    return target


def check_path(frontmatter: Frontmatter, place: Place, text: str) -> str:
    """Return a relative path in its plain spelling; TaskFormatError if it may lead elsewhere."""
    path = PurePosixPath(text)
    parts = text.split("/")
    if path.is_absolute() or ".." in parts or "\\" in text or ":" in parts[0]:
        allowed = "a relative path with / that stays inside"
        frontmatter.fail(place, f"found {text!r}, allowed {allowed}")
    if not path.parts or not text.isprintable():
        frontmatter.fail(place, f"found {text!r}, allowed the path of a file")
    return path.as_posix()


def _read_input(
    frontmatter: Frontmatter, place: Place, entry: Any, root: Path
) -> tuple[Place, WorkspaceFile]:
    """Return the place of the destination, and the input."""
    if isinstance(entry, str):
        source = _find_source(frontmatter, place, entry, root)
        dest = check_path(frontmatter, place, entry)
        return place, WorkspaceFile(dest=dest, source=source)
    if "source" in entry:
        source = _find_source(frontmatter, (*place, "source"), entry["source"], root)
        place = (*place, "dest")
        dest = check_path(frontmatter, place, entry["dest"])
        return place, WorkspaceFile(dest=dest, source=source)
    place = (*place, "path")
    dest = check_path(frontmatter, place, entry["path"])
    return place, WorkspaceFile(dest=dest, content=entry["content"])


def _find_source(frontmatter: Frontmatter, place: Place, text: str, root: Path) -> Path:
    target = find_file(frontmatter, place, text, root)
    # By what is opened in the end: a link must not carry an answer into a workspace either.
    secret = target == frontmatter.path.resolve() or target == _find_named_grader(frontmatter, root)
    if secret or target.relative_to(root.resolve()).parts[0] in SECRET:
        places = " and ".join(f"{name}/" for name in SECRET)
        message = (
            f"found {text!r}, which says how a task is graded; allowed a file outside {places}"
        )
        frontmatter.fail(place, message)
    return target


def _find_named_grader(frontmatter: Frontmatter, root: Path) -> Path | None:
    name = frontmatter.fields.get("grader")
    return None if name is None else (root / str(name)).resolve()
