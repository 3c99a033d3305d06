"""Studies of stored sessions (paper, section 5.3): the file name is the name of the study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import Protocol

from pytest_evoclaw.stored import StoredSession

UNKNOWN = "-"


class Study(Protocol):
    """One study; its file has ``create() -> Study``. No number comes from what is unknown."""

    title: str

    def compute(self, session: StoredSession) -> dict[str, Any]:
        """Return the numbers, in JSON's types; null is unknown or not defined."""

    def describe(self, data: dict[str, Any]) -> str:
        """Return what :meth:`compute` returned as Markdown."""


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, with an empty line after it."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_escape(cell) for cell in line)} |\n" for line in lines) + "\n"


def show(value: float | str | None, form: str = "") -> str:
    """Return a number for people; ``form`` is as in ``format``. Words stay, None is a dash."""
    if isinstance(value, str):
        return value
    return UNKNOWN if value is None else format(value, form)


def to_points(score: float | None) -> float | None:
    """Return a score within 0..1 in points of 100."""
    return None if score is None else 100 * score


def _escape(cell: str) -> str:
    return " ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
