"""What can be said of created skills: their facts, their faults, their heuristic quality."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

from pytest_evoclaw.results import SkillFacts
from pytest_evoclaw.safe_files import cut_list
from pytest_evoclaw.safe_files import show_name
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile

NAME_LENGTH = 64
DESCRIPTION_LENGTH = 1024
COMPATIBILITY_LENGTH = 500
FIELDS = ("allowed-tools", "compatibility", "description", "license", "metadata", "name")
FRONTMATTER_LENGTH = 20_000  # characters; longer ones are not parsed
_KEPT = 2_000  # characters of the frontmatter that are reported
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def describe_skills(bundle: SkillBundle) -> tuple[SkillFacts, ...]:
    """Return the facts of each ``<name>/SKILL.md``; what breaks the format is in ``problems``.

    Never raises for what a file holds. Paths are relative to the workspace; ``name`` is empty if
    the frontmatter names none; lengths are in characters, of the body without outer white space.
    """
    return tuple(
        _describe(folder, file, bundle)
        for folder in bundle.folders
        if (file := bundle.find(f"{folder}/SKILL.md")) is not None
    )


def find_strays(bundle: SkillBundle) -> tuple[str, ...]:
    """Return what belongs to no skill: folders without ``SKILL.md``, files outside of folders."""
    loose = [f"skills/{show_name(f.path)}: in no skill" for f in bundle.files if "/" not in f.path]
    empty = [
        f"skills/{show_name(folder)}: not a skill, for want of a SKILL.md"
        for folder in bundle.folders
        if bundle.find(f"{folder}/SKILL.md") is None
    ]
    return cut_list(sorted(loose + empty))


def compute_quality(facts: SkillFacts) -> float:
    """Return the heuristic quality of a skill, within 0..1: whether it has the parts of one."""
    tenths = 2 * bool(facts.name) + 2 * bool(facts.description)
    tenths += 2 * (facts.content_length > 100) + (facts.content_length > 500)
    tenths += 2 * bool(facts.scripts_count) + bool(facts.references_count)
    return tenths / 10


def compute_mean_quality(skills: Sequence[SkillFacts]) -> float | None:
    """Return the mean over skills, within 0..1; None if there are none."""
    return math.fsum(map(compute_quality, skills)) / len(skills) if skills else None


def _describe(folder: str, file: SkillFile, bundle: SkillBundle) -> SkillFacts:
    text, problems = _decode(file.data)
    raw, body = _split(text)
    fields: dict[str, Any] = {}
    if raw is None:
        problems.append("no frontmatter between two lines of ---, the first at the file's start")
    else:
        fields = _parse(raw, problems)
        problems.extend(_find_problems(folder, fields))
    name, description = fields.get("name"), fields.get("description")
    paths = [each.path.removeprefix(f"{folder}/") for each in bundle.files]
    return SkillFacts(
        name=_clean(name, NAME_LENGTH),
        path=f"skills/{folder}/SKILL.md",
        description=_clean(description, DESCRIPTION_LENGTH),
        content_length=len(body.strip()),
        scripts_count=sum(path.startswith("scripts/") for path in paths),
        references_count=sum(path.startswith("references/") for path in paths),
        frontmatter=(raw or "").strip()[:_KEPT],
        problems=tuple(_clean(problem, 300) for problem in problems),
    )


def _decode(data: bytes) -> tuple[str, list[str]]:
    try:
        text, problems = data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", "replace")
        problems = [f"not UTF-8 at byte {error.start}"]
    return text.replace("\r\n", "\n"), problems


def _split(text: str) -> tuple[str | None, str]:
    """Return the frontmatter, None if there is none, and the body."""
    if not text.startswith("---"):
        return None, text
    parts = YAMLHandler.FM_BOUNDARY.split(text, 2)
    return (parts[1], parts[2]) if len(parts) == 3 and not parts[0] else (None, text)


def _parse(raw: str, problems: list[str]) -> dict[str, Any]:
    """Parse without types, as the format's own validator does: every scalar is text."""
    if len(raw) > FRONTMATTER_LENGTH:
        problems.append(f"frontmatter longer than {FRONTMATTER_LENGTH} characters")
        return {}
    try:
        fields = YAMLHandler().load(raw, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        problems.append(f"frontmatter is not YAML: {' '.join(str(error).split())}")
        return {}
    except RecursionError:
        problems.append("frontmatter is nested too deeply")
        return {}
    if not isinstance(fields, dict):
        problems.append("frontmatter is not a mapping of fields")
        return {}
    return fields


def _find_problems(folder: str, fields: dict[str, Any]) -> Iterator[str]:
    """Yield what breaks the public Agent Skills format."""
    unknown = sorted(str(field) for field in fields if field not in FIELDS)
    if unknown:
        yield f"unknown fields: {', '.join(unknown)}; allowed: {', '.join(FIELDS)}"
    yield from _find_text_problems(fields, "name", NAME_LENGTH)
    yield from _find_text_problems(fields, "description", DESCRIPTION_LENGTH)
    if "compatibility" in fields:
        yield from _find_text_problems(fields, "compatibility", COMPATIBILITY_LENGTH)
    name = fields.get("name")
    if isinstance(name, str) and name.strip():
        if not _NAME.fullmatch(name.strip()):
            yield f"name: found {name!r}, allowed a-z, 0-9 and single hyphens between them"
        if name.strip() != folder:
            yield f"name: found {name!r}, allowed {folder!r}, as its folder is called"


def _find_text_problems(fields: dict[str, Any], field: str, limit: int) -> Iterable[str]:
    if field not in fields:
        return [f"{field}: missing"]
    text = fields[field]
    if not isinstance(text, str) or not text.strip():
        return [f"{field}: found {type(text).__name__ if text else 'nothing'}, allowed text"]
    if len(text.strip()) > limit:
        return [f"{field}: found {len(text.strip())} characters, allowed {limit}"]
    return []


def _clean(text: Any, limit: int) -> str:
    """Return text fit for JSON, cut; nothing if it is no text."""
    if not isinstance(text, str):
        return ""
    return text.strip()[:limit].encode("utf-8", "backslashreplace").decode()
