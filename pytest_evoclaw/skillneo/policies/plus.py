"""Elitist: parents and children compete for the places."""

from __future__ import annotations

from pytest_evoclaw.skillneo.policies import ParentChoice
from pytest_evoclaw.skillneo.tree import order_by_score


class Plus:
    """The best of parents and children; a child goes before a parent that it ties with."""

    slots: int | None = None

    def choose(self, choice: ParentChoice) -> list[str]:
        """Return the best of both by their latest scores."""
        union = dict.fromkeys((*choice.children, *choice.previous))
        there = [name for name in union if choice.tree[name].bundle is not None]
        return order_by_score(choice.tree, there)[: choice.slots]


def create() -> Plus:
    """Return the policy."""
    return Plus()
