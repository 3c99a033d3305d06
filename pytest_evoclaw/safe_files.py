"""Files in folders that an agent has filled: no link is followed, nothing is waited for.

Names are posix paths relative to a root that the harness made itself. A name in which bytes are no
UTF-8 carries surrogates, as :func:`os.fsdecode` makes them; :func:`show_name` makes it printable.
"""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from pathlib import PurePosixPath

DEPTH = 32  # folders below the root; deeper ones are reported and not entered
_UNFINISHED = "not listed to its end: too many entries"
_MISSING = "missing"
_CHUNK = 1 << 20
_OPEN = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


class UnsafeFile(ValueError):
    """A file that is not read; ``reason`` says why in words that go on from "the file"."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{show_name(name)}: {reason}")
        self.name = name
        self.reason = reason


class MissingFile(UnsafeFile):
    """There is nothing of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a folder holds under ``name``.

    ``kind`` is ``file``, ``folder``, ``link``, ``FIFO``, ``socket``, ``device`` or ``unknown``.
    ``problem`` says why it was not looked at, not entered, or not listed to its end; a folder that
    was not listed to its end comes a second time, without ``stat``. ``target`` is where a link
    leads.
    """

    name: str
    kind: str
    stat: os.stat_result | None = None
    target: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that a walk left out, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{show_name(self.name)}: {self.reason}"


def show_name(name: str) -> str:
    """Return a name fit for terminals and JSON: what cannot be printed is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def is_utf8(name: str) -> bool:
    """Tell whether a name can be written to JSON and terminals as it is."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def cut_list(notes: Sequence[str], limit: int = 30) -> tuple[str, ...]:
    """Return the first ``limit`` notes, and one that counts the rest."""
    rest = len(notes) - limit
    return (*notes[:limit], f"and {rest} more") if rest > 0 else tuple(notes)


def tell_kind(mode: int) -> str:
    """Return the word for the file type in ``st_mode``."""
    return _KINDS.get(stat.S_IFMT(mode), "unknown")


@contextmanager
def open_regular(root: Path, name: str) -> Iterator[int]:
    """Yield a descriptor of the regular file ``name`` inside ``root``; UnsafeFile if it is not one.

    No component below ``root``, nor ``root`` itself, may be a link.
    """
    with _open_parent(root, name) as (folder, part):
        descriptor = _open(part, name, folder, wanted="file")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_regular(root: Path, name: str, limit: int) -> bytes:
    """Return the file's bytes; UnsafeFile if it is not regular, not inside, or over ``limit``."""
    with open_regular(root, name) as descriptor:
        if os.fstat(descriptor).st_size > limit:
            raise UnsafeFile(name, f"larger than {limit} bytes")
        chunks = list(read_chunks(descriptor, limit + 1))
    data = b"".join(chunks)
    if len(data) > limit:
        raise UnsafeFile(name, f"larger than {limit} bytes")
    return data


def find_entry(root: Path, name: str) -> Entry:
    """Return what is at ``name``; UnsafeFile if nothing is, or if a link is on the way."""
    with _open_parent(root, name) as (folder, part):
        entry = _look(folder, part, name)
    if entry.problem == _MISSING:
        raise MissingFile(name, _MISSING)
    return entry


def write_regular(root: Path, name: str, data: bytes, *, executable: bool = False) -> None:
    """Write a file of mode 644 or 755 and the folders above it, in the place of what was there.

    UnsafeFile if ``name`` is a folder, or is not inside ``root`` or below folders.
    """
    parts = _split(name)
    for end in range(1, len(parts)):
        with _open_parent(root, "/".join(parts[:end])) as (folder, part), suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
            # The umask must not decide what an agent may read.
            os.chmod(part, 0o755, dir_fd=folder)
    with _open_parent(root, name) as (folder, part):
        try:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)
            descriptor = os.open(part, _CREATE, 0o600, dir_fd=folder)
        except OSError as error:
            raise UnsafeFile(name, f"cannot be written: {error.strerror}") from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, 0o755 if executable else 0o644)


def read_chunks(descriptor: int, limit: int) -> Iterator[bytes]:
    """Yield at most ``limit`` bytes of an open file, a piece at a time."""
    while limit > 0 and (chunk := os.read(descriptor, min(limit, _CHUNK))):
        yield chunk
        limit -= len(chunk)


