"""Workbooks and documents: what is in the archive is bounded before a library opens it."""

from __future__ import annotations

import importlib
import io
import warnings
import zipfile
import zlib
from types import ModuleType
from typing import Any

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.parsers import scan_xml

UNPACKED_BYTES = 20_000_000
RATIO = 200  # unpacked to packed; tables of equal rows reach about 50
MEMBERS = 2_000
CELLS = 1_000_000
_SPANS = ("mergeCell", "hyperlink")  # openpyxl makes a cell for each place in their ranges
BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,  # what the XML parsers raise
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def open_workbook(data: bytes, where: str, *, values: bool = False) -> Any:
    """Return an openpyxl Workbook; ``values`` gives the cached results instead of formulas."""
    openpyxl = _import("openpyxl")
    check_archive(data, where)
    invalid = _import("openpyxl.utils.exceptions").InvalidFileException
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about features that openpyxl does not keep
            book = openpyxl.load_workbook(io.BytesIO(data), data_only=values)
        sizes = [(sheet.title, sheet.max_row * sheet.max_column) for sheet in book.worksheets]
    except (*BROKEN, invalid) as error:
        raise CheckFailed(f"{where}: not a readable workbook ({type(error).__name__})") from error
    for title, cells in sizes:
        if cells > CELLS:
            raise CheckFailed(f"{where}: sheet {title!r} spans more than {CELLS} cells")
    return book


def open_document(data: bytes, where: str) -> Any:
    """Return a python-docx Document."""
    docx = _import("docx")
    check_archive(data, where)
    exceptions = _import("docx.exceptions"), _import("docx.opc.exceptions")
    broken = (exceptions[0].PythonDocxError, exceptions[1].OpcError)
    try:
        return docx.Document(io.BytesIO(data))
    except (*BROKEN, *broken) as error:
        raise CheckFailed(f"{where}: not a readable document ({type(error).__name__})") from error


def check_archive(data: bytes, where: str) -> None:
    """Raise CheckFailed for an archive that is broken, or that unpacks to too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            _check_sizes(members, len(data), where)
            for member in members:
                if member.filename.endswith((".xml", ".rels", ".vml")):
                    content = archive.read(member)
                    scan_xml(content, f"{where}: {member.filename}", _Spans(where))
    except CheckFailed:
        raise
    except BROKEN as error:
        raise CheckFailed(f"{where}: not a readable archive ({type(error).__name__})") from error


def _check_sizes(members: list[zipfile.ZipInfo], packed: int, where: str) -> None:
    if len(members) > MEMBERS:
        raise CheckFailed(f"{where}: holds more than {MEMBERS} files")
    unpacked = sum(member.file_size for member in members)
    if unpacked > UNPACKED_BYTES:
        raise CheckFailed(f"{where}: unpacks to more than {UNPACKED_BYTES} bytes")
    if unpacked > RATIO * packed:
        raise CheckFailed(f"{where}: unpacks to more than {RATIO} times its size")


class _Spans:
    """Refuses elements whose range of cells is too large; all of a part's ranges together."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.left = CELLS

    def __call__(self, tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(" ")[2] in _SPANS and "ref" in attributes:
            self.left -= _count_cells(attributes["ref"])
            if self.left < 0:
                raise CheckFailed(f"{self.where}: merged cells span more than {CELLS} cells")


def _count_cells(reference: str) -> int:
    cells = _import("openpyxl.utils.cell")
    try:
        left, top, right, bottom = cells.range_boundaries(reference)
    except (TypeError, ValueError):
        return CELLS + 1
    if None in (left, top, right, bottom):
        return CELLS + 1
    return int(right - left + 1) * int(bottom - top + 1)


def _import(name: str) -> ModuleType:
    """Import a library when it is needed; one that is missing is no fault of the output."""
    return importlib.import_module(name)
