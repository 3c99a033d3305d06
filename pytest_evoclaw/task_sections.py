"""The sections of a task file, found by a CommonMark parser."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evoclaw.errors import TaskFormatError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SECTIONS = (
    "Prompt",
    "Expected Behavior",
    "Sub-Problems",
    "Grading Criteria",
    "Automated Checks",
    "LLM Judge Rubric",
)
REQUIRED = ("Prompt", "Expected Behavior", "Grading Criteria")
_SUB_PROBLEM = re.compile(r"Sub-Problem ([0-9]{1,9}): (\S.*)")
# Indented by four it is code, which belongs to the text.
_RULE = re.compile(r" {0,3}---[ \t]*")
_CRITERION = re.compile(r"\[[ xX]\] +(\S.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A level-2 section: its source as written, and the line of its heading (from 1)."""

    title: str
    line: int
    text: str
    first_line: int  # of the text


@dataclass(frozen=True, slots=True, kw_only=True)
class SubProblem:
    """One of a task's related sub-problems; ``number`` counts from 1."""

    number: int
    title: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineGrader:
    """Fenced Python code; ``line`` is that of its first line in the markdown file (from 1)."""

    source: str
    line: int


def read_sections(path: Path, body: str, first_line: int) -> Mapping[str, Section]:
    """Cut a body into its sections; ``first_line`` is the body's first line in the file.

    Only headings of level 2 at the top level cut: not those in fences, lists or quotes. Raises
    TaskFormatError for an unknown, doubled, missing or empty section.
    """
    lines = body.split("\n")
    headings = list(_find_headings(body, "h2"))
    sections: dict[str, Section] = {}
    ends = [start for _, start, _ in headings[1:]] + [len(lines)]
    for (title, start, after), end in zip(headings, ends, strict=True):
        line = first_line + start
        _check_title(path, line, title, sections)
        text, skipped = _trim(lines[after:end])
        sections[title] = Section(
            title=title, line=line, text=text, first_line=first_line + after + skipped
        )
    for title in REQUIRED:
        if title not in sections:
            message = f"found no section, allowed '## {title}'"
            raise TaskFormatError(path, first_line, title, message)
    for section in sections.values():
        if not section.text:
            message = "found an empty section, allowed text"
            raise TaskFormatError(path, section.line, section.title, message)
    return sections


def list_sub_problems(path: Path, section: Section) -> tuple[SubProblem, ...]:
    """Read the ``### Sub-Problem N: title`` headings of the section."""
    lines = section.text.split("\n")
    headings = list(_find_headings(section.text, "h3"))
    ends = [start for _, start, _ in headings[1:]] + [len(lines)]
    found = []
    for number, ((title, start, after), end) in enumerate(
        zip(headings, ends, strict=True), start=1
    ):
        line = section.first_line + start
        match = _SUB_PROBLEM.fullmatch(title)
        if match is None or int(match[1]) != number:
            message = f"found {title[:80]!r}, allowed 'Sub-Problem {number}: title'"
            raise TaskFormatError(path, line, section.title, message)
        text, _ = _trim(lines[after:end])
        found.append(SubProblem(number=number, title=match[2].strip(), text=text, line=line))
    return tuple(found)


def list_criteria(path: Path, section: Section) -> tuple[str, ...]:
    """Return the ``- [ ]`` items of the section, in order; TaskFormatError for another item."""
    found = []
    for item, paragraph, inline in _group_by_three(_parse(section.text)):
        if item.type != "list_item_open" or item.map is None:
            continue
        content = inline.content if paragraph.type == "paragraph_open" else ""
        match = _CRITERION.fullmatch(content)
        if match:
            found.append(" ".join(match[1].split()))
        elif item.level == 1:
            # Only notes below a criterion go without a box: else it would be dropped silently.
            shown = content.split("\n")[0][:60] or "an item without text"
            message = f"found {shown!r}, allowed '- [ ] what is graded'"
            line = section.first_line + item.map[0]
            raise TaskFormatError(path, line, section.title, message)
    if not found:
        message = "found no item, allowed '- [ ] what is graded'"
        raise TaskFormatError(path, section.line, section.title, message)
    return tuple(found)


def find_inline_grader(path: Path, section: Section) -> InlineGrader:
    """Return the first Python fence of the section; TaskFormatError if there is none."""
    for token in _parse(section.text):
        if token.type == "fence" and _is_python(token.info) and token.map:
            return InlineGrader(source=token.content, line=section.first_line + token.map[0] + 1)
    message = "found no Python fence, allowed ```python with grade(transcript, workspace_path)"
    raise TaskFormatError(path, section.line, section.title, message)


def _is_python(info: str) -> bool:
    return info.casefold().split()[:1] in (["python"], ["py"])


def _parse(text: str) -> Sequence[Token]:
    return _make_parser().parse(text)


@cache
def _make_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Headings, fences and items are blocks; what is inside a line would take half the time.
    return MarkdownIt("commonmark").disable("inline")


def _find_headings(text: str, tag: str) -> Iterator[tuple[str, int, int]]:
    """Yield title, line of the heading and line after it, both from 0."""
    tokens = _parse(text)
    for token, inline in itertools.pairwise(tokens):
        # A setext heading is a paragraph with a rule under it: text, not a section of ours.
        is_heading = token.type == "heading_open" and token.tag == tag and token.level == 0
        if is_heading and token.markup.startswith("#") and token.map:
            yield inline.content.strip(), token.map[0], token.map[1]


def _check_title(path: Path, line: int, title: str, known: Mapping[str, Section]) -> None:
    if title in known:
        message = f"found twice, allowed once: the first is on line {known[title].line}"
        raise TaskFormatError(path, line, title, message)
    if title not in SECTIONS:
        close = get_close_matches(title.casefold(), [each.casefold() for each in SECTIONS], n=1)
        nearest = next((each for each in SECTIONS if close and each.casefold() == close[0]), "")
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        message = f"found an unknown section, allowed {', '.join(SECTIONS)}{hint}"
        raise TaskFormatError(path, line, title or "section", message)


def _trim(lines: list[str]) -> tuple[str, int]:
    """Return the text without outer blank lines and closing rule, and how many lines it skips."""
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and (not lines[end - 1].strip() or _RULE.fullmatch(lines[end - 1])):
        end -= 1
    return "\n".join(lines[start:end]), start


def _group_by_three(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token, Token]]:
    return zip(tokens, tokens[1:], tokens[2:], strict=False)
