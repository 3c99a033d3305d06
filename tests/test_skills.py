from __future__ import annotations

import os

import pytest

from pytest_evoclaw.skills import EMPTY_BUNDLE
from pytest_evoclaw.skills import BundleLimits
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile
from pytest_evoclaw.skills import merge_bundles
from pytest_evoclaw.skills import read_bundle
from pytest_evoclaw.skills import write_bundle

SKILL = b"---\nname: greet\ndescription: Greets. Use when asked to.\n---\n\nSay hello.\n"
GREET = SkillFile(path="greet/SKILL.md", data=SKILL)
SCRIPT = SkillFile(path="greet/scripts/run.sh", data=b"#!/bin/sh\n", executable=True)


def test_a_bundle_survives_being_written_and_read(tmp_path):
    bundle = SkillBundle((SCRIPT, GREET))
    write_bundle(bundle, tmp_path / "skills")
    reading = read_bundle(tmp_path / "skills")
    assert reading.bundle == bundle
    assert reading.bundle.digest == bundle.digest
    assert reading.skipped == ()
    assert bundle.folders == ("greet",)


def test_the_order_in_which_files_are_given_does_not_count():
    assert SkillBundle((SCRIPT, GREET)) == SkillBundle((GREET, SCRIPT))
    assert SkillBundle((SCRIPT, GREET)).files == (GREET, SCRIPT)


@pytest.mark.parametrize(
    "other",
    [
        (),
        (GREET, SCRIPT),
        (SkillFile(path="greet/SKILL.md", data=SKILL + b" "),),
        (SkillFile(path="greet/SKILL.md", data=SKILL, executable=True),),
        (SkillFile(path="great/SKILL.md", data=SKILL),),
    ],
    ids=["empty", "one more", "content", "mode", "name"],
)
def test_bundles_differ_in_equality_and_digest(other):
    assert SkillBundle(other) != SkillBundle((GREET,))
    assert SkillBundle(other).digest != SkillBundle((GREET,)).digest


def test_the_digest_keeps_names_and_contents_apart():
    one = SkillBundle((SkillFile(path="a", data=b"b"),))
    other = SkillBundle((SkillFile(path="ab", data=b""),))
    assert one.digest != other.digest


@pytest.mark.parametrize(
    "path", ["", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\0b", "\udcff"], ids=repr
)
def test_a_path_that_could_lead_elsewhere_is_refused(path):
    with pytest.raises(ValueError, match="path of a skill file"):
        SkillFile(path=path, data=b"")


@pytest.mark.parametrize("path", ["greet/SKILL.md", "greet", "greet/SKILL.md/x"])
def test_two_things_at_one_place_are_refused(path):
    with pytest.raises(ValueError, match="more than one thing at greet"):
        SkillBundle((GREET, SkillFile(path=path, data=b"other")))


def test_a_missing_folder_has_no_skills(tmp_path):
    assert read_bundle(tmp_path / "nothing").bundle == EMPTY_BUNDLE


def test_nothing_is_made_for_an_empty_bundle(tmp_path):
    write_bundle(EMPTY_BUNDLE, tmp_path / "skills")
    assert not (tmp_path / "skills").exists()


def test_seeded_folders_and_bytecode_are_passed_over(tmp_path):
    seeds = SkillBundle((SkillFile(path="skill-creator/SKILL.md", data=b"seed"),))
    write_bundle(merge_bundles(seeds, SkillBundle((GREET,))), tmp_path)
    cache = tmp_path / "greet" / "scripts" / "__pycache__"
    cache.mkdir(parents=True)
    (cache / "x.cpython-311.pyc").write_bytes(b"x")
    reading = read_bundle(tmp_path, exclude=frozenset({"skill-creator"}))
    assert reading.bundle == SkillBundle((GREET,))
    assert reading.skipped == ()


def test_merging_takes_equal_files_once_and_refuses_a_conflict():
    one = SkillBundle((GREET,))
    assert merge_bundles(one, SkillBundle((GREET, SCRIPT))).files == (GREET, SCRIPT)
    with pytest.raises(ValueError, match="more than one thing"):
        merge_bundles(one, SkillBundle((SkillFile(path=GREET.path, data=b"x"),)))


def test_writing_over_a_link_does_not_reach_what_it_leads_to(tmp_path):
    (tmp_path / "away").mkdir()
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "greet").symlink_to(tmp_path / "away")
    with pytest.raises(ValueError, match="inside a link"):
        write_bundle(SkillBundle((GREET,)), tmp_path / "skills")
    assert list((tmp_path / "away").iterdir()) == []


def test_hostile_files_are_skipped_with_a_reason_and_the_rest_is_read(tmp_path):
    write_bundle(SkillBundle((GREET,)), tmp_path)
    (tmp_path / "secret").write_bytes(b"top secret")
    folder = tmp_path / "evil"
    folder.mkdir()
    os.mkfifo(folder / "SKILL.md")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to("..")
    with (folder / "sparse").open("wb") as file:
        file.truncate(2 << 30)
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / os.fsdecode(b"caf\xe9")).write_bytes(b"")
    reading = read_bundle(tmp_path, exclude=frozenset({"secret"}))
    assert reading.bundle == SkillBundle((GREET,))
    assert reading.skipped == (
        "caf\\udce9: its name is not UTF-8",
        "evil/SKILL.md: not a regular file (FIFO)",
        "evil/link: not a regular file (link)",
        "evil/loop: not a regular file (link)",
        "evil/sparse: larger than 2000000 bytes",
    )


@pytest.mark.parametrize(
    ("limits", "kept", "reason"),
    [
        (BundleLimits(files=2), "ab", "c/SKILL.md: more than 2 files"),
        (BundleLimits(file_bytes=2), "ab", "c/SKILL.md: larger than 2 bytes"),
        (BundleLimits(total_bytes=4), "ab", "c/SKILL.md: more than 4 bytes in all files"),
        (BundleLimits(depth=1), "", "a/SKILL.md: deeper than 1 levels"),
        (BundleLimits(entries=4), "ab", ".: not listed to its end: too many entries"),
    ],
    ids=["files", "file_bytes", "total_bytes", "depth", "entries"],
)
def test_limits_skip_what_is_beyond(tmp_path, limits, kept, reason):
    for name, data in (("a", b"11"), ("b", b"22"), ("c", b"333")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_bytes(data)
    reading = read_bundle(tmp_path, limits=limits)
    assert "".join(reading.bundle.folders) == kept
    assert reason in reading.skipped


def test_a_thousand_skipped_files_make_a_short_report(tmp_path):
    for number in range(1000):
        (tmp_path / f"{number:04}").symlink_to("nowhere")
    skipped = read_bundle(tmp_path).skipped
    assert len(skipped) == 31
    assert skipped[-1] == "and 970 more"
