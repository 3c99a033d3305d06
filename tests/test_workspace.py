from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import WorkspaceFile
from pytest_evoclaw.workspace import OutputLimits
from pytest_evoclaw.workspace import OutputPreview
from pytest_evoclaw.workspace import PreviewLimits
from pytest_evoclaw.workspace import create_folders
from pytest_evoclaw.workspace import fill_workspace
from pytest_evoclaw.workspace import preview_outputs
from pytest_evoclaw.workspace import remove_tree
from pytest_evoclaw.workspace import store_outputs


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "secret.txt").write_bytes(b"secret")
    folder = create_folders(tmp_path / "phase").workspace
    (folder / "outputs").mkdir()
    return folder


@pytest.fixture
def hostile(workspace):
    """Outputs of all kinds, with one good file among them."""
    outputs = workspace / "outputs"
    (outputs / "b.txt").write_bytes(b"good")
    (outputs / "a").symlink_to("../../../secret.txt")
    (outputs / "c").symlink_to("../../..")
    (outputs / "d").symlink_to("nowhere")
    os.mkfifo(outputs / "e.json")
    with (outputs / "f.bin").open("wb") as file:
        file.truncate(2 << 30)
    (outputs / os.fsdecode(b"g\xff")).write_bytes(b"")
    (outputs / "report.json").mkdir()
    return workspace


def test_the_folders_of_a_phase_are_fresh_and_private(tmp_path):
    folders = create_folders(tmp_path / "a" / "phase")
    made = (folders.workspace, folders.home, folders.state, folders.tmp, folders.logs)
    assert len(set(made)) == 5
    for folder in (tmp_path / "a" / "phase", *made):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert all(list(folder.iterdir()) == [] for folder in made)


def test_folders_that_are_not_fresh_are_refused(tmp_path):
    (tmp_path / "left").write_bytes(b"over")
    with pytest.raises(FileExistsError, match="is not empty"):
        create_folders(tmp_path)


def _make_task(*files: WorkspaceFile) -> Task:
    return Task(
        path=Path("tasks/task_01_copy.md"),
        root=Path(),
        id="task_01_copy",
        name="Copy",
        category="data",
        grading_type="automated",
        timeout_seconds=60.0,
        prompt="Copy it.",
        prompt_line=1,
        expected_behavior="",
        sub_problems=(),
        criteria=(),
        workspace_files=files,
    )


def test_fixtures_are_written_byte_for_byte_beside_an_empty_outputs(tmp_path):
    source = tmp_path / "in.bin"
    source.write_bytes(b"\0\xff\r\nx")
    tool = tmp_path / "tool.sh"
    tool.write_bytes(b"#!/bin/sh\n")
    tool.chmod(0o700)
    folders = create_folders(tmp_path / "phase")
    task = _make_task(
        WorkspaceFile(dest="assets/deep/in.bin", source=source),
        WorkspaceFile(dest="assets/tool.sh", source=tool),
        WorkspaceFile(dest="note.txt", content="ä\r\n"),
    )
    fill_workspace(task, folders)
    workspace = folders.workspace
    assert (workspace / "assets" / "deep" / "in.bin").read_bytes() == b"\0\xff\r\nx"
    assert (workspace / "note.txt").read_bytes() == "ä\r\n".encode()
    assert (workspace / "assets" / "tool.sh").stat().st_mode & 0o777 == 0o755
    assert (workspace / "note.txt").stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in workspace.iterdir()) == ["assets", "note.txt", "outputs"]
    assert list((workspace / "outputs").iterdir()) == []


@pytest.mark.parametrize("dest", ["../x", "/x", "a/../../x"])
def test_a_fixture_cannot_leave_the_workspace(tmp_path, dest):
    folders = create_folders(tmp_path / "phase")
    with pytest.raises(UnsafeFile, match="outside the folder"):
        fill_workspace(_make_task(WorkspaceFile(dest=dest, content="")), folders)
    assert [path.name for path in tmp_path.iterdir()] == ["phase"]


def test_outputs_are_stored_as_they_are(workspace, tmp_path):
    (workspace / "outputs" / "deep" / "er").mkdir(parents=True)
    (workspace / "outputs" / "deep" / "er" / "x.bin").write_bytes(b"\0\xff\r\n")
    (workspace / "other.txt").write_bytes(b"not an output")
    assert store_outputs(workspace, tmp_path / "kept") == ()
    kept = tmp_path / "kept" / "deep" / "er" / "x.bin"
    assert kept.read_bytes() == b"\0\xff\r\n"
    assert [path for path in (tmp_path / "kept").rglob("*") if path.is_file()] == [kept]


def test_hostile_outputs_are_left_out_with_a_reason(hostile, tmp_path):
    assert store_outputs(hostile, tmp_path / "kept") == (
        "not stored: outputs/a: not a regular file (link)",
        "not stored: outputs/c: not a regular file (link)",
        "not stored: outputs/d: not a regular file (link)",
        "not stored: outputs/e.json: not a regular file (FIFO)",
        "not stored: outputs/f.bin: larger than 20000000 bytes",
        "not stored: outputs/g\\udcff: its name is not UTF-8",
    )
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["b.txt"]


