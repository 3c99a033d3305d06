from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import docx
import openpyxl
import pytest

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.checklist import GraderFault
from pytest_evoclaw.grading.workspace import GradedWorkspace

NAME = "outputs/file"


@pytest.fixture
def workspace(tmp_path: Path) -> GradedWorkspace:
    root = tmp_path / "workspace"
    (root / "outputs").mkdir(parents=True)
    return GradedWorkspace(root)


@pytest.fixture
def write(workspace):
    def write(content: bytes | str, name: str = NAME) -> None:
        data = content.encode("utf-8") if isinstance(content, str) else content
        (workspace / name).write_bytes(data)

    return write


def refusal(read, *arguments, **options) -> str:
    with pytest.raises(CheckFailed) as caught:
        read(*arguments, **options)
    return str(caught.value)


def save(document) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def pack(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def repack(data: bytes, name: str, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    return pack({**members, name: content})


def test_a_workspace_joins_names_and_knows_its_task(tmp_path):
    workspace = GradedWorkspace(tmp_path, task_id="task_01", transcript=[{"type": "session"}])
    assert workspace / "outputs" / "a.json" == tmp_path / "outputs" / "a.json"
    assert workspace.task_id == "task_01"
    assert workspace.transcript == ({"type": "session"},)


def test_a_fixture_is_the_pristine_copy(tmp_path):
    pristine = tmp_path / "pristine.csv"
    workspace = GradedWorkspace(tmp_path, fixtures={"assets/a.csv": pristine})
    assert workspace.fixture("assets/a.csv") == pristine
    with pytest.raises(LookupError, match=r"no input 'b.csv'; its inputs are: assets/a.csv"):
        workspace.fixture("b.csv")


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "outputs/../../x", "a\0b"], ids=repr)
def test_a_name_outside_the_workspace_is_a_fault_of_the_grader(workspace, name):
    with pytest.raises(GraderFault, match="file name: found"):
        workspace.text(name)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nothing")


def make_sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(2 << 30)


def make_nothing(path: Path) -> None:
    assert not path.exists()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_nothing, "missing"),
        (make_fifo, "not a regular file (FIFO)"),
        (make_folder, "not a regular file (directory)"),
        (make_link, "not a regular file (link)"),
        (make_dangling_link, "not a regular file (link)"),
        (make_sparse, "larger than 20000000 bytes"),
    ],
    ids=["missing", "fifo", "folder", "link", "dangling", "sparse"],
)
@pytest.mark.parametrize("reader", ["bytes", "text", "json", "csv", "xml", "xlsx", "docx"])
def test_hostile_files_fail_the_check_with_file_and_reason(workspace, make, reason, reader):
    make(workspace / NAME)
    assert refusal(getattr(workspace, reader), NAME) == f"{NAME}: {reason}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_of_mode_zero_fails_the_check(workspace, write):
    write("text")
    (workspace / NAME).chmod(0)
    assert refusal(workspace.text, NAME).startswith(f"{NAME}: cannot be read")


