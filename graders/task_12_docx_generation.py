"""Truth of ``task_12_docx_generation``; its solution is in a module of its own."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from graders.task_12_docx_generation_solution import solve
from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

__all__ = ["grade", "solve"]

FOLDER = "assets/docx_generation"
NAMES = ("tech_spec", "project_report", "contract_summary", "meeting_agenda", "product_brief")
HEAD = ("document_type", "date", "author")
MERGED = ".//w:gridSpan | .//w:vMerge | .//w:gridBefore | .//w:gridAfter | .//w:tbl"
TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, or a table (whose ``style`` is TABLE).

    ``bold`` are the bold pieces of its text. A table has ``cells``, and ``right`` are the columns
    that are aligned right.
    """

    style: str
    text: str = ""
    bold: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    right: tuple[int, ...] = ()

    @property
    def content(self) -> tuple[Any, ...]:
        """Everything but the look."""
        return (self.style, self.text, self.cells)


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    for number, name in enumerate(NAMES, start=1):
        source = read_source(workspace.fixture(f"{FOLDER}/{name}.json"))
        due = list(list_blocks(source))
        output = f"outputs/{name}.docx"
        body = Body(workspace, output)
        with check("title and metadata", sub_problem=number):
            count = next(n for n, block in enumerate(due) if n and is_heading(block))
            found = [block.content for block in body.read()[:count]]
            require_same(found, [block.content for block in due[:count]], output)
        for words, pick in (
            ("headings", pick_headings),
            ("paragraphs", pick_paragraphs),
            ("lists", pick_lists),
            ("emphasis", pick_emphasis),
            ("tables", pick_tables),
        ):
            with check(words, sub_problem=number):
                require_same(pick(body.read()), pick(due), output)
        with check("look of tables", sub_problem=number):
            require_look(body, due)
        with check("properties", sub_problem=number):
            core = workspace.docx(output).core_properties
            expected = [source["title"], source["author"], source["document_type"]]
            require_same([core.title, core.author, core.subject], expected, output)
        with check("whole", sub_problem=number):
            found = [block.content for block in body.read()]
            require_same(found, [block.content for block in due], output)


def read_source(path: Path) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    return source


def list_blocks(source: dict[str, Any]) -> Iterator[Block]:
    """Yield the body that is due."""
    yield Block(style="Heading 1", text=source["title"])
    plain = [key for key, value in source.items() if not isinstance(value, list | dict)]
    for key in sorted(plain, key=lambda key: HEAD.index(key) if key in HEAD else len(HEAD)):
        if key != "title":
            value = spell_date(source[key]) if key == "date" else spell(source[key])
            yield Block(style="Normal", text=f"{name_key(key)}: {value}")
    for section in source["sections"]:
        yield Block(style=f"Heading {section['level']}", text=section["heading"])
        for part in re.split(r"\n\s*\n", section["content"]):
            yield mark_up("Normal", part.replace("\n", " "))
    for key, value in source.items():
        if isinstance(value, list | dict) and key not in ("sections", "tables"):
            yield Block(style="Heading 2", text=name_key(key))
            yield from list_elements(value)
    for table in source["tables"]:
        yield Block(style="Caption", text=table["title"])
        yield make_table(table["headers"], table["rows"])


def list_elements(value: Any) -> Iterator[Block]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield mark_up("List Bullet", f"{name_key(key)}: {spell(each)}")
        return
    for each in value:
        if isinstance(each, dict):
            yield mark_up("List Number", " | ".join(spell(part) for part in each.values()))
        else:
            yield mark_up("List Bullet", each)


def mark_up(style: str, text: str) -> Block:
    pieces = text.split("**")
    return Block(style=style, text="".join(pieces), bold=tuple(pieces[1::2]))


def make_table(headers: list[str], rows: list[list[Any]]) -> Block:
    right = tuple(
        number
        for number, column in enumerate(zip(*rows, strict=True))
        if {type(value) for value in column} - {type(None)} in ({int}, {Decimal}, {int, Decimal})
    )
    body = (tuple(spell(value) for value in row) for row in rows)
    cells = (tuple(headers), *body)
    return Block(style=TABLE, cells=cells, right=right)


def name_key(key: str) -> str:
    return key[0].upper() + key[1:].replace("_", " ")


def spell(value: Any) -> str:
    words = {True: "yes", False: "no"}
    if value is None:
        return "\N{EN DASH}"
    return words[value] if isinstance(value, bool) else str(value)


def spell_date(text: str) -> str:
    day = datetime.date.fromisoformat(text)
    return f"{day.day} {day:%B} {day.year}"


def is_heading(block: Block) -> bool:
    return block.style.startswith("Heading ")


def pick_headings(blocks: list[Block]) -> list[Any]:
    return [block.content[:2] for block in blocks if is_heading(block)]


def pick_paragraphs(blocks: list[Block]) -> list[Any]:
    """Return the paragraphs with the heading above them, title and metadata left out."""
    return pick_below(blocks, ("Normal",))[1:]


def pick_lists(blocks: list[Block]) -> list[Any]:
    below = pick_below(blocks, ("List Bullet", "List Number"))
    return [each for each in below if len(each) > 1]


