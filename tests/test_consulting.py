from __future__ import annotations

import pytest

from pytest_evoclaw.consulting import find_consulted
from pytest_evoclaw.results import ConsultedSkill
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import ToolCallItem
from pytest_evoclaw.transcript import Transcript

PATHS = ("adding/SKILL.md", "adding/scripts/add.py", "merging/SKILL.md")
GIVEN = SkillBundle(tuple(SkillFile(path=path, data=b"") for path in PATHS))


def record(*calls: tuple[str, dict[str, object]]) -> Transcript:
    """Return a conversation with one call in each answer."""
    messages = [Message(role="user")]
    for number, (name, arguments) in enumerate(calls):
        call = ToolCallItem(id=str(number), name=name, arguments=arguments)
        messages += [Message(role="assistant", items=(call,)), Message(role="toolResult")]
    return Transcript(tuple(messages))


@pytest.mark.parametrize(
    ("name", "arguments", "paths"),
    [
        ("read", {"path": "skills/adding/SKILL.md"}, ["adding/SKILL.md"]),
        ("Read", {"file_path": "/w/.claude/skills/adding/SKILL.md"}, ["adding/SKILL.md"]),
        ("read_file", {"path": "adding/SKILL.md"}, ["adding/SKILL.md"]),
        ("exec", {"command": "cat ./skills/adding/SKILL.md | head"}, ["adding/SKILL.md"]),
        ("exec", {"command": "cat 'skills/adding/SKILL.md'"}, ["adding/SKILL.md"]),
        ("exec", {"command": "cd skills/adding && cat SKILL.md"}, ["adding/SKILL.md"]),
        ("exec", {"cmd": ["bash", "-c", "cat skills/*/SKILL.md"]}, [PATHS[0], PATHS[2]]),
        ("exec", {"command": "python3 skills/adding/scripts/add.py 1 2"}, [PATHS[1]]),
        ("exec", {"command": "cd skills/adding; python3 scripts/add.py"}, [PATHS[1]]),
        ("Skill", {"skill": "merging"}, ["merging/SKILL.md"]),
        ("exec", {"command": "ls skills/adding"}, []),
        ("exec", {"command": "ls -R skills/"}, []),
        ("read", {"path": "skills/other/SKILL.md"}, []),
        ("read", {"path": "inputs/adding/SKILL.md.txt"}, []),
        ("read", {"path": "my-skills/adding/SKILL.md"}, []),
        ("exec", {"command": ["skills/adding", {"deep": 7}, None]}, []),
        ("write", {"path": "outputs/a", "content": "merging"}, []),
    ],
)
def test_a_call_that_names_a_file_of_a_skill_has_opened_it(name, arguments, paths):
    found = find_consulted(record((name, arguments)), GIVEN)
    assert [each.path for each in found] == paths


def test_the_first_turn_counts_and_the_order_is_that_of_turns():
    read: list[tuple[str, dict[str, object]]] = [
        ("read", {"path": f"skills/{path}"}) for path in (PATHS[2], PATHS[0], PATHS[2])
    ]
    assert find_consulted(record(("exec", {"command": "ls"}), *read), GIVEN) == (
        ConsultedSkill(skill="merging", path="merging/SKILL.md", turn=2),
        ConsultedSkill(skill="adding", path="adding/SKILL.md", turn=3),
    )


def test_skills_that_were_not_there_at_the_beginning_do_not_count():
    assert find_consulted(record(("write", {"path": "skills/adding/SKILL.md"}))) == ()
