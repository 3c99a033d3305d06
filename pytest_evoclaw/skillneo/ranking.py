"""Scores of compared versions and their order (SkillNEO, Appendix B.1, equation 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.executions import Records

DIGITS = 9  # means of the same rewards are equal, whatever the last bits of their sums are


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The measured executions of one version that enter one comparison; never empty."""

    name: str
    records: tuple[ExecutionRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A version's mean official and auxiliary score in one comparison, both within 0..100."""

    name: str
    official: float
    auxiliary: float


def compute_official(records: Records) -> float:
    """Return the mean official reward within 0..100; ValueError for no measured record."""
    rewards = [each.official for each in records if each.official is not None]
    if not rewards:
        raise ValueError("official score: found no measured execution, allowed at least one")
    return round(100 * math.fsum(rewards) / len(rewards), DIGITS)


def rank_batches(batches: Sequence[Batch], *, incumbent: str | None = None) -> list[Standing]:
    """Rank by official mean, then by auxiliary score; best first.

    The incumbent wins an exact tie on both; other ties keep the order of ``batches``.
    """
    compatible = _is_coverage_compatible(batches)
    standings = [
        Standing(
            name=batch.name,
            official=compute_official(batch.records),
            auxiliary=_compute_auxiliary(batch.records, compatible=compatible),
        )
        for batch in batches
    ]
    return sorted(standings, key=lambda s: (-s.official, -s.auxiliary, s.name != incumbent))


def _is_coverage_compatible(batches: Sequence[Batch]) -> bool:
    """Whether all executions count passed checks, and of the same checks."""
    records = [record for batch in batches for record in batch.records]
    coverages = {frozenset(record.coverage) for record in records}
    counted = all(record.passed is not None and record.coverage for record in records)
    return counted and len(coverages) == 1


def _compute_auxiliary(records: Records, *, compatible: bool) -> float:
    if not compatible:
        return compute_official(records)
    shares = [(record.passed or 0) / len(record.coverage) for record in records]
    return round(100 * math.fsum(shares) / len(shares), DIGITS)
