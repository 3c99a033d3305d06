from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_evoclaw.evidence import Case
from pytest_evoclaw.evidence import EvidenceError
from pytest_evoclaw.evidence import Packet
from pytest_evoclaw.evidence import Record
from pytest_evoclaw.evidence import choose_packet
from pytest_evoclaw.evidence import derive_report
from pytest_evoclaw.evidence.model import Answer
from pytest_evoclaw.evidence.model import Value
from pytest_evoclaw.evidence.model import compute_checksum

Body = dict[str, Value]


def make_packet(packet_id: str, revision: int = 5, weight: int = 50, **flaws: Any) -> Packet:
    checksum = compute_checksum("task_x", "case_01", packet_id, "n0")
    facts: dict[str, Any] = {
        "status": "approved",
        "superseded_by": None,
        "checksum": checksum,
    } | flaws
    return Packet(
        packet_id=packet_id,
        source="desk",
        revision=revision,
        source_weight=weight,
        nonce="n0",
        **facts,
    )


def make_case(
    packets: Sequence[Packet] = (), records: Sequence[Record] = (), **channels: str
) -> Case:
    return Case(
        task_id="task_x",
        case_id="case_01",
        title="A case",
        channels=channels,
        packets=tuple(packets or [make_packet("P-1")]),
        records=tuple(records),
    )


def make_records(
    channel: str, *bodies: Body, state: str = "final", revisions: Sequence[int] | None = None
) -> list[Record]:
    return [
        Record(
            record_id=f"R{number}",
            packet_id="P-1",
            state=state,
            channel=channel,
            revision=revisions[number] if revisions else number,
            body=body,
        )
        for number, body in enumerate(bodies)
    ]


def derive(
    channel: str, field: str, *bodies: Body, revisions: Sequence[int] | None = None
) -> Answer:
    records = make_records(channel, *bodies, revisions=revisions)
    return derive_report(make_case((), records, **{channel: field}))[field]


def edit(op: str, value: str, target: str | None = None) -> Body:
    body: Body = {"op": op, "value": value}
    return body | {"target": target} if target else body


def amount(op: str, number: int, scale: int) -> Body:
    return {"op": op, "amount": number, "scale": scale}


def test_the_checksum_is_that_of_the_published_recipe():
    # printf '%s' "$salt|task_x|case_01|P-1|n0" | sha256sum | cut -c1-16
    assert compute_checksum("task_x", "case_01", "P-1", "n0") == "793392d93a1e6b3e"


@pytest.mark.parametrize(
    ("packets", "chosen"),
    [
        ([make_packet("P-1", 9), make_packet("P-2", 10)], "P-2"),
        ([make_packet("P-1", 9, 80), make_packet("P-2", 10, 20)], "P-2"),
        ([make_packet("P-1", 9, 20), make_packet("P-2", 9, 80)], "P-2"),
        ([make_packet("P-2", 9, 20), make_packet("P-1", 9, 20)], "P-1"),
        ([make_packet("P-1"), make_packet("P-2", 9, status="pending")], "P-1"),
        ([make_packet("P-1"), make_packet("P-2", 9, superseded_by="P-3")], "P-1"),
        ([make_packet("P-1"), make_packet("P-2", 9, checksum="0" * 16)], "P-1"),
    ],
    ids=["number", "revision", "weight", "id", "unapproved", "superseded", "forged"],
)
def test_the_authoritative_packet_is_chosen_by(packets, chosen):
    assert choose_packet(make_case(packets)).packet_id == chosen


def test_a_case_without_an_authoritative_packet_is_a_fault_of_the_fixture():
    with pytest.raises(EvidenceError, match="task_x case_01: no authoritative packet"):
        choose_packet(make_case([make_packet("P-1", status="rejected")]))


