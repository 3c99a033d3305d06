"""A persistent frontier: the best versions of the whole search."""

from __future__ import annotations

from pytest_evoclaw.skillneo.policies import ParentChoice
from pytest_evoclaw.skillneo.tree import order_by_score


class Frontier:
    """The historical best of all complete versions; the newer goes first where scores tie."""

    slots: int | None = None

    def choose(self, choice: ParentChoice) -> list[str]:
        """Return the best by their latest complete scores."""
        tree = choice.tree
        complete = [v.name for v in tree if v.bundle is not None and tree.is_complete(v.name)]
        return order_by_score(tree, reversed(complete))[: choice.slots]


def create() -> Frontier:
    """Return the policy."""
    return Frontier()
