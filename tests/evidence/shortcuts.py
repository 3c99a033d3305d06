"""Solvers that break one rule of the protocol each; with no rule broken they are right."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from decimal import ROUND_DOWN
from decimal import ROUND_HALF_EVEN
from decimal import ROUND_HALF_UP
from decimal import Decimal
from typing import Any

from pytest_evoclaw.evidence.generator import PlannedCase
from pytest_evoclaw.evidence.model import SALT
from pytest_evoclaw.evidence.model import Case
from pytest_evoclaw.evidence.model import Packet
from pytest_evoclaw.evidence.model import Record
from pytest_evoclaw.grading.compare import same

CENT = Decimal("0.01")


def count_right(broken: str, cases: Sequence[PlannedCase]) -> int:
    """Return how many fields of all cases a solver gets right in value and type."""
    solver = Shortcut(broken)
    return sum(
        same(value, planned.report[name])
        for planned in cases
        for name, value in solver.solve(planned.case).items()
    )


@dataclass
class Shortcut:
    """A solver; ``broken`` names its broken rule, or is empty."""

    broken: str = ""
    answers: dict[str, Callable[[list[Record], str], Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.answers = {
            "N": self.add_up,
            "L": self.edit,
            "D": self.tally,
            "B": self.sign_off,
            "T": self.elect,
        }

    def solve(self, case: Case) -> dict[str, Any]:
        chosen = self.choose(case)
        states = {"final"}
        if self.broken in ("count drafts", "count every state"):
            states.add("draft")
        if self.broken in ("count voids", "count every state"):
            states.add("void")
        kept = [r for r in case.records if r.packet_id in chosen and r.state in states]
        return {
            name: self.answers[channel[0]]([r for r in kept if r.channel == channel], name)
            for channel, name in case.channels.items()
        }

    def choose(self, case: Case) -> set[str]:
        packets = list(case.packets)
        if self.broken == "all final records":
            return {packet.packet_id for packet in packets}
        if self.broken == "latest revision":
            return {max(packets, key=lambda p: p.revision).packet_id}
        good = [packet for packet in packets if self.accepts(case, packet)]
        if self.broken == "all good packets together":
            return {packet.packet_id for packet in good}
        if self.broken.endswith("packet of the manifest"):
            return {good[0 if self.broken.startswith("first") else -1].packet_id}
        if self.broken == "last in the manifest on a tie":
            good.reverse()
        return {self.rank(good).packet_id}

    def accepts(self, case: Case, packet: Packet) -> bool:
        parts = [case.task_id, case.case_id, packet.packet_id, packet.nonce]
        salted = "|".join([SALT, *parts])
        digests = [hashlib.sha256(salted.encode()).hexdigest()[:16]]
        if self.broken == "checksum without salt":
            digests.append(hashlib.sha256("|".join(parts).encode()).hexdigest()[:16])
        statuses = {"approved"} | ({"pending"} if self.broken == "accept pending" else set())
        return (
            (self.broken == "ignore status" or packet.status in statuses)
            and (self.broken == "ignore checksum" or packet.checksum in digests)
            and not self.is_superseded(case, packet)
        )

    def is_superseded(self, case: Case, packet: Packet) -> bool:
        if packet.superseded_by is None or self.broken == "ignore supersession":
            return False
        if self.broken == "superseded only by an approved packet":
            named = [p for p in case.packets if p.packet_id == packet.superseded_by]
            return named[0].status == "approved"
        return True

    def rank(self, packets: list[Packet]) -> Packet:
        ordered = sorted(packets, key=lambda p: p.packet_id)
        if self.broken == "highest packet id":
            ordered.reverse()
        if self.broken.endswith("in the manifest on a tie"):
            ordered = packets

        def key(packet: Packet) -> tuple[Any, ...]:
            return {
                "ignore revision": (packet.source_weight,),
                "ignore weight": (packet.revision,),
                "weight before revision": (packet.source_weight, packet.revision),
                "revision as text": (str(packet.revision), packet.source_weight),
            }.get(self.broken, (packet.revision, packet.source_weight))

        return max(ordered, key=key)

    def sign(self, record: Record) -> int:
        amount = int(record.body["amount"])
        if self.broken == "ignore signs":
            amount = abs(amount)
        subtracts = record.body["op"] == "subtract" and self.broken != "ignore subtract"
        return -amount if subtracts else amount

    def add_up(self, records: list[Record], name: str) -> Any:
        parts = []
        for record in sorted(records, key=lambda r: (r.revision, r.record_id)):
            scale = 100 if self.broken == "ignore scale" else int(record.body["scale"])
            part = Decimal(self.sign(record)) / scale
            parts.append(round(part, 2) if self.broken == "round each part" else part)
        total = Decimal(0)
        for part in parts:
            total += part
            if self.broken == "clamp as it runs":
                total = max(total, Decimal(0))
        if self.broken == "clamp the total":
            total = max(total, Decimal(0))
        return self.round(total, whole=name.endswith("_count"))

    def round(self, total: Decimal, *, whole: bool) -> Any:
        if whole:
            return int(total) if total == int(total) else float(total)
        if self.broken == "round half up":  # as Math.round does: towards more, not away from zero
            return float((total * 100 + Decimal("0.5")).__floor__() / Decimal(100))
        mode = {"round half to even": ROUND_HALF_EVEN, "truncate": ROUND_DOWN}
        return float(total.quantize(CENT, mode.get(self.broken, ROUND_HALF_UP)))

    def edit(self, records: list[Record], _: str) -> Any:
        if self.broken == "empty lists":
            return []
        values: list[str] = []
        renamed: dict[str, str] = {}
        removed: set[str] = set()
        for record in self.order(records):
            self.apply(record, values, renamed, removed)
        if self.broken == "order of inclusion":
            return list(dict.fromkeys(values))
        return sorted(values if self.broken == "keep duplicates" else set(values))

    def apply(
        self, record: Record, values: list[str], renamed: dict[str, str], removed: set[str]
    ) -> None:
        op, value = record.body["op"], str(record.body["value"])
        if op == "include":
            if self.broken == "aliases are lasting":
                value = renamed.get(value, value)
            values.extend([value] if value not in removed else [])
        elif self.broken != f"ignore {op}":
            if self.broken == "removals are lasting" and op == "remove":
                removed.add(value)
            renamed.update({value: str(record.body["target"])} if op == "alias" else {})
            for _ in range(values.count(value)):
                values.remove(value)
                values.extend([renamed[value]] if op == "alias" else [])

    def order(self, records: list[Record]) -> list[Record]:
        if self.broken == "file order":
            return records
        if self.broken == "equal revisions by reverse file order":
            records = list(reversed(records))
        if self.broken.startswith("equal revisions"):
            return sorted(records, key=lambda r: r.revision)
        ordered = sorted(records, key=lambda r: (r.revision, r.record_id))
        late = {"aliases last": "alias", "removals last": "remove"}.get(self.broken)
        return sorted(ordered, key=lambda r: r.body["op"] == late)

    def tally(self, records: list[Record], _: str) -> Any:
        sums: dict[str, int] = {}
        for record in records:
            bucket = str(record.body["bucket"])
            amount = 1 if self.broken == "count records" else self.sign(record)
            sums[bucket] = sums.get(bucket, 0) + amount
        if self.broken == "keep zeros":
            return sums
        if self.broken == "drop negatives":
            return {bucket: total for bucket, total in sums.items() if total > 0}
        return {bucket: total for bucket, total in sums.items() if total}

    def sign_off(self, records: list[Record], _: str) -> Any:
        if self.broken.startswith("always"):
            return self.broken == "always true"
        passed = [record.body["passed"] is True for record in records]
        if self.broken == "latest of each gate":
            ordered = sorted(records, key=lambda r: r.revision)
            return all({r.body["gate"]: r.body["passed"] for r in ordered}.values())
        if self.broken == "most gates":
            return sum(passed) * 2 > len(passed)
        return any(passed) if self.broken == "any gate" else all(passed)

    def elect(self, records: list[Record], _: str) -> Any:
        picked = {
            "first candidate": records[0],
            "last candidate": records[-1],
            "latest candidate": max(records, key=lambda r: r.revision),
        }
        if self.broken in picked:
            return picked[self.broken].body["candidate"]
        nets = [self.net(record) for record in records]
        tied = [r for r, net in zip(records, nets, strict=True) if net == max(nets)]
        return self.break_tie(tied).body["candidate"]

    def net(self, record: Record) -> int:
        penalty = 0 if self.broken == "ignore penalties" else int(record.body["penalty"])
        return int(record.body["score"]) - penalty

    def break_tie(self, tied: list[Record]) -> Record:
        by_name = sorted(tied, key=lambda r: str(r.body["candidate"]))
        by_score = sorted(tied, key=lambda r: int(r.body["score"]))
        return {
            "tie to the last name": by_name[-1],
            "tie to the first in the file": tied[0],
            "tie to the last in the file": tied[-1],
            "tie to the highest score": by_score[-1],
            "tie to the lowest score": by_score[0],
        }.get(self.broken, by_name[0])
