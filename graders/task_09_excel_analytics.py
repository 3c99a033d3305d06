"""Truth of ``task_09_excel_analytics``; its solution is in a module of its own."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from graders.task_09_excel_analytics_solution import solve
from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import describe
from pytest_evoclaw.grading.workspace import GradedWorkspace

__all__ = ["grade", "solve"]

FOLDER = "assets/excel_analytics"
REGIONS = ("north", "south", "east", "west", "central")
SHEETS = ["Raw Data", "Summary", "Quarterly", "Exceptions"]
FIELDS = [
    "product_id",
    "product_name",
    "quarter",
    "region",
    "units_sold",
    "unit_price",
    "revenue",
    "cost",
    "profit",
]
QUARTERS = ("Q1", "Q2", "Q3", "Q4")
SUMMARY = ["Product", "Total Units", "Total Revenue", "Total Cost", "Total Profit"]
QUARTERLY = ["Product", *(f"{quarter} Revenue" for quarter in QUARTERS), "Annual Total"]
EXCEPTIONS = ["Row", "Product ID", "Quarter", "Field", "Stated", "Computed"]
MONEY, UNITS = "#,##0.00", "#,##0"
HALF_A_CENT = 0.005

Record = dict[str, Any]
Place = tuple[int, int]  # row and column, from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A formula over a rectangle of cells, and its result."""

    first: Place
    last: Place
    result: Decimal | int


@dataclass(slots=True)
class Sheet:
    """What is due in one sheet: text, units (int), money (Decimal) and formulas, by place."""

    cells: dict[Place, Any]
    sums: set[Place]  # the total row and column

    def sum_up(self, place: Place, first: Place, last: Place) -> None:
        rows, columns = range(first[0], last[0] + 1), range(first[1], last[1] + 1)
        parts = [read_due(self.cells[row, column]) for row in rows for column in columns]
        self.cells[place] = Sum(first=first, last=last, result=sum(parts[1:], start=parts[0]))
        self.sums.add(place)


def read_due(value: Any) -> Any:
    return value.result if isinstance(value, Sum) else value


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    for number, region in enumerate(REGIONS, start=1):
        records = list(read_records(workspace.fixture(f"{FOLDER}/{region}_region.csv"), region))
        due = lay_out(records)
        name = f"outputs/report_{region}.xlsx"
        for words, title, sums in (
            ("raw data", "Raw Data", False),
            ("summary products", "Summary", False),
            ("summary totals", "Summary", True),
            ("quarterly products", "Quarterly", False),
            ("quarterly totals", "Quarterly", True),
            ("exceptions", "Exceptions", False),
        ):
            with check(words, sub_problem=number):
                found = open_sheets(workspace, name)[title]
                require_cells(found, due[title], f"{name} {title}", sums=sums)
        with check("formats", sub_problem=number):
            sheets = open_sheets(workspace, name)
            for title in SHEETS:
                require_formats(sheets[title], due[title], f"{name} {title}")


def read_records(path: Path, region: str) -> Iterator[Record]:
    """Yield records, with units as int and money as Decimal."""
    lines = io.StringIO(path.read_bytes().decode("utf-8-sig"))
    kept = (line for line in lines if line.strip() and not line.startswith("#"))
    for row in csv.DictReader(kept, delimiter=";" if region == "south" else ","):
        texts = [row[field].strip() for field in FIELDS]
        numbers = [parse_number(text, region) for text in texts[4:]]
        yield dict(zip(FIELDS, [*texts[:4], int(numbers[0]), *numbers[1:]], strict=True))


def parse_number(text: str, region: str) -> Decimal:
    if region == "south":
        text = text.translate({ord("."): None, ord(","): "."})
    bracketed = re.fullmatch(r"\((.*)\)", text)
    amount = Decimal((bracketed[1] if bracketed else text).replace(",", ""))
    return -amount if bracketed else amount


def lay_out(records: list[Record]) -> dict[str, Sheet]:
    products: dict[str, list[Record]] = {}
    for record in records:
        products.setdefault(record["product_id"], []).append(record)
    summary, quarterly = [], []
    for key in sorted(products):
        group = products[key]
        label = f"{key} {group[0]['product_name']}"
        summary.append([label, *(sum(each[field] for each in group) for field in totals())])
        by_quarter = {quarter: Decimal(0) for quarter in QUARTERS}
        for each in group:
            by_quarter[each["quarter"]] += each["revenue"]
        quarterly.append([label, *by_quarter.values()])
    sheets = {
        "Raw Data": make_sheet(FIELDS, [list(record.values()) for record in records]),
        "Summary": make_sheet(SUMMARY, summary),
        "Quarterly": make_sheet(QUARTERLY, quarterly),
        "Exceptions": make_sheet(EXCEPTIONS, list(find_exceptions(records))),
    }
    last = len(products) + 1
    for row in range(2, last + 1):
        sheets["Quarterly"].sum_up((row, 6), (row, 2), (row, 5))
    for title, width in (("Summary", 5), ("Quarterly", 6)):
        sheets[title].cells[last + 1, 1] = "Total"
        sheets[title].sums.add((last + 1, 1))
        for column in range(2, width + 1):
            sheets[title].sum_up((last + 1, column), (2, column), (last, column))
    return sheets


