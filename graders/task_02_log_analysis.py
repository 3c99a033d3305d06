"""Truth of ``task_02_log_analysis``; its solution is in a module of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from graders.shared_numbers import list_facts
from graders.shared_numbers import require_quotes
from graders.shared_numbers import require_text
from graders.task_02_log_analysis_solution import solve
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_list
from pytest_evoclaw.grading.compare import require_object
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

__all__ = ["grade", "solve"]

FOLDER = "assets/log_analysis"
INCIDENTS = "outputs/incident_correlation.json"
COUNTS = ("total_entries", "error_count", "warn_count", "info_count")
LEVELS = {"FATAL": "ERROR", "WARNING": "WARN"}
SEVERITIES = {3: "medium", 4: "high", 5: "critical"}
INCIDENT_CHECKS = (
    ("incident ids", ("request_id",)),
    ("incident services", ("request_id", "affected_services", "origin_service", "severity")),
    ("incident times", ("request_id", "first_seen", "last_seen")),
    ("incident numbers", ("request_id", "error_count", "retry_count")),
    ("incident causes", ("request_id", "root_exception")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a log; ``attempt`` is 1 where none is named."""

    time: str
    level: str
    message: str
    request_id: str | None
    attempt: int = 1
    line: int = 0
    context: list[str] = field(default_factory=list)


Logs = dict[str, list[Entry]]


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    logs = {n: read_log(workspace.fixture(f"{FOLDER}/{n}.log"), READERS[n]) for n in READERS}
    for number, name in enumerate(READERS, start=1):
        expected = derive_report(name, logs[name])
        output = f"outputs/{name}_report.json"
        with check("counts", sub_problem=number):
            for key in COUNTS:
                found = pick(workspace.json(output), key, where=output)
                require_same(found, expected[key], f"{output}.{key}")
        for words, keys in (
            ("errors", ("timestamp", "message", "request_id")),
            ("evidence", ("line", "context")),
        ):
            with check(words, sub_problem=number):
                errors = pick(workspace.json(output), "errors", where=output)
                require_columns(errors, expected["errors"], keys, f"{output}.errors")
        with check("time range", sub_problem=number):
            found = pick(workspace.json(output), "time_range", where=output)
            require_same(found, expected["time_range"], f"{output}.time_range")
        with check("summary", sub_problem=number):
            text = require_prose(workspace.json(output), "summary", output)
            require_quotes(text, list_facts(expected), lambda _: 0.0, f"{output}.summary")
        with check("document", sub_problem=number):
            text = require_prose(workspace.json(output), "summary", output)
            require_same(workspace.json(output), {**expected, "summary": text}, output)
    grade_incidents(workspace, check, logs)


def grade_incidents(workspace: GradedWorkspace, check: Checklist, logs: Logs) -> None:
    expected = sorted(derive_incidents(logs), key=lambda incident: str(incident["first_seen"]))
    noise = [
        {"service": name, "line": entry.line}
        for name in sorted(logs)
        for entry in sorted(logs[name], key=lambda entry: entry.line)
        if is_synthetic(entry) and entry.level != "INFO"
    ]
    for words, keys in INCIDENT_CHECKS:
        with check(words):
            found = pick(workspace.json(INCIDENTS), "incidents", where=INCIDENTS)
            require_columns(found, expected, keys, f"{INCIDENTS}.incidents")
    with check("benign noise"):
        found = pick(workspace.json(INCIDENTS), "benign_noise", where=INCIDENTS)
        require_same(found, noise, f"{INCIDENTS}.benign_noise")
    with check("incident document"):
        where = f"{INCIDENTS}.incidents"
        found = pick(workspace.json(INCIDENTS), "incidents", where=INCIDENTS)
        require_list(found, where, length=len(expected))
        texts = [require_prose(each, "explanation", where) for each in found]
        due = [{**e, "explanation": text} for e, text in zip(expected, texts, strict=True)]
        document = {"incidents": due, "benign_noise": noise}
        require_same(workspace.json(INCIDENTS), document, INCIDENTS)


def require_columns(
    found: Any, expected: list[dict[str, Any]], keys: tuple[str, ...], where: str
) -> None:
    """Raise CheckFailed unless the records are the same in these keys."""
    records = require_list(found, where, length=len(expected))
    for index, record in enumerate(records):
        require_object(record, f"{where}[{index}]")
    columns = [{k: v for k, v in record.items() if k in keys} for record in records]
    require_same(columns, [{key: record[key] for key in keys} for record in expected], where)


def require_prose(document: Any, key: str, where: str) -> str:
    return require_text(pick(document, key, where=where), f"{where}.{key}", 100, 900)


def is_synthetic(entry: Entry) -> bool:
    return (entry.request_id or "").startswith("syn-")


