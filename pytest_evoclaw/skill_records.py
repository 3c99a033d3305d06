"""What results say of skills: those that an agent wrote, and those that it opened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultedSkill:
    """A file of a skill that the agent opened; ``path`` is below ``skills/``, ``turn`` from 1."""

    skill: str
    path: str
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFacts:
    """One created skill, as reported; ``problems`` is empty when it is valid."""

    name: str
    path: str
    description: str = ""
    content_length: int = 0
    scripts_count: int = 0
    references_count: int = 0
    frontmatter: str = ""
    problems: tuple[str, ...] = ()
