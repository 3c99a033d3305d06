from __future__ import annotations

import os
from pathlib import Path

from pytest_evoclaw.skill_places import collect_skills
from pytest_evoclaw.skill_places import inspect_copies
from pytest_evoclaw.skill_places import place_skills
from pytest_evoclaw.skills import EMPTY_BUNDLE
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile

COPY = ".claude/skills"
GIVEN = SkillBundle((SkillFile(path="adding/SKILL.md", data=b"given"),))


def write(workspace: Path, path: str, data: str, when: int = 1_000) -> None:
    target = workspace / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(data, encoding="utf-8")
    os.utime(target, (when, when))


def collect(workspace: Path, given: SkillBundle = EMPTY_BUNDLE) -> dict[str, bytes]:
    reading = collect_skills(workspace, (COPY,), given, frozenset({"skill-creator"}))
    return {file.path: file.data for file in reading.bundle.files}


def test_skills_are_put_into_all_places(tmp_path):
    place_skills((GIVEN,), tmp_path, (COPY,))
    for folder in ("skills", COPY):
        assert (tmp_path / folder / "adding/SKILL.md").read_bytes() == b"given"


def test_a_change_of_a_copy_is_named_with_its_folder(tmp_path):
    place_skills((GIVEN,), tmp_path, (COPY,))
    before = inspect_copies(tmp_path, (COPY,))
    write(tmp_path, f"{COPY}/adding/SKILL.md", "other words")
    write(tmp_path, f"{COPY}/new/SKILL.md", "new")
    assert before.changes_to(inspect_copies(tmp_path, (COPY,))) == (
        f"changed {COPY}/adding/SKILL.md",
        f"added {COPY}/new/SKILL.md",
    )


def test_a_copy_that_becomes_a_link_is_a_change_and_is_not_followed(tmp_path):
    place_skills((GIVEN,), tmp_path / "w", (COPY,))
    before = inspect_copies(tmp_path / "w", (COPY,))
    write(tmp_path, "elsewhere/skills/secret/SKILL.md", "secret")
    (tmp_path / "w/.claude").rename(tmp_path / "w/away")
    (tmp_path / "w/.claude").symlink_to(tmp_path / "elsewhere")
    changes = before.changes_to(inspect_copies(tmp_path / "w", (COPY,)))
    assert f"deleted {COPY}/adding/SKILL.md" in changes
    assert collect(tmp_path / "w", GIVEN) == {"adding/SKILL.md": b"given"}


def test_skills_written_in_either_place_are_collected_and_seeds_are_not(tmp_path):
    for name, folder in (("one", "skills"), ("two", COPY), ("skill-creator", COPY)):
        write(tmp_path, f"{folder}/{name}/SKILL.md", name)
    assert collect(tmp_path) == {"one/SKILL.md": b"one", "two/SKILL.md": b"two"}


def test_an_untouched_copy_brings_nothing_back(tmp_path):
    place_skills((GIVEN,), tmp_path, (COPY,))
    (tmp_path / "skills/adding/SKILL.md").unlink()
    assert collect(tmp_path, GIVEN) == {}
    write(tmp_path, "skills/adding/SKILL.md", "edited", when=10)
    assert collect(tmp_path, GIVEN) == {"adding/SKILL.md": b"edited"}


def test_an_edited_copy_counts_where_the_original_is_as_given(tmp_path):
    place_skills((GIVEN,), tmp_path, (COPY,))
    write(tmp_path, f"{COPY}/adding/SKILL.md", "edited", when=10)
    assert collect(tmp_path, GIVEN) == {"adding/SKILL.md": b"edited"}


def test_of_two_versions_the_newer_counts_whole_and_is_noted(tmp_path):
    write(tmp_path, "skills/adding/SKILL.md", "older", when=10)
    write(tmp_path, "skills/adding/extra.md", "older", when=11)
    write(tmp_path, f"{COPY}/adding/SKILL.md", "newer", when=12)
    assert collect(tmp_path) == {"adding/SKILL.md": b"newer"}
    reading = collect_skills(tmp_path, (COPY,), EMPTY_BUNDLE, frozenset())
    assert reading.skipped == (f"adding: written in skills and {COPY}; {COPY} is newer",)
    write(tmp_path, "skills/adding/extra.md", "newest", when=13)
    assert collect(tmp_path) == {"adding/SKILL.md": b"older", "adding/extra.md": b"newest"}