def pick_below(blocks: list[Block], styles: tuple[str, ...]) -> list[list[Any]]:
    groups: list[list[Any]] = [[]]
    for block in blocks:
        if is_heading(block):
            groups.append([block.text])
        elif block.style in styles:
            groups[-1].append(block.content[:2])
    return groups[1:]


def pick_emphasis(blocks: list[Block]) -> list[Any]:
    return [(block.text, block.bold) for block in blocks if block.bold and not is_heading(block)]


def pick_tables(blocks: list[Block]) -> list[Any]:
    captions = [block.text for block in blocks if block.style == "Caption"]
    return [*captions, *(block.cells for block in blocks if block.style == TABLE)]


class Body:
    """The body of one output, read once."""

    def __init__(self, workspace: GradedWorkspace, name: str) -> None:
        self.workspace = workspace
        self.name = name
        self._styles: dict[str | None, str] = {}
        self._known: list[Block] | CheckFailed | None = None

    def read(self) -> list[Block]:
        """Return its blocks; CheckFailed for what is neither paragraph nor table."""
        if self._known is None:
            try:
                self._known = self._read()
            except CheckFailed as error:
                self._known = error
        if isinstance(self._known, CheckFailed):
            raise CheckFailed(str(self._known))
        return self._known

    def _read(self) -> list[Block]:
        document = self.workspace.docx(self.name)
        body = document.element.body
        kinds = {re.sub(r"{.*}", "", str(child.tag)) for child in body.iterchildren()}
        if surplus := kinds - {"p", "tbl", "sectPr", "bookmarkStart", "bookmarkEnd"}:
            raise CheckFailed(f"{self.name}: the body holds {', '.join(sorted(surplus))}")
        if body.xpath(".//w:ins | .//w:del | .//w:drawing | .//w:pict | .//w:txbxContent"):
            raise CheckFailed(f"{self.name}: holds tracked changes, pictures or frames")
        blocks = [self._read_block(block) for block in document.iter_inner_content()]
        return [block for block in blocks if block.text.strip() or block.style == TABLE]

    def _read_block(self, block: Any) -> Block:
        if hasattr(block, "rows"):
            rows = read_table(block, self.name)
            cells = tuple(tuple(join_cell(cell) for cell in row) for row in rows)
            return Block(style=TABLE, cells=cells)
        bold = tuple(join_bold(block))
        return Block(style=self._name_style(block), text=block.text, bold=bold)

    def _name_style(self, paragraph: Any) -> str:
        key = paragraph._p.style
        if key not in self._styles:
            self._styles[key] = name_style(paragraph)
        return self._styles[key]


def name_style(block: Any) -> str:
    return str(block.style.name) if block.style is not None else ""


def join_bold(paragraph: Any) -> Iterator[str]:
    """Yield the bold pieces; runs that follow each other are one piece."""
    piece = ""
    for run in paragraph.runs:
        if is_bold(run):
            piece += run.text
        elif run.text and piece:
            yield piece
            piece = ""
    if piece:
        yield piece


def is_bold(run: Any) -> bool:
    if run.bold is not None or run._r.style is None:
        return bool(run.bold)
    return run.style is not None and bool(run.style.font.bold)


def read_table(table: Any, name: str) -> list[list[list[Any]]]:
    """Return rows of cells of paragraphs, as the file has them: expanding spans has no bounds."""
    from docx.text.paragraph import Paragraph

    if table._element.xpath(MERGED):
        raise CheckFailed(f"{name}: a table has merged or nested cells")
    return [
        [[Paragraph(each, table) for each in cell.p_lst] for cell in row.tc_lst]
        for row in table._element.tr_lst
    ]


def join_cell(paragraphs: list[Any]) -> str:
    return "\n".join(paragraph.text for paragraph in paragraphs)


def require_look(body: Body, due: list[Block]) -> None:
    """Raise CheckFailed for a table with a wrong look; wrong cells have no right look."""
    name = body.name
    require_same(pick_tables(body.read()), pick_tables(due), name)
    expected = [block for block in due if block.style == TABLE]
    for number, (table, block) in enumerate(
        zip(body.workspace.docx(name).tables, expected, strict=True), start=1
    ):
        where = f"{name} table {number}"
        require_same(name_style(table), "Table Grid", f"{where} style")
        marks = [bool(row.xpath("./w:trPr/w:tblHeader")) for row in table._element.tr_lst]
        require_same(marks, [True, *[False] * (len(marks) - 1)], f"{where} repeated rows")
        for row, cells in enumerate(read_table(table, name)):
            for column, paragraphs in enumerate(cells):
                place = f"{where} cell {row + 1},{column + 1}"
                require_cell_look(paragraphs, row == 0, column in block.right, place)


def require_cell_look(paragraphs: list[Any], *rules: Any) -> None:
    bold, right, where = rules
    for paragraph in paragraphs:
        runs = [is_bold(run) for run in paragraph.runs if run.text.strip()]
        if runs != [bold] * len(runs) or (bold and not runs):
            raise CheckFailed(f"{where}: expected {'' if bold else 'not '}bold")
        name = "none" if paragraph.alignment is None else str(paragraph.alignment.name).lower()
        if name not in (("right",) if right else ("none", "left")):
            raise CheckFailed(f"{where}: found the alignment {name}")
