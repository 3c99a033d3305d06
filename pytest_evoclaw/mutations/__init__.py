"""Small wrong changes to right outputs: graders must notice each. One file a group of formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["value", "type", "deletion", "surplus key", "surplus element", "line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change at one ``place`` of one output; ``make`` returns the whole file with it.

    ``words`` say what is changed, such as ``48 becomes 49``.
    """

    place: str
    kind: Kind
    words: str
    make: Callable[[], bytes]

    def __str__(self) -> str:
        return f"{self.place}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutated:
    """All mutants of one output, and ``same``: the file written anew without any change."""

    mutants: tuple[Mutant, ...]
    same: Callable[[], bytes]
