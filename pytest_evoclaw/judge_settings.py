"""What a user says about judges."""

from __future__ import annotations

from dataclasses import dataclass

WARN_OFF = "the judge is off: hybrid tasks are graded by their automated part alone"


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


def warn_own_model(model: str) -> str:
    """Return the warning for a judge that is the agents' model."""
    return f"the judge {model} is the agents' own model, which may favour itself"
