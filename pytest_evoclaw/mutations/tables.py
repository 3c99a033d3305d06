"""Mutants of CSV and TSV files, cell by cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial

from pytest_evoclaw.mutations import Mutant
from pytest_evoclaw.mutations import Mutated

Rows = list[list[str]]


def mutate_table(data: bytes, delimiter: str) -> Mutated:
    """Return the mutants of a table; ValueError if it is none."""
    text = data.decode("utf-8-sig")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    return Mutated(
        mutants=tuple(_list_mutants(rows, delimiter)), same=partial(_write, rows, delimiter)
    )


def vary_text(text: str) -> str:
    """Return another cell of the same look: the next number, or a longer word."""
    try:
        return str(int(text) + 1)
    except ValueError:
        return f"{text}x" if text else "surplus"


def _list_mutants(rows: Rows, delimiter: str) -> Iterator[Mutant]:
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            place = f"row {number + 1}, column {column + 1}"
            other = vary_text(cell)
            yield Mutant(
                place=place,
                kind="value",
                words=f"{cell!r} becomes {other!r}",
                make=partial(_write_cell, rows, delimiter, (number, column), other),
            )
            if cell:
                yield Mutant(
                    place=place,
                    kind="deletion",
                    words=f"{cell!r} is gone",
                    make=partial(_write_cell, rows, delimiter, (number, column), ""),
                )
        yield Mutant(
            place=f"row {number + 1}",
            kind="deletion",
            words="is gone",
            make=partial(_write, rows[:number] + rows[number + 1 :], delimiter),
        )
    if rows:
        surplus = [vary_text(cell) for cell in rows[-1]]
        yield Mutant(
            place=f"row {len(rows) + 1}",
            kind="surplus element",
            words="is one too many",
            make=partial(_write, [*rows, surplus], delimiter),
        )


def _write_cell(rows: Rows, delimiter: str, place: tuple[int, int], other: str) -> bytes:
    changed = [list(row) for row in rows]
    changed[place[0]][place[1]] = other
    return _write(changed, delimiter)


def _write(rows: Rows, delimiter: str) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()
