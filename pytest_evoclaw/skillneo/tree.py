"""The revision tree: every version with its executions, and which are retired."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

from pytest_evoclaw.skillneo.candidate import ROOT
from pytest_evoclaw.skillneo.candidate import Candidate
from pytest_evoclaw.skillneo.candidate import Edit
from pytest_evoclaw.skillneo.candidate import Measurement
from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.ranking import compute_official


@dataclass(slots=True)
class Tree:
    """Versions by name, in the order of their creation; ``repeats`` makes a record complete."""

    repeats: int
    retired: set[str] = field(default_factory=set)
    _versions: dict[str, Candidate] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Candidate:
        return self._versions[name]

    def __contains__(self, name: str) -> bool:
        return name in self._versions

    def __iter__(self) -> Iterator[Candidate]:
        return iter(tuple(self._versions.values()))

    @property
    def root(self) -> Candidate:
        """The version that the search started from."""
        return self._versions[ROOT]

    def add(self, candidate: Candidate) -> None:
        """Add a version; ValueError if its name is taken or its parent is unknown."""
        if candidate.name in self or (
            candidate.parent is not None and candidate.parent not in self
        ):
            raise ValueError(f"revision tree: {candidate.name}: name is taken or parent unknown")
        self._versions[candidate.name] = candidate

    def record(self, name: str, generation: int, record: ExecutionRecord) -> None:
        """Add one execution of ``name`` in the comparison of ``generation``."""
        version = self[name]
        added = Measurement(generation=generation, record=record)
        self._versions[name] = replace(version, measurements=(*version.measurements, added))

    def list_born(self, generation: int) -> list[Candidate]:
        """Return the versions made in ``generation``."""
        return [each for each in self if each.generation == generation]

    def list_children(self, name: str) -> list[Candidate]:
        """Return the versions whose primary parent is ``name``."""
        return [each for each in self if each.parent == name]

    def find_digest(self, digest: str) -> Candidate | None:
        """Return the version with this bundle, if there is one."""
        return next((each for each in self if each.digest == digest), None)

    def is_complete(self, name: str) -> bool:
        """Whether a comparison measured ``name`` in all repeats."""
        return self._find_complete(name) is not None

    def find_score(self, name: str) -> float | None:
        """Return the latest complete mean within 0..100; else that of what was measured, if any."""
        generation = self._find_complete(name)
        version = self[name]
        if generation is not None:
            return compute_official(version.list_batch(generation))
        return compute_official(version.records) if version.records else None

    def _find_complete(self, name: str) -> int | None:
        version = self[name]
        generations = {each.generation for each in version.measurements}
        complete = [g for g in generations if len(version.list_batch(g)) >= self.repeats]
        return max(complete, default=None)

    def list_losses(self) -> list[Edit]:
        """Return the edits whose children score below their parents: measured net losses."""
        return [
            each.edit for each in self if each.edit and self._is_below(each.name, each.edit.parent)
        ]

    def _is_below(self, child: str, parent: str) -> bool:
        score, bar = self.find_score(child), self.find_score(parent)
        return score is not None and bar is not None and score < bar

    def trace_lineage(self, name: str) -> list[str]:
        """Return the primary path from the root to ``name``."""
        path = [name]
        while (parent := self[path[-1]].parent) is not None:
            path.append(parent)
        return path[::-1]


def order_by_score(tree: Tree, names: Iterable[str]) -> list[str]:
    """Return the measured ones of ``names``, best first; ties keep their order."""
    scored = [(tree.find_score(name), name) for name in names]
    known = [(score, name) for score, name in scored if score is not None]
    return [name for _, name in sorted(known, key=lambda pair: -pair[0])]