def test_a_link_among_the_folders_is_not_followed(workspace, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a").write_text("answer", encoding="utf-8")
    (workspace / "outputs" / "sub").symlink_to(tmp_path / "elsewhere")
    assert "link" in refusal(workspace.text, "outputs/sub/a")


def test_a_file_is_read_once_and_so_is_its_failure(workspace, write):
    assert refusal(workspace.json, NAME) == f"{NAME}: missing"
    write("[1]")
    assert refusal(workspace.json, NAME) == f"{NAME}: missing"
    write("[1]", "outputs/other")
    first = workspace.json("outputs/other")
    (workspace / "outputs/other").unlink()
    assert workspace.json("outputs/other") is first


def test_the_size_limit_can_be_set(workspace, write):
    write("12345")
    assert workspace.bytes(NAME, limit=5) == b"12345"
    assert refusal(workspace.bytes, NAME, limit=4) == f"{NAME}: larger than 4 bytes"


def test_text_is_utf_8_with_or_without_a_byte_order_mark(workspace, write):
    write("\ufeffé\r\n")
    assert workspace.text(NAME) == "é\r\n"


def test_text_in_another_encoding_names_the_first_bad_byte(workspace, write):
    write(b"abc\xff\xfe")
    assert refusal(workspace.text, NAME) == f"{NAME}: not utf-8 at byte 3"
    write("名字".encode("gb18030"), "outputs/chinese")
    assert workspace.text("outputs/chinese", encoding="gb18030") == "名字"


UNTERMINATED = "not valid JSON: Unterminated string starting at"


def test_json_keeps_types_apart(workspace, write):
    write('\ufeff{"a": 30.0, "b": 30, "c": true, "d": null, "e": "\\u00e9"}')
    value = workspace.json(NAME)
    assert [type(v) for v in value.values()] == [float, int, bool, type(None), str]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON: Expecting value (line 1, column 1)"),
        ('{"a": 1,\n "b": }', "not valid JSON: Expecting value (line 2, column 7)"),
        ("[1] [2]", "not valid JSON: Extra data (line 1, column 5)"),
        ("[NaN]", "NaN is not a JSON value"),
        ("[-Infinity]", "-Infinity is not a JSON value"),
        ("[1e999]", "the number 1e999 is out of range"),
        ("1" * 5000, "a number is out of range"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' comes twice"),
        ("[" * 65 + "]" * 65, "nested deeper than 64 levels"),
        (f"[{'[],' * 1_000_000}0]", "holds more than 1000000 lists and objects"),
        ("[" * 1_000_000, "nested deeper than 64 levels"),
        ('{"a":' * 1_000_000, "nested deeper than 64 levels"),
        ('"' + '\\"' * 200_000, f"{UNTERMINATED} (line 1, column 1)"),
    ],
    ids=lambda text: repr(text[:20]),
)
def test_json_that_is_malformed_or_hostile_fails_the_check(workspace, write, text, reason):
    write(text)
    assert refusal(workspace.json, NAME) == f"{NAME}: {reason}"


MEMORY_PROBE = """\
import resource, sys
from pathlib import Path
from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.workspace import GradedWorkspace
workspace = GradedWorkspace(Path(sys.argv[1]))
used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + 10_000_000,) * 2)
try:
    workspace.json(sys.argv[2])
except CheckFailed as error:
    print(error)
"""


def test_a_file_that_takes_all_memory_fails_the_check(workspace, write):
    write(b'["' + b"x" * 19_000_000 + b'"]')
    # In a process of its own: in this one there may be freed memory that no limit counts.
    words = [sys.executable, "-c", MEMORY_PROBE, str(workspace.path), NAME]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == f"{NAME}: needs more memory than grading has"


def test_brackets_inside_strings_are_no_levels(workspace, write):
    write('["' + '[{\\\\\\"' * 500 + '"]')
    assert len(workspace.json(NAME)) == 1


def test_json_lines_names_the_line(workspace, write):
    write('{"a": 1}\r\n\n{"a": "\u2028"}\n')
    assert workspace.json_lines(NAME) == [{"a": 1}, {"a": "\u2028"}]
    write('{"a": 1}\n{"a": \n', "outputs/bad")
    message = refusal(workspace.json_lines, "outputs/bad")
    assert message.startswith("outputs/bad line 2: not valid JSON: Expecting value")


def test_csv_gives_a_dict_per_record(workspace, write):
    write('\ufeffid;note\r\n1;"two\nlines; one cell"\r\n\r\n2;\r\n')
    assert workspace.csv(NAME, delimiter=";", columns=["id", "note"]) == [
        {"id": "1", "note": "two\nlines; one cell"},
        {"id": "2", "note": ""},
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no header"),
        ("id,note\n1\n", "line 2: found 1 cells, expected 2"),
        ("id,note\n1,2,3\n", "line 2: found 3 cells, expected 2"),
        ("note,id\n", "found the header note,id, expected id,note"),
        ('id,note\n1,"open', "line 2: not valid CSV: unexpected end of data"),
    ],
    ids=["empty", "short", "long", "header", "quote"],
)
def test_csv_that_is_malformed_fails_the_check(workspace, write, text, reason):
    write(text)
    assert refusal(workspace.csv, NAME, columns=["id", "note"]) == f"{NAME}: {reason}"


