"""Fresh cases for a task and a seed, each with the answers that its author intended."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from pytest_evoclaw.evidence import manifest
from pytest_evoclaw.evidence import planning
from pytest_evoclaw.evidence.families import TaskSpec
from pytest_evoclaw.evidence.manifest import ManifestWish
from pytest_evoclaw.evidence.model import Answer
from pytest_evoclaw.evidence.model import Case
from pytest_evoclaw.evidence.model import Record
from pytest_evoclaw.evidence.model import is_count
from pytest_evoclaw.evidence.planning import Plan

CASES = 5
STORIES = 2  # of each list of a packet, beside one plain inclusion
IDLE_STATES = ("draft", "void")
_STYLES = {
    "N": planning.TOTALS,
    "D": planning.SUMS,
    "B": planning.GATES,
    "T": planning.CHOICES,
}
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """A case and its intended report; the report never leaves the generator's own tests."""

    case: Case
    report: Mapping[str, Answer]


def generate_cases(spec: TaskSpec, seed: int) -> list[PlannedCase]:
    """Return the five cases of a task; the same for the same (task, seed), different otherwise."""
    rng = Random(f"{spec.task_id}|{seed}")
    schedule = _Schedule(rng, spec)
    return [_generate_case(rng, spec, schedule, number) for number in range(1, CASES + 1)]


class _Schedule:
    """Deals what each case must need, so that every rule decides something in every task."""

    def __init__(self, rng: Random, spec: TaskSpec) -> None:
        self.levels = _shuffled(rng, manifest.LEVELS)
        self.ranks = {flaw: _shuffled(rng, manifest.RANKS) for flaw in manifest.FLAWS}
        self.styles = {
            channel: _shuffled(rng, _STYLES[channel[0]])
            for channel in spec.fields
            if channel[0] in _STYLES
        }
        self.counted = _deal(rng, planning.STORIES)
        self.decoys = _deal(rng, planning.STORIES)


def _shuffled(rng: Random, items: Sequence[_Item]) -> list[_Item]:
    return rng.sample(list(items), len(items))


def _deal(rng: Random, items: Sequence[_Item]) -> Iterator[_Item]:
    while True:
        yield from _shuffled(rng, items)


def _generate_case(rng: Random, spec: TaskSpec, schedule: _Schedule, number: int) -> PlannedCase:
    case_id = f"case_{number:02}"
    wish = ManifestWish(
        level=schedule.levels[number - 1],
        ranks={flaw: ranks[number - 1] for flaw, ranks in schedule.ranks.items()},
        prefix=spec.family.packet_prefix,
        sources=spec.family.sources,
    )
    packets, winner = manifest.plan_manifest(rng, spec.task_id, case_id, wish)
    values = {channel: _draw_values(rng, spec.values[channel]) for channel in spec.fields}
    report: dict[str, Answer] = {}
    sheaves: list[_Sheaf] = []
    for packet in packets:
        for channel, field in spec.fields.items():
            counts = packet.packet_id == winner
            stories = schedule.counted if counts else schedule.decoys
            style = ""
            if channel in schedule.styles:
                styles = schedule.styles[channel]
                style = styles[number - 1] if counts else rng.choice(styles)
            ask = _Ask(channel=channel, field=field, values=values[channel], style=style)
            plan = _plan(rng, ask, stories)
            sheaves.append(_Sheaf(packet_id=packet.packet_id, channel=channel, plan=plan))
            if counts:
                report[field] = plan.answer
    case = Case(
        task_id=spec.task_id,
        case_id=case_id,
        title=spec.titles[number - 1],
        channels=spec.fields,
        packets=tuple(packets),
        records=tuple(_write_records(rng, sheaves)),
    )
    return PlannedCase(case=case, report=report)


def _draw_values(rng: Random, values: Sequence[str | int]) -> Sequence[str | int]:
    """Return a vocabulary; one pattern with # for a digit becomes sixteen ids."""
    if len(values) > 1:
        return values
    pattern = str(values[0])
    drawn: set[str] = set()
    while len(drawn) < 16:
        drawn.add("".join(str(rng.randint(1, 9)) if c == "#" else c for c in pattern))
    return sorted(drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    channel: str
    field: str
    values: Sequence[str | int]
    style: str


def _plan(rng: Random, ask: _Ask, stories: Iterator[str]) -> Plan:
    if ask.channel[0] == "L":
        told = [next(stories) for _ in range(STORIES)]
        return planning.plan_list(rng, [str(value) for value in ask.values], told)
    if ask.channel[0] == "N":
        low, high = (int(value) for value in ask.values)
        if is_count(ask.field):
            return planning.plan_count(rng, (low, high))
        return planning.plan_total(rng, (low, high), ask.style)
    words = [str(value) for value in ask.values]
    return planning.plan_channel(rng, ask.channel, words, ask.style)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheaf:
    """The records of one packet on one channel, still without ids."""

    packet_id: str
    channel: str
    plan: Plan


def _write_records(rng: Random, sheaves: Sequence[_Sheaf]) -> list[Record]:
    """Give ids and revisions, and mix all records of a case."""
    size = sum(len(sheaf.plan.final) + len(sheaf.plan.idle) for sheaf in sheaves)
    numbers = rng.sample(range(10000, 100000), size)
    places = rng.sample(range(size), size)
    placed: dict[int, Record] = {}
    for sheaf in sheaves:
        count = len(sheaf.plan.final) + len(sheaf.plan.idle)
        own_numbers, numbers = numbers[:count], numbers[count:]
        own_places, places = places[:count], places[count:]
        records = _number(rng, sheaf, own_numbers)
        if sheaf.plan.tied is not None:
            winner, rival = sheaf.plan.tied
            if (own_places[winner] < own_places[rival]) != sheaf.plan.winner_first:
                own_places[winner], own_places[rival] = own_places[rival], own_places[winner]
        placed.update(zip(own_places, records, strict=True))
    return [placed[place] for place in range(size)]


def _number(rng: Random, sheaf: _Sheaf, numbers: list[int]) -> list[Record]:
    plan = sheaf.plan
    revisions = [rng.randint(1, 3)]
    for position in range(1, len(plan.final)):
        step = 0 if plan.twins == position - 1 else rng.randint(1, 3)
        revisions.append(revisions[-1] + step)
    if plan.twins is not None:
        pair = slice(plan.twins, plan.twins + 2)
        numbers[pair] = sorted(numbers[pair])
    # Late enough to undo what a removal names, were it to count.
    revisions += [revisions[-1] + rng.randint(0, 2) for _ in plan.idle]
    states = ["final"] * len(plan.final) + [rng.choice(IDLE_STATES) for _ in plan.idle]
    return [
        Record(
            record_id=f"R{number}",
            packet_id=sheaf.packet_id,
            state=state,
            channel=sheaf.channel,
            revision=revision,
            body=body,
        )
        for number, state, revision, body in zip(
            numbers, states, revisions, (*plan.final, *plan.idle), strict=True
        )
    ]
