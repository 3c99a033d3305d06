from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from pytest_evoclaw.mutations.office import mutate_workbook
from tests.tasks.bench import Bench

TASK = "task_09_excel_analytics"
SHEETS = ("Raw Data", "Summary", "Quarterly", "Exceptions")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(TASK, tmp_path)


@pytest.fixture
def solved(bench: Bench) -> Bench:
    bench.solve()
    return bench


def edit(bench: Bench, region: str, change: Callable[[Any], object]) -> None:
    path = bench.path / f"outputs/report_{region}.xlsx"
    book = openpyxl.load_workbook(path)
    change(book)
    book.save(path)


def save(book: Any) -> bytes:
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def make_stub(*, words: bool) -> bytes:
    book = openpyxl.Workbook()
    del book["Sheet"]
    for title in SHEETS:
        sheet = book.create_sheet(title)
        for row in range(1, 30):
            sheet.append(["Total"] * 9 if words else [0] * 9)
            sheet.cell(row, 5).value = f"=SUM(E2:E{row})"
    return save(book)


def test_the_reference_solution_scores_one(solved):
    assert solved.failed() == []
    assert len(solved.grade().checks) == 35


def test_no_output_scores_zero(bench):
    assert bench.grade().score == 0.0


JUNK = {
    "empty": b"",
    "text": b"Raw Data Summary Quarterly Exceptions Total =SUM(B2:B8)",
    "workbook without content": save(openpyxl.Workbook()),
    "zeros": make_stub(words=False),
    "words": make_stub(words=True),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_scores_zero(solved, junk):
    for name in solved.outputs:
        solved.write(name, junk)
    assert solved.grade().score == 0.0


# Worked out by hand from the fixtures and the prompt.
BY_HAND = [
    ("east", "Raw Data", "A2", "0230"),
    ("east", "Raw Data", "G2", 23685.25),
    ("south", "Raw Data", "G6", -36.6),
    ("west", "Raw Data", "E10", -7),
    ("west", "Raw Data", "I10", -231.68),
    ("west", "Raw Data", "B5", "Headtorch"),
    ("west", "Summary", "A2", "P001 Dry Bag 20 l"),
    ("west", "Quarterly", "D2", 14665.05),
    ("central", "Raw Data", "B8", "Résumé Paper A4"),
    ("south", "Summary", "B2", 976),
    ("south", "Quarterly", "E2", 2049.6),
    ("north", "Summary", "A4", 'P003 Cable Tray 60"'),
    ("north", "Quarterly", "B5", 0),
]


@pytest.mark.parametrize(("region", "title", "place", "value"), BY_HAND)
def test_a_cell_is_what_a_person_makes_of_it(solved, region, title, place, value):
    book = openpyxl.load_workbook(solved.path / f"outputs/report_{region}.xlsx")
    assert book[title][place].value == value


def test_two_products_of_one_name_stay_two(solved):
    book = openpyxl.load_workbook(solved.path / "outputs/report_north.xlsx")
    labels = [cell.value for cell in book["Summary"]["A"]]
    assert "P002 Monitor Arm" in labels
    assert "P005 Monitor Arm" in labels


SPOILT = {
    "a fifth sheet": (lambda book: book.create_sheet("Notes"), 7),
    "another order": (lambda book: book.move_sheet("Summary", 1), 7),
    "another name": (lambda book: setattr(book["Summary"], "title", "Summary "), 7),
    "a surplus cell": (lambda book: book["Raw Data"].cell(40, 2, "x"), 1),
    "an id as number": (lambda book: book["Raw Data"].cell(2, 1, 230), 2),
    "units as text": (lambda book: book["Raw Data"].cell(2, 5, "85"), 2),
    "half a cent too much": (lambda book: book["Raw Data"].cell(2, 7, 23685.255), 2),
    "a total as value": (lambda book: book["Summary"].cell(9, 2, 4711), 2),
    "a total one row short": (lambda book: book["Summary"].cell(9, 2, "=SUM(B2:B7)"), 2),
    "a total of itself": (lambda book: book["Summary"].cell(9, 2, "=SUM(B2:B9)"), 2),
    "a longer formula": (lambda book: book["Summary"].cell(9, 2, "=SUM(B2:B8)+0"), 2),
    "a sum as formula": (lambda book: book["Summary"].cell(2, 2, "=1+1"), 3),
    "an annual total as value": (lambda book: book["Quarterly"].cell(2, 6, 1.5), 2),
    "not frozen": (lambda book: setattr(book["Exceptions"], "freeze_panes", None), 1),
    "frozen elsewhere": (lambda book: setattr(book["Summary"], "freeze_panes", "B2"), 1),
    "another format": (lambda book: setattr(book["Summary"]["C3"], "number_format", "0.00"), 1),
}


@pytest.mark.parametrize(("change", "lost"), SPOILT.values(), ids=SPOILT)
def test_what_is_wrong_loses_its_checks_and_no_other(solved, change, lost):
    edit(solved, "east", change)
    failed = solved.failed()
    assert len(failed) == lost
    assert {key.split("_")[1] for key in failed} == {"3"}


def test_dollar_signs_and_blanks_in_formulas_are_fine(solved):
    edit(solved, "east", lambda book: book["Summary"].cell(9, 2, "=sum( $B$2:$B$8 )"))
    assert solved.failed() == []


def test_a_formula_over_wrong_values_earns_nothing(solved):
    edit(solved, "east", lambda book: book["Summary"].cell(3, 2, 1))
    assert solved.failed() == [
        "sub_3_summary products",
        "sub_3_summary totals",
        "sub_3_formats",
    ]


def test_each_single_change_lowers_its_sub_problem_and_no_other(solved):
    target = solved.path / "outputs/report_west.xlsx"
    for mutant in mutate_workbook(target.read_bytes()).mutants[::47]:
        right = target.read_bytes()
        target.write_bytes(mutant.make())
        scores = solved.grade().sub_problem_scores
        assert scores.pop(4) < 1, str(mutant)
        assert set(scores.values()) == {1.0}
        target.write_bytes(right)


def test_the_report_of_another_region_earns_nothing(solved):
    data = (solved.path / "outputs/report_north.xlsx").read_bytes()
    for name in solved.outputs:
        solved.write(name, data)
    scores = solved.grade().sub_problem_scores
    assert scores == {1: 1.0, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0}


def test_editing_the_inputs_does_not_help(solved):
    for name in solved.inputs:
        (solved.path / name).write_text("product_id\n", encoding="utf-8")
    assert solved.failed() == []
