"""Mutants of workbooks (cell by cell) and documents (paragraphs and table cells)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import Any

from pytest_evoclaw.mutations import Mutant
from pytest_evoclaw.mutations import Mutated
from pytest_evoclaw.mutations.values import vary_leaf


def mutate_workbook(data: bytes) -> Mutated:
    """Return the mutants of an xlsx file; ValueError if it is none."""
    return Mutated(mutants=tuple(_list_cells(data)), same=partial(_write_cell, data, None, None))


def mutate_document(data: bytes) -> Mutated:
    """Return the mutants of a docx file; ValueError if it is none."""
    return Mutated(mutants=tuple(_list_texts(data)), same=partial(_write_text, data, None, ""))


def _list_cells(data: bytes) -> Iterator[Mutant]:
    for sheet in _open_workbook(data).worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is None:
                    continue
                place = (sheet.title, cell.coordinate)
                other = vary_leaf(cell.value)
                if other != cell.value:
                    yield Mutant(
                        place=f"{sheet.title}!{cell.coordinate}",
                        kind="value",
                        words=f"{cell.value!r:.40} becomes {other!r:.40}",
                        make=partial(_write_cell, data, place, other),
                    )
                yield Mutant(
                    place=f"{sheet.title}!{cell.coordinate}",
                    kind="deletion",
                    words=f"{cell.value!r:.40} is gone",
                    make=partial(_write_cell, data, place, None),
                )


def _write_cell(data: bytes, place: tuple[str, str] | None, value: Any) -> bytes:
    workbook = _open_workbook(data)
    if place is not None:
        workbook[place[0]][place[1]].value = value
    return _save(workbook)


def _open_workbook(data: bytes) -> Any:
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        return openpyxl.load_workbook(io.BytesIO(data))
    except (InvalidFileException, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"not a workbook: {error}") from error


def _list_texts(data: bytes) -> Iterator[Mutant]:
    for number, paragraph in enumerate(_list_paragraphs(_open_document(data))):
        if not paragraph.text.strip():
            continue
        for kind, words, text in (
            ("value", "is another text", f"{paragraph.text}x"),
            ("deletion", "is gone", ""),
        ):
            yield Mutant(
                place=f"paragraph {number + 1} ({paragraph.text[:30]!r})",
                kind="value" if kind == "value" else "deletion",
                words=words,
                make=partial(_write_text, data, number, text),
            )


def _list_paragraphs(document: Any) -> list[Any]:
    cells = (cell for table in document.tables for row in table.rows for cell in row.cells)
    return [*document.paragraphs, *(paragraph for cell in cells for paragraph in cell.paragraphs)]


def _write_text(data: bytes, number: int | None, text: str) -> bytes:
    document = _open_document(data)
    if number is not None:
        _list_paragraphs(document)[number].text = text
    return _save(document)


def _open_document(data: bytes) -> Any:
    import docx
    from docx.opc.exceptions import PackageNotFoundError

    try:
        return docx.Document(io.BytesIO(data))
    except (PackageNotFoundError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"not a document: {error}") from error


def _save(made: Any) -> bytes:
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()
