"""Mutants of text without fields: code, scripts, prose. Lines are changed or go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from pytest_evoclaw.mutations import Mutant
from pytest_evoclaw.mutations import Mutated

# A comment or a blank line says nothing that could be wrong.
_SILENT = re.compile(r"\s*(#|//|--\s|/\*|\*|<!--|$)")
_WORD = re.compile(r"\w+(?!.*\w)")


def mutate_lines(data: bytes) -> Mutated:
    """Return the mutants of a text file; ValueError if it is not UTF-8."""
    lines = data.decode("utf-8").splitlines(keepends=True)
    return Mutated(mutants=tuple(_list_mutants(lines)), same=partial(_join, lines))


def _list_mutants(lines: list[str]) -> Iterator[Mutant]:
    for number, line in enumerate(lines):
        if _SILENT.match(line):
            continue
        changed = _WORD.sub(lambda match: f"{match[0]}x", line, count=1)
        for words, other in (("is gone", []), ("has another last word", [changed])):
            yield Mutant(
                place=f"line {number + 1}",
                kind="line",
                words=words,
                make=partial(_join, [*lines[:number], *other, *lines[number + 1 :]]),
            )


def _join(lines: list[str]) -> bytes:
    return "".join(lines).encode()
