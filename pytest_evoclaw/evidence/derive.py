"""The right report of a case, derived from its file alone."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from decimal import ROUND_HALF_UP
from decimal import Decimal

from pytest_evoclaw.evidence.model import Answer
from pytest_evoclaw.evidence.model import Case
from pytest_evoclaw.evidence.model import EvidenceError
from pytest_evoclaw.evidence.model import Packet
from pytest_evoclaw.evidence.model import Record
from pytest_evoclaw.evidence.model import compute_checksum
from pytest_evoclaw.evidence.model import is_count

CENT = Decimal("0.01")


def choose_packet(case: Case) -> Packet:
    """Return the authoritative packet: genuine, then highest revision, weight, lowest id."""
    genuine = [packet for packet in case.packets if _is_genuine(case, packet)]
    if not genuine:
        raise EvidenceError(f"{case.task_id} {case.case_id}: no authoritative packet")
    return min(genuine, key=lambda p: (-p.revision, -p.source_weight, p.packet_id))


def derive_report(case: Case) -> dict[str, Answer]:
    """Return field → answer, in the order of the channel map."""
    chosen = choose_packet(case).packet_id
    valid = [r for r in case.records if r.packet_id == chosen and r.state == "final"]
    report: dict[str, Answer] = {}
    for channel, field in case.channels.items():
        records = [record for record in valid if record.channel == channel]
        if channel[0] == "N":
            report[field] = _total(records, whole=is_count(field))
        else:
            report[field] = _DERIVATIONS[channel[0]](records)
    return report


def _is_genuine(case: Case, packet: Packet) -> bool:
    checksum = compute_checksum(case.task_id, case.case_id, packet.packet_id, packet.nonce)
    return (
        packet.status == "approved" and packet.superseded_by is None and packet.checksum == checksum
    )


def _total(records: Sequence[Record], *, whole: bool) -> int | float:
    total = Decimal(0)
    for record in records:
        part = Decimal(record.body["amount"]) / Decimal(record.body["scale"])
        total += part if record.body["op"] == "add" else -part
    if not whole:
        return float(total.quantize(CENT, ROUND_HALF_UP))
    if total != total.to_integral_value():
        raise EvidenceError(f"a count of {total} is not a whole number")
    return int(total)


def _edit_list(records: Sequence[Record]) -> list[str]:
    values: set[str] = set()
    for record in sorted(records, key=lambda r: (r.revision, r.record_id)):
        value = str(record.body["value"])
        if record.body["op"] == "include":
            values.add(value)
        elif record.body["op"] == "remove":
            values.discard(value)
        elif value in values:
            values.remove(value)
            values.add(str(record.body["target"]))
    return sorted(values)


def _sum_buckets(records: Sequence[Record]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for record in records:
        amount = int(record.body["amount"])
        signed = amount if record.body["op"] == "add" else -amount
        bucket = str(record.body["bucket"])
        sums[bucket] = sums.get(bucket, 0) + signed
    return {bucket: sums[bucket] for bucket in sorted(sums) if sums[bucket]}


def _pass_all(records: Sequence[Record]) -> bool:
    return all(record.body["passed"] is True for record in records)


def _pick_text(records: Sequence[Record]) -> str:
    def rank(record: Record) -> tuple[int, str]:
        net = int(record.body["score"]) - int(record.body["penalty"])
        return -net, str(record.body["candidate"])

    return str(min(records, key=rank).body["candidate"])


_DERIVATIONS: dict[str, Callable[[Sequence[Record]], Answer]] = {
    "L": _edit_list,
    "D": _sum_buckets,
    "B": _pass_all,
    "T": _pick_text,
}
