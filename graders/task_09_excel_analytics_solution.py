"""Reference solution of ``task_09_excel_analytics``: whole cents instead of decimals."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_evoclaw.grading.workspace import GradedWorkspace

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


def solve(workspace: GradedWorkspace) -> None:
    for region in REGIONS:
        text = (workspace / f"{FOLDER}/{region}_region.csv").read_text(encoding="utf-8-sig")
        cents = list(read_cents(text))
        write_book(cents, workspace / f"outputs/report_{region}.xlsx")


def read_cents(text: str) -> Iterator[list[Any]]:
    """Yield four texts, units, and four amounts in cents."""
    delimiter = ";" if text.startswith("product_id;") else ","
    for cells in csv.reader(text.splitlines(), delimiter=delimiter):
        if len(cells) == len(FIELDS) and cells[0] != FIELDS[0]:
            digits = [int(re.sub(r"[^\d]", "", cell)) for cell in cells[4:]]
            signs = [-1 if re.match(r"[-(]", cell.strip()) else 1 for cell in cells[4:]]
            yield [*cells[:4], *(d * s for d, s in zip(digits, signs, strict=True))]


def write_book(records: list[list[Any]], path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    raw, summary, quarterly, exceptions = (book.create_sheet(title) for title in SHEETS)
    del book["Sheet"]
    raw.append(FIELDS)
    exceptions.append(EXCEPTIONS)
    for row, record in enumerate(records, start=2):
        key, _, quarter, _, units, price, revenue, cost, profit = record
        raw.append([*record[:5], *(amount / 100 for amount in record[5:])])
        for field, stated, due in (
            ("revenue", revenue, units * price),
            ("profit", profit, revenue - cost),
        ):
            if stated != due:
                exceptions.append([row, key, quarter, field, stated / 100, due / 100])
    summary.append(SUMMARY)
    quarterly.append(QUARTERLY)
    for row, key in enumerate(sorted({record[0] for record in records}), start=2):
        own = [record for record in records if record[0] == key]
        label = f"{key} {own[0][1]}"
        summed = [sum(record[column] for record in own) for column in (4, 6, 7, 8)]
        summary.append([label, summed[0], *(amount / 100 for amount in summed[1:])])
        parts = [sum(r[6] for r in own if r[2] == quarter) / 100 for quarter in QUARTERS]
        quarterly.append([label, *parts, f"=SUM(B{row}:E{row})"])
    for sheet, letters in ((summary, "BCDE"), (quarterly, "BCDEF")):
        last = sheet.max_row
        sheet.append(["Total", *(f"=SUM({letter}2:{letter}{last})" for letter in letters)])
    for sheet, units, first in (
        (raw, 5, 6),
        (summary, 2, 3),
        (quarterly, 0, 2),
        (exceptions, 0, 5),
    ):
        dress(sheet, units, first, total=sheet in (summary, quarterly))
    book.save(path)


def dress(sheet: Any, units: int, first: int, *, total: bool) -> None:
    from openpyxl.styles import Font

    sheet.freeze_panes = "A2"
    for row in sheet.iter_rows():
        for cell in row:
            if cell.row == 1 or (total and cell.row == sheet.max_row):
                cell.font = Font(bold=True)
            if cell.column >= first or cell.column == units:
                cell.number_format = UNITS if cell.column == units else MONEY
