from __future__ import annotations

import pytest
import skills_ref

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.skill_facts import compute_quality
from pytest_evoclaw.skill_facts import describe_skills
from pytest_evoclaw.skills import read_skill_creator
from pytest_evoclaw.skills import write_bundle

OTHER = b"---\nname: other\ndescription: Another one.\n---\n\nDo it.\n"


def test_the_shipped_bundle_is_a_valid_skill(tmp_path):
    write_bundle(read_skill_creator(None), tmp_path)
    assert skills_ref.validate(tmp_path / "skill-creator") == []
    properties = skills_ref.read_properties(tmp_path / "skill-creator")
    assert properties.name == "skill-creator"
    assert "Use when" in properties.description


def test_the_shipped_bundle_has_no_problems_and_is_short():
    bundle = read_skill_creator(None)
    (facts,) = describe_skills(bundle)
    assert facts.problems == ()
    assert compute_quality(facts) >= 0.7
    assert facts.content_length < 6_000


def test_the_shipped_bundle_says_where_skills_go_and_what_not_to_write():
    (file,) = read_skill_creator(None).files
    text = file.data.decode()
    for needed in ("skills/<skill-name>/", "SKILL.md", "scripts/", "references/", "Answers"):
        assert needed in text


@pytest.mark.parametrize("inner", ["", "other/"], ids=["top", "folder"])
def test_another_bundle_is_seeded_under_the_same_name(tmp_path, inner):
    (tmp_path / inner / "scripts").mkdir(parents=True)
    (tmp_path / inner / "SKILL.md").write_bytes(OTHER)
    (tmp_path / inner / "scripts" / "x.py").write_bytes(b"")
    paths = [file.path for file in read_skill_creator(tmp_path).files]
    assert paths == ["skill-creator/SKILL.md", "skill-creator/scripts/x.py"]


def test_a_linked_folder_may_be_named(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "SKILL.md").write_bytes(OTHER)
    (tmp_path / "link").symlink_to("real")
    assert read_skill_creator(tmp_path / "link").folders == ("skill-creator",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "no folder"),
        (lambda folder: folder.mkdir(), "found 0 skills"),
        (lambda folder: folder.write_bytes(b""), "a file"),
        (
            lambda folder: [
                ((folder / name).mkdir(parents=True), (folder / name / "SKILL.md").touch())
                for name in "ab"
            ],
            "found 2 skills",
        ),
        (
            lambda folder: (folder.mkdir(), (folder / "SKILL.md").symlink_to("/etc/passwd")),
            "cannot be used whole: SKILL.md: not a regular file",
        ),
    ],
    ids=["missing", "empty", "file", "two", "link"],
)
def test_a_folder_that_holds_no_skill_is_a_settings_error(tmp_path, make, message):
    make(tmp_path / "dir")
    with pytest.raises(SettingsError, match=r"--evo-skill-creator: .*dir: ") as caught:
        read_skill_creator(tmp_path / "dir")
    assert message in str(caught.value)
