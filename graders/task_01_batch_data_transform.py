"""Truth and reference solution of ``task_01_batch_data_transform``."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from collections.abc import Iterator
from datetime import UTC
from datetime import date
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.dom import minidom
from xml.etree import ElementTree

import yaml

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import require_list
from pytest_evoclaw.grading.compare import require_object
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

FOLDER = "assets/batch_transform"
FIELDS = ("id", "full_name", "email", "created_at", "country", "age")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
Record = tuple[Any, ...]  # the raw values of FIELDS, the date as a date


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    for number, (name, read) in enumerate(TRUTHS.items(), start=1):
        expected = list(keep_last(read(workspace.fixture(f"{FOLDER}/{name}"))))
        output = f"outputs/{Path(name).stem}.json"
        for field in FIELDS:
            with check(field, sub_problem=number):
                found = read_column(workspace, output, field, len(expected))
                require_same(found, [{field: record[field]} for record in expected], output)
        with check("keys", sub_problem=number):
            require_keys(workspace, output, [record["id"] for record in expected])


def read_column(
    workspace: GradedWorkspace, output: str, field: str, length: int
) -> list[dict[str, Any]]:
    """Return the one field of each record; records that lack it are empty."""
    records = require_list(workspace.json(output), output, length=length)
    for index, record in enumerate(records):
        require_object(record, f"{output}[{index}]")
    return [{key: value for key, value in record.items() if key == field} for record in records]


def require_keys(workspace: GradedWorkspace, output: str, ids: list[str]) -> None:
    """Raise CheckFailed unless the records of ``ids`` have the six keys and no other."""
    require_same(
        read_column(workspace, output, "id", len(ids)), [{"id": each} for each in ids], output
    )
    for index, record in enumerate(workspace.json(output)):
        if set(record) != set(FIELDS):
            found, due = ", ".join(sorted(record)), ", ".join(sorted(FIELDS))
            raise CheckFailed(f"{output}[{index}]: found the keys {found}, expected {due}")


def keep_last(records: Iterator[Record]) -> Iterator[dict[str, Any]]:
    """Bring raw records into shape; of those with one id, only the last one stays."""
    rows = list(records)
    ids = [squeeze(row[0]) for row in rows]
    for index, (_, name, email, day, country, age) in enumerate(rows):
        if ids[index] not in ids[index + 1 :]:
            years = squeeze(age)
            yield {
                "id": ids[index],
                "full_name": squeeze(name),
                "email": squeeze(email).lower(),
                "created_at": f"{day.isoformat()}T00:00:00Z",
                "country": squeeze(country) or None,
                "age": int(years) if years else None,
            }


def squeeze(value: Any) -> str:
    """Return a value's text with single spaces; blank ones are empty."""
    text = re.sub(r"\s+", " ", "" if value is None else str(value)).strip()
    return "" if text == "-" else text


