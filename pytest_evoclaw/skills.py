"""Skill bundles: the skills of a workspace as one value (paper, section 3.3 and Appendix L)."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace
from importlib.resources import as_file
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from pathlib import PurePosixPath

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.safe_files import Entry
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import cut_list
from pytest_evoclaw.safe_files import is_utf8
from pytest_evoclaw.safe_files import read_regular
from pytest_evoclaw.safe_files import walk
from pytest_evoclaw.safe_files import write_regular

SKILL_CREATOR = "skill-creator"  # the folder's name in a workspace, whatever it is elsewhere
_CACHE = "__pycache__"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """One file; ``path`` is posix, relative to ``skills/``, without ``.`` and ``..``."""

    path: str
    data: bytes
    executable: bool = False

    def __post_init__(self) -> None:
        parts = self.path.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise ValueError(f"path of a skill file: {self.path!r} is not relative and normalised")
        if not is_utf8(self.path):
            raise ValueError(f"path of a skill file: {self.path!r} is not UTF-8")


@dataclass(frozen=True, slots=True)
class SkillBundle:
    """All files of all skills, in the order of their paths; equal bundles are the same skills.

    ValueError if two files share a path, or if one is a folder of another.
    """

    files: tuple[SkillFile, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.files, key=lambda file: file.path))
        object.__setattr__(self, "files", ordered)
        folders = {str(folder) for file in ordered for folder in PurePosixPath(file.path).parents}
        neighbours = pairwise(ordered)
        clashes = {one.path for one, other in neighbours if one.path == other.path}
        clashes.update(file.path for file in ordered if file.path in folders)
        if clashes:
            raise ValueError(f"skill bundle: more than one thing at {', '.join(sorted(clashes))}")

    @property
    def digest(self) -> str:
        """Hex SHA-256 over the paths, modes, sizes and contents."""
        digest = hashlib.sha256()
        for file in self.files:
            path = file.path.encode()
            digest.update(b"%d:%d:%d:" % (len(path), file.executable, len(file.data)))
            digest.update(path)
            digest.update(file.data)
        return digest.hexdigest()

    @property
    def folders(self) -> tuple[str, ...]:
        """The top-level folders, one for each skill, in order."""
        return tuple(sorted({f.path.split("/")[0] for f in self.files if "/" in f.path}))

    def find(self, path: str) -> SkillFile | None:
        """Return the file at ``path``, if there is one."""
        return next((file for file in self.files if file.path == path), None)


EMPTY_BUNDLE = SkillBundle()


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleLimits:
    """What a bundle may hold; what is beyond is skipped, in the order of paths.

    ``entries`` bounds what is looked at, ``depth`` the parts of a path.
    """

    file_bytes: int = 2_000_000
    total_bytes: int = 10_000_000
    files: int = 500
    depth: int = 8
    entries: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleReading:
    """What was read from a folder, and what was left out of it, as ``path: reason``."""

    bundle: SkillBundle
    skipped: tuple[str, ...] = ()


def read_bundle(
    folder: Path,
    *,
    exclude: frozenset[str] = frozenset(),
    limits: BundleLimits | None = None,
) -> BundleReading:
    """Read the skills in ``folder``; a missing folder has none.

    Only regular files count; links, FIFOs and devices are neither followed nor opened. The
    top-level folders named in ``exclude`` are passed over, and so are Python's bytecode caches,
    which differ from one use of the same skill to the next.
    """
    limits = limits or BundleLimits()
    kept: list[SkillFile] = []
    skipped: list[str] = []
    for entry in walk(folder, limits.entries):
        parts = entry.name.split("/")
        if parts[0] in exclude or _CACHE in parts:
            continue
        try:
            _raise_unfit(entry, limits, kept)
            if entry.kind == "file":
                kept.append(_read_file(folder, entry, limits.file_bytes))
        except UnsafeFile as error:
            skipped.append(str(error))
    return BundleReading(bundle=SkillBundle(tuple(kept)), skipped=cut_list(skipped))


def write_bundle(bundle: SkillBundle, folder: Path) -> None:
    """Write the files below ``folder``, which is made if there is anything to write.

    Modes are 644 and 755. UnsafeFile if a link or a file is in the way.
    """
    if bundle.files:
        folder.mkdir(parents=True, exist_ok=True)
    for file in bundle.files:
        write_regular(folder, file.path, file.data, executable=file.executable)


def merge_bundles(*bundles: SkillBundle) -> SkillBundle:
    """Return the files of all; ValueError if two bundles have different files at one path."""
    return SkillBundle(tuple({file for bundle in bundles for file in bundle.files}))


def read_skill_creator(folder: Path | None) -> SkillBundle:
    """Return the bundle that teaches how to write skills, under the name ``skill-creator``.

    ``folder`` holds ``SKILL.md`` or one folder with it; None is the one of this package.
    SettingsError if there is none, or if a part of it cannot be used.
    """
    if folder is None:
        with as_file(files("pytest_evoclaw") / SKILL_CREATOR) as shipped:
            return _read_creator(shipped)
    return _read_creator(folder)


def _read_creator(folder: Path) -> SkillBundle:
    reading = read_bundle(folder.resolve())
    if reading.skipped:
        raise _bad_creator(folder, f"cannot be used whole: {'; '.join(reading.skipped[:5])}")
    bundle = reading.bundle
    inner = tuple(name for name in bundle.folders if bundle.find(f"{name}/SKILL.md"))
    if bundle.find("SKILL.md") is not None:
        return SkillBundle(tuple(_move(bundle, "")))
    if len(inner) != 1:
        found = f"{len(inner)} skills" if folder.is_dir() else "no folder"
        raise _bad_creator(folder, f"found {found}, allowed one SKILL.md, or one folder with it")
    return SkillBundle(tuple(_move(bundle, f"{inner[0]}/")))


def _move(bundle: SkillBundle, prefix: str) -> Iterator[SkillFile]:
    for file in bundle.files:
        if file.path.startswith(prefix):
            yield replace(file, path=f"{SKILL_CREATOR}/{file.path.removeprefix(prefix)}")


def _bad_creator(folder: Path, message: str) -> SettingsError:
    return SettingsError(f"--evo-skill-creator: {folder}: {message}")


def _raise_unfit(entry: Entry, limits: BundleLimits, kept: list[SkillFile]) -> None:
    """Raise UnsafeFile for what does not belong into a bundle."""
    if entry.problem:
        raise UnsafeFile(entry.name, entry.problem)
    if entry.kind == "folder":
        return
    if entry.kind != "file":
        raise UnsafeFile(entry.name, f"not a regular file ({entry.kind})")
    if not is_utf8(entry.name):
        raise UnsafeFile(entry.name, "its name is not UTF-8")
    if entry.name.count("/") >= limits.depth:
        raise UnsafeFile(entry.name, f"deeper than {limits.depth} levels")
    if len(kept) >= limits.files:
        raise UnsafeFile(entry.name, f"more than {limits.files} files")
    size = entry.stat.st_size if entry.stat is not None else 0
    if size <= limits.file_bytes and size + sum(map(_measure, kept)) > limits.total_bytes:
        raise UnsafeFile(entry.name, f"more than {limits.total_bytes} bytes in all files")


def _read_file(folder: Path, entry: Entry, limit: int) -> SkillFile:
    data = read_regular(folder, entry.name, limit)
    executable = entry.stat is not None and bool(entry.stat.st_mode & stat.S_IXUSR)
    return SkillFile(path=entry.name, data=data, executable=executable)


def _measure(file: SkillFile) -> int:
    return len(file.data)
