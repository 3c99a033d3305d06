"""Truth of ``task_21_metrics_anomaly``, in whole hundredths; and its reference solution."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterator
from datetime import datetime
from datetime import timedelta
from fractions import Fraction
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

from graders.shared_numbers import list_facts
from graders.shared_numbers import require_near
from graders.shared_numbers import require_quotes
from graders.shared_numbers import require_text
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_object
from pytest_evoclaw.grading.workspace import GradedWorkspace

FOLDER = "assets/system_metrics"
FILES = {
    "server_cpu": (("host",), "cpu_usage_pct"),
    "server_mem": (("host",), "mem_usage_pct"),
    "db_query_perf": (("db_host", "query_type"), "avg_latency_ms"),
    "network_traffic": (("interface",), "rx_mbps"),
    "disk_io": (("device",), "util_pct"),
}
TOLERANCE = 0.01
GRADED = (
    ("period", ("period",)),
    ("data points", ("total_data_points", "dimensions")),
    ("statistics", ("statistics",)),
    ("anomalies", ("anomalies",)),
    ("health", ("health_score", "health_status")),
)
STEP = timedelta(minutes=5)
Points = dict[datetime, int]  # values in hundredths, by time


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    for number, name in enumerate(FILES, start=1):
        expected = derive_report(name, workspace.fixture(f"{FOLDER}/{name}.csv"))
        output = f"outputs/{name}_report.json"
        for words, keys in GRADED:
            with check(words, sub_problem=number):
                for key in keys:
                    found = pick(workspace.json(output), key, where=output)
                    require_near(found, expected[key], f"{output}.{key}", TOLERANCE)
        with check("summary", sub_problem=number):
            text = require_summary(workspace.json(output), output)
            require_quotes(text, list_facts(expected), lambda _: TOLERANCE, f"{output}.summary")
        with check("document", sub_problem=number):
            document = require_object(workspace.json(output), output)
            text = require_summary(document, output)
            require_near(document, {**expected, "summary": text}, output, TOLERANCE)


def require_summary(document: Any, output: str) -> str:
    text = pick(document, "summary", where=output)
    return require_text(text, f"{output}.summary", 150, 1200)


@cache
def derive_report(name: str, path: Path) -> dict[str, Any]:
    """Return the report that is due, without its summary."""
    series = read_points(path, *FILES[name])
    times = sorted(time for points in series.values() for time in points)
    events = [event for key in series for event in find_events(key, series[key])]
    lost = sum({"critical": 2, "warning": 1}[event["severity"]] for event in events)
    score = max(0, 10 - lost)
    return {
        "metric_name": name,
        "period": {"start": times[0].isoformat(), "end": times[-1].isoformat()},
        "total_data_points": len(times),
        "dimensions": sorted(series),
        "statistics": {key: describe_points([*series[key].values()]) for key in series},
        "anomalies": sorted(events, key=lambda event: (event["start"], event["dimension"])),
        "health_score": score,
        "health_status": "healthy" if score > 7 else "warning" if score > 4 else "critical",
    }


def read_points(path: Path, columns: tuple[str, ...], metric: str) -> dict[str, Points]:
    first: dict[tuple[str, str], str] = {}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            first.setdefault(("_".join(row[c] for c in columns), row["timestamp"]), row[metric])
    series: dict[str, Points] = {}
    for (key, time), cell in sorted(first.items()):
        if cell[-1:].isdigit():
            series.setdefault(key, {})[datetime.fromisoformat(time)] = int(Fraction(cell) * 100)
    return series


def describe_points(values: list[int]) -> dict[str, float]:
    values.sort()
    return {
        "mean": float(round(Fraction(sum(values), 100 * len(values)), 2)),
        **{f"p{p}": find_percentile(values, p) for p in (50, 95, 99)},
        "max": values[-1] / 100,
        "min": values[0] / 100,
    }


def find_percentile(values: list[int], percent: int) -> float:
    position, rest = divmod((len(values) - 1) * percent, 100)
    low, high = values[position], values[min(position + 1, len(values) - 1)]
    return float(round((low + Fraction((high - low) * rest, 100)) / 100, 2))


def find_events(key: str, points: Points) -> Iterator[dict[str, Any]]:
    total, count = sum(points.values()), len(points)
    spread = count * sum(value**2 for value in points.values()) - total**2  # n * n * variance

    def is_above(value: int, times: int) -> bool:
        excess = count * value - total
        return excess > 0 and excess**2 > times**2 * spread

    high = [time for time in sorted(points) if is_above(points[time], 3)]
    starts = [time for time in high if time - STEP not in high]
    for start in starts:
        end = start
        while end + STEP in high:
            end += STEP
        inside = [time for time in high if start <= time <= end]
        peak = max(inside, key=lambda time: (points[time], -time.timestamp()))
        yield {
            "dimension": key,
            "start": start.isoformat(),
            "end": end.isoformat(),
            "point_count": len(inside),
            "timestamp": peak.isoformat(),
            "metric_value": points[peak] / 100,
            "sigma": round((count * points[peak] - total) / sqrt(spread), 2),
            "severity": "critical" if is_above(points[peak], 4) else "warning",
        }


def solve(workspace: GradedWorkspace) -> None:
    """Solve the task with floats and the statistics module."""
    for name, (columns, metric) in FILES.items():
        text = (workspace / f"{FOLDER}/{name}.csv").read_text(encoding="utf-8-sig")
        header, *lines = [line.split(",") for line in text.splitlines()]
        places = [header.index(column) for column in columns]
        rows: dict[str, dict[str, float]] = {}
        for cells in lines:
            own = rows.setdefault("_".join(cells[place] for place in places), {})
            own.setdefault(cells[0], read_number(cells[header.index(metric)]))
        report = write_report(name, rows)
        target = workspace / f"outputs/{name}_report.json"
        target.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def read_number(cell: str) -> float:
    return float("nan") if cell in ("", "NaN", "n/a") else float(cell)


def write_report(name: str, rows: dict[str, dict[str, float]]) -> dict[str, Any]:
    clean = {k: {t: v for t, v in sorted(r.items()) if v == v} for k, r in sorted(rows.items())}
    stamps = [stamp for own in clean.values() for stamp in own]
    found = [event for key, own in clean.items() for event in list_events(key, own)]
    penalty = sum(1 + (event["severity"] == "critical") for event in found)
    report: dict[str, Any] = {
        "metric_name": name,
        "period": {"start": min(stamps), "end": max(stamps)},
        "total_data_points": len(stamps),
        "dimensions": list(clean),
        "statistics": {key: summarise([*own.values()]) for key, own in clean.items()},
        "anomalies": sorted(found, key=lambda event: event["start"] + event["dimension"]),
        "health_score": max(10 - penalty, 0),
    }
    states = ["critical"] * 5 + ["warning"] * 3 + ["healthy"] * 3
    report["health_status"] = states[report["health_score"]]
    report["summary"] = write_summary(report)
    return report


def summarise(values: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    numbers = {"mean": statistics.fmean(values), "p50": cuts[49], "p95": cuts[94], "p99": cuts[98]}
    numbers |= {"max": max(values), "min": min(values)}
    return {key: round(number, 2) for key, number in numbers.items()}


def list_events(key: str, own: dict[str, float]) -> Iterator[dict[str, Any]]:
    mean, deviation = statistics.fmean(own.values()), statistics.pstdev(own.values())
    group: list[str] = []
    groups: list[list[str]] = []
    for stamp in own:
        if own[stamp] <= mean + 3 * deviation:
            continue
        now = datetime.fromisoformat(stamp)
        if not group or (now - datetime.fromisoformat(group[-1])).total_seconds() != 300:
            group = []
            groups.append(group)
        group.append(stamp)
    for stamps in groups:
        worst = max(own[stamp] for stamp in stamps)
        sigma = (worst - mean) / deviation
        yield {
            "dimension": key,
            "start": stamps[0],
            "end": stamps[-1],
            "point_count": len(stamps),
            "timestamp": next(stamp for stamp in stamps if own[stamp] == worst),
            "metric_value": worst,
            "sigma": round(sigma, 2),
            "severity": "critical" if sigma > 4 else "warning",
        }


def write_summary(report: dict[str, Any]) -> str:
    worst = max(report["anomalies"], key=lambda event: event["sigma"])
    busiest = max(report["statistics"], key=lambda key: report["statistics"][key]["p50"])
    level = report["statistics"][busiest]["p50"]
    day, clock = worst["timestamp"].split("T")
    return (
        f"On {day} {worst['dimension']} peaked at {clock}; look at what started there shortly "
        f"before. The day is rated [health_status={report['health_status']}] with a score of "
        f"[health_score={report['health_score']}]. The rule sees neither slow growth nor a level "
        f"that is high all day: {busiest} stays around [statistics.{busiest}.p50={level}], so "
        "compare it with last week. A few rows were missing or unusable, which may split events."
    )
