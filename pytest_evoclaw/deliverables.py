"""What an agent has delivered, whatever its type, as text of bounded length that says what it cuts.

Every file is named. Files share the room fairly: short ones are shown whole, and no long one
crowds out another.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path

from pytest_evoclaw.judge_facts import SeenFile
from pytest_evoclaw.renderings import WHOLE_BYTES
from pytest_evoclaw.renderings import Rendering
from pytest_evoclaw.renderings import is_container
from pytest_evoclaw.renderings import render_bytes
from pytest_evoclaw.safe_files import Skipped
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import cut_list
from pytest_evoclaw.safe_files import open_regular
from pytest_evoclaw.safe_files import read_chunks
from pytest_evoclaw.safe_files import show_name
from pytest_evoclaw.safe_files import walk_regular

_SNIFFED = 512  # bytes that tell what a file is


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderLimits:
    """Files that are shown, characters of one and of all, and entries that are looked at."""

    files: int = 100
    file_characters: int = 12_000
    total_characters: int = 60_000
    entries: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliverable:
    """One file: ``text`` is what is shown of it."""

    seen: SeenFile
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliverables:
    """The files in the order of their names; ``notes`` say what is not among them, and why."""

    files: tuple[Deliverable, ...] = ()
    notes: tuple[str, ...] = ()


def render_deliverables(workspace: Path, limits: RenderLimits | None = None) -> Deliverables:
    """Show the regular files of ``outputs/``; links are not followed, nothing is waited for."""
    limits = limits or RenderLimits()
    outputs = workspace / "outputs"
    found = list(walk_regular(outputs, limits.entries))
    names = [item for item in found if isinstance(item, str)]
    notes = [f"not shown: {_place(i.name)}: {i.reason}" for i in found if isinstance(i, Skipped)]
    notes += [f"not shown: {_place(n)}: too many files" for n in names[limits.files :]]
    shown = {name: _render(outputs, name, limits) for name in names[: limits.files]}
    return Deliverables(
        files=_share({_place(n): shown[n] for n in shown}, limits.total_characters),
        notes=cut_list(notes),
    )


def render_contents(contents: Mapping[str, bytes], limits: RenderLimits) -> Deliverables:
    """Show files that are in memory, by their names."""
    names = sorted(contents)
    shown = {
        name: (len(contents[name]), render_bytes(name, contents[name], limits.file_characters))
        for name in names[: limits.files]
    }
    notes = [f"not shown: {name}: too many files" for name in names[limits.files :]]
    return Deliverables(files=_share(shown, limits.total_characters), notes=cut_list(notes))


def _render(outputs: Path, name: str, limits: RenderLimits) -> tuple[int, Rendering]:
    try:
        with open_regular(outputs, name) as descriptor:
            size = os.fstat(descriptor).st_size
            data = b"".join(read_chunks(descriptor, _SNIFFED))
            wanted = WHOLE_BYTES + 1 if is_container(name, data) else 4 * limits.file_characters
            data += b"".join(read_chunks(descriptor, wanted - len(data)))
    except UnsafeFile as error:
        return 0, Rendering(kind="other", cut=error.reason)
    return size, render_bytes(name, data, limits.file_characters, size=size)


def _share(shown: Mapping[str, tuple[int, Rendering]], room: int) -> tuple[Deliverable, ...]:
    share = _find_share([len(rendering.text) for _, rendering in shown.values()], room)
    return tuple(
        _describe(path, size, _cut(rendering, share)) for path, (size, rendering) in shown.items()
    )


def _find_share(lengths: Sequence[int], room: int) -> int:
    """Return how long a text may be so that all of them fit, cut to it, in ``room``."""
    left = room
    for done, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - done)
        if length > share:
            return share
        left -= length
    return room


def _cut(rendering: Rendering, share: int) -> Rendering:
    length = len(rendering.text)
    if length <= share:
        return rendering
    return replace(
        rendering,
        text=rendering.text[:share],
        cut=_join(rendering.cut, f"the first {share} of {length} characters for want of room"),
    )


def _describe(path: str, size: int, rendering: Rendering) -> Deliverable:
    seen = SeenFile(
        path=path,
        kind=rendering.kind,
        size=size,
        shown=len(rendering.text),
        cut=rendering.cut,
    )
    return Deliverable(seen=seen, text=rendering.text)


def _join(*words: str) -> str:
    return "; ".join(word for word in words if word)


def _place(name: str) -> str:
    return "outputs" if name == "." else f"outputs/{show_name(name)}"
