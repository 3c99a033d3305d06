"""The folders of a phase: made fresh, filled with a task's fixtures, looked through, removed.

What an agent left there is copied and shown within limits of size and number; links are never
followed, and FIFOs, devices and sockets never opened.
"""

from __future__ import annotations

import codecs
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pytest_evoclaw.environments import Folders
from pytest_evoclaw.safe_files import Skipped
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import cut_list
from pytest_evoclaw.safe_files import is_utf8
from pytest_evoclaw.safe_files import open_regular
from pytest_evoclaw.safe_files import read_chunks
from pytest_evoclaw.safe_files import read_regular
from pytest_evoclaw.safe_files import show_name
from pytest_evoclaw.safe_files import walk_regular
from pytest_evoclaw.safe_files import write_regular
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import WorkspaceFile

OUTPUTS = "outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLimits:
    """How much of ``outputs/`` is stored; ``entries`` bounds what is looked at."""

    file_bytes: int = 20_000_000
    total_bytes: int = 100_000_000
    files: int = 2_000
    entries: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewLimits:
    """How much of ``outputs/`` is shown: files, and characters of each and of all."""

    files: int = 100
    file_characters: int = 2_000
    total_characters: int = 20_000
    entries: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPreview:
    """The beginning of an output; ``path`` is relative to the workspace, ``size`` in bytes.

    ``text`` says in brackets what is not shown.
    """

    path: str
    size: int
    text: str


def create_folders(root: Path) -> Folders:
    """Make the folders of a phase below ``root``, for this user alone.

    FileExistsError if ``root`` is there and not an empty folder.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if next(root.iterdir(), None) is not None:
        raise FileExistsError(f"{root} is not empty: a phase needs fresh folders")
    folders = Folders(
        workspace=root / "workspace",
        home=root / "home",
        state=root / "state",
        tmp=root / "tmp",
        logs=root / "logs",
    )
    for folder in (folders.workspace, folders.home, folders.state, folders.tmp, folders.logs):
        folder.mkdir(mode=0o700)
    return folders


def fill_workspace(task: Task, folders: Folders) -> None:
    """Write the task's fixtures, byte for byte and with their executable bits, and ``outputs/``."""
    for file in task.workspace_files:
        write_regular(
            folders.workspace, file.dest, file.read_bytes(), executable=_is_executable(file)
        )
    (folders.workspace / OUTPUTS).mkdir(exist_ok=True)


def store_outputs(
    workspace: Path, target: Path, limits: OutputLimits | None = None
) -> tuple[str, ...]:
    """Copy the regular files of ``outputs/`` below ``target``; return what was left out, and why.

    What the limits cut is the same for the same files: names count in order.
    """
    limits = limits or OutputLimits()
    outputs = workspace / OUTPUTS
    target.mkdir(parents=True, exist_ok=True)
    left = limits.total_bytes
    stored = 0
    notes: list[str] = []
    for item in walk_regular(outputs, limits.entries):
        try:
            if isinstance(item, Skipped):
                raise UnsafeFile(item.name, item.reason)
            if stored >= limits.files:
                raise UnsafeFile(item, f"more than {limits.files} files")
            if not is_utf8(item):
                raise UnsafeFile(item, "its name is not UTF-8")
            data = read_regular(outputs, item, limits.file_bytes)
            if len(data) > left:
                raise UnsafeFile(item, f"more than {limits.total_bytes} bytes in all files")
        except UnsafeFile as error:
            notes.append(f"not stored: {_place(error.name)}: {error.reason}")
            continue
        write_regular(target, item, data)
        left -= len(data)
        stored += 1
    return cut_list(notes)


def preview_outputs(
    workspace: Path, limits: PreviewLimits | None = None
) -> tuple[OutputPreview, ...]:
    """Return the beginnings of the outputs, in the order of their names, within ``limits``."""
    limits = limits or PreviewLimits()
    outputs = workspace / OUTPUTS
    left = limits.total_characters
    previews: list[OutputPreview] = []
    for item in walk_regular(outputs, limits.entries):
        if len(previews) == limits.files:
            break
        if isinstance(item, Skipped):
            text = f"[not shown: {item.reason}]"
            previews.append(OutputPreview(path=_place(item.name), size=0, text=text))
            continue
        previews.append(_preview(outputs, item, min(left, limits.file_characters)))
        left -= min(left, len(previews[-1].text))
    return tuple(previews)


def remove_tree(path: Path) -> tuple[str, ...]:
    """Remove ``path`` and all in it, links themselves and not what they lead to.

    Works for any depth and for folders without permissions, and stays on one file system. Returns
    what could not be removed, and why; raises nothing for it.
    """
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return ()
        top = _open_folder(str(path), None)
        try:
            problems = _empty(top)
        finally:
            os.close(top)
        if not problems:
            path.rmdir()
    except FileNotFoundError:
        return ()
    except OSError as error:
        problems = [f"{path.name}: not removed: {error.strerror}"]
    return cut_list(problems)


def _empty(top: int) -> list[str]:
    """Empty an open folder: inner folders are moved up into it, so that no depth is too much."""
    fresh = (f"{prefix}-{number}" for prefix in [secrets.token_hex(8)] for number in count())
    problems: dict[str, str] = {}
    while names := set(_list(top)) - problems.keys():
        for name in sorted(names, key=os.fsencode):
            try:
                _remove(name, top, fresh)
            except OSError as error:
                problems[name] = f"{show_name(name)}: not removed: {error.strerror}"
    return sorted(problems.values())


def _remove(name: str, top: int, fresh: Iterator[str]) -> None:
    """Remove a file, or a folder after its inner folders have moved to ``fresh`` names in top."""
    if not _is_folder(name, top):
        os.unlink(name, dir_fd=top)
        return
    folder = _open_folder(name, top)
    try:
        if os.fstat(folder).st_dev != os.fstat(top).st_dev:
            raise OSError(errno.EXDEV, "on another file system")
        for inner in _list(folder):
            if _is_folder(inner, folder):
                os.chmod(inner, stat.S_IRWXU, dir_fd=folder)  # moving a folder writes into it
                os.rename(inner, next(fresh), src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _list(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _open_folder(name: str, folder: int | None) -> int:
    """Open what is known to be a folder and no link, with the right to change it."""
    os.chmod(name, stat.S_IRWXU, dir_fd=folder)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    return os.open(name, flags, dir_fd=folder)


def _preview(outputs: Path, name: str, characters: int) -> OutputPreview:
    path = _place(name)
    try:
        with open_regular(outputs, name) as descriptor:
            size = os.fstat(descriptor).st_size
            data = b"".join(read_chunks(descriptor, 4 * characters))
    except UnsafeFile as error:
        return OutputPreview(path=path, size=0, text=f"[not shown: {error.reason}]")
    if characters == 0 and size > 0:
        return OutputPreview(path=path, size=size, text="[not shown: enough is shown already]")
    if b"\0" in data:
        return OutputPreview(path=path, size=size, text="[not shown: not text]")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=len(data) == size)
    if len(text) > characters or len(data) < size:
        text = f"{text[:characters]}\n[the first {min(characters, len(text))} characters]"
    return OutputPreview(path=path, size=size, text=text)


def _place(name: str) -> str:
    return OUTPUTS if name == "." else f"{OUTPUTS}/{show_name(name)}"


def _is_executable(file: WorkspaceFile) -> bool:
    return file.source is not None and bool(file.source.stat().st_mode & stat.S_IXUSR)
