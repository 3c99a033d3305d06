"""What is kept of a judgement: who judged, what was shown, what was answered and what it cost."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from pytest_evoclaw.usage import UNKNOWN_USAGE
from pytest_evoclaw.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFile:
    """A file as the judge saw it.

    ``kind`` is ``text``, ``workbook``, ``document``, ``archive`` or ``other``; ``size`` is in
    bytes, ``shown`` in characters, and ``cut`` says what is not shown, empty if all is.
    """

    path: str
    kind: str
    size: int
    shown: int
    cut: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFacts:
    """One judgement of a phase, of one or more independent ``samples``.

    ``weight`` is the judge's share of the score, within 0..1. ``parameters`` are those that the
    provider accepted, ``prompt_digest`` is the SHA-256 of the messages, ``replies`` are raw texts
    of bounded length, also unreadable ones. ``seconds`` is from the first request to the last
    answer, waits between tries included.
    """

    model: str
    base_url: str
    weight: float
    parameters: dict[str, Any] = field(default_factory=dict)
    prompt_digest: str = ""
    prompt_characters: int = 0
    samples: tuple[float, ...] = ()
    replies: tuple[str, ...] = ()
    usage: Usage = UNKNOWN_USAGE
    seconds: float = 0.0
    seen: tuple[SeenFile, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def noise(self) -> float | None:
        """Sample standard deviation of the judge's own scores, None of fewer than two."""
        return statistics.stdev(self.samples) if len(self.samples) > 1 else None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> JudgeFacts:
        """Rebuild from builtins."""
        return cls(
            **{
                **data,
                "samples": tuple(data["samples"]),
                "replies": tuple(data["replies"]),
                "usage": Usage(**data["usage"]),
                "seen": tuple(SeenFile(**file) for file in data["seen"]),
                "notes": tuple(data["notes"]),
            }
        )
