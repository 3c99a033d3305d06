"""One file as text of bounded length: text, workbooks, documents, archives."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading import archives
from pytest_evoclaw.safe_files import cut_list
from pytest_evoclaw.safe_files import show_name

WHOLE_BYTES = 5_000_000  # of a file that can only be read as a whole
SHEETS = 20
ROWS = 300  # of one sheet or table
COLUMNS = 60
MEMBERS = 200
MEMBER_CHARACTERS = 2_000
_MEMBER_BYTES = 4 * MEMBER_CHARACTERS
_UNPACKED = 20_000_000
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
_BROKEN = (*archives.BROKEN, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """``kind`` as in SeenFile; ``cut`` says what is not in ``text``, empty if all is."""

    kind: str
    text: str = ""
    cut: str = ""


def is_container(name: str, head: bytes) -> bool:
    """Whether a file, by its name and its first bytes, has to be read as a whole."""
    return head.startswith(_MAGIC) or name.casefold().endswith(".tar")


def render_bytes(name: str, data: bytes, limit: int, *, size: int | None = None) -> Rendering:
    """Show ``data``, of a file of ``size`` bytes that may be longer, in ``limit`` characters."""
    whole = len(data) if size is None else size
    if not is_container(name, data):
        return _render_text(data, limit, whole)
    kind, render = _choose(name, data)
    if len(data) > WHOLE_BYTES:
        return Rendering(kind=kind, cut=f"nothing of it: larger than {WHOLE_BYTES} bytes")
    try:
        lines, cut = render(data, name)
        text, short = _fill(lines, limit)
    except CheckFailed as error:
        return Rendering(kind=kind, cut=f"nothing of it: {error}")
    except ModuleNotFoundError as error:
        return Rendering(kind=kind, cut=f"nothing of it: {error.name} is not installed")
    except _BROKEN as error:
        return Rendering(kind=kind, cut=f"nothing of it: broken ({type(error).__name__})")
    return Rendering(kind=kind, text=text, cut="; ".join(cut_list([*cut, *short], 10)))


def _render_text(data: bytes, limit: int, size: int) -> Rendering:
    if b"\0" in data:
        digest = hashlib.sha256(data).hexdigest()[:16]
        return Rendering(kind="other", cut=f"nothing of it: not text (SHA-256 {digest}…)")
    text = data.decode("utf-8", "replace")
    cut = []
    if "\N{REPLACEMENT CHARACTER}" in text[:limit]:
        cut.append("bytes that are not UTF-8")
    if len(text) > limit or len(data) < size:
        cut.append(f"the first {min(limit, len(text))} characters of {size} bytes")
    return Rendering(kind="text", text=text[:limit], cut="; ".join(cut))


_Lines = tuple[Iterable[str], list[str]]  # and what is left out; complete once lines are used up
_Member = tuple[str, int, bytes]  # name, size, and the beginning of its content


def _choose(name: str, data: bytes) -> tuple[str, Callable[[bytes, str], _Lines]]:
    if not data.startswith(b"PK"):
        return "archive", _render_packed
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist()[: archives.MEMBERS])
    except _BROKEN:
        names = set()
    if "xl/workbook.xml" in names:
        return "workbook", _render_workbook
    if "word/document.xml" in names:
        return "document", _render_document
    return "archive", _render_zip


def _fill(lines: Iterable[str], limit: int) -> tuple[str, list[str]]:
    """Join lines until ``limit``; the rest is not even made."""
    text, room = [], limit
    for line in lines:
        text.append(line[:room])
        room -= len(text[-1]) + 1
        if len(text[-1]) < len(line) or room <= 0:
            return "\n".join(text), [f"what follows the first {limit} characters"]
    return "\n".join(text), []


def _render_workbook(data: bytes, name: str) -> _Lines:
    import openpyxl

    archives.check_archive(data, name)
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    cut: list[str] = []
    return _list_sheets(book, cut), cut


def _list_sheets(book: Any, cut: list[str]) -> Iterator[str]:
    if len(book.sheetnames) > SHEETS:
        cut.append(f"{len(book.sheetnames) - SHEETS} of {len(book.sheetnames)} sheets")
    for sheet in book.worksheets[:SHEETS]:
        yield f"[sheet {sheet.title!r}]"
        rows = sheet.iter_rows(max_row=ROWS + 1, max_col=COLUMNS + 1, values_only=True)
        for number, row in enumerate(rows):
            if number == ROWS:
                cut.append(f"sheet {sheet.title!r} after {ROWS} rows")
                break
            wide = f"sheet {sheet.title!r} after {COLUMNS} columns"
            if any(value is not None for value in row[COLUMNS:]) and wide not in cut:
                cut.append(wide)
            yield "\t".join("" if v is None else str(v) for v in row[:COLUMNS]).rstrip()


def _render_document(data: bytes, name: str) -> _Lines:
    document = archives.open_document(data, name)
    cut = [] if not document.inline_shapes else [f"{len(document.inline_shapes)} pictures"]
    return _list_blocks(document, cut), cut


def _list_blocks(document: Any, cut: list[str]) -> Iterator[str]:
    for block in document.iter_inner_content():
        if hasattr(block, "text"):
            style = block.style.name if block.style is not None else ""
            yield f"[{style}] {block.text}" if style.startswith("Heading") else block.text
            continue
        yield "[table]"
        for number, row in enumerate(block.rows):
            if number == ROWS:
                cut.append(f"a table after {ROWS} rows")
                break
            yield "\t".join(cell.text for cell in row.cells[:COLUMNS])


def _render_zip(data: bytes, name: str) -> _Lines:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [each for each in archive.infolist() if not each.is_dir()]
        return _show_members([_read_zipped(archive, m) for m in members[:MEMBERS]], len(members))


def _read_zipped(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Member:
    with archive.open(member) as file:
        return member.filename, member.file_size, file.read(_MEMBER_BYTES)


def _render_packed(data: bytes, name: str) -> _Lines:
    """Show a tar, packed or not, or a single packed file."""
    unpacked = _unpack(data)
    if len(unpacked) > _UNPACKED:
        raise CheckFailed(f"unpacks to more than {_UNPACKED} bytes")
    if not tarfile.is_tarfile(io.BytesIO(unpacked)):
        if unpacked is data:
            raise CheckFailed("not a readable archive")
        return _show_members([("its content", len(unpacked), unpacked)], 1)
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
        members = [each for each in archive.getmembers() if not each.isdir()]
        return _show_members([_read_tarred(archive, m) for m in members[:MEMBERS]], len(members))


def _read_tarred(archive: tarfile.TarFile, member: tarfile.TarInfo) -> _Member:
    file = archive.extractfile(member) if member.isreg() else None  # links lead elsewhere
    return member.name, member.size, b"\0" if file is None else file.read(_MEMBER_BYTES)


def _unpack(data: bytes) -> bytes:
    for magic, unpack in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open)):
        if data.startswith(magic):
            with unpack(io.BytesIO(data)) as file:
                return bytes(file.read(_UNPACKED + 1))
    return data


def _show_members(members: list[_Member], count: int) -> _Lines:
    cut = [] if count <= MEMBERS else [f"{count - MEMBERS} of {count} members"]
    lines = [f"{show_name(name)} ({size} bytes)" for name, size, _ in members]
    for name, size, data in members:
        if b"\0" in data:
            cut.append(f"{show_name(name)}: not text")
            continue
        text = data.decode("utf-8", "replace")
        if size > len(data) or len(text) > MEMBER_CHARACTERS:
            cut.append(f"{show_name(name)}: after {MEMBER_CHARACTERS} characters")
        lines += [f"[member {show_name(name)}]", text[:MEMBER_CHARACTERS]]
    return lines, cut
