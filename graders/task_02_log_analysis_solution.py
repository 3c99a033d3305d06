"""Reference solution of ``task_02_log_analysis``: splits lines and tables instead of patterns."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qs
from urllib.parse import urlsplit

from pytest_evoclaw.grading.workspace import GradedWorkspace

FOLDER = "assets/log_analysis"
Row = dict[str, Any]
SHORT = {"fatal": "error", "warning": "warn"}
NAMES = (
    "auth_service",
    "payment_service",
    "api_gateway",
    "notification_service",
    "scheduler_service",
)


def solve(workspace: GradedWorkspace) -> None:
    rows: list[Row] = []
    for name in NAMES:
        text = (workspace / f"{FOLDER}/{name}.log").read_text(encoding="utf-8")
        own = list(list_rows(name, text.split("\n")))
        write(workspace, f"{name}_report", report(name, own))
        rows += own
    rows.sort(key=lambda row: row["time"])
    noise = [
        {"service": row["service"], "line": row["line"]}
        for row in sorted(rows, key=lambda row: (row["service"], row["line"]))
        if (row["id"] or "")[:4] == "syn-" and row["level"] != "info"
    ]
    document = {"incidents": list(list_incidents(rows)), "benign_noise": noise}
    write(workspace, "incident_correlation", document)


def write(workspace: GradedWorkspace, name: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    (workspace / f"outputs/{name}.json").write_text(text + "\n", encoding="utf-8")


def list_rows(name: str, lines: list[str]) -> Iterator[Row]:
    row: Row = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line[0] == "#":
            continue
        if line[0] in " \t":
            row["context"].append(line.strip())
            continue
        if row:
            yield row
        row = {"service": name, "line": number, "context": [], "try": 1, **SPLITTERS[name](line)}
        row["level"] = SHORT.get(row["level"].lower(), row["level"].lower())
        if "attempt " in row["message"]:
            row["try"] = int(row["message"].rpartition("attempt ")[2].split()[0])
        if row["level"] == "debug":
            row = {}
    if row:
        yield row


def to_utc(time: datetime) -> str:
    return time.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def split_syslog(line: str) -> Row:
    month, day, clock, _, _, level, *words = line.split()
    key = words.pop()[4:] if words[-1].startswith("req=") else None
    year = {"Dec": 2024, "Jan": 2025}[month]
    time = parsedate_to_datetime(f"{day} {month} {year} {clock} +0100")
    return {"time": to_utc(time), "level": level[:-1], "message": " ".join(words), "id": key}


def split_json(line: str) -> Row:
    each = {"request_id": None, "attempt": 1, **json.loads(line)}
    row = {"time": each["timestamp"][:19] + "Z", "level": each["level"], "try": each["attempt"]}
    return {**row, "message": each["message"], "id": each["request_id"]}


def split_access(line: str) -> Row:
    head, request, tail = line.split('"')
    stamp = head[head.index("[") + 1 : head.index("]")]
    day, clock = stamp.split(":", 1)
    method, target, _ = request.split(" ")
    url, status = urlsplit(target), tail.split()[0]
    return {
        "time": to_utc(parsedate_to_datetime(f"{day.replace('/', ' ')} {clock}")),
        "level": "error" if status >= "500" else "warn" if status >= "400" else "info",
        "message": f"{method} {url.path} {status}",
        "id": parse_qs(url.query)["rid"][0],
    }


def split_brackets(line: str) -> Row:
    time, level, _, key, message = line.strip().split("] ", 4)
    key = key.strip("[-") if key == "[-" else key[1:]
    return {
        "time": time[1:].replace(" ", "T") + "Z",
        "level": level[1:],
        "message": message,
        "id": key or None,
    }


def split_logfmt(line: str) -> Row:
    pairs = dict(word.split("=", 1) for word in shlex.split(line))
    return {
        "time": to_utc(datetime.fromisoformat(pairs["ts"])),
        "level": pairs["level"],
        "message": pairs["msg"],
        "id": pairs.get("request_id"),
        "try": int(pairs.get("attempt", "1")),
    }


SPLITTERS = dict(
    zip(
        NAMES,
        (split_syslog, split_json, split_access, split_brackets, split_logfmt),
        strict=True,
    )
)


def report(name: str, rows: list[Row]) -> dict[str, Any]:
    counts = Counter(row["level"] for row in rows)
    times = sorted(row["time"] for row in rows)
    errors = sorted(
        (row for row in rows if row["level"] == "error"),
        key=lambda row: (row["time"], row["line"]),
    )
    synthetic = sum((row["id"] or "").startswith("syn-") for row in errors)
    kinds = Counter(row["message"] for row in errors)
    message, most = kinds.most_common(1)[0]
    return {
        "service_name": name,
        "total_entries": len(rows),
        **{f"{level}_count": counts[level] for level in ("error", "warn", "info")},
        "time_range": {"start": times[0], "end": times[-1]},
        "errors": [
            {
                "timestamp": row["time"],
                "message": row["message"],
                "request_id": row["id"],
                "line": row["line"],
                "context": row["context"],
            }
            for row in errors
        ],
        "summary": f"Of [total_entries={len(rows)}] entries [error_count={counts['error']}] are "
        f"errors and [warn_count={counts['warn']}] are warnings. {synthetic} of the errors belong "
        f"to synthetic checks and are wanted. The most frequent error is {message!r} with {most} "
        "entries; look at it first, and at those that went through several services.",
    }


def list_incidents(rows: list[Row]) -> Iterator[dict[str, Any]]:
    trails: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["id"] and not row["id"].startswith("syn-"):
            trails[row["id"]].append(row)
    for key, trail in trails.items():
        errors = [row for row in trail if row["level"] == "error"]
        services = sorted({row["service"] for row in errors})
        if len(services) < 3:
            continue
        context = [line for row in trail for line in row["context"] if "Caused by" in line]
        cause, detail = context[-1].removeprefix("Caused by: ").split(": ", 1)
        way = ", then ".join(dict.fromkeys(row["service"] for row in errors))
        ended = "recovered" if trail[-1]["level"] == "info" else "did not recover in this time"
        yield {
            "request_id": key,
            "affected_services": services,
            "origin_service": errors[0]["service"],
            "severity": ["medium", "high", "critical"][len(services) - 3],
            "first_seen": trail[0]["time"],
            "last_seen": trail[-1]["time"],
            "error_count": len(errors),
            "retry_count": len([row for row in trail if row["try"] >= 2]),
            "root_exception": cause,
            "explanation": f"It failed in {way}. The innermost cause in the logs is {cause} "
            f"({detail}). The request {ended}. Check that cause first, and alert on it, so that "
            "retries do not hide it next time.",
        }
