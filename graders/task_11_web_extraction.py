"""Truth of ``task_11_web_extraction``, by a small tree of its own; its solution uses lxml."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from graders.shared_html import Node
from graders.shared_html import parse_html
from graders.shared_numbers import require_near
from graders.shared_numbers import require_text
from graders.task_11_web_extraction_solution import solve
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_list
from pytest_evoclaw.grading.compare import require_object
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

__all__ = ["grade", "solve"]

FOLDER = "assets/web_extraction"
NOTES = "outputs/extraction_notes.json"
TOLERANCE = 0.0
Record = dict[str, Any]


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    left: list[Record] = []
    for number, (page, (_, _, readers)) in enumerate(PAGES.items(), start=1):
        expected, left_here = read_page(page, workspace.fixture(f"{FOLDER}/{page}.html"))
        left += left_here
        output = f"outputs/{page}.json"
        for key in readers:
            with check(key, sub_problem=number):
                records = require_list(workspace.json(output), output, length=len(expected))
                require_column(records, [record[key] for record in expected], key, output)
        with check("document", sub_problem=number):
            require_near(workspace.json(output), expected, output, TOLERANCE)
    with check("left out"):
        require_same(pick(workspace.json(NOTES), "left_out", where=NOTES), left, NOTES)
    with check("notes"):
        report = pick(workspace.json(NOTES), "report", where=NOTES)
        require_text(report, f"{NOTES}.report", 400, 3000)
        require_same(workspace.json(NOTES), {"left_out": left, "report": report}, NOTES)


def require_column(records: list[Any], expected: list[Any], key: str, output: str) -> None:
    rows = [require_object(each, f"{output}[{n}]") for n, each in enumerate(records)]
    found = [{name: value for name, value in row.items() if name == key} for row in rows]
    require_near(found, [{key: value} for value in expected], output, TOLERANCE)


@cache
def read_page(page: str, path: Path) -> tuple[list[Record], list[Record]]:
    """Return the records that count, and those that do not with their reasons."""
    name, attribute, readers = PAGES[page]
    root = parse_html(path.read_text(encoding="utf-8"))
    kept: dict[str, Record] = {}
    left: list[Record] = []
    for node in root.walk():
        key = node.attributes.get(attribute)
        if name not in node.classes or key is None:
            continue
        reason = name_reason(node) or ("repeated" if key in kept else "")
        if reason:
            left.append({"page": page, "id": key, "reason": reason})
        else:
            kept[key] = {label: read(node) for label, read in readers.items()}
    return list(kept.values()), left


def name_reason(node: Node) -> str:
    around = list(node.climb())
    if any(each.tag == "template" for each in around):
        return "template"
    if any("hidden" in each.attributes for each in around):
        return "hidden"
    return "sponsored" if "sponsored" in node.classes else ""


def read_id(name: str) -> Callable[[Node], Any]:
    return lambda node: node.attributes[name]


def read_text(selector: str, prefix: str = "") -> Callable[[Node], Any]:
    return lambda node: node.get(selector).text.removeprefix(prefix).strip() or None


def list_numbers(text: str) -> list[float]:
    found = re.findall(r"\d+(?:\.\d{3})*(?:,\d+)?", text)
    return [float(each.replace(".", "").replace(",", ".")) for each in found]


def read_number(selector: str, attribute: str, place: int = 0) -> Callable[[Node], float | None]:
    """Read an attribute, else the number at the place in the text, else null."""

    def read(node: Node) -> float | None:
        part = node.get(selector)
        if attribute in part.attributes:
            return float(part.attributes[attribute])
        numbers = list_numbers(part.text)
        return numbers[place] if place < len(numbers) else None

    return read


def read_count(selector: str, attribute: str, place: int = 0) -> Callable[[Node], int | None]:
    read = read_number(selector, attribute, place)
    return lambda node: None if (value := read(node)) is None else int(value)


def read_day(selector: str) -> Callable[[Node], Any]:
    def read(node: Node) -> str:
        part = node.get(selector)
        written = part.attributes.get("data-date")
        return written or datetime.strptime(part.text, "%d %B %Y").date().isoformat()

    return read


def read_stock(node: Node) -> bool:
    part = node.get(".stock")
    if "data-qty" in part.attributes:
        return part.attributes["data-qty"] != "0"
    return part.text.startswith("In stock")


def read_reviews(node: Node) -> int:
    found = re.search(r"\(([\d.]+) reviews\)", node.get(".rating").text)
    return int(found[1].replace(".", "")) if found else 0


def read_rating(node: Node) -> float | None:
    score = node.get(".rating").attributes.get("data-score")
    return None if score is None else float(score)


def read_moment(node: Node) -> str:
    moment = datetime.fromisoformat(node.get("time").attributes["datetime"])
    return moment.astimezone(UTC).date().isoformat()


def read_url(node: Node) -> str:
    *_, root = node.climb()
    return urljoin(root.get("base").attributes["href"], node.get(".title").attributes["href"])


def read_tags(node: Node) -> list[str]:
    return [each.text for each in node.get(".tags").walk() if each.tag == "li"]


def read_type(node: Node) -> str:
    return (node.attributes.get("data-type") or node.get(".chip").text).lower()


def read_name(node: Node) -> str:
    name = node.get(".name")
    parts = [part.text for each in (".first", ".last") if (part := name.find(each))]
    return " ".join(parts) or name.text


def read_department(node: Node) -> str:
    own = node.find(".department")
    section = next(each for each in node.climb() if each.tag == "section")
    return (own or section.get("h2")).text


def read_email(node: Node) -> str:
    part = node.get(".email")
    link = part.attributes.get("href", "").removeprefix("mailto:").partition("?")[0]
    shown = re.sub(r" ?\[dot\] ?", ".", re.sub(r" ?\[at\] ?", "@", part.text))
    return (link or shown).lower()


def read_chief(node: Node) -> str | None:
    link = node.get(".reports-to").find("a")
    return link.attributes["href"].removeprefix("#") if link else None


PAGES: dict[str, tuple[str, str, dict[str, Callable[[Node], Any]]]] = {
    "product_catalog": (
        "product",
        "data-product-id",
        {
            "product_id": read_id("data-product-id"),
            "name": read_text(".name"),
            "sku": read_text(".sku", "SKU:"),
            "price": read_number(".price", "data-amount"),
            "category": read_text(".category"),
            "in_stock": read_stock,
            "rating": read_rating,
            "review_count": read_reviews,
        },
    ),
    "job_listings": (
        "job",
        "data-job-id",
        {
            "job_id": read_id("data-job-id"),
            "title": read_text("h3"),
            "company": read_text(".company"),
            "location": read_text(".location"),
            "salary_min": read_count(".salary-range", "data-min"),
            "salary_max": read_count(".salary-range", "data-max", 1),
            "job_type": read_text(".job-type", "Type:"),
            "posted_date": read_day(".posted-date"),
        },
    ),
    "news_articles": (
        "news-item",
        "data-article-id",
        {
            "article_id": read_id("data-article-id"),
            "title": read_text(".title"),
            "author": read_text(".author"),
            "published_date": read_moment,
            "category": read_text(".category"),
            "read_time_minutes": read_count(".read-time", "data-minutes"),
            "url": read_url,
            "tags": read_tags,
        },
    ),
    "event_schedule": (
        "event",
        "data-event-id",
        {
            "event_id": read_id("data-event-id"),
            "name": read_text("h2"),
            "speaker": read_text(".speaker", "with "),
            "date": lambda node: node.get("time").attributes["datetime"][:10],
            "venue": read_text(".venue"),
            "capacity": read_count(".capacity", "data-max"),
            "registration_fee": lambda node: (
                read_number(".registration-fee", "data-amount")(node) or None
            ),
            "event_type": read_type,
        },
    ),
    "company_directory": (
        "employee",
        "data-employee-id",
        {
            "employee_id": read_id("data-employee-id"),
            "name": read_name,
            "title": read_text(".title"),
            "department": read_department,
            "email": read_email,
            "location": read_text(".location"),
            "start_date": read_day(".start-date"),
            "reports_to": read_chief,
        },
    ),
}
