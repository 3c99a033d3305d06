from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_evoclaw.inventory import take_inventory


@pytest.fixture
def skills(tmp_path):
    folder = tmp_path / "skills"
    (folder / "greet" / "scripts").mkdir(parents=True)
    (folder / "greet" / "SKILL.md").write_bytes(b"hello")
    (folder / "greet" / "scripts" / "run.sh").write_bytes(b"echo")
    (folder / "greet" / "link").symlink_to("SKILL.md")
    time.sleep(0.02)  # times of a file move in steps of the kernel's clock
    return folder


def _edit_and_restore(folder: Path) -> None:
    path = folder / "greet" / "SKILL.md"
    path.write_bytes(b"other")
    path.write_bytes(b"hello")


def _replace_by_equal(folder: Path) -> None:
    path = folder / "greet" / "SKILL.md"
    shutil.copy2(path, folder / "copy")
    (folder / "copy").rename(path)


def _edit_and_restore_with_times(folder: Path) -> None:
    path = folder / "greet" / "SKILL.md"
    before = path.stat()
    _edit_and_restore(folder)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace(folder: Path, make) -> None:
    path = folder / "greet" / "SKILL.md"
    path.unlink()
    make(path)


@pytest.mark.parametrize(
    ("act", "change"),
    [
        (lambda f: (f / "new.md").write_bytes(b""), "added new.md"),
        (lambda f: (f / "l").symlink_to("x"), "added l (link to x)"),
        (lambda f: os.mkfifo(f / "p"), "added p (FIFO)"),
        (lambda f: (f / "greet/SKILL.md").unlink(), "deleted greet/SKILL.md"),
        (lambda f: (f / "greet/SKILL.md").write_bytes(b"HELLO"), "changed greet/SKILL.md"),
        (lambda f: (f / "greet/SKILL.md").write_bytes(b""), "changed greet/SKILL.md"),
        (
            lambda f: (f / "greet/scripts/run.sh").chmod(0o755),
            "mode of greet/scripts/run.sh changed from 644 to 755",
        ),
        (lambda f: (f / "greet").chmod(0o777), "mode of greet changed from 755 to 777"),
        (
            lambda f: _replace(f, lambda path: path.symlink_to("/etc/passwd")),
            "greet/SKILL.md became a link to /etc/passwd",
        ),
        (lambda f: _replace(f, Path.mkdir), "greet/SKILL.md became a folder"),
        (lambda f: _replace(f, os.mkfifo), "greet/SKILL.md became a FIFO"),
        (_edit_and_restore, "rewritten greet/SKILL.md (its content is the same)"),
        (_replace_by_equal, "rewritten greet/SKILL.md (its content is the same)"),
        (
            _edit_and_restore_with_times,
            "touched greet/SKILL.md (its mode or content was set, and is as before)",
        ),
    ],
    ids=[
        "added",
        "added link",
        "added FIFO",
        "deleted",
        "changed",
        "emptied",
        "mode",
        "mode of a folder",
        "file to link",
        "file to folder",
        "file to FIFO",
        "edited and restored",
        "replaced by its equal",
        "edited and restored with its times",
    ],
)
def test_each_kind_of_change_is_named(skills, act, change):
    before = take_inventory(skills)
    act(skills)
    assert before.changes_to(take_inventory(skills)) == (change,)


def test_a_link_that_leads_elsewhere_is_changed(skills):
    before = take_inventory(skills)
    (skills / "greet" / "link").unlink()
    (skills / "greet" / "link").symlink_to("LICENSE.")
    (change,) = before.changes_to(take_inventory(skills))
    assert change == "changed greet/link (link to LICENSE.)"


def test_reading_and_listing_changes_nothing(skills):
    before = take_inventory(skills)
    (skills / "greet" / "SKILL.md").read_bytes()
    shutil.copytree(skills, skills.parent / "copy", symlinks=True)
    (skills / "empty").mkdir()
    after = take_inventory(skills)
    assert before.changes_to(after) == ()
    assert before.digest == after.digest


def test_using_a_script_that_imports_its_neighbour_changes_nothing(skills):
    scripts = skills / "greet" / "scripts"
    (scripts / "words.py").write_bytes(b"HELLO = 1\n")
    (scripts / "main.py").write_bytes(b"import words\n")
    before = take_inventory(skills)
    subprocess.run([sys.executable, scripts / "main.py"], check=True, timeout=60, env={})
    assert list((scripts / "__pycache__").iterdir())
    after = take_inventory(skills)
    assert before.changes_to(after) == ()
    assert before.digest == after.digest


def test_the_digest_does_not_depend_on_times(skills):
    before = take_inventory(skills).digest
    _edit_and_restore(skills)
    assert take_inventory(skills).digest == before
    (skills / "greet" / "SKILL.md").write_bytes(b"HELLO")
    assert take_inventory(skills).digest != before


def test_only_the_named_files_are_looked_at(skills):
    names = ("greet/SKILL.md", "greet/scripts/run.sh", "absent.txt")
    before = take_inventory(skills, only=names)
    (skills / "new.md").write_bytes(b"")
    assert before.changes_to(take_inventory(skills, only=names)) == ()
    (skills / "greet" / "scripts").rename(skills / "moved")
    (skills / "greet" / "scripts").symlink_to("../moved")
    assert before.changes_to(take_inventory(skills, only=names)) == (
        "greet/scripts/run.sh: inside a link, not a folder (scripts)",
    )


def test_a_file_too_large_to_hash_is_compared_by_size_and_times(skills):
    huge = skills / "huge"
    with huge.open("wb") as file:
        file.truncate(2 << 30)
    time.sleep(0.02)
    before = take_inventory(skills)
    with huge.open("r+b") as file:
        file.write(b"x")
    assert before.changes_to(take_inventory(skills)) == ("rewritten huge",)


def test_a_large_file_added_first_does_not_make_the_others_look_changed(skills):
    before = take_inventory(skills, total_bytes=20)
    (skills / "aaa").write_bytes(b"x" * 18)
    assert before.changes_to(take_inventory(skills, total_bytes=20)) == ("added aaa",)


def test_a_thousand_changes_make_a_short_list(skills):
    before = take_inventory(skills)
    for number in range(1000):
        (skills / f"{number:04}").write_bytes(b"")
    changes = before.changes_to(take_inventory(skills))
    assert changes[0] == "added 0000"
    assert changes[-1] == "and 970 more"


def test_a_missing_folder_is_empty(tmp_path):
    assert take_inventory(tmp_path / "nothing").items == ()
