from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pytest

from pytest_evoclaw.mutations.office import mutate_document
from tests.tasks.bench import Bench

TASK = "task_12_docx_generation"
NAMES = ("tech_spec", "project_report", "contract_summary", "meeting_agenda", "product_brief")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(TASK, tmp_path)


@pytest.fixture(scope="module")
def solution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Bench(TASK, tmp_path_factory.mktemp("solution"))
    bench.solve()
    return bench.path / "outputs"


@pytest.fixture
def solved(bench: Bench, solution: Path) -> Bench:
    shutil.copytree(solution, bench.path / "outputs", dirs_exist_ok=True)
    return bench


def open_report(bench: Bench) -> Any:
    return docx.Document(str(bench.path / "outputs/project_report.docx"))


def edit(bench: Bench, change: Callable[[Any], object]) -> list[str]:
    """Change the second document and return the checks that this costs."""
    document = open_report(bench)
    change(document)
    document.save(str(bench.path / "outputs/project_report.docx"))
    return bench.failed()


def save(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def make_stub() -> bytes:
    document = docx.Document()
    document.add_heading("Title", 1)
    for words in ("Document type: Report", "Date: 1 May 2026", "Author: A", "**bold**"):
        document.add_paragraph(words).add_run("bold").bold = True
    document.add_paragraph("x", style="List Bullet")
    for _ in range(2):
        document.add_paragraph("Table", style="Caption")
        document.add_table(3, 4, style="Table Grid")
    return save(document)


def test_the_reference_solution_scores_one(solved):
    assert solved.failed() == []
    assert len(solved.grade().checks) == 45


def test_no_output_scores_zero(bench):
    assert bench.grade().score == 0.0


JUNK = {
    "empty": b"",
    "text": b"Heading 1 Normal List Bullet Caption Table Grid",
    "document without content": save(docx.Document()),
    "stub of headings, lists and tables": make_stub(),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_scores_zero(solved, junk):
    for name in solved.outputs:
        solved.write(name, junk)
    assert solved.grade().score == 0.0


def test_the_description_pasted_as_text_scores_zero(solved):
    for name in NAMES:
        document = docx.Document()
        path = solved.path / f"assets/docx_generation/{name}.json"
        for line in path.read_text(encoding="utf-8").splitlines():
            document.add_paragraph(line)
        solved.write(f"{name}.docx", save(document))
    assert solved.grade().score == 0.0


# Worked out by hand from the fixtures and the prompt.
BY_HAND = [
    (0, "Heading 1", "Archive Move: Third Status Report"),
    (1, "Normal", "Document type: Project Report"),
    (2, "Normal", "Date: 30 January 2026"),
    (3, "Normal", "Author: Tomasz Wieczorek"),
    (4, "Normal", "Project id: PRJ-0417"),
    (5, "Normal", "Budget released: yes"),
    (6, "Heading 1", "Summary"),
    (11, "Heading 2", "Damage"),
    (18, "Heading 2", "Milestones"),
    (19, "List Number", "Map room emptied | 2025-11-21 | done"),
    (21, "List Number", "Reading room open again | 2026-05-04 | \N{EN DASH}"),
    (22, "Caption", "Budget in EUR"),
]


@pytest.mark.parametrize(("number", "style", "text"), BY_HAND, ids=lambda each: str(each)[:30])
def test_a_paragraph_is_what_a_person_makes_of_it(solved, number, style, text):
    paragraph = open_report(solved).paragraphs[number]
    assert (paragraph.style.name, paragraph.text) == (style, text)


def test_a_table_is_what_a_person_makes_of_it(solved):
    table = open_report(solved).tables[0]
    assert [cell.text for cell in table.rows[3].cells] == ["Climate van", "7200", "–", "no"]  # noqa: RUF001
    assert [cell.paragraphs[0].alignment for cell in table.rows[0].cells] == [None, 2, 2, None]


def swap(document: Any) -> None:
    first, second = document.paragraphs[2], document.paragraphs[3]
    first._p.addprevious(second._p)


SPOILT = {
    "metadata in another order": (swap, {"title and metadata", "whole"}),
    "a level": (
        lambda d: setattr(d.paragraphs[11], "style", d.styles["Heading 1"]),
        {"headings", "whole"},
    ),
    "a surplus paragraph at the end": (
        lambda d: d.add_paragraph("Made by hand."),
        {"paragraphs", "whole"},
    ),
    "a bullet for a number": (
        lambda d: setattr(d.paragraphs[20], "style", d.styles["List Bullet"]),
        {"lists", "whole"},
    ),
    "all bold": (lambda d: setattr(d.paragraphs[7].runs[0], "bold", True), {"emphasis"}),
    "not bold": (lambda d: setattr(d.paragraphs[7].runs[1], "bold", None), {"emphasis"}),
    "a cell": (
        lambda d: setattr(d.tables[0].cell(1, 1).paragraphs[0].runs[0], "text", "48000.0"),
        {"tables", "look of tables", "whole"},
    ),
    "merged cells": (
        lambda d: d.tables[0].cell(1, 0).merge(d.tables[0].cell(1, 1)),
        {
            "title and metadata",
            "headings",
            "paragraphs",
            "lists",
            "emphasis",
            "tables",
            "look of tables",
            "whole",
        },
    ),
    "the style of a table": (
        lambda d: setattr(d.tables[0], "style", d.styles["Normal Table"]),
        {"look of tables"},
    ),
    "an alignment": (
        lambda d: setattr(d.tables[1].cell(1, 1).paragraphs[0], "alignment", 0),
        {"look of tables"},
    ),
    "a bold cell": (
        lambda d: setattr(d.tables[0].cell(1, 0).paragraphs[0].runs[0], "bold", True),
        {"look of tables"},
    ),
    "the author": (lambda d: setattr(d.core_properties, "author", "me"), {"properties"}),
}


@pytest.mark.parametrize(("change", "lost"), SPOILT.values(), ids=SPOILT)
def test_what_is_wrong_loses_its_checks_and_no_other(solved, change, lost):
    assert {key.removeprefix("sub_2_") for key in edit(solved, change)} == lost


def test_empty_paragraphs_do_not_count(solved):
    assert edit(solved, lambda document: document.paragraphs[6].insert_paragraph_before()) == []


def test_a_span_without_bounds_does_not_stop_the_grader(solved):
    def widen(document: Any) -> None:
        document.tables[0].cell(0, 0)._tc.grid_span = 2**30

    assert "merged" in (edit(solved, widen), solved.message("sub_2_tables"))[1]


def test_each_single_change_lowers_its_sub_problem_and_no_other(solved):
    target = solved.path / "outputs/project_report.docx"
    right = target.read_bytes()
    for mutant in mutate_document(right).mutants[::61]:
        target.write_bytes(mutant.make())
        scores = solved.grade().sub_problem_scores
        assert scores.pop(2) < 1, str(mutant)
        assert set(scores.values()) == {1.0}


def test_another_document_earns_nothing(solved):
    data = (solved.path / "outputs/tech_spec.docx").read_bytes()
    for name in solved.outputs:
        solved.write(name, data)
    assert solved.grade().sub_problem_scores == {1: 1.0, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0}


def test_editing_the_inputs_does_not_help(solved):
    for name in solved.inputs:
        (solved.path / name).write_text(json.dumps({"title": "x"}), encoding="utf-8")
    assert solved.failed() == []
