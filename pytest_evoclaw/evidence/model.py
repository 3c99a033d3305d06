"""A case of the hard-mode evidence protocol (paper, Appendix I): packets, records, channels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_evoclaw.errors import EvoclawError

SALT = "evoclawbench-difficulty-hardening-20260524-v4"

Value = str | int | bool
Answer = bool | int | float | str | list[str] | dict[str, int]


class EvidenceError(EvoclawError):
    """A case file breaks the protocol: its file, and what was found there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One line of the manifest; ``superseded_by`` is the id of another packet, or None."""

    packet_id: str
    source: str
    status: str
    revision: int
    source_weight: int
    superseded_by: str | None
    nonce: str
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One piece of evidence; what ``body`` holds follows from the kind of its channel.

    ========  =============================================================
    channel   keys of the body
    ========  =============================================================
    N…        ``op`` (add, subtract), ``amount``, ``scale``
    L…        ``op`` (include, remove, alias), ``value``, for alias ``target``
    D…        ``op`` (add, subtract), ``bucket``, ``amount``
    B…        ``gate``, ``passed``
    T…        ``candidate``, ``score``, ``penalty``
    ========  =============================================================
    """

    record_id: str
    packet_id: str
    state: str
    channel: str
    revision: int
    body: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One sub-problem: everything a fixture file says. ``channels`` maps a channel to its field."""

    task_id: str
    case_id: str
    title: str
    channels: Mapping[str, str]
    packets: tuple[Packet, ...]
    records: tuple[Record, ...]


def compute_checksum(task_id: str, case_id: str, packet_id: str, nonce: str) -> str:
    """Return the 16 hexadecimal digits that a genuine packet carries."""
    text = "|".join((SALT, task_id, case_id, packet_id, nonce))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def is_count(field: str) -> bool:
    """Whether a numeric field is a whole number in the report."""
    return field.endswith("_count")
