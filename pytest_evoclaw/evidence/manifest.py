"""Plan the packets of a case: one that counts, and others that only look as if they did."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pytest_evoclaw.evidence.model import Packet
from pytest_evoclaw.evidence.model import compute_checksum

LEVELS = (
    "revision",
    "weight, lower id",
    "weight, higher id",
    "id, winner first",
    "id, rival first",
)
RANKS = ("revision", "weight", "revision", "weight", "below")
FLAWS = ("superseded", "unapproved", "broken")
STATUSES = ("pending", "rejected", "withdrawn", "pending", "rejected")
SUCCESSORS = ("unapproved", "broken", "unapproved", "rival", "winner")
FORGERIES = ("no salt", "other nonce", "no salt", "other packet", "other case")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWish:
    """What must decide in a case.

    ``level`` is the tie-break between the two genuine packets, ``ranks`` says for each flaw how
    its packet would outrank the right one, were the flaw overlooked; the next three are the
    flaws themselves: a status, the role of the superseding packet, how the checksum is wrong.
    """

    level: str
    ranks: Mapping[str, str]
    status: str
    successor: str
    forgery: str
    prefix: str
    sources: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    role: str
    revision: int
    weight: int
    side: int  # of its id, seen from the winner's: -1 lower, 0 anywhere, 1 higher


def plan_manifest(
    rng: Random, task_id: str, case_id: str, wish: ManifestWish
) -> tuple[list[Packet], str]:
    """Return the packets in the order of the file, and the id of the one that counts."""
    standings = _rank(rng, wish)
    ids = _assign_ids(rng, standings, wish.prefix)
    packets = {
        standing.role: _make_packet(rng, (task_id, case_id), standing, ids, wish)
        for standing in standings
    }
    order = list(packets)
    rng.shuffle(order)
    first, second = sorted(("winner", "rival"), key=order.index)
    if wish.level.startswith("id") and first != wish.level.split()[1]:
        a, b = order.index(first), order.index(second)
        order[a], order[b] = second, first
    return [packets[role] for role in order], ids["winner"]


def _rank(rng: Random, wish: ManifestWish) -> list[_Standing]:
    first = wish.level == "revision"
    revision = rng.randint(10, 13) if first else rng.randint(4, 13)
    weight = rng.randint(40, 70)
    standings = [_Standing(role="winner", revision=revision, weight=weight, side=0)]
    if first:  # 9 beats 10 for those who compare text
        rival = (rng.randint(6, 9), weight + rng.randint(3, 25), 0)
    elif wish.level.startswith("weight"):
        rival = (revision, weight - rng.randint(3, 25), -1 if "lower" in wish.level else 1)
    else:
        rival = (revision, weight, 1)
    standings.append(_Standing(role="rival", revision=rival[0], weight=rival[1], side=rival[2]))
    for flaw in FLAWS:
        standings.append(_rank_flawed(rng, flaw, wish.ranks[flaw], (revision, weight)))
    if rng.random() < 0.25:
        below = revision - rng.randint(1, 3)
        standings.append(
            _Standing(role="older", revision=below, weight=rng.randint(20, 95), side=0)
        )
    return standings


def _rank_flawed(rng: Random, flaw: str, rank: str, winner: tuple[int, int]) -> _Standing:
    revision, weight = winner
    return {
        "revision": _Standing(
            role=flaw,
            revision=revision + rng.randint(1, 4),
            weight=rng.randint(20, 95),
            side=0,
        ),
        "weight": _Standing(
            role=flaw, revision=revision, weight=weight + rng.randint(3, 25), side=0
        ),
        "below": _Standing(
            role=flaw, revision=revision - rng.randint(1, 3), weight=rng.randint(20, 95), side=0
        ),
    }[rank]


def _assign_ids(rng: Random, standings: Sequence[_Standing], prefix: str) -> dict[str, str]:
    # Skewed, since a tie goes to the lowest id: the winner's would otherwise be low too often.
    share = rng.random() ** 0.78
    placed = [
        (s.role, s.side or (s.role != "winner") * (-1 if rng.random() < share else 1))
        for s in standings
    ]
    rng.shuffle(placed)
    placed.sort(key=lambda item: item[1])
    numbers = sorted(rng.sample(range(1000, 10000), len(placed)))
    return {role: f"{prefix}-{number}" for (role, _), number in zip(placed, numbers, strict=True)}


def _make_packet(
    rng: Random,
    case: tuple[str, str],
    standing: _Standing,
    ids: Mapping[str, str],
    wish: ManifestWish,
) -> Packet:
    role, packet_id = standing.role, ids[standing.role]
    nonce = f"{rng.getrandbits(48):012x}"
    forgery = wish.forgery if role == "broken" else ""
    return Packet(
        packet_id=packet_id,
        source=rng.choice(list(wish.sources)),
        status=wish.status if role == "unapproved" else "approved",
        revision=standing.revision,
        source_weight=standing.weight,
        superseded_by=ids[wish.successor] if role == "superseded" else None,
        nonce=nonce,
        checksum=_sign(forgery, case, packet_id, nonce),
    )


def _sign(forgery: str, case: tuple[str, str], packet_id: str, nonce: str) -> str:
    """Return the checksum, or one that looks the same and is wrong in the way of ``forgery``."""
    task_id, case_id = case
    if forgery == "no salt":
        text = "|".join((task_id, case_id, packet_id, nonce))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    if forgery == "other nonce":
        nonce = nonce[::-1] + "0"
    elif forgery == "other packet":
        packet_id = packet_id[:-1] + str((int(packet_id[-1]) + 1) % 10)
    elif forgery == "other case":
        case_id = f"case_{int(case_id[-2:]) % 5 + 1:02}"
    return compute_checksum(task_id, case_id, packet_id, nonce)
