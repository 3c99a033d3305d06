from __future__ import annotations

from collections import Counter
from statistics import fmean
from statistics import stdev

import pytest

from pytest_evoclaw.evidence import Case
from pytest_evoclaw.evidence import Packet
from pytest_evoclaw.evidence import choose_packet
from pytest_evoclaw.evidence import derive_report
from pytest_evoclaw.evidence import list_generated_tasks
from pytest_evoclaw.evidence import read_case
from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.evidence.formats import render_case
from pytest_evoclaw.evidence.generator import generate_cases

TASKS = list_generated_tasks()


@pytest.mark.parametrize("task_id", TASKS)
def test_what_is_derived_from_the_file_is_what_the_generator_intended(task_id, tmp_path):
    spec = load_spec(task_id)
    path = tmp_path / f"case.{spec.family.extension}"
    for seed in (1, 2):
        for planned in generate_cases(spec, seed):
            path.write_text(render_case(planned.case, spec.family.extension), encoding="utf-8")
            assert derive_report(read_case(path)) == planned.report


def test_the_same_seed_gives_the_same_cases():
    spec = load_spec(TASKS[0])
    assert generate_cases(spec, 4) == generate_cases(spec, 4)


@pytest.mark.parametrize("task_id", TASKS)
def test_another_seed_gives_other_cases(task_id):
    spec = load_spec(task_id)
    for left, right in zip(generate_cases(spec, 4), generate_cases(spec, 5), strict=True):
        assert left.case.packets != right.case.packets
        assert left.case.records != right.case.records
        assert left.report != right.report


def measure(case: Case, packet: Packet) -> dict[str, float]:
    """Return what somebody might notice about a packet without checking it."""
    records = [r for r in case.records if r.packet_id == packet.packet_id]
    places = [n for n, r in enumerate(case.records) if r.packet_id == packet.packet_id]
    bodies = [record.body for record in records]
    return {
        "records": len(records),
        "final": fmean(r.state == "final" for r in records),
        "draft": fmean(r.state == "draft" for r in records),
        "revisions": fmean(r.revision for r in records),
        "place": case.packets.index(packet),
        "place of records": fmean(places),
        "first id": int(min(r.record_id for r in records)[1:]),
        "source": packet.source == min(p.source for p in case.packets),
        "rank of id": sorted(p.packet_id for p in case.packets).index(packet.packet_id),
        "passed": fmean(bool(body.get("passed")) for body in bodies),
        "includes": fmean(body.get("op") == "include" for body in bodies),
        "subtractions": fmean(body.get("op") == "subtract" for body in bodies),
        "round amounts": fmean(int(body.get("amount", 0)) % 10 == 0 for body in bodies),
        "score": sum(int(body.get("score", 0)) for body in bodies),
    }


def test_decoys_look_like_evidence():
    differences: dict[str, list[float]] = {}
    for task_id in TASKS:
        for planned in (p for seed in (1, 2, 3) for p in generate_cases(load_spec(task_id), seed)):
            case = planned.case
            chosen = choose_packet(case)
            decoys = [measure(case, packet) for packet in case.packets if packet != chosen]
            for name, value in measure(case, chosen).items():
                usual = fmean(decoy[name] for decoy in decoys)
                differences.setdefault(name, []).append(value - usual)
    for name, found in differences.items():
        error = stdev(found) / len(found) ** 0.5
        assert abs(fmean(found)) < 4 * error, name


def test_the_rank_of_a_packet_does_not_give_it_away():
    ranks: Counter[int] = Counter()
    for task_id in TASKS:
        for planned in generate_cases(load_spec(task_id), 1):
            chosen = choose_packet(planned.case)
            higher = [p for p in planned.case.packets if p.revision > chosen.revision]
            ranks[len(higher)] += 1
    assert len(ranks) >= 4
    assert max(ranks.values()) < 0.5 * ranks.total()