@pytest.mark.parametrize(
    ("make", "notes"),
    [
        (lambda outputs: None, ()),
        (lambda outputs: outputs.symlink_to("elsewhere"), ("not stored: outputs: a link",)),
        (os.mkfifo, ("not stored: outputs: a FIFO",)),
        (Path.touch, ("not stored: outputs: a file",)),
    ],
    ids=["missing", "link", "FIFO", "file"],
)
def test_outputs_that_are_no_folder_are_not_stored(tmp_path, make, notes):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_bytes(b"")
    make(tmp_path / "outputs")
    assert store_outputs(tmp_path, tmp_path / "kept") == notes
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "note"),
    [
        (OutputLimits(files=2), "not stored: outputs/c: more than 2 files"),
        (OutputLimits(total_bytes=5), "not stored: outputs/c: more than 5 bytes in all files"),
        (OutputLimits(file_bytes=2), "not stored: outputs/c: larger than 2 bytes"),
        (OutputLimits(entries=2), "not stored: outputs: not listed to its end: too many entries"),
    ],
    ids=["files", "total", "file", "entries"],
)
def test_storing_is_bounded(workspace, tmp_path, limits, note):
    for name, data in (("a", b"11"), ("b", b"22"), ("c", b"333")):
        (workspace / "outputs" / name).write_bytes(data)
    assert store_outputs(workspace, tmp_path / "kept", limits) == (note,)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["a", "b"]


def test_previews_show_text_and_say_what_they_do_not_show(hostile):
    (hostile / "outputs" / "long.txt").write_text("ä" * 3000, encoding="utf-8")
    assert preview_outputs(hostile, PreviewLimits(file_characters=3)) == (
        OutputPreview(path="outputs/a", size=0, text="[not shown: not a regular file (link)]"),
        OutputPreview(path="outputs/b.txt", size=4, text="goo\n[the first 3 characters]"),
        OutputPreview(path="outputs/c", size=0, text="[not shown: not a regular file (link)]"),
        OutputPreview(path="outputs/d", size=0, text="[not shown: not a regular file (link)]"),
        OutputPreview(path="outputs/e.json", size=0, text="[not shown: not a regular file (FIFO)]"),
        OutputPreview(path="outputs/f.bin", size=2 << 30, text="[not shown: not text]"),
        OutputPreview(path="outputs/g\\udcff", size=0, text=""),
        OutputPreview(path="outputs/long.txt", size=6000, text="äää\n[the first 3 characters]"),
    )


def test_a_preview_of_a_whole_file_is_its_text(workspace):
    (workspace / "outputs" / "a.json").write_bytes(b'{"a": "\xc3\xa4"}\n')
    (workspace / "outputs" / "b.txt").write_bytes(b"caf\xe9 \xc3")
    assert [preview.text for preview in preview_outputs(workspace)] == [
        '{"a": "ä"}\n',
        "caf\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}",
    ]


def test_previews_are_bounded_in_number_and_in_all(workspace):
    for number in range(300):
        (workspace / "outputs" / f"{number:03}").write_text("x" * 500, encoding="ascii")
    previews = preview_outputs(workspace, PreviewLimits(total_characters=1200))
    assert [preview.path for preview in previews] == [f"outputs/{n:03}" for n in range(100)]
    assert sum(preview.text.count("x") for preview in previews) == 1200
    assert previews[3] == OutputPreview(
        path="outputs/003", size=500, text="[not shown: enough is shown already]"
    )


def test_a_tree_is_removed_and_what_its_links_lead_to_is_not(hostile, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(b"kept")
    (hostile / "way out").symlink_to(tmp_path / "kept")
    assert remove_tree(tmp_path / "phase") == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "secret.txt"]
    assert (tmp_path / "kept" / "file").read_bytes() == b"kept"


def test_removing_a_link_leaves_what_it_leads_to(workspace, tmp_path):
    (tmp_path / "link").symlink_to(workspace)
    assert remove_tree(tmp_path / "link") == ()
    assert not (tmp_path / "link").is_symlink()
    assert workspace.is_dir()


def test_removing_what_is_not_there_is_nothing(tmp_path):
    assert remove_tree(tmp_path / "missing") == ()


def test_a_tree_deeper_than_any_path_or_stack_is_removed(tmp_path):
    descriptors = [os.open(tmp_path, os.O_RDONLY)]
    os.mkdir("deep", dir_fd=descriptors[0])
    descriptors.append(os.open("deep", os.O_RDONLY, dir_fd=descriptors[0]))
    for _ in range(1500):
        last = descriptors.pop()
        os.mkdir("d" * 100, dir_fd=last)
        descriptors.append(os.open("d" * 100, os.O_RDONLY, dir_fd=last))
        os.close(last)
    for descriptor in descriptors:
        os.close(descriptor)
    assert remove_tree(tmp_path / "deep") == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_closed_folders_and_files_of_an_ordinary_user_do_not_hinder(tmp_path):
    program = """
import os
import pathlib
from pytest_evoclaw.workspace import *
os.setuid(65534)
workspace = create_folders(pathlib.Path("phase")).workspace
closed = workspace / "outputs" / "closed" / "inner"
closed.mkdir(parents=True)
(closed / "x").write_bytes(b"x")
(workspace / "outputs" / "f").write_bytes(b"x")
(workspace / "outputs" / "f").chmod(0)
closed.chmod(0)
closed.parent.chmod(0)
workspace.chmod(0o500)
print(*store_outputs(workspace, pathlib.Path("kept")), sep="\\n")
print(*(preview.text for preview in preview_outputs(workspace)), sep="\\n")
workspace.chmod(0)
print(remove_tree(pathlib.Path("phase")), os.listdir("."))
"""
    tmp_path.chmod(0o777)
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.stderr == ""
    assert found.stdout.splitlines() == [
        "not stored: outputs/closed: cannot be read: Permission denied",
        "not stored: outputs/f: cannot be read: Permission denied",
        "[not shown: cannot be read: Permission denied]",
        "[not shown: cannot be read: Permission denied]",
        "() ['kept']",
    ]
