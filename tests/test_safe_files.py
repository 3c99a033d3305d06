from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evoclaw.safe_files import DEPTH
from pytest_evoclaw.safe_files import MissingFile
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import find_entry
from pytest_evoclaw.safe_files import read_regular
from pytest_evoclaw.safe_files import show_name
from pytest_evoclaw.safe_files import walk
from pytest_evoclaw.safe_files import walk_regular
from pytest_evoclaw.safe_files import write_regular


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with one of each kind of thing, and a secret beside it."""
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "sub" / "good.txt").write_bytes(b"12345")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "dangling.txt").symlink_to("nowhere")
    (folder / "linked").symlink_to(folder / "sub")
    (folder / "up").symlink_to("..")
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
    return folder


def test_a_regular_file_is_read_whole(root):
    assert read_regular(root, "sub/good.txt", 5) == b"12345"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nothing.txt", "missing"),
        ("nothing/below.txt", "missing"),
        ("sub", "not a regular file (directory)"),
        ("pipe", "not a regular file (FIFO)"),
        ("sock", "not a regular file (socket)"),
        ("link.txt", "not a regular file (link)"),
        ("dangling.txt", "not a regular file (link)"),
        ("linked/good.txt", "inside a link, not a folder (linked)"),
        ("up/secret.txt", "inside a link, not a folder (up)"),
        ("sub/good.txt/x", "inside a file, not a folder (good.txt)"),
        ("../secret.txt", "outside the folder"),
        ("sub/../../secret.txt", "outside the folder"),
        ("/etc/passwd", "outside the folder"),
        ("", "outside the folder"),
        ("a\0b", "outside the folder"),
        ("x" * 300, "cannot be read: File name too long"),
    ],
    ids=lambda value: value[:20].replace("\0", "0") or "empty",
)
def test_everything_else_is_refused_with_its_reason(root, name, reason):
    with pytest.raises(UnsafeFile) as caught:
        read_regular(root, name, 100)
    assert caught.value.reason == reason
    assert isinstance(caught.value, MissingFile) is (reason == "missing")


def test_a_device_is_refused():
    with pytest.raises(UnsafeFile, match="not a regular file \\(device\\)"):
        read_regular(Path("/dev"), "zero", 100)


def test_a_linked_root_is_refused(root):
    with pytest.raises(UnsafeFile, match="a link"):
        read_regular(root / "linked", "good.txt", 100)
    assert [str(item) for item in walk_regular(root / "linked", 9)] == [".: a link"]


def test_a_huge_sparse_file_is_refused_by_its_size(tmp_path):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(UnsafeFile, match="huge: larger than 1000 bytes"):
        read_regular(tmp_path, "huge", 1000)


def test_a_walk_names_regular_files_in_order_and_says_what_it_left_out(root):
    (root / "a.txt").write_bytes(b"")
    assert [str(item) for item in walk_regular(root, 100)] == [
        "a.txt",
        "dangling.txt: not a regular file (link)",
        "link.txt: not a regular file (link)",
        "linked: not a regular file (link)",
        "pipe: not a regular file (FIFO)",
        "sock: not a regular file (socket)",
        "sub/good.txt",
        "up: not a regular file (link)",
    ]


def test_a_walk_of_nothing_is_empty(tmp_path):
    assert list(walk_regular(tmp_path / "missing", 10)) == []


def test_a_walk_is_bounded_by_its_limit_and_says_so(tmp_path):
    for number in range(50):
        (tmp_path / f"{number:02}" / "inner").mkdir(parents=True)
    entries = list(walk(tmp_path, 20))
    assert [entry.name for entry in entries if not entry.problem][-1] == "09/inner"
    assert len(entries) == 21
    assert entries[-1].problem == "not listed to its end: too many entries"


def test_a_walk_does_not_go_deeper_than_its_bound(tmp_path):
    deep = tmp_path.joinpath(*["d"] * (DEPTH + 5))
    deep.mkdir(parents=True)
    entries = list(walk(tmp_path, 1000))
    assert len(entries) == DEPTH
    assert entries[-1].problem == f"not entered: {DEPTH} folders deep"


def test_names_that_are_no_utf8_are_read_and_shown_escaped(tmp_path):
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n"))).write_bytes(b"x")
    (name,) = list(walk_regular(tmp_path, 10))
    assert read_regular(tmp_path, str(name), 10) == b"x"
    assert show_name(str(name)) == "\\udcff\\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_what_permissions_forbid_is_reported_and_not_raised(tmp_path):
    program = (
        "import os, pathlib; from pytest_evoclaw.safe_files import walk_regular\n"
        "os.setuid(65534)\n"
        "print(*walk_regular(pathlib.Path('.'), 10), sep='\\n')"
    )
    (tmp_path / "closed").mkdir(mode=0o000)
    (tmp_path / "listed").mkdir(mode=0o755)
    (tmp_path / "listed" / "x").write_bytes(b"")
    (tmp_path / "listed").chmod(0o744)
    tmp_path.chmod(0o755)
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found.stdout.splitlines() == [
        "closed: cannot be read: Permission denied",
        "listed/x: cannot be read: Permission denied",
    ]


def test_a_file_is_written_with_its_folders_and_mode(root):
    old = os.umask(0o077)
    try:
        write_regular(root, "new/deep/run.sh", b"x", executable=True)
        write_regular(root, "new/deep/note", b"y")
    finally:
        os.umask(old)
    assert (root / "new/deep/run.sh").stat().st_mode & 0o777 == 0o755
    assert (root / "new/deep/note").stat().st_mode & 0o777 == 0o644


def test_writing_replaces_a_link_and_not_what_it_leads_to(root):
    write_regular(root, "link.txt", b"new")
    assert read_regular(root, "link.txt", 10) == b"new"
    assert (root.parent / "secret.txt").read_bytes() == b"secret"


@pytest.mark.parametrize(
    "name",
    ["linked/x", "up/x", "up/new/x", "pipe/x", "sub", "../x", "/tmp/x"],
    ids=lambda name: name.replace("/", "_"),
)
def test_writing_outside_or_over_a_folder_is_refused(root, name):
    with pytest.raises(UnsafeFile):
        write_regular(root, name, b"x")
    assert sorted(path.name for path in root.parent.iterdir()) == ["root", "secret.txt"]
    assert [path.name for path in (root / "sub").iterdir()] == ["good.txt"]


def test_an_entry_is_found_without_following_it(root):
    entry = find_entry(root, "link.txt")
    assert (entry.kind, entry.target) == ("link", str(root.parent / "secret.txt"))
    with pytest.raises(MissingFile):
        find_entry(root, "sub/nothing")
    with pytest.raises(UnsafeFile, match="inside a link"):
        find_entry(root, "linked/good.txt")
