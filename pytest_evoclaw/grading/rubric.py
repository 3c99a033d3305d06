"""What a judge scores: the criteria of a task's rubric."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_evoclaw.task import Task

NAME_CHARACTERS = 40
_HEADING = re.compile(r"#{3,6} +(\S.*)")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)]) +(?:\[[ xX]\] +)?(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One thing to score within 0..1; ``id`` (``c1``, ``c2`` …) is what the judge calls it."""

    id: str
    name: str
    text: str


def list_criteria(task: Task) -> tuple[Criterion, ...]:
    """Return the criteria of a task; they weigh the same.

    They are the headings of level 3 and deeper in the rubric, else its outermost list items, else
    the rubric as one. Without a rubric they are the task's grading criteria.
    """
    titles = _find_titles(task)
    names = list(_name_uniquely(titles))
    return tuple(
        Criterion(id=f"c{number}", name=name, text=title)
        for number, (name, title) in enumerate(zip(names, titles, strict=True), start=1)
    )


def _find_titles(task: Task) -> list[str]:
    if not task.rubric.strip():
        return list(task.criteria)
    lines = list(_drop_fences(task.rubric))
    for pattern in (_HEADING, _ITEM):
        if found := [match[1].strip() for line in lines if (match := pattern.fullmatch(line))]:
            return found
    return ["rubric: all of it"]


def _drop_fences(text: str) -> Iterator[str]:
    inside = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence and inside in ("", fence[1]):
            inside = "" if inside else fence[1]
        elif not inside:
            yield line.rstrip()


def _name_uniquely(titles: list[str]) -> Iterator[str]:
    taken: set[str] = set()
    for title in titles:
        stem = name = _make_name(title)
        number = 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        yield name


def _make_name(title: str) -> str:
    """Return ``fix_quality`` for ``**Fix quality (30%)**: does the fix remove the cause?``."""
    head = re.split(r": |:\*\*|\*\*:| [-–—] |:$", title, maxsplit=1)[0]  # noqa: RUF001
    words = re.findall(r"\w+", re.sub(r"\([^)]*\)", " ", head).casefold())
    name = ""
    for word in words:
        longer = f"{name}_{word}" if name else word[:NAME_CHARACTERS]
        if len(longer) > NAME_CHARACTERS:
            break
        name = longer
    return name or "criterion"
