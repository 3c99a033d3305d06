"""A candidate: one complete bundle with its place in the revision tree and its executions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any

from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skills import SkillBundle

ROOT = "root"
_ALPHABET = 26


def name_candidate(generation: int, number: int) -> str:
    """Return generation letter and number: ``b05`` is the fifth entry of generation one.

    The root has the letter ``a`` for itself; after ``z`` comes ``aa``.
    """
    letters = ""
    rest = generation + 1
    while rest:
        rest, letter = divmod(rest - 1, _ALPHABET)
        letters = chr(ord("a") + letter) + letters
    return f"{letters}{number:02d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The change that made a child of ``parent``; ``donors`` lent procedures to it.

    ``specification`` is what the editor reads, in whatever form proposer and editor agreed on.
    """

    parent: str
    operator: str
    target: str
    direction: str
    donors: tuple[str, ...] = ()
    specification: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "donors": list(self.donors)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Edit:
        """Rebuild from :meth:`to_dict`."""
        return cls(**{**data, "donors": tuple(data["donors"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """An execution and the generation in whose comparison it took part (0: the root's own)."""

    generation: int
    record: ExecutionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A version: ``bundle`` is None if its files are lost; the root has no ``edit``."""

    name: str
    generation: int
    digest: str
    bundle: SkillBundle | None
    edit: Edit | None = None
    measurements: tuple[Measurement, ...] = ()

    @property
    def parent(self) -> str | None:
        """The one primary parent; donors are beside it."""
        return None if self.edit is None else self.edit.parent

    @property
    def records(self) -> tuple[ExecutionRecord, ...]:
        """All measured executions, of all generations."""
        return tuple(each.record for each in self.measurements if each.record.measured)

    def list_batch(self, generation: int) -> tuple[ExecutionRecord, ...]:
        """Return the measured executions in the comparison of ``generation``."""
        return tuple(
            each.record
            for each in self.measurements
            if each.generation == generation and each.record.measured
        )
