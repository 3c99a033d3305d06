"""Plan the records of one packet so that its right answers are known without deriving them.

Each planner decides the answer first and then writes records that lead to it. Nothing here
imports the derivation: the tests prove that both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pytest_evoclaw.evidence.model import Answer
from pytest_evoclaw.evidence.model import Value

Body = dict[str, Value]

# Each story with the first of two neighbouring events whose order matters, if there are any.
HINGES = {
    "echoed": None,
    "withdrawn": 0,
    "removed early": 0,
    "reinstated": 1,
    "renamed": 0,
    "chained": 0,
    "crossed": 1,
    "renamed late": 0,
    "old name removed": 0,
    "new name removed": 0,
    "merged": None,
}
TOTALS = ("negative", "half", "negative half", "thousandths", "plain")
GATES = ("clean", "one fails", "clean", "cured", "one fails")
CHOICES = ("penalised", "first of a tie", "penalised", "last of a tie", "penalised")
SUMS = ("negative", "plain", "plain", "negative", "plain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one packet says on one channel.

    ``final`` is in the order of revisions, ``idle`` are records that must not count. ``pair`` are
    positions in ``final`` of two records that only a tie-break tells apart, the earlier or winning
    one first; ``twins`` says that they share one revision.
    """

    answer: Answer
    final: tuple[Body, ...]
    idle: tuple[Body, ...]
    pair: tuple[int, int] | None = None
    twins: bool = False


def plan_list(rng: Random, pool: Sequence[str], stories: Sequence[str]) -> Plan:
    """Interleave one story for each name in ``stories``, and one plain inclusion."""
    values = iter(rng.sample(list(pool), 3 * len(stories) + 2))
    tracks: list[list[Body]] = []
    answer: set[str] = set()
    for story in stories:
        events, kept = _tell(story, (next(values), next(values), next(values)))
        tracks.append(events)
        answer |= kept
    plain = next(values)
    answer.add(plain)
    tracks.append([_edit("include", plain)])
    hinges = [*(HINGES[story] for story in stories), None]
    final, pair = _interleave(rng, tracks, hinges)
    idle = rng.choice((_edit("include", next(values)), _edit("remove", plain)))
    return Plan(
        answer=sorted(answer), final=tuple(final), idle=(idle,), pair=pair, twins=pair is not None
    )


def _edit(op: str, value: str, target: str = "") -> Body:
    body: Body = {"op": op, "value": value}
    return body | {"target": target} if target else body


def _tell(story: str, values: tuple[str, str, str]) -> tuple[list[Body], set[str]]:
    """Return the events of a story in order, and which values are left at its end."""
    a, b, c = values
    include = _edit("include", a)
    remove = _edit("remove", a)
    rename = _edit("alias", a, b)
    again = _edit("alias", b, c)
    return {
        "echoed": ([include, include], {a}),
        "withdrawn": ([include, remove], set()),
        "removed early": ([remove, include], {a}),
        "reinstated": ([include, remove, include], {a}),
        "renamed": ([include, rename], {b}),
        "chained": ([include, rename, again], {c}),
        "crossed": ([include, again, rename], {b}),
        "renamed late": ([rename, include], {a}),
        "old name removed": ([include, rename, remove], {b}),
        "new name removed": ([include, rename, _edit("remove", b)], set()),
        "merged": ([include, _edit("include", b), rename], {b}),
    }[story]


def _interleave(
    rng: Random, tracks: Sequence[list[Body]], hinges: Sequence[int | None]
) -> tuple[list[Body], tuple[int, int] | None]:
    """Merge the stories at random, but keep the two events at one hinge together: the pair."""
    hinged = [number for number, hinge in enumerate(hinges) if hinge is not None]
    glued = rng.choice(hinged) if hinged else None
    blocks = [_cut(track, hinges[n] if n == glued else None) for n, track in enumerate(tracks)]
    turns = [number for number, cut in enumerate(blocks) for _ in cut]
    rng.shuffle(turns)
    queues = [iter(cut) for cut in blocks]
    merged: list[Body] = []
    pair = None
    for number in turns:
        block = next(queues[number])
        if len(block) == 2:
            pair = len(merged), len(merged) + 1
        merged += block
    return merged, pair


def _cut(track: list[Body], hinge: int | None) -> list[list[Body]]:
    if hinge is None:
        return [[event] for event in track]
    return [*_cut(track[:hinge], None), track[hinge : hinge + 2], *_cut(track[hinge + 2 :], None)]


def plan_total(rng: Random, limits: tuple[int, int], style: str) -> Plan:
    """Plan a total with two decimals; ``limits`` bound its size in whole units."""
    hundredths = rng.randint(100 * limits[0], 100 * limits[1])
    residue = rng.choice((-4, -3, -2, 2, 3, 4)) if style == "thousandths" else 0
    if style.endswith("half"):  # odd, so that rounding to even goes the other way
        hundredths, residue = hundredths | 1, -5
    if style.startswith("negative"):
        hundredths, residue = -hundredths, -residue
    thousandths = 10 * hundredths + residue
    parts = _split(rng, thousandths, size=1000 * limits[1])
    if style == "thousandths":
        parts = _lean(parts)
    final = [_amount(rng, part, (1000, 100, 10, 1)) for part in parts]
    idle = _amount(rng, _snap(rng, rng.randint(1000, 1000 * limits[1])), (1000, 100, 10, 1))
    return Plan(answer=hundredths / 100, final=tuple(final), idle=(idle,))


