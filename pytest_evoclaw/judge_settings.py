"""What a user says about judges."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Who judges, if anybody: ``on`` is False where the user has turned judges off.

    ``seconds`` bound one request, ``samples`` are judgements of each phase, ``concurrency`` is
    over all processes of the session.
    """

    on: bool = True
    model: str | None = None
    base_url: str | None = None
    samples: int = 1
    concurrency: int = 4
    seconds: float = 120.0