def numbers_of(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", text)]


def true_signups(path: Path) -> Iterator[Record]:
    for key, name, email, day, country, age in read_cells(path):
        month, dom, year = numbers_of(day)
        yield key, name, email, date(year, month, dom), country, age


def true_members(path: Path) -> Iterator[Record]:
    for each in json.loads(path.read_bytes()):
        user, metadata = each["user"], each["metadata"]
        born = metadata.get("birth_year")
        name = f"{user['first_name']} {user['last_name']}"
        day = date(*numbers_of(metadata["joined"]))
        age = None if born is None else 2025 - born
        yield user["id"], name, each["contact"]["email"], day, metadata.get("country"), age


def true_export(path: Path) -> Iterator[Record]:
    root: Any = minidom.parse(str(path)).documentElement
    for user in root.childNodes:
        if user.nodeName == "user":
            parts = {child.nodeName: child for child in user.childNodes}
            texts = {
                key: "".join(t.data for t in parts[key].childNodes)
                for key in parts
                if key[0] != "#"
            }
            order = parts["date"].getAttribute("format").split("-")
            day = dict(zip(order, numbers_of(texts["date"]), strict=True))
            yield (
                user.getAttribute("id"),
                texts["fullname"],
                texts["mail"],
                date(day["YYYY"], day["MM"], day["DD"]),
                texts.get("region"),
                texts.get("years_old"),
            )


def true_portal(path: Path) -> Iterator[Record]:
    epoch = date(1970, 1, 1).toordinal()
    for each in yaml.load(path.read_bytes(), Loader=yaml.BaseLoader):
        day = date.fromordinal(epoch + int(each["registered"]) // 86_400)
        country, age = (
            None if each.get(key) in ("~", "null") else each.get(key)
            for key in ("nation", "age_years")
        )
        yield each["uid"], each["display_name"], each["email_addr"], day, country, age


def true_partners(path: Path) -> Iterator[Record]:
    for line in path.read_bytes().decode("utf-8").split("\r\n")[1:]:
        if line:
            key, name, email, day, country, age = line.split("\t")
            yield key, name, email, date(*numbers_of(day)), country, age


def true_newsletter(path: Path) -> Iterator[Record]:
    for key, first, last, email, day, country, age in read_cells(path):
        dom, year = numbers_of(day)
        name = f"{squeeze(first)} {squeeze(last)}"
        yield key, name, email, date(year, MONTHS.index(day[:3]) + 1, dom), country, age


def read_cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [cells for cells in csv.reader(stream) if cells][1:]


TRUTHS: dict[str, Callable[[Path], Iterator[Record]]] = {
    "users_01.csv": true_signups,
    "users_02.json": true_members,
    "users_03.xml": true_export,
    "users_04.yaml": true_portal,
    "users_05.tsv": true_partners,
    "users_06.csv": true_newsletter,
}


def solve(workspace: GradedWorkspace) -> None:
    """Solve the task by other parsers than those of ``grade``."""
    source = workspace / FOLDER
    tables = {
        "users_01": solve_csv(source / "users_01.csv"),
        "users_02": solve_json(source / "users_02.json"),
        "users_03": solve_xml(source / "users_03.xml"),
        "users_04": solve_yaml(source / "users_04.yaml"),
        "users_05": solve_tsv(source / "users_05.tsv"),
        "users_06": solve_names(source / "users_06.csv"),
    }
    for name, rows in tables.items():
        latest: dict[str, dict[str, Any]] = {}
        for row in rows:
            user = dict(zip(FIELDS, map(clean, row), strict=True))
            user["email"] = user["email"].lower()
            user["age"] = None if user["age"] is None else int(user["age"])
            latest.pop(user["id"], None)
            latest[user["id"]] = user
        text = json.dumps(list(latest.values()), ensure_ascii=False, indent=2)
        (workspace / "outputs" / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def clean(value: Any) -> Any:
    text = " ".join(str(value).split())
    return None if value is None or text in ("", "-") else text


def stamp(text: str, pattern: str) -> str:
    return datetime.strptime(text, pattern).strftime("%Y-%m-%dT00:00:00Z")


def solve_csv(path: Path) -> Iterator[list[Any]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            row["signup_date"] = stamp(row["signup_date"], "%m/%d/%Y")
            yield list(row.values())


def solve_json(path: Path) -> Iterator[list[Any]]:
    for each in json.loads(path.read_text(encoding="utf-8")):
        user, more = each["user"], each["metadata"]
        age = 2025 - more["birth_year"] if more.get("birth_year") else None
        name = " ".join(part for part in (user["first_name"], user["last_name"]) if clean(part))
        joined = more["joined"] + "T00:00:00Z"
        yield [user["id"], name, each["contact"]["email"], joined, more.get("country"), age]


def solve_xml(path: Path) -> Iterator[list[Any]]:
    patterns = {"DD-MM-YYYY": "%d-%m-%Y", "MM-DD-YYYY": "%m-%d-%Y", "YYYY-MM-DD": "%Y-%m-%d"}
    for user in ElementTree.parse(path).getroot().findall("user"):
        day = user.find("date")
        assert day is not None
        created = stamp(day.text or "", patterns[day.attrib["format"]])
        name, mail, region, years = (
            user.findtext(tag) for tag in ("fullname", "mail", "region", "years_old")
        )
        yield [user.get("id"), name, mail, created, region, years]


def solve_yaml(path: Path) -> Iterator[list[Any]]:
    for each in yaml.safe_load(path.read_text(encoding="utf-8")):
        created = datetime.fromtimestamp(each["registered"], UTC).strftime("%Y-%m-%dT00:00:00Z")
        who = [each["uid"], each["display_name"], each["email_addr"], created]
        yield [*who, each.get("nation"), each.get("age_years")]


def solve_tsv(path: Path) -> Iterator[list[Any]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            row["JoinDate"] = stamp(row["JoinDate"], "%Y/%m/%d")
            yield list(row.values())


def solve_names(path: Path) -> Iterator[list[Any]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            name = " ".join(part for part in (row["first"], row["last"]) if clean(part))
            created = stamp(row["date_created"], "%b %d, %Y")
            who = [row["identifier"], name, row["electronic_mail"], created]
            yield [*who, row["country_name"], row["current_age"]]