def totals() -> list[str]:
    return [field for field in FIELDS[4:] if field != "unit_price"]


def make_sheet(header: list[str], rows: list[list[Any]]) -> Sheet:
    lines = enumerate([header, *rows], start=1)
    cells = {(row, column): v for row, line in lines for column, v in enumerate(line, start=1)}
    return Sheet(cells=cells, sums=set())


def find_exceptions(records: list[Record]) -> Iterator[list[Any]]:
    for row, record in enumerate(records, start=2):
        for field, computed in (
            ("revenue", record["units_sold"] * record["unit_price"]),
            ("profit", record["revenue"] - record["cost"]),
        ):
            if record[field] != computed:
                words = [record["product_id"], record["quarter"], field]
                yield [row, *words, record[field], computed]


def open_sheets(workspace: GradedWorkspace, name: str) -> dict[str, Any]:
    book = workspace.xlsx(name)
    titles = [sheet.title for sheet in book.worksheets]
    if titles != SHEETS or book.sheetnames != SHEETS:
        raise CheckFailed(f"{name}: found the sheets {book.sheetnames[:9]}, expected {SHEETS}")
    return {sheet.title: sheet for sheet in book.worksheets}


def require_cells(found: Any, due: Sheet, where: str, *, sums: bool) -> None:
    """Raise CheckFailed for a wrong cell: of the sums, or of all others, surplus cells included."""
    for place, value in due.cells.items():
        if (place in due.sums) is sums:
            require_cell(found.cell(*place), value, where, found)
    if not sums:
        for row in found.iter_rows():
            for cell in row:
                if cell.value is not None and (cell.row, cell.column) not in due.cells:
                    raise CheckFailed(f"{where} {cell.coordinate}: found a surplus cell")


def require_cell(cell: Any, due: Any, where: str, sheet: Any) -> None:
    if isinstance(due, Sum):
        right = is_sum(cell.value, due) and compute(sheet, due.first, due.last) == (
            True,
            due.result,
        )
    else:
        right = is_value(cell.value, due)
    if not right:
        place = f"{where} {cell.coordinate}"
        raise CheckFailed(f"{place}: found {describe(cell.value)}, expected {show_due(due)}")


def is_value(value: Any, due: Any) -> bool:
    if isinstance(due, str):
        return type(value) is str and value == due
    if type(value) not in (int, float) or not abs(value) < 1e12:
        return False
    return bool(value == due if type(due) is int else abs(value - float(due)) < HALF_A_CENT)


def is_sum(value: Any, due: Sum) -> bool:
    if type(value) is not str:
        return False
    spelt = re.sub(r"[\s$]", "", value).upper()
    return spelt == f"=SUM({name_place(due.first)}:{name_place(due.last)})"


def name_place(place: Place) -> str:
    return f"{'ABCDEFGHI'[place[1] - 1]}{place[0]}"


def compute(sheet: Any, first: Place, last: Place) -> tuple[bool, Decimal]:
    """Return whether all cells of a range are numbers, and their sum to the cent."""
    total = Decimal(0)
    for row in range(first[0], last[0] + 1):
        for column in range(first[1], last[1] + 1):
            value = sheet.cell(row, column).value
            if type(value) is str and value.startswith("=") and column == 6:
                _, value = compute(sheet, (row, 2), (row, 5))
            if type(value) not in (int, float, Decimal) or not abs(value) < 1e12:
                return False, total
            total += Decimal(str(value))
    return True, round(total, 2)


def show_due(due: Any) -> str:
    if isinstance(due, Sum):
        return f"=SUM({name_place(due.first)}:{name_place(due.last)}) with the result {due.result}"
    return repr(due) if isinstance(due, str) else str(due)


def require_formats(found: Any, due: Sheet, where: str) -> None:
    """Raise CheckFailed for a cell with the wrong format; a wrong content has no right format."""
    total_row = max(row for row, _ in due.cells) if due.sums else 0
    for place, value in due.cells.items():
        cell = found.cell(*place)
        require_cell(cell, value, where, found)
        bold = place[0] in (1, total_row)
        if bool(cell.font.bold) is not bold:
            raise CheckFailed(f"{where} {cell.coordinate}: bold: expected {bold}")
        expected = name_format(where.rpartition(" ")[2], value)
        if expected not in (None, cell.number_format):
            kind = describe(cell.number_format)
            raise CheckFailed(f"{where} {cell.coordinate}: found the format {kind}, not {expected}")
    if found.freeze_panes != "A2":
        raise CheckFailed(f"{where}: frozen at {found.freeze_panes}, expected A2")


def name_format(title: str, due: Any) -> str | None:
    value = read_due(due)
    if isinstance(value, Decimal):
        return MONEY
    return UNITS if type(value) is int and title != "Exceptions" else None