@pytest.mark.parametrize(
    ("bodies", "total"),
    [
        ([amount("add", 1250, 100), amount("subtract", 250, 100)], 10.0),
        ([amount("subtract", -5, 1)], 5.0),
        ([amount("subtract", 5, 1)], -5.0),
        ([amount("add", 1, 1000), amount("add", 4, 1000)], 0.01),
        ([amount("add", 1005, 1000)], 1.01),
        ([amount("add", -1005, 1000)], -1.01),
        ([amount("add", 1, 10), amount("add", 2, 10)], 0.3),
        ([], 0.0),
    ],
    ids=["sum", "minus minus", "negative", "late", "half", "negative half", "exact", "nothing"],
)
def test_amounts_are_exact_and_rounded_once(bodies, total):
    assert derive("N1", "tax_total", *bodies) == total


def test_a_count_is_a_whole_number():
    count = derive("N1", "row_count", amount("add", 1200, 100), amount("subtract", 3, 1))
    assert (count, type(count)) == (9, int)


def test_a_count_with_a_fraction_is_a_fault_of_the_fixture():
    with pytest.raises(EvidenceError, match=r"a count of 0\.5 is not a whole number"):
        derive("N1", "row_count", amount("add", 5, 10))


@pytest.mark.parametrize(
    ("edits", "left"),
    [
        ([("include", "b"), ("include", "a"), ("include", "b")], ["a", "b"]),
        ([("include", "a"), ("remove", "a")], []),
        ([("remove", "a"), ("include", "a")], ["a"]),
        ([("include", "a"), ("alias", "a", "b"), ("alias", "b", "c")], ["c"]),
        ([("include", "a"), ("alias", "b", "c"), ("alias", "a", "b")], ["b"]),
        ([("alias", "a", "b"), ("include", "a")], ["a"]),
        ([("include", "a"), ("include", "b"), ("alias", "a", "b")], ["b"]),
        ([("include", "b"), ("include", "B")], ["B", "b"]),
    ],
    ids=["unique", "hit", "miss", "chain", "crossed", "late alias", "merge", "code points"],
)
def test_lists_are_replayed_in_order(edits, left):
    assert derive("L1", "themes", *(edit(*words) for words in edits)) == left


def test_equal_revisions_are_replayed_by_record_id():
    edits = [edit("include", "a"), edit("remove", "a")]
    assert derive("L1", "themes", *edits, revisions=[4, 4]) == []
    assert derive("L1", "themes", *edits, revisions=[4, 3]) == ["a"]


def test_buckets_that_cancel_are_dropped_and_negative_ones_stay():
    parts = [("add", "b", 4), ("subtract", "b", 4), ("add", "c", -2), ("subtract", "a", -1)]
    bodies: list[Body] = [{"op": op, "bucket": bucket, "amount": n} for op, bucket, n in parts]
    assert derive("D1", "routing_queue", *bodies) == {"a": 1, "c": -2}


def test_one_failed_gate_decides_even_if_it_passes_elsewhere():
    good: Body = {"gate": "tied", "passed": True}
    assert derive("B1", "balanced", good, good) is True
    assert derive("B1", "balanced", {"gate": "tied", "passed": False}, good) is False


def test_the_best_net_score_wins_and_a_tie_goes_to_the_first_string():
    rows = [("c", 90, 41), ("b", 60, 10), ("a", 52, 2), ("d", 70, 30)]
    bodies: list[Body] = [{"candidate": name, "score": s, "penalty": p} for name, s, p in rows]
    assert derive("T1", "slo_status", *bodies) == "a"


@pytest.mark.parametrize("state", ["draft", "void"])
def test_records_that_are_not_final_do_not_count(state):
    idle = make_records("L1", edit("include", "x"), state=state)
    assert derive_report(make_case(records=idle, L1="themes")) == {"themes": []}


def test_records_of_other_packets_do_not_count():
    packets = [make_packet("P-1", 3), make_packet("P-2", 4)]
    records = make_records("L1", edit("include", "x"))
    assert derive_report(make_case(packets, records, L1="themes")) == {"themes": []}