def plan_count(rng: Random, limits: tuple[int, int]) -> Plan:
    """Plan a whole number; its sum is below zero on the way."""
    total = rng.randint(*limits)
    parts = _split(rng, total, size=limits[1])
    final = [_amount(rng, part * 100, (100,)) for part in parts]
    final = [_rescale(rng, body) for body in final]
    idle = _rescale(rng, _amount(rng, 100 * rng.randint(1, limits[1]), (100,)))
    return Plan(answer=total, final=tuple(final), idle=(idle,))


def _split(rng: Random, total: int, size: int) -> list[int]:
    """Return four signed parts of ``total``; the first is below zero, and none is zero."""
    while True:
        parts = [-_snap(rng, rng.randint(1, max(size // 2, 2)))]
        parts += [rng.choice((1, 1, -1)) * _snap(rng, rng.randint(1, size)) for _ in range(2)]
        parts.append(total - sum(parts))
        if parts[-1]:
            return parts


def _lean(parts: list[int]) -> list[int]:
    """Move thousandths to the last part, until rounding part by part misses at least a cent."""
    leaning = [part // 10 * 10 + 4 for part in parts[:-1]]
    return [*leaning, sum(parts) - sum(leaning)]


def _snap(rng: Random, size: int) -> int:
    step = rng.choice((1, 10, 100, 1000))
    return size // step * step or size


def _amount(rng: Random, units: int, scales: Sequence[int]) -> Body:
    """Return a signed part as an addition or a subtraction, at a scale that holds it exactly."""
    most = scales[0]
    fitting = [scale for scale in scales if units % (most // scale) == 0]
    scale = rng.choice(fitting)
    amount = units // (most // scale)
    subtract = rng.random() < 0.5
    return {
        "op": "subtract" if subtract else "add",
        "amount": -amount if subtract else amount,
        "scale": scale,
    }


def _rescale(rng: Random, body: Body) -> Body:
    scale = rng.choice((1, 10, 100))
    return body | {"amount": int(body["amount"]) * scale // 100, "scale": scale}


def plan_sums(rng: Random, buckets: Sequence[str], style: str) -> Plan:
    """Plan three buckets that stay and one that cancels; amounts are whole."""
    *kept, cancelled, fresh = rng.sample(list(buckets), 5)
    answer = {bucket: rng.randint(2, 40) for bucket in kept}
    if style == "negative":
        answer[kept[0]] *= -1
    parts: list[tuple[str, int]] = []
    for bucket, total in answer.items():
        first = rng.choice([n for n in range(-20, 45) if n not in (0, total)])
        whole = bucket != kept[0]
        parts += [(bucket, total)] if whole else [(bucket, first), (bucket, total - first)]
    zero = rng.randint(2, 30)
    parts += [(cancelled, zero), (cancelled, -zero)]
    rng.shuffle(parts)
    idle = rng.choice((fresh, kept[1], cancelled)), rng.randint(1, 30)
    return Plan(
        answer={bucket: answer[bucket] for bucket in sorted(answer)},
        final=tuple(_share(rng, *part) for part in parts),
        idle=(_share(rng, *idle),),
    )


def _share(rng: Random, bucket: str, amount: int) -> Body:
    subtract = rng.random() < 0.4
    return {
        "op": "subtract" if subtract else "add",
        "bucket": bucket,
        "amount": -amount if subtract else amount,
    }


def plan_gates(rng: Random, gates: Sequence[str], style: str) -> Plan:
    """Plan three gates; a failure stays one even if the same gate passes later ("cured")."""
    names = rng.sample(list(gates), 3)
    final: list[Body] = [{"gate": name, "passed": True} for name in names]
    answer = style == "clean"
    if not answer:
        failed = rng.randrange(3)
        final[failed] = {"gate": names[failed], "passed": False}
        if style == "cured":
            final.append({"gate": names[failed], "passed": True})
    idle: Body = {"gate": rng.choice(names), "passed": not answer}
    return Plan(answer=answer, final=tuple(final), idle=(idle,))


def plan_text(rng: Random, candidates: Sequence[str], style: str) -> Plan:
    """Plan four candidates; the highest score never wins, and a tie goes to the first by name."""
    names = rng.sample(list(candidates), 5)
    best = rng.randint(40, 70)
    nets = {names[0]: best}
    tie = style.endswith("tie")
    if tie:
        names[:2] = sorted(names[:2])
        nets = {names[0]: best, names[1]: best}
    loud = names[2]
    for name in names[2:4] if tie else names[1:4]:
        nets[name] = best - rng.randint(3, 25)
    nets[loud] = best - rng.randint(3, 8)
    penalties = {name: rng.randint(2, 24) for name in nets}
    penalties[loud] = 40 + rng.randint(0, 9)
    if tie:
        penalties[names[0]], penalties[names[1]] = _differ(rng, higher=style.startswith("first"))
    rows = [_candidate(name, nets[name], penalties[name]) for name in nets]
    order = list(range(len(rows)))
    rng.shuffle(order)
    if tie and order[-1] == 0:  # so that the latest revision is not always the best
        order[-1], order[order.index(1)] = 1, 0
    return Plan(
        answer=names[0],
        final=tuple(rows[n] for n in order),
        idle=(_candidate(names[4], best + rng.randint(3, 12), rng.randint(2, 24)),),
        pair=(order.index(0), order.index(1)) if tie else None,
    )


def _differ(rng: Random, *, higher: bool) -> tuple[int, int]:
    low, high = rng.randint(2, 11), rng.randint(13, 24)
    return (high, low) if higher else (low, high)


def _candidate(name: str, net: int, penalty: int) -> Body:
    return {"candidate": name, "score": net + penalty, "penalty": penalty}


def plan_channel(rng: Random, channel: str, values: Sequence[str], style: str) -> Plan:
    """Plan a channel of buckets, gates or candidates."""
    planners = {"B": plan_gates, "D": plan_sums, "T": plan_text}
    return planners[channel[0]](rng, values, style)
