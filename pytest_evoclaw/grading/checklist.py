"""Collect a grader's assertions as checks, instead of stopping at the first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_evoclaw.results import Check

MESSAGE_CHARACTERS = 2_000
NAME_CHARACTERS = 80


class GraderFault(Exception):
    """The grader broke its own contract, whatever the outputs are: the trial is not scored."""


class Checklist:
    """Passed to graders as ``check``; keeps the checks in the order in which they were made.

    The set of checks must not depend on the outputs: open every block, and read inside it.
    """

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}
        self._open: str | None = None

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks made so far."""
        return tuple(self._checks.values())

    @contextmanager
    def __call__(self, name: str, *, sub_problem: int | None = None) -> Iterator[None]:
        """Score the block 1, or 0 with the message of the assertion that failed in it.

        Every other exception propagates, because then the grader is broken and not the output.
        Raises GraderFault for a name that is malformed or taken, for a ``sub_problem`` that is
        not a positive int, and for a block inside a block.
        """
        self._announce(name, sub_problem)
        self._open = name
        try:
            yield
        except AssertionError as error:
            message = bound_message(str(error) or "The assertion failed.")
            self._record(Check(name=name, score=0.0, sub_problem=sub_problem, message=message))
        else:
            self._record(Check(name=name, score=1.0, sub_problem=sub_problem))
        finally:
            self._open = None

    def score(
        self, name: str, value: float, *, sub_problem: int | None = None, message: str = ""
    ) -> None:
        """Give partial credit: ``value`` is finite and within 0..1 (a bool is 0 or 1).

        Raises GraderFault for any other value, and as a block does.
        """
        self._announce(name, sub_problem)
        if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
            raise GraderFault(f"check {name!r}: score: found {value!r}, allowed a number in 0..1")
        text = bound_message(message)
        self._record(Check(name=name, score=float(value), sub_problem=sub_problem, message=text))

    def _announce(self, name: str, sub_problem: int | None) -> None:
        if self._open is not None:
            raise GraderFault(f"check {name!r} was made inside the block of check {self._open!r}")
        if not _fits(name):
            raise GraderFault(
                f"check name: found {name!r}, allowed 1 to {NAME_CHARACTERS} printable characters"
            )
        if sub_problem is not None and (type(sub_problem) is not int or sub_problem < 1):
            raise GraderFault(
                f"check {name!r}: sub_problem: found {sub_problem!r}, allowed an int from 1"
            )
        key = Check(name=name, score=0.0, sub_problem=sub_problem).key
        if key in self._checks:
            raise GraderFault(f"check {key!r} was made twice")

    def _record(self, check: Check) -> None:
        self._checks[check.key] = check


def _fits(name: object) -> bool:
    if not isinstance(name, str) or name != name.strip():
        return False
    return 0 < len(name) <= NAME_CHARACTERS and name.isprintable()


def bound_message(text: str) -> str:
    """Return ``text`` printable and of at most 2,000 characters, cut in the middle.

    Control characters and lone surrogates come from outputs; they are spelt as escapes, so that
    a terminal, JSON and XML can all take the message.
    """
    spelt = (c if c.isprintable() or c in "\n\t" else _escape(c) for c in _cut(text))
    return _cut("".join(spelt))


def _cut(text: str) -> str:
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    half = MESSAGE_CHARACTERS // 2 - 40
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[-half:]}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
