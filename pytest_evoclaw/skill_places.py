"""Where a phase's skills lie: in ``skills/``, and copied to where a runtime looks for them.

All places are guarded, and in authoring phases a skill counts wherever the agent wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path

from pytest_evoclaw.inventory import Inventory
from pytest_evoclaw.inventory import Item
from pytest_evoclaw.inventory import take_inventory
from pytest_evoclaw.safe_files import MissingFile
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import find_entry
from pytest_evoclaw.safe_files import walk
from pytest_evoclaw.skills import BundleReading
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile
from pytest_evoclaw.skills import read_bundle
from pytest_evoclaw.skills import write_bundle

SKILLS = "skills"
_ENTRIES = 10_000


def place_skills(bundles: Iterable[SkillBundle], workspace: Path, copies: Sequence[str]) -> None:
    """Write the bundles below ``skills/`` and below each folder of ``copies``."""
    for bundle in bundles:
        for folder in (SKILLS, *copies):
            write_bundle(bundle, workspace / folder)


def inspect_copies(workspace: Path, copies: Sequence[str]) -> Inventory:
    """Return what is in the folders of ``copies``, with names that begin with the folder's."""
    items: list[tuple[str, Item]] = []
    for folder in copies:
        if not _is_folder(workspace, folder):
            # A link in a folder's place is listed itself, and nothing that it leads to.
            items.extend(take_inventory(workspace, only=(folder,)).items)
            continue
        inner = take_inventory(workspace / folder).items
        items.extend((f"{folder}/{name}", item) for name, item in inner)
    return Inventory(tuple(sorted(items)))


def collect_skills(
    workspace: Path, copies: Sequence[str], given: SkillBundle, seeded: frozenset[str]
) -> BundleReading:
    """Read the skills that are there at a phase's end, without the ``seeded`` ones.

    From a copy come the skills that are new or other than the ``given``. One that was written in
    two places is taken whole from where its newest file is, and a note says so.
    """
    main = read_bundle(workspace / SKILLS, exclude=seeded)
    chosen = _group(main.bundle)
    places = dict.fromkeys(chosen, SKILLS)
    known = _group(given)
    notes = list(main.skipped)
    for folder in copies:
        if not _is_folder(workspace, folder):
            continue
        reading = read_bundle(workspace / folder, exclude=seeded)
        notes.extend(f"{folder}: {note}" for note in reading.skipped)
        for name, files in _group(reading.bundle).items():
            if files in (known.get(name), chosen.get(name)):
                continue
            rival = places.get(name)
            if rival is not None and chosen[name] != known.get(name):
                newest = max((rival, folder), key=lambda place: _date(workspace / place, name))
                notes.append(f"{name}: written in {rival} and {folder}; {newest} is newer")
                if newest == rival:
                    continue
            chosen[name], places[name] = files, folder
    files = tuple(file for group in chosen.values() for file in group)
    return BundleReading(bundle=SkillBundle(files), skipped=tuple(notes))


def _group(bundle: SkillBundle) -> dict[str, tuple[SkillFile, ...]]:
    """Return the files of each top-level name."""
    groups: dict[str, tuple[SkillFile, ...]] = {}
    for file in bundle.files:
        name = file.path.split("/")[0]
        groups[name] = (*groups.get(name, ()), file)
    return groups


def _date(place: Path, name: str) -> int:
    """Return when the newest file of a skill was written, in nanoseconds."""
    entries = [find_entry(place, name), *walk(place / name, _ENTRIES)]
    times = [entry.stat.st_mtime_ns for entry in entries if entry.stat and entry.kind == "file"]
    return max(times, default=0)


def _is_folder(workspace: Path, folder: str) -> bool:
    """Whether it is there, without a link on the way."""
    try:
        return find_entry(workspace, folder).kind == "folder"
    except (MissingFile, UnsafeFile):
        return False
