"""Truth and reference solution of ``task_05_config_migration``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

FOLDER = "assets/config_migration"
SERVICES = ("webapp", "worker", "gateway", "scheduler", "mailer")
MOVED = {
    "db": "database",
    "log": "logging",
    "notification": "notifications",
    "rate_limit": "rate_limiting",
}
TYPES = {
    '"': "string",
    "[": "list",
    "{": "object",
    "t": "boolean",
    "f": "boolean",
    "n": "null",
}  # by the first character of a JSON value


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    for number, service in enumerate(SERVICES, start=1):
        expected = derive_v2(workspace.fixture(f"{FOLDER}/{service}_v1.json"))
        output = f"outputs/{service}_v2.json"
        for section, value in expected.items():
            with check(section.lstrip("_"), sub_problem=number):
                found = pick(workspace.json(output), section, where=output)
                require_same(found, value, f"{output}.{section}")
        with check("document", sub_problem=number):
            require_same(workspace.json(output), expected, output)


def derive_v2(path: Path) -> dict[str, Any]:
    """Return the v2 document that is due for a v1 file."""
    v1 = json.loads(path.read_bytes().decode("utf-8-sig"))
    retired = set(v1.pop("deprecated"))
    document: dict[str, Any] = {}
    for renamed in (False, True):  # what already had the new name comes first, and stays
        for key in sorted(v1.keys() - retired):
            first, *rest = split_key(key)
            if (first in MOVED) is renamed:
                section = document.setdefault(MOVED.get(first, first), {})
                leaf = {"value": v1[key], "type": name_type(v1[key])}
                section.setdefault("_".join(rest), leaf)
    return {**dict(sorted(document.items())), "_dropped": sorted(v1.keys() & retired)}


def split_key(key: str) -> list[str]:
    """Cut at the dots without a backslash before them; the other dots lose it."""
    parts, position = [""], 0
    while position < len(key):
        escaped = key.startswith("\\.", position)
        if key[position] == ".":
            parts.append("")
        else:
            parts[-1] += "." if escaped else key[position]
        position += 2 if escaped else 1
    return parts


def name_type(value: Any) -> str:
    text = json.dumps(value)
    return TYPES.get(text[0]) or ("float" if re.search(r"[.e]", text) else "integer")


def solve(workspace: GradedWorkspace) -> None:
    for service in SERVICES:
        source = (workspace / f"{FOLDER}/{service}_v1.json").read_text(encoding="utf-8-sig")
        text = json.dumps(migrate(json.loads(source)), ensure_ascii=False, indent=2)
        target = workspace / "outputs" / f"{service}_v2.json"
        target.write_text(text + "\n", encoding="utf-8")


def migrate(old: dict[str, Any]) -> dict[str, Any]:
    renames = [("db", "database"), ("rate_limit", "rate_limiting")]
    renames += [("notification", "notifications"), ("log", "logging")]
    deprecated = old["deprecated"]
    new: dict[str, Any] = {"_dropped": sorted(key for key in deprecated if key in old)}
    native: set[tuple[str, str]] = set()
    for key, value in old.items():
        if key == "deprecated" or key in deprecated:
            continue
        before, after = re.split(r"(?<!\\)\.", key, maxsplit=1)
        section = dict(renames).get(before, before)
        field = re.sub(r"(?<!\\)\.", "_", after).replace("\\.", ".")
        if (section, field) in native:
            continue
        if section == before:
            native.add((section, field))
        new.setdefault(section, {})[field] = {"value": value, "type": describe_type(value)}
    return new


def describe_type(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {str: "string", bool: "boolean", int: "integer", float: "float", list: "list"}
    return kinds.get(type(value), "object")