def test_csv_with_a_repeated_column_fails_the_check(workspace, write):
    write("id,id\n1,2\n")
    assert refusal(workspace.csv, NAME) == f"{NAME}: the column 'id' comes twice"


def test_yaml_is_read_by_the_safe_loader(workspace, write):
    write("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nlist: [1.5, yes, null]\n")
    assert workspace.yaml(NAME) == {
        "base": {"x": 1, "y": 2},
        "use": {"x": 1, "y": 3},
        "list": [1.5, True, None],
    }


def test_yaml_merges_may_be_merged_again(workspace, write):
    write("a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b, x: 3}\n")
    assert workspace.yaml(NAME)["c"] == {"x": 3}


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 10}]\n" for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\na: 2\n", "the key 'a' comes twice"),
        ("1: a\n0x1: b\n", "the key 1 comes twice"),
        (BOMB, "holds more than 100000 values"),
        ("[" + "a," * 200_000 + "]", "holds more than 100000 values"),
        ("&a [*a]", "an alias contains itself"),
        ("[" * 500, "nested deeper than 64 levels"),
        ("? [1]\n: 2\n", "line 1: a key is not a scalar"),
        ("a: .nan\n", "line 1: .nan is no number"),
        ("a: 2024-13-45\n", "not valid YAML: a value does not fit its type"),
        ("a: !!int ''\n", "not valid YAML: a value does not fit its type"),
        (
            "a: [1\n",
            "not valid YAML: did not find expected ',' or ']' (line 2, column 1)",
        ),
        ("a: 1\n--- \nb: 2\n", "not valid YAML: but found another document (line 2, column 1)"),
    ],
    ids=lambda text: repr(text[:20]),
)
def test_yaml_that_is_malformed_or_hostile_fails_the_check(workspace, write, text, reason):
    write(text)
    assert refusal(workspace.yaml, NAME) == f"{NAME}: {reason}"


def test_yaml_that_asks_for_python_objects_fails_the_check(workspace, write):
    write("!!python/object/apply:os.system ['true']")
    message = refusal(workspace.yaml, NAME)
    assert message.startswith(f"{NAME}: not valid YAML: could not determine a constructor")


def test_yaml_with_control_characters_fails_the_check(workspace, write):
    write("a: \x00")
    assert refusal(workspace.yaml, NAME).startswith(f"{NAME}: not valid YAML: unacceptable char")


def test_yaml_has_its_own_size_limit(workspace, write):
    write("a" * 1_000_001)
    assert refusal(workspace.yaml, NAME) == f"{NAME}: larger than 1000000 bytes"


DECLARED = '<?xml version="1.0" encoding="nope"?>'


def test_xml_gives_the_root(workspace, write):
    write('<?xml version="1.0" encoding="utf-8"?><users><user id="1"/></users>')
    assert workspace.xml(NAME).find("user").get("id") == "1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid XML: no element found (line 1, column 1)"),
        ("<a><b></a>", "not valid XML: mismatched tag (line 1, column 9)"),
        ("<x:a/>", "not valid XML: unbound prefix (line 1, column 1)"),
        (f"{DECLARED}<a/>", "not valid XML: unusable encoding"),
        ('<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>', "has a document type, which is not allowed"),
        ("<a>" * 100_000, "nested deeper than 64 levels"),
    ],
    ids=["empty", "tag", "prefix", "encoding", "doctype", "deep"],
)
def test_xml_that_is_malformed_or_hostile_fails_the_check(workspace, write, text, reason):
    write(text)
    assert refusal(workspace.xml, NAME) == f"{NAME}: {reason}"


