"""The append-only record of a search, from which it goes on exactly where it ended."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import read_bundle
from pytest_evoclaw.skills import write_bundle

Event = dict[str, Any]
NAME = "search.jsonl"
_KEYS = ("event", "generation", "attempt", "round", "number", "stage", "candidate", "repeat")


class Journal:
    """Events and bundles in memory; events are found again by what they are about.

    ``clock`` dates the events. A key such as ``(execution, generation, stage, …)`` occurs once.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.events: list[Event] = []
        self._by_key: dict[tuple[Any, ...], Event] = {}
        self._bundles: dict[str, SkillBundle] = {}
        self._clock = clock

    def append(self, event: Event) -> None:
        """Add one event, with the time; ValueError if its key is there already."""
        self._index({**event, "at": self._clock()})

    def find(self, **key: Any) -> Event | None:
        """Return the event with exactly this key, if it was recorded."""
        return self._by_key.get(_make_key(key))

    def count(self, kind: str) -> int:
        """Return how many events of this kind there are."""
        return sum(event["event"] == kind for event in self.events)

    def store_bundle(self, bundle: SkillBundle) -> str:
        """Keep the bundle, and return its digest."""
        self._bundles[bundle.digest] = bundle
        return bundle.digest

    def load_bundle(self, digest: str) -> SkillBundle | None:
        """Return the bundle, None if it is not there whole."""
        return self._bundles.get(digest)

    def _index(self, event: Event) -> None:
        key = _make_key(event)
        if key in self._by_key:
            raise ValueError(f"journal of a search: {key}: found twice, allowed once")
        self._by_key[key] = event
        self.events.append(event)


class FolderJournal(Journal):
    """A journal in ``folder``: JSON lines, and ``bundles/<digest>/``.

    A last line that a kill has torn is cut off when the journal is opened. SettingsError for
    any other damage, with file and line.
    """

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._folder = folder
        self._path = folder / NAME
        folder.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        *lines, torn = self._path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                self._index(dict(json.loads(line)))
            except (ValueError, TypeError) as error:
                where = f"{self._path}:{number}"
                raise SettingsError(f"{where}: no event of a search: {error}") from error
        if torn:
            os.truncate(self._path, self._path.stat().st_size - len(torn))

    def append(self, event: Event) -> None:
        """Add one event, so that neither a kill nor a power cut loses it."""
        super().append(event)
        line = json.dumps(self.events[-1], ensure_ascii=False, allow_nan=False) + "\n"
        with self._path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def store_bundle(self, bundle: SkillBundle) -> str:
        """Write the bundle beside its place and move it there, so that it is there whole."""
        digest = super().store_bundle(bundle)
        place = self._folder / "bundles" / digest
        if self._read_bundle(digest) is None:
            unfinished = place.with_name(f"{digest}.unfinished")
            for stale in (unfinished, place):
                if stale.exists():
                    shutil.rmtree(stale)
            unfinished.mkdir(parents=True)
            write_bundle(bundle, unfinished)
            unfinished.rename(place)
        return digest

    def load_bundle(self, digest: str) -> SkillBundle | None:
        """Return the bundle, None if its files are gone or are no longer those of the digest."""
        return super().load_bundle(digest) or self._read_bundle(digest)

    def _read_bundle(self, digest: str) -> SkillBundle | None:
        place = self._folder / "bundles" / digest
        bundle = read_bundle(place).bundle
        return bundle if place.is_dir() and bundle.digest == digest else None


def _make_key(event: Event) -> tuple[Any, ...]:
    return tuple(event.get(name) for name in _KEYS)
