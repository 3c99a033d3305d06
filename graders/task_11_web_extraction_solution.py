"""Reference solution of ``task_11_web_extraction``, with lxml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC
from datetime import datetime
from typing import Any
from urllib.parse import urljoin

from pytest_evoclaw.grading.workspace import GradedWorkspace

FOLDER = "assets/web_extraction"
MARKS = {
    "product_catalog": "data-product-id",
    "job_listings": "data-job-id",
    "news_articles": "data-article-id",
    "event_schedule": "data-event-id",
    "company_directory": "data-employee-id",
}
REPORT = (
    "Comments hold records that were switched off, so they are none. Records in templates are "
    "moulds for scripts, which no visitor sees. Hidden records are drafts or sold-out "
    "entries that the site does not show. Sponsored records belong to advertisers and repeat ids "
    "or bring ids of their own. Repeated ids are second places for the same thing, and the first "
    "one was kept. Attributes and texts contradict each other in some places, and the attribute "
    "was taken: {contradictions}. A person should look these up at the source, together with the "
    "jobs whose salary is negotiable. A search for tags by pattern would find the records in "
    "comments, take crossed-out prices for prices, and read 1.299,90 as a number near one."
)


def solve(workspace: GradedWorkspace) -> None:
    left: list[dict[str, str]] = []
    contradictions: list[str] = []
    for page, mark in MARKS.items():
        text = (workspace / f"{FOLDER}/{page}.html").read_text(encoding="utf-8")
        records: dict[str, dict[str, Any]] = {}
        for key, reason, element in list_elements(text, mark):
            if not reason and key not in records:
                records[key] = globals()[f"extract_{page}"](element)
            else:
                left.append({"page": page, "id": key, "reason": reason or "repeated"})
        write(workspace, page, list(records.values()))
        contradictions += list(list_contradictions(page, text))[:2]
    report = REPORT.format(contradictions="; ".join(contradictions))
    write(workspace, "extraction_notes", {"left_out": left, "report": report})


def write(workspace: GradedWorkspace, name: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    (workspace / f"outputs/{name}.json").write_text(text + "\n", encoding="utf-8")


def list_elements(text: str, mark: str) -> Iterator[tuple[str, str, Any]]:
    """Yield (id, reason, element) in the order of the page."""
    import lxml.html

    for node in lxml.html.document_fromstring(text).iter():
        if mark in node.attrib:
            yield node.get(mark), find_reason(node), node


def find_reason(node: Any) -> str:
    if node.xpath("ancestor::template"):
        return "template"
    if node.xpath("ancestor-or-self::*[@hidden]"):
        return "hidden"
    return "sponsored" if "sponsored" in node.get("class") else ""


def list_contradictions(page: str, text: str) -> Iterator[str]:
    if page == "product_catalog":
        for key, qty in re.findall(
            r'data-product-id="([^"]*)"(?:(?!data-product).)*data-qty="(0)">In stock', text, re.S
        ):
            yield f"product {key} has the quantity {qty} but is called in stock"
    if page == "job_listings":
        for key, high, said in re.findall(
            r'data-job-id="([^"]*)"(?:(?!data-job).)*data-max="(\d+)">up to ([\d.]+)', text, re.S
        ):
            yield f"job {key} pays up to {high} in the attribute and {said} in the text"


def first(node: Any, name: str) -> Any:
    """Return the first element with the class, or with the tag."""
    query = f".//*[contains(concat(' ', @class, ' '), ' {name} ')] | .//{name}"
    found = node.xpath(query)
    return found[0] if found else None


def spell(node: Any) -> str:
    pieces = []
    for text in node.xpath(".//text() | .//br"):
        if not isinstance(text, str):
            pieces.append(", ")
            continue
        parent = text.getparent()  # type: ignore[attr-defined]
        around = [parent.getparent()] if text.is_tail else [parent]  # type: ignore[attr-defined]
        around += around[0].iterancestors()
        if not any(e.tag in ("del", "small") or e.get("class") == "badge" for e in around):
            pieces.append(text)
    return " ".join("".join(pieces).split()).replace(" ,", ",")


def read(node: Any, name: str) -> str:
    return spell(first(node, name))


def amounts(text: str) -> list[str]:
    return [
        word.replace(".", "").replace(",", ".").strip(".")
        for word in text.split()
        if word[0].isdigit()
    ]


def day(node: Any, name: str) -> str:
    element = first(node, name)
    if element.get("data-date"):
        return str(element.get("data-date"))
    return datetime.strptime(spell(element), "%d %B %Y").strftime("%Y-%m-%d")


def extract_product_catalog(node: Any) -> dict[str, Any]:
    price, stock, rating = (first(node, name) for name in ("price", "stock", "rating"))
    qty = stock.get("data-qty")
    reviews = re.search(r"\((.*) reviews", spell(rating))
    return {
        "product_id": node.get("data-product-id"),
        "name": read(node, "name"),
        "sku": read(node, "sku").split()[-1],
        "price": float(price.get("data-amount") or amounts(spell(price))[0]),
        "category": read(node, "category"),
        "in_stock": int(qty) > 0 if qty else spell(stock)[:8] == "In stock",
        "rating": float(rating.get("data-score")) if rating.get("data-score") else None,
        "review_count": int(reviews[1].replace(".", "")) if reviews else 0,
    }


def extract_job_listings(node: Any) -> dict[str, Any]:
    salary = first(node, "salary-range")
    low, high = salary.get("data-min"), salary.get("data-max")
    if low is None:
        numbers = amounts(spell(salary))
        low, high = numbers if numbers else (None, None)
    return {
        "job_id": node.get("data-job-id"),
        "title": read(node, "h3"),
        "company": read(node, "company"),
        "location": read(node, "location"),
        "salary_min": None if low is None else int(low),
        "salary_max": None if high is None else int(high),
        "job_type": read(node, "job-type").split(" ", 1)[1],
        "posted_date": day(node, "posted-date"),
    }


def extract_news_articles(node: Any) -> dict[str, Any]:
    link, length = first(node, "title"), first(node, "read-time")
    minutes = length.get("data-minutes") or next(iter(amounts(spell(length))), None)
    moment = datetime.fromisoformat(first(node, "time").get("datetime"))
    return {
        "article_id": node.get("data-article-id"),
        "title": spell(link),
        "author": read(node, "author"),
        "published_date": moment.astimezone(UTC).strftime("%Y-%m-%d"),
        "category": read(node, "category"),
        "read_time_minutes": None if minutes is None else int(minutes),
        "url": urljoin(node.xpath("//base/@href")[0], link.get("href")),
        "tags": [spell(item) for item in first(node, "tags").findall("li")],
    }


def extract_event_schedule(node: Any) -> dict[str, Any]:
    seats, fee = first(node, "capacity"), first(node, "registration-fee")
    amount = fee.get("data-amount") or next(iter(amounts(spell(fee))), "0")
    speaker = read(node, "speaker")
    return {
        "event_id": node.get("data-event-id"),
        "name": read(node, "h2"),
        "speaker": speaker[5:] if speaker else None,
        "date": first(node, "time").get("datetime").split("T")[0],
        "venue": read(node, "venue"),
        "capacity": int(seats.get("data-max") or amounts(spell(seats))[0]),
        "registration_fee": float(amount) if float(amount) else None,
        "event_type": (node.get("data-type") or read(node, "chip")).lower(),
    }


def extract_company_directory(node: Any) -> dict[str, Any]:
    mail, chief = first(node, "email"), first(node, "reports-to").find("a")
    address = spell(mail).replace(" [at] ", "@").replace(" [dot] ", ".")
    if mail.get("href"):
        address = mail.get("href").split("?")[0][7:]
    whole, given, family = (first(node, name) for name in ("name", "first", "last"))
    department = first(node, "department")
    if department is None:
        department = node.xpath("ancestor::section/h2")[0]
    return {
        "employee_id": node.get("data-employee-id"),
        "name": spell(whole) if given is None else f"{spell(given)} {spell(family)}",
        "title": read(node, "title"),
        "department": spell(department),
        "email": address.lower(),
        "location": read(node, "location"),
        "start_date": day(node, "start-date"),
        "reports_to": None if chief is None else chief.get("href")[1:],
    }