def test_a_workbook_gives_formulas_or_values(workspace, write):
    book = openpyxl.Workbook()
    sheet = book["Sheet"]
    sheet.append([1, "=A1+1"])
    sheet.merge_cells("A2:C4")
    write(save(book))
    assert workspace.xlsx(NAME).active["B1"].value == "=A1+1"
    assert workspace.xlsx(NAME, values=True).active["B1"].value is None


def test_a_document_gives_its_paragraphs(workspace, write):
    document = docx.Document()
    document.add_paragraph("Minutes")
    write(save(document))
    assert [p.text for p in workspace.docx(NAME).paragraphs] == ["Minutes"]


@pytest.mark.parametrize("reader", ["xlsx", "docx"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a readable archive (BadZipFile)"),
        (b"junk" * 1000, "not a readable archive (BadZipFile)"),
        (pack({"x": b"0" * 30_000_000}), "unpacks to more than 20000000 bytes"),
        (pack({"x": b"0" * 10_000_000}), "unpacks to more than 200 times its size"),
        (pack({str(n): b"" for n in range(2_001)}), "holds more than 2000 files"),
        (pack({"a.xml": b"<!DOCTYPE a><a/>"}), "a.xml: has a document type, which is not allowed"),
    ],
    ids=["empty", "junk", "large", "bomb", "many", "doctype"],
)
def test_archives_that_are_broken_or_hostile_fail_the_check(
    workspace, write, reader, content, reason
):
    write(content)
    assert refusal(getattr(workspace, reader), NAME) == f"{NAME}: {reason}"


@pytest.mark.parametrize(
    ("reader", "words"), [("xlsx", "not a readable workbook"), ("docx", "not a readable document")]
)
def test_an_archive_without_the_parts_of_an_office_file_fails_the_check(
    workspace, write, reader, words
):
    write(pack({"readme.txt": b"hello"}))
    assert refusal(getattr(workspace, reader), NAME).startswith(f"{NAME}: {words} (")


@pytest.mark.parametrize("cut", range(200, 5000, 400))
def test_a_truncated_workbook_fails_the_check(workspace, write, cut):
    write(save(openpyxl.Workbook())[:cut])
    assert refusal(workspace.xlsx, NAME).startswith(f"{NAME}: not a readable")


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (
            '<sheetData/><mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
            "merged cells span more than 1000000 cells",
        ),
        (
            '<sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
            '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>',
            "sheet 'Sheet' spans more than 1000000 cells",
        ),
    ],
    ids=["merged", "far"],
)
def test_a_sheet_that_spans_billions_of_cells_fails_the_check(workspace, write, inside, reason):
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{space}">{inside}</worksheet>'.encode()
    write(repack(save(openpyxl.Workbook()), "xl/worksheets/sheet1.xml", sheet))
    assert refusal(workspace.xlsx, NAME) == f"{NAME}: {reason}"


def test_names_lists_files_in_order(workspace, write):
    (workspace / "outputs" / "sub").mkdir()
    for name in ("b.json", "a.json", "sub/c.json", "note.txt"):
        write("", f"outputs/{name}")
    assert workspace.names("outputs", "*.json") == [
        "outputs/a.json",
        "outputs/b.json",
        "outputs/sub/c.json",
    ]
    assert len(workspace.names()) == 4


def test_names_fails_the_check_for_what_is_no_file(workspace):
    os.mkfifo(workspace / "outputs" / "pipe")
    assert refusal(workspace.names) == "outputs: pipe: not a regular file (FIFO)"
    assert refusal(workspace.names, "missing") == "missing: missing"


def test_names_does_not_follow_a_link(workspace):
    (workspace / "etc").symlink_to("/etc")
    assert refusal(workspace.names, "etc") == "etc: not a folder (link)"
