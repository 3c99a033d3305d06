"""The loopback proxy that all model traffic of agents goes through.

Its parts, from the outside in: :mod:`service` (one thread a process), :mod:`proxy` (the HTTP
server), :mod:`upstream` (the provider, with retries) or :mod:`store` (stored answers), and
:mod:`ledger` (what one phase used). Only proxy and upstream import aiohttp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """What holds for all phases of a session.

    A request is tried ``1 + retries`` times within ``retry_seconds``, waits included.
    ``concurrency`` bounds the requests that one upstream serves at a time. ``first_byte_seconds``
    and ``idle_seconds`` bound the silence before and within an answer. ``body_bytes`` are kept in
    the log of each request and each answer, ``log_bytes`` of bodies in the log of a phase.
    ``record`` and ``replay`` are folders of stored answers.
    """

    retries: int = 3
    retry_seconds: float = 60.0
    concurrency: int = 32
    first_byte_seconds: float = 600.0
    idle_seconds: float = 300.0
    body_bytes: int = 262_144
    log_bytes: int = 100_000_000
    record: Path | None = None
    replay: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficLimits:
    """Bounds of one phase: answers of the model, and tokens of all kinds; None is no bound."""

    max_turns: int | None = None
    max_tokens: int | None = None


NO_LIMITS = TrafficLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTraffic:
    """Whose traffic it is and where it goes.

    ``log`` is the file of its requests. ``key`` names the phase among all of a session, the same
    in each session, with slashes: stored answers lie there. ``root`` is the folder of the phase,
    whose path differs between sessions. ``asking`` is called at each request for an answer, in the
    gateway's thread, and must return at once.
    """

    endpoint: Endpoint
    log: Path
    limits: TrafficLimits = NO_LIMITS
    key: str = "phase"
    root: Path | None = None
    asking: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficReport:
    """What one phase asked of the model, and got.

    ``turns`` counts complete answers with content, ``requests`` all that asked for one. ``usage``
    is the provider's; numbers are None if any answer had none. ``problem`` says that the provider
    ended the conversation. ``limit`` is the limit that was reached: ``turns`` or ``tokens``.
    """

    turns: int
    requests: int
    usage: Usage
    problem: Failure | None = None
    limit: str | None = None
