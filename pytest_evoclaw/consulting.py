"""Which of the skills at hand an agent opened, and when: read from its calls of tools."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from pytest_evoclaw.results import ConsultedSkill
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.transcript import ToolCallItem
from pytest_evoclaw.transcript import Transcript

# A word of a command, or a whole argument, with a path below a folder called skills.
_BELOW = re.compile(r"(?:^|[^\w-])skills/([^\s'\"`;|&<>()]+)")
_TOOLS = ("skill",)  # Claude Code opens skills with a tool of this name
_NAMES = ("skill", "name", "command")
_LENGTH = 100_000  # characters of an argument that are looked through


def find_consulted(transcript: Transcript, *given: SkillBundle) -> tuple[ConsultedSkill, ...]:
    """Return each file of the ``given`` skills that a call names, in the order of first turns.

    A turn is an answer of the model, counted from 1. Named are files by their paths below a folder
    called ``skills`` (patterns of a shell included), and in a shell command also by their paths
    within a skill, if the command names the skill's folder. What was opened in a way that no call
    shows (by a program, say) is not seen.
    """
    paths = sorted({f.path for bundle in given for f in bundle.files if "/" in f.path})
    found: dict[str, ConsultedSkill] = {}
    turn = 0
    for message in transcript.messages:
        turn += message.role == "assistant"
        for call in message.tool_calls:
            for path in sorted(_find_paths(call, paths) - found.keys()):
                skill = path.split("/")[0]
                found[path] = ConsultedSkill(skill=skill, path=path, turn=turn)
    return tuple(found.values())


def _find_paths(call: ToolCallItem, paths: Sequence[str]) -> set[str]:
    found = {
        path
        for text in _list_texts(call.arguments)
        for path in paths
        if path == text.strip() or any(_names(word, path, text) for word in _list_words(text))
    }
    if call.name.lower() in _TOOLS:
        named = {str(call.arguments.get(key, "")).lstrip("/") for key in _NAMES}
        found |= {path for path in paths if path.removesuffix("/SKILL.md") in named}
    return found


def _list_words(text: str) -> list[str]:
    return [word.rstrip("/.,:") for word in _BELOW.findall(text[:_LENGTH])]


def _names(word: str, path: str, text: str) -> bool:
    """Whether a word (what stands after ``skills/``) names a file of a skill."""
    if word == path or fnmatchcase(path, word):
        return True
    skill, _, inner = path.partition("/")
    pattern = rf"(?:^|[\s'\"/]){re.escape(inner)}(?:$|[\s'\";|&<>)])"
    return word == skill and re.search(pattern, text[:_LENGTH]) is not None


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    inner: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    for each in inner:
        yield from _list_texts(each)
