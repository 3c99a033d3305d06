"""Which versions parent the next edits: one file for each value of the setting ``policy``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_evoclaw.skillneo.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentChoice:
    """What a policy chooses from, after the deployment decision of a generation.

    ``children`` are the fully measured ones whose bundles are there, best first; ``previous`` the
    parents they were made from; ``slots`` the capacity of the pool.
    """

    tree: Tree
    children: tuple[str, ...]
    previous: tuple[str, ...]
    incumbent: str
    slots: int


class Policy(Protocol):
    """Chooses the ordinary parents; ``slots`` bounds the pool, None for the promotion count.

    A pool of one version is meant to be one, so the root is added to the others only.
    """

    slots: int | None

    def choose(self, choice: ParentChoice) -> list[str]:
        """Return the parents of the next generation, best first."""
        ...
