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
STORIES = 3  # at least, over all lists of a packet; five cases then tell each story once
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """What one packet must be like on one channel; ``order`` places the plan's pair in the file."""

    channel: str
    style: str
    stories: Sequence[str]
    order: bool


class _Schedule:
    """Deals what each case must need, so that every rule decides something in every task."""

    def __init__(self, rng: Random, spec: TaskSpec) -> None:
        self.levels = _shuffled(rng, manifest.LEVELS)
        self.ranks = {flaw: _shuffled(rng, manifest.RANKS) for flaw in manifest.FLAWS}
        self.statuses = _shuffled(rng, manifest.STATUSES)
        self.successors = _shuffled(rng, manifest.SUCCESSORS)
        self.forgeries = _shuffled(rng, manifest.FORGERIES)
        self.styles = {
            channel: _shuffled(rng, _STYLES[channel[0]])
            for channel in spec.fields
            if channel[0] in _STYLES
        }
        self.orders = {
            channel: _shuffled(rng, (True, False, True, False, rng.random() < 0.5))
            for channel in spec.fields
        }
        lists = [channel for channel in spec.fields if channel[0] == "L"]
        extra = max(STORIES - len(lists), 0)
        self.stories = {channel: 1 + (n < extra) for n, channel in enumerate(lists)}
        self.counted = _deal(rng, tuple(planning.HINGES))
        self.decoys = _deal(rng, tuple(planning.HINGES))

    def ask(self, rng: Random, channel: str, case: int, *, counts: bool) -> _Ask:
        """Return what a packet of a case (from 0) must say; only one packet ``counts``."""
        stories = self.counted if counts else self.decoys
        styles = self.styles.get(channel, [""] * CASES)
        style = styles[case] if counts else rng.choice(styles)
        order = self.orders[channel][case] if counts else rng.random() < 0.5
        return _Ask(
            channel=channel,
            style=style,
            stories=[next(stories) for _ in range(self.stories.get(channel, 0))],
            order=style.startswith("first") if style.endswith("tie") else order,
        )

    def wish(self, spec: TaskSpec, case: int) -> ManifestWish:
        """Return what the manifest of a case (from 0) must be like."""
        return ManifestWish(
            level=self.levels[case],
            ranks={flaw: ranks[case] for flaw, ranks in self.ranks.items()},
            status=self.statuses[case],
            successor=self.successors[case],
            forgery=self.forgeries[case],
            prefix=spec.family.packet_prefix,
            sources=spec.family.sources,
        )


def _shuffled(rng: Random, items: Sequence[_Item]) -> list[_Item]:
    return rng.sample(list(items), len(items))


def _deal(rng: Random, items: Sequence[_Item]) -> Iterator[_Item]:
    while True:
        yield from _shuffled(rng, items)


def _generate_case(rng: Random, spec: TaskSpec, schedule: _Schedule, number: int) -> PlannedCase:
    case_id = f"case_{number:02}"
    wish = schedule.wish(spec, number - 1)
    packets, winner = manifest.plan_manifest(rng, spec.task_id, case_id, wish)
    values = {channel: _draw_values(rng, spec.values[channel]) for channel in spec.fields}
    report: dict[str, Answer] = {}
    sheaves: list[_Sheaf] = []
    for packet in packets:
        counts = packet.packet_id == winner
        for channel, field in spec.fields.items():
            ask = schedule.ask(rng, channel, number - 1, counts=counts)
            plan = _plan(rng, ask, field, values[channel])
            sheaves.append(
                _Sheaf(packet_id=packet.packet_id, channel=channel, plan=plan, pair_first=ask.order)
            )
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


def _plan(rng: Random, ask: _Ask, field: str, values: Sequence[str | int]) -> Plan:
    if ask.channel[0] == "N":
        low, high = (int(value) for value in values)
        if is_count(field):
            return planning.plan_count(rng, (low, high))
        return planning.plan_total(rng, (low, high), ask.style)
    words = [str(value) for value in values]
    if ask.channel[0] == "L":
        return planning.plan_list(rng, words, ask.stories)
    return planning.plan_channel(rng, ask.channel, words, ask.style)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheaf:
    """The records of one packet on one channel, still without ids."""

    packet_id: str
    channel: str
    plan: Plan
    pair_first: bool


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
        if sheaf.plan.pair is not None:
            a, b = sheaf.plan.pair
            if (own_places[a] < own_places[b]) != sheaf.pair_first:
                own_places[a], own_places[b] = own_places[b], own_places[a]
        placed.update(zip(own_places, records, strict=True))
    return [placed[place] for place in range(size)]


def _number(rng: Random, sheaf: _Sheaf, numbers: list[int]) -> list[Record]:
    plan = sheaf.plan
    revisions = [rng.randint(1, 3)]
    for position in range(1, len(plan.final)):
        together = plan.twins and plan.pair == (position - 1, position)
        step = 0 if together else rng.randint(1, 3)
        revisions.append(revisions[-1] + step)
    if plan.twins and plan.pair is not None:
        pair = slice(plan.pair[0], plan.pair[1] + 1)
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
