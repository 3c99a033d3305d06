"""Reference solution of ``task_12_docx_generation``."""

from __future__ import annotations

import json
import re
from typing import Any

from pytest_evoclaw.grading.workspace import GradedWorkspace

MONTHS = "January February March April May June July August September October November December"
DOCUMENTS = "tech_spec project_report contract_summary meeting_agenda product_brief"


def solve(workspace: GradedWorkspace) -> None:
    for name in DOCUMENTS.split():
        source = workspace / "assets" / "docx_generation" / f"{name}.json"
        described = json.loads(source.read_text(encoding="utf-8"))
        write_document(described).save(str(workspace / "outputs" / f"{name}.docx"))


def write_document(described: dict[str, Any]) -> Any:
    import docx

    document = docx.Document()
    title, kind, author = (described[key] for key in ("title", "document_type", "author"))
    core = document.core_properties
    core.title, core.subject, core.author = title, kind, author
    document.add_heading(title, 1)
    year, month, day = described["date"].split("-")
    date = f"{int(day)} {MONTHS.split()[int(month) - 1]} {year}"
    rest = {key: value for key, value in described.items() if key not in ("title", "sections")}
    tables = rest.pop("tables")
    head = {key: rest.pop(key) for key in ("document_type", "date", "author")}
    lists = {key: value for key, value in rest.items() if isinstance(value, list | dict)}
    for key, value in {**head, "date": date, **rest}.items():
        if key not in lists:
            document.add_paragraph(f"{label(key)}: {tell(value)}")
    for section in described["sections"]:
        document.add_heading(section["heading"], section["level"])
        for part in section["content"].split("\n\n"):
            add_marked(document, " ".join(part.split("\n")), "Normal")
    for key, value in lists.items():
        document.add_heading(label(key), 2)
        add_list(document, value)
    for table in tables:
        document.add_paragraph(table["title"], style="Caption")
        add_table(document, [table["headers"], *table["rows"]])
    return document


def label(key: str) -> str:
    return key.replace("_", " ").capitalize()


def tell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return {"null": "\u2013", "true": "yes", "false": "no"}.get(
        json.dumps(value), json.dumps(value)
    )


def add_marked(document: Any, text: str, style: str) -> None:
    paragraph = document.add_paragraph(style=style)
    for match in re.finditer(r"\*\*(.+?)\*\*|((?:(?!\*\*).)+)", text):
        paragraph.add_run(match[1] or match[2]).bold = bool(match[1]) or None


def add_list(document: Any, value: Any) -> None:
    if isinstance(value, dict):
        value = [f"{label(key)}: {tell(each)}" for key, each in value.items()]
    for each in value:
        style = "List Bullet" if isinstance(each, str) else "List Number"
        text = each if isinstance(each, str) else " | ".join(map(tell, each.values()))
        add_marked(document, text, style)


def add_table(document: Any, rows: list[list[Any]]) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.oxml import OxmlElement

    table = document.add_table(len(rows), len(rows[0]), style="Table Grid")
    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    for column in range(len(rows[0])):
        below = [row[column] for row in rows[1:]]
        numbers = [each for each in below if isinstance(each, int | float)]
        numbers = [each for each in numbers if not isinstance(each, bool)]
        numeric = bool(numbers) and len(numbers) + below.count(None) == len(below)
        for number, row in enumerate(rows):
            paragraph = table.cell(number, column).paragraphs[0]
            paragraph.add_run(tell(row[column])).bold = True if number == 0 else None
            if numeric:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