def walk_regular(root: Path, limit: int) -> Iterator[str | Skipped]:
    """Yield the name of each regular file, in order, and what else there is as ``Skipped``.

    ``limit`` bounds the entries looked at, folders included. A missing ``root`` is empty.
    """
    for entry in walk(root, limit):
        if entry.problem:
            yield Skipped(name=entry.name, reason=entry.problem)
        elif entry.kind == "file":
            yield entry.name
        elif entry.kind != "folder":
            yield Skipped(name=entry.name, reason=f"not a regular file ({entry.kind})")


def walk(root: Path, limit: int) -> Iterator[Entry]:
    """Yield every entry below ``root``, a folder before what it holds, in the order of names."""
    try:
        folder = _open_root(root)
    except MissingFile:
        return
    except UnsafeFile as error:
        yield Entry(name=".", kind="unknown", problem=error.reason)
        return
    try:
        yield from _walk(folder, "", limit)
    finally:
        os.close(folder)


def _walk(folder: int, prefix: str, limit: int) -> Iterator[Entry]:
    """Yield the entries of an open folder, at most ``limit`` and some that say so."""
    for name in _list(folder, limit + 1):
        if limit <= 0:
            yield Entry(name=prefix.rstrip("/") or ".", kind="folder", problem=_UNFINISHED)
            return
        for entry in _walk_entry(folder, name, prefix, limit):
            limit -= entry.problem != _UNFINISHED
            yield entry


def _walk_entry(folder: int, name: str, prefix: str, limit: int) -> Iterator[Entry]:
    """Yield one entry, and what is below it."""
    entry = _look(folder, name, prefix + name)
    if entry.kind == "folder" and entry.name.count("/") + 1 >= DEPTH:
        entry = replace(entry, problem=f"not entered: {DEPTH} folders deep")
    if entry.kind != "folder" or entry.problem:
        yield entry
        return
    try:
        inner = _open(name, entry.name, folder, wanted="folder")
    except UnsafeFile as error:
        yield replace(entry, problem=error.reason)
        return
    try:
        yield entry
        yield from _walk(inner, f"{entry.name}/", limit - 1)
    finally:
        os.close(inner)


def _look(folder: int, part: str, name: str) -> Entry:
    """Describe one component, itself and not what it leads to."""
    try:
        found = os.stat(part, dir_fd=folder, follow_symlinks=False)
        kind = tell_kind(found.st_mode)
        target = os.readlink(part, dir_fd=folder) if kind == "link" else ""
    except FileNotFoundError:
        return Entry(name=name, kind="unknown", problem=_MISSING)
    except OSError as error:
        return Entry(name=name, kind="unknown", problem=f"cannot be read: {error.strerror}")
    return Entry(name=name, kind=kind, stat=found, target=target)


def _list(folder: int, limit: int) -> list[str]:
    """Return the first ``limit`` names in order; bounded memory for a folder of millions."""
    with os.scandir(folder) as entries:
        return heapq.nsmallest(limit, (entry.name for entry in entries), key=os.fsencode)


def _split(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
        raise UnsafeFile(name, "outside the folder")
    return path.parts


@contextmanager
def _open_parent(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the open folder that holds ``name``, and the last component."""
    parts = _split(name)
    folder = _open_root(root)
    try:
        for part in parts[:-1]:
            inner = _open(part, name, folder, wanted="folder")
            os.close(folder)
            folder = inner
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _open_root(root: Path) -> int:
    return _open(os.fspath(root), os.fspath(root), None, wanted="folder")


def _open(part: str, name: str, folder: int | None, *, wanted: str) -> int:
    """Open one component; its kind is asked first, because opening a device can act on it."""
    try:
        kind = tell_kind(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
        if kind != wanted:
            raise UnsafeFile(name, _refusal(part, name, kind, wanted))
        descriptor = os.open(part, _OPEN, dir_fd=folder)
    except FileNotFoundError as error:
        raise MissingFile(name, _MISSING) from error
    except OSError as error:
        raise UnsafeFile(name, f"cannot be read: {error.strerror}") from error
    if tell_kind(os.fstat(descriptor).st_mode) != wanted:
        os.close(descriptor)
        raise UnsafeFile(name, "changed while it was opened")
    return descriptor


def _refusal(part: str, name: str, kind: str, wanted: str) -> str:
    if wanted == "file":
        return f"not a regular file ({'directory' if kind == 'folder' else kind})"
    return f"inside a {kind}, not a folder ({show_name(part)})" if name != part else f"a {kind}"
