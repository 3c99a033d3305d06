from __future__ import annotations

import json
from pathlib import Path

import pytest
import skills_ref

from pytest_evoclaw.results import SkillFacts
from pytest_evoclaw.skill_facts import compute_mean_quality
from pytest_evoclaw.skill_facts import compute_quality
from pytest_evoclaw.skill_facts import describe_skills
from pytest_evoclaw.skill_facts import find_strays
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile
from pytest_evoclaw.skills import write_bundle


def _make_bundle(files: dict[str, bytes]) -> SkillBundle:
    return SkillBundle(tuple(SkillFile(path=path, data=data) for path, data in files.items()))


def _describe(data: bytes) -> SkillFacts:
    (facts,) = describe_skills(_make_bundle({"greet/SKILL.md": data}))
    return facts


def _write(name: str, description: str, more: str = "") -> bytes:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\nSay hello.\n".encode()


def test_the_facts_of_a_good_skill():
    bundle = _make_bundle(
        {
            "greet/SKILL.md": _write("greet", "Greets. Use when asked."),
            "greet/scripts/run.sh": b"",
            "greet/scripts/more/deep.py": b"",
            "greet/references/table.md": b"",
            "greet/assets/logo.png": b"",
            "greeting/SKILL.md": _write("greeting", "Another."),
        }
    )
    greet, greeting = describe_skills(bundle)
    assert greet == SkillFacts(
        name="greet",
        path="skills/greet/SKILL.md",
        description="Greets. Use when asked.",
        content_length=len("Say hello."),
        scripts_count=2,
        references_count=1,
        frontmatter="name: greet\ndescription: Greets. Use when asked.",
    )
    assert (greeting.name, greeting.scripts_count) == ("greeting", 0)


@pytest.mark.parametrize(
    "data",
    [
        _write("greet", "Greets."),
        _write("greet", "Greets.", "license: MIT\nmetadata:\n  a: b\n"),
        _write("greet", '"Greets: all."'),
        _write("greet", ">\n  Folded\n  text"),
        _write("greet", "Greets.").replace(b"\n", b"\r\n"),
        _write("Greet", "Greets."),
        _write("gr--eet", "Greets."),
        _write("-greet", "Greets."),
        _write("greet_", "Greets."),
        _write("greet me", "Greets."),
        _write("hello", "Greets."),
        _write("g" * 65, "Greets."),
        _write("''", "Greets."),
        _write("greet", "''"),
        _write("greet", "x" * 1024),
        _write("greet", "x" * 1025),
        _write("greet", "Greets.", "version: 1\n"),
        _write("greet", "Greets.", f"compatibility: {'x' * 501}\n"),
        _write("greet", "Greets: all."),
        b"---\nname: greet\n---\n",
        b"---\ndescription: Greets.\n---\n",
        b"---\nname: greet\ndescription: Greets.\n",
        b"---\n- a\n- b\n---\n",
        b"---\n---\n",
        b"# Greet\n",
        b"",
    ],
    ids=lambda data: ascii(data.decode())[1:50],
)
def test_validity_agrees_with_the_reference_validator(data, tmp_path):
    write_bundle(_make_bundle({"greet/SKILL.md": data}), tmp_path)
    assert bool(_describe(data).problems) is bool(skills_ref.validate(tmp_path / "greet"))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (_write("Greet", "x"), "name: found 'Greet', allowed 'greet', as its folder is called"),
        (_write("greet", "x" * 1025), "description: found 1025 characters, allowed 1024"),
        (_write("greet", "[a]"), "description: found list, allowed text"),
        (_write("greet", "x", "tags: y\n"), "unknown fields: tags; allowed: allowed-tools, "),
        (b"---\nname: greet\n---\n", "description: missing"),
        (b"# No frontmatter", "no frontmatter between two lines of ---"),
        (b"---\nname: [\n---\n", "frontmatter is not YAML"),
        (b"---\n" + b"[" * 5000 + b"\n---\n", "frontmatter is nested too deeply"),
        (b"---\na: " + b"x" * 30_000 + b"\n---\n", "frontmatter longer than 20000 characters"),
        (b"---\n{a: b}: c\n---\n", "frontmatter is not YAML"),
        (b"---\nname: greet\ndescription: \xe9\n---\n", "not UTF-8 at byte 29"),
        (b"\0\0\0", "no frontmatter"),
    ],
    ids=lambda value: ascii(value[:24]) if isinstance(value, bytes) else "",
)
def test_faults_are_named_and_never_raised(data, problem):
    assert any(found.startswith(problem) for found in _describe(data).problems)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + _write("greet", "Greets."),
        _write("greet", "Greets.").replace(b"\n", b"\r\n"),
        _write("greet", "2024-99-99"),
        _write("greet", "!!int ''"),
        _write("greet", "!!python/object/apply:os.abort []"),
        _write("greet", "&a [*a]"),
        _write("greet", '"\\ud800"'),
        b"---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ndescription: *c\n---\n",
    ],
    ids=["bom", "crlf", "date", "tag", "python", "loop", "surrogate", "aliases"],
)
def test_odd_frontmatter_gives_facts_that_json_can_hold(data):
    facts = _describe(data)
    json.dumps(facts.problems, ensure_ascii=False).encode()
    f"{facts.name}{facts.description}{facts.frontmatter}".encode()
    assert facts.path == "skills/greet/SKILL.md"


def test_what_belongs_to_no_skill_is_listed():
    bundle = _make_bundle({"notes.md": b"", "lower/skill.md": b"", "a/b/SKILL.md": b""})
    assert describe_skills(bundle) == ()
    assert find_strays(bundle) == (
        "skills/a: not a skill, for want of a SKILL.md",
        "skills/lower: not a skill, for want of a SKILL.md",
        "skills/notes.md: in no skill",
    )


@pytest.mark.parametrize(
    ("facts", "quality"),
    [
        ({}, 0.0),
        ({"name": "a"}, 0.2),
        ({"name": "a", "description": "b"}, 0.4),
        ({"name": "a", "description": "b", "content_length": 100}, 0.4),
        ({"name": "a", "description": "b", "content_length": 101}, 0.6),
        ({"name": "a", "description": "b", "content_length": 501}, 0.7),
        ({"scripts_count": 3}, 0.2),
        ({"references_count": 3}, 0.1),
        (
            {
                "name": "a",
                "description": "b",
                "content_length": 501,
                "scripts_count": 1,
                "references_count": 1,
            },
            1.0,
        ),
    ],
    ids=[
        "nothing",
        "name",
        "description",
        "at 100",
        "over 100",
        "over 500",
        "scripts",
        "references",
        "all",
    ],
)
def test_quality_adds_up_the_parts(facts, quality):
    assert compute_quality(SkillFacts(**{"name": "", "path": "x", **facts})) == quality


def test_mean_quality_of_no_skills_is_unknown():
    full = SkillFacts(name="a", path="x", description="b")
    assert compute_mean_quality([]) is None
    assert compute_mean_quality([full, SkillFacts(name="", path="y")]) == 0.2


def test_paths_are_relative_to_the_workspace():
    assert Path(_describe(_write("greet", "x")).path).parts == ("skills", "greet", "SKILL.md")
