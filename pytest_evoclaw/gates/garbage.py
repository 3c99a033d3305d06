"""``gate[garbage]``: junk in every expected output scores 0.0, whatever the junk is."""

from __future__ import annotations

import io
from pathlib import PurePosixPath

from pytest_evoclaw.gates import Finding
from pytest_evoclaw.gates import Gate
from pytest_evoclaw.workbench import Workbench
from pytest_evoclaw.workbench import list_undeserved

JUNK: tuple[tuple[str, bytes], ...] = (
    ("empty files", b""),
    ("junk bytes", b"\x00\xff\xfejunk\x1b[0m\n"),
    ("words without meaning", b"lorem ipsum, dolor sit amet\n"),
    ("null", b"null\n"),
    ("[]", b"[]\n"),
    ("{}", b"{}\n"),
)
OFFICE = (".docx", ".xlsx")


class Garbage:
    """Writes one kind of junk into all outputs of the solution, and grades; then the next kind."""

    name = "garbage"

    def inspect(self, bench: Workbench) -> Finding:
        """Find checks that junk passes."""
        names = list(bench.solution.outputs)
        faults = [
            fault
            for words, data in JUNK
            for fault in list_undeserved(bench, dict.fromkeys(names, data), words)
        ]
        if any(PurePosixPath(name).suffix in OFFICE for name in names):
            empty = {name: make_empty(name) for name in names}
            faults += list_undeserved(bench, empty, "empty office files")
        return Finding(faults=tuple(faults))


def create() -> Gate:
    """Return the gate."""
    return Garbage()


def make_empty(name: str) -> bytes:
    """Return a valid workbook or document without content; no bytes for other names."""
    stream = io.BytesIO()
    if name.endswith(".xlsx"):
        import openpyxl

        openpyxl.Workbook().save(stream)
    elif name.endswith(".docx"):
        import docx

        docx.Document().save(stream)
    return stream.getvalue()
