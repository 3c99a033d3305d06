"""What a folder holds at one moment, to see later what an agent has changed there.

Two inventories of one folder differ in what was added, deleted or changed, in modes and in links.
A file that was edited and put back has its old content; it shows by its inode (replaced), its
modification time (written again) or its change time. A change time alone also moves when a mode
is set, even to what it was, or when a hard link is made: such a file is called ``touched``. Reading
moves none of them. Folders count by their modes only: an empty folder is no skill and no input.
Bytecode in ``__pycache__`` does not count: Python leaves it when a script is used as it should be.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_evoclaw.safe_files import Entry
from pytest_evoclaw.safe_files import MissingFile
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import cut_list
from pytest_evoclaw.safe_files import find_entry
from pytest_evoclaw.safe_files import open_regular
from pytest_evoclaw.safe_files import read_chunks
from pytest_evoclaw.safe_files import show_name
from pytest_evoclaw.safe_files import walk

ENTRIES = 20_000
FILE_BYTES = 64_000_000  # larger files are not hashed: their sizes and times tell
TOTAL_BYTES = 512_000_000  # nor is what comes after so many bytes
_BYTECODE = re.compile(r"(^|/)__pycache__/[^/]+\.pyc$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing in a folder.

    ``digest`` is the SHA-256 of a file, empty if it was not hashed, or the target of a link.
    ``times`` are inode, modification and change time, in nanoseconds. ``problem`` says why it, or
    a part of it, could not be looked at.
    """

    kind: str
    mode: int = 0
    size: int = 0
    digest: str = ""
    times: tuple[int, int, int] = (0, 0, 0)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """All items of a folder with their names, in order."""

    items: tuple[tuple[str, Item], ...] = ()

    @property
    def digest(self) -> str:
        """Hex SHA-256 over names, kinds, modes, sizes and contents; times do not count."""
        digest = hashlib.sha256()
        for name, item in self.items:
            if item.kind != "folder" or item.problem:
                facts = (name, item.kind, item.mode, item.size, item.digest, item.problem)
                digest.update(repr(facts).encode())
        return digest.hexdigest()

    def changes_to(self, after: Inventory) -> tuple[str, ...]:
        """Return what happened on the way to ``after``, one line each, at most 30 and a count."""
        old = dict(self.items)
        new = dict(after.items)
        names = sorted(old.keys() | new.keys())
        lines = [line for name in names for line in _compare(name, old.get(name), new.get(name))]
        return cut_list(lines)


def take_inventory(
    folder: Path, *, only: tuple[str, ...] | None = None, total_bytes: int = TOTAL_BYTES
) -> Inventory:
    """Look at everything below ``folder``, or ``only`` at these names; nothing missing is an error.

    Bounded in entries, and in ``total_bytes`` to hash; links are recorded and never followed.
    """
    entries = walk(folder, ENTRIES) if only is None else _find_entries(folder, only)
    left = total_bytes
    items: dict[str, Item] = {}
    for entry in entries:
        if entry.kind == "file" and _BYTECODE.search(entry.name):
            continue
        item = _describe(folder, entry, min(left, FILE_BYTES))
        left -= item.size if item.digest else 0
        items[entry.name] = item
    return Inventory(tuple(sorted(items.items())))


def _find_entries(folder: Path, names: tuple[str, ...]) -> Iterator[Entry]:
    for name in names:
        try:
            yield find_entry(folder, name)
        except MissingFile:
            continue
        except UnsafeFile as error:
            yield Entry(name=name, kind="unknown", problem=error.reason)


def _describe(folder: Path, entry: Entry, limit: int) -> Item:
    if entry.stat is None:
        return Item(kind=entry.kind, problem=entry.problem)
    digest, problem = entry.target, entry.problem
    if entry.kind == "file" and entry.stat.st_size <= limit:
        try:
            digest = _hash(folder, entry.name, limit)
        except UnsafeFile as error:
            problem = error.reason
    return Item(
        kind=entry.kind,
        mode=stat.S_IMODE(entry.stat.st_mode),
        size=entry.stat.st_size if entry.kind == "file" else 0,
        digest=digest,
        times=(entry.stat.st_ino, entry.stat.st_mtime_ns, entry.stat.st_ctime_ns),
        problem=problem,
    )


def _hash(folder: Path, name: str, limit: int) -> str:
    digest = hashlib.sha256()
    with open_regular(folder, name) as descriptor:
        for chunk in read_chunks(descriptor, limit):
            digest.update(chunk)
    return digest.hexdigest()


def _compare(path: str, old: Item | None, new: Item | None) -> Iterator[str]:
    """Yield what happened to one name."""
    name = show_name(path)
    if old is None or new is None:
        here = new or old
        if here is not None and (here.kind != "folder" or here.problem):
            yield f"{'added' if old is None else 'deleted'} {name}{_show(here)}"
    elif old.kind != new.kind:
        yield f"{name}: {new.problem}" if new.problem else f"{name} became a {_name_kind(new)}"
    else:
        if old.mode != new.mode and new.kind != "link":
            yield f"mode of {name} changed from {old.mode:o} to {new.mode:o}"
        if old.problem != new.problem:
            yield f"{name}: {new.problem or 'can be read now'}"
        if new.kind != "folder":
            yield from _compare_contents(name, old, new)


def _compare_contents(name: str, old: Item, new: Item) -> Iterator[str]:
    hashed = bool(old.digest and new.digest)
    if old.size != new.size or (hashed and old.digest != new.digest):
        yield f"changed {name}{_show(new)}"
    elif old.times[:2] != new.times[:2]:
        yield f"rewritten {name}" + (" (its content is the same)" if hashed else "")
    elif old.times != new.times and old.mode == new.mode:
        yield f"touched {name} (its mode or content was set, and is as before)"


def _name_kind(item: Item) -> str:
    return f"link to {show_name(item.digest)}" if item.kind == "link" else item.kind


def _show(item: Item) -> str:
    """Return what there is to say of an item that is not just a file, to stand after its name."""
    kind = "" if item.kind in ("file", "unknown") else _name_kind(item)
    words = "; ".join(filter(None, (kind, item.problem)))
    return f" ({words})" if words else ""
