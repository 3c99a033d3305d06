from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from pytest_evoclaw.deliverables import Deliverables
from pytest_evoclaw.deliverables import RenderLimits
from pytest_evoclaw.deliverables import render_contents
from pytest_evoclaw.deliverables import render_deliverables
from pytest_evoclaw.renderings import ROWS
from pytest_evoclaw.renderings import render_bytes


def write_outputs(workspace: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = workspace / "outputs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return workspace


def make_workbook(rows: int = 3, sheets: int = 1) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    del book["Sheet"]
    for number in range(1, sheets + 1):
        sheet = book.create_sheet(f"Sheet {number}")
        for row in range(1, rows + 1):
            sheet.append([f"item {row}", row, f"=B{row}*2"])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def make_document() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Minutes", 1)
    document.add_paragraph("We met and agreed.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "who", "Ada"
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def make_zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def make_tar(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("secret")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return file.getvalue()


TEXTS = {"a/notes.md": b"# Notes\nfine", "b.bin": b"\0\1"}
CONTAINERS = pytest.mark.parametrize(
    ("name", "data", "kind", "words"),
    [
        ("t.xlsx", make_workbook(), "workbook", ["[sheet 'Sheet 1']", "item 2\t2\t=B2*2"]),
        ("t.docx", make_document(), "document", ["[Heading 1] Minutes", "agreed", "who\tAda"]),
        ("t.zip", make_zip(TEXTS), "archive", ["a/notes.md (12 bytes)", "# Notes\nfine"]),
        ("t.tar", make_tar(TEXTS), "archive", ["a/notes.md (12 bytes)", "# Notes\nfine"]),
        ("t.tgz", gzip.compress(make_tar(TEXTS)), "archive", ["b.bin (2 bytes)", "# Notes"]),
        ("t.tar.bz2", bz2.compress(make_tar(TEXTS)), "archive", ["# Notes"]),
        ("t.tar.xz", lzma.compress(make_tar(TEXTS)), "archive", ["# Notes"]),
        ("t.log.gz", gzip.compress(b"one line"), "archive", ["one line"]),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("t.") else "",
)


@CONTAINERS
def test_a_container_is_shown_as_text(name, data, kind, words):
    rendering = render_bytes(name, data, 10_000)
    assert rendering.kind == kind
    for word in words:
        assert word in rendering.text


@CONTAINERS
def test_a_truncated_container_is_said_to_be_broken(name, data, kind, words):
    rendering = render_bytes(name, data[: len(data) // 2], 10_000)
    assert "[sheet" not in rendering.text
    assert rendering.cut or name == "t.tar"


def test_members_that_are_no_text_are_named_as_cut_and_links_lead_nowhere():
    assert render_bytes("t.zip", make_zip(TEXTS), 10_000).cut == "b.bin: not text"
    assert render_bytes("t.tar", make_tar(TEXTS), 10_000).cut == "b.bin: not text; secret: not text"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.json.gz", gzip.compress(b"0" * 30_000_000), "unpacks to more than 20000000 bytes"),
        ("a.xlsx", make_zip({"xl/workbook.xml": b"0" * 9_000_000}), "200 times its size"),
        ("a.zip", b"PK\x03\x04" + os.urandom(5_000_001), "larger than 5000000 bytes"),
    ],
    ids=["bomb", "workbook-bomb", "large"],
)
def test_what_is_too_large_is_not_opened(name, data, words):
    rendering = render_bytes(name, data, 100)
    assert rendering.text == ""
    assert rendering.cut.startswith("nothing of it: ")
    assert words in rendering.cut


def test_a_zip_bomb_shows_only_the_beginning_of_its_member():
    rendering = render_bytes("a.zip", make_zip({"zeros.txt": b"0" * 9_000_000}), 10_000)
    assert "zeros.txt (9000000 bytes)" in rendering.text
    assert rendering.cut == "zeros.txt: after 2000 characters"


def test_rows_and_sheets_are_bounded_and_the_bound_is_said():
    rendering = render_bytes("t.xlsx", make_workbook(rows=ROWS + 5, sheets=2), 100_000)
    assert f"item {ROWS}\t" in rendering.text
    assert f"item {ROWS + 1}\t" not in rendering.text
    assert rendering.cut == "sheet 'Sheet 1' after 300 rows; sheet 'Sheet 2' after 300 rows"


def test_columns_beyond_the_bound_are_said():
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    for _ in range(2):
        book["Sheet"].append(list(range(61)))
    book.save(file)
    rendering = render_bytes("t.xlsx", file.getvalue(), 10_000)
    assert rendering.cut == "sheet 'Sheet' after 60 columns"
    assert "59" in rendering.text
    assert "60" not in rendering.text


def test_text_is_cut_at_its_end_and_the_cut_is_said():
    rendering = render_bytes("a.txt", b"x" * 50, 20)
    assert (rendering.text, rendering.cut) == ("x" * 20, "the first 20 characters of 50 bytes")


def test_bytes_that_are_no_text_are_said_to_be_none():
    rendering = render_bytes("a.png", b"\x89PNG\0\0", 20)
    assert (rendering.kind, rendering.text) == ("other", "")
    assert "not text (SHA-256 " in rendering.cut
    assert render_bytes("a.txt", b"caf\xe9", 20).cut == "bytes that are not UTF-8"


def test_short_files_are_whole_and_long_ones_share_the_rest(tmp_path: Path):
    write_outputs(tmp_path, {"a.txt": "a" * 10, "b.txt": "b" * 500, "c.txt": "c" * 900})
    shown = render_deliverables(tmp_path, RenderLimits(total_characters=210))
    assert [len(file.text) for file in shown.files] == [10, 100, 100]
    assert [file.seen.cut for file in shown.files] == [
        "",
        "the first 100 of 500 characters for want of room",
        "the first 100 of 900 characters for want of room",
    ]


def test_nothing_delivered_is_nothing_shown(tmp_path: Path):
    assert render_deliverables(tmp_path) == Deliverables()


def test_links_and_fifos_are_named_and_not_opened(tmp_path: Path):
    write_outputs(tmp_path, {"a.txt": "fine"})
    (tmp_path / "outputs/link.txt").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "outputs/pipe")
    shown = render_deliverables(tmp_path)
    assert [file.seen.path for file in shown.files] == ["outputs/a.txt"]
    assert shown.notes == (
        "not shown: outputs/link.txt: not a regular file (link)",
        "not shown: outputs/pipe: not a regular file (FIFO)",
    )


def test_a_name_cannot_break_the_line_it_is_on(tmp_path: Path):
    write_outputs(tmp_path, {"a\nb.txt": "fine"})
    assert render_deliverables(tmp_path).files[0].seen.path == "outputs/a\\nb.txt"


def test_forty_files_of_mixed_types_are_all_named_with_what_is_cut(tmp_path: Path):
    files: dict[str, bytes | str] = {f"report_{n:02}.json": "{}" for n in range(20)}
    files |= {f"long_{n:02}.txt": "long " * 10_000 for n in range(10)}
    files |= {f"book_{n}.xlsx": make_workbook() for n in range(3)}
    files |= {f"letter_{n}.docx": make_document() for n in range(3)}
    files |= {"all.zip": make_zip(TEXTS), "all.tgz": gzip.compress(make_tar(TEXTS))}
    files |= {"picture.png": b"\x89PNG\0", "broken.xlsx": b"PK\x03\x04nothing"}
    shown = render_deliverables(write_outputs(tmp_path, files))
    seen = {file.seen.path.removeprefix("outputs/"): file.seen for file in shown.files}
    assert seen.keys() == files.keys()
    assert shown.notes == ()
    assert sum(file.seen.shown for file in shown.files) <= 60_000
    assert all(file.seen.shown == len(file.text) for file in shown.files)
    assert all(file.size == len(files[name]) for name, file in seen.items())
    assert all(seen[f"report_{n:02}.json"].cut == "" for n in range(20))
    assert all("12000 characters" in seen[f"long_{n:02}.txt"].cut for n in range(10))
    assert seen["book_0.xlsx"].cut == seen["letter_0.docx"].cut == ""
    assert [seen[n].kind for n in ("all.zip", "all.tgz", "picture.png")] == [
        "archive",
        "archive",
        "other",
    ]
    assert seen["broken.xlsx"].cut == "nothing of it: broken (BadZipFile)"


def test_files_beyond_the_limit_are_named(tmp_path: Path):
    write_outputs(tmp_path, {f"{n}.txt": "x" for n in range(4)})
    shown = render_deliverables(tmp_path, RenderLimits(files=2))
    assert [file.seen.path for file in shown.files] == ["outputs/0.txt", "outputs/1.txt"]
    assert shown.notes == (
        "not shown: outputs/2.txt: too many files",
        "not shown: outputs/3.txt: too many files",
    )


def test_contents_in_memory_are_shown_alike():
    shown = render_contents({"in/b.txt": b"bb", "in/a.txt": b"a"}, RenderLimits())
    assert [(file.seen.path, file.text) for file in shown.files] == [
        ("in/a.txt", "a"),
        ("in/b.txt", "bb"),
    ]