def derive_report(name: str, entries: list[Entry]) -> dict[str, Any]:
    """Return the report that is due on one log, without its summary."""
    levels = [entry.level for entry in entries]
    return {
        "service_name": name,
        "total_entries": len(entries),
        "error_count": levels.count("ERROR"),
        "warn_count": levels.count("WARN"),
        "info_count": levels.count("INFO"),
        "time_range": {
            "start": min(entry.time for entry in entries),
            "end": max(entry.time for entry in entries),
        },
        "errors": [
            {
                "timestamp": entry.time,
                "message": entry.message,
                "request_id": entry.request_id,
                "line": entry.line,
                "context": entry.context,
            }
            for entry in sorted(entries, key=lambda entry: (entry.time, entry.line))
            if entry.level == "ERROR"
        ],
    }


def derive_incidents(logs: Logs) -> Iterable[dict[str, Any]]:
    for key in sorted({e.request_id for log in logs.values() for e in log if e.request_id}):
        trail = [(e, name) for name, log in logs.items() for e in log if e.request_id == key]
        failed = [(entry, name) for entry, name in trail if entry.level == "ERROR"]
        services = sorted({name for _, name in failed})
        if len(services) < 3 or key.startswith("syn-"):
            continue
        causes = [c for e, _ in trail for c in e.context if c.startswith("Caused by: ")]
        yield {
            "request_id": key,
            "affected_services": services,
            "origin_service": min(failed, key=lambda pair: pair[0].time)[1],
            "severity": SEVERITIES[len(services)],
            "first_seen": min(entry.time for entry, _ in trail),
            "last_seen": max(entry.time for entry, _ in trail),
            "error_count": len(failed),
            "retry_count": sum(entry.attempt > 1 for entry, _ in trail),
            "root_exception": causes[-1].split(": ")[1],
        }


@cache
def read_log(path: Path, read: Callable[[str], Entry]) -> list[Entry]:
    """Return the entries in the order of the file, without those of level DEBUG."""
    lines = path.read_bytes().decode("utf-8").splitlines()
    blocks: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(lines, start=1):
        if line[:1].isspace():
            blocks[-1][2].append(line.strip())
        elif line and not line.startswith("#"):
            blocks.append((number, line, []))
    entries = []
    for number, line, context in blocks:
        entry = read(line)
        level = LEVELS.get(entry.level.upper(), entry.level.upper())
        if level == "DEBUG":
            continue
        words = re.search(r"attempt (\d+)", entry.message)
        entries.append(
            Entry(
                time=entry.time,
                level=level,
                message=entry.message,
                request_id=entry.request_id,
                attempt=int(words[1]) if words else entry.attempt,
                line=number,
                context=[each for each in context if each],
            )
        )
    return entries


def show_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def match(pattern: str, line: str) -> tuple[str, ...]:
    found = re.fullmatch(pattern, line)
    assert found, f"the fixture has a line of another dialect: {line}"
    return tuple(each or "" for each in found.groups())


def read_syslog(line: str) -> Entry:
    stamp, level, message, key = match(
        r"(\w{3} [ \d]\d [\d:]{8}) \S+ \w+\[\d+\]: (\w+): (.*?)(?: req=(\S+))?", line
    )
    year = 2024 if stamp.startswith("Dec") else 2025
    local = datetime.strptime(f"{year} {stamp} +0000", "%Y %b %d %H:%M:%S %z")
    time = show_time(local - timedelta(hours=1))
    return Entry(time=time, level=level, message=message, request_id=key or None)


def read_json(line: str) -> Entry:
    each = json.loads(line)
    return Entry(
        time=show_time(datetime.fromisoformat(each["timestamp"])),
        level=each["level"],
        message=each["message"],
        request_id=each.get("request_id"),
        attempt=each.get("attempt", 1),
    )


def read_access(line: str) -> Entry:
    stamp, method, path, key, status = match(
        r'\S+ - \S+ \[(.+?)\] "(\w+) ([^?\s]+)\?\S*?rid=([\w-]+) HTTP/1\.1" (\d+) \S+', line
    )
    level = {"5": "ERROR", "4": "WARN"}.get(status[0], "INFO")
    time = show_time(datetime.strptime(stamp, "%d/%b/%Y:%H:%M:%S %z"))
    return Entry(time=time, level=level, message=f"{method} {path} {status}", request_id=key)


def read_brackets(line: str) -> Entry:
    stamp, level, key, message = match(r"\[(.+?)\] \[(\w+)\] \[\w+\] \[(.+?)\] (.*)", line)
    time = f"{stamp.replace(' ', 'T')}Z"
    return Entry(time=time, level=level, message=message, request_id=None if key == "-" else key)


def read_logfmt(line: str) -> Entry:
    pairs = {
        key: json.loads(value) if value.startswith('"') else value
        for key, value in re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', line)
    }
    return Entry(
        time=show_time(datetime.fromisoformat(pairs["ts"])),
        level=pairs["level"],
        message=pairs["msg"],
        request_id=pairs.get("request_id"),
        attempt=int(pairs.get("attempt", 1)),
    )


READERS: dict[str, Callable[[str], Entry]] = {
    "auth_service": read_syslog,
    "payment_service": read_json,
    "api_gateway": read_access,
    "notification_service": read_brackets,
    "scheduler_service": read_logfmt,
}
