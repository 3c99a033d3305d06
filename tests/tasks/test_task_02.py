from __future__ import annotations

import pytest

from tests.tasks.bench import Bench


@pytest.fixture
def bench(tmp_path):
    bench = Bench("task_02_log_analysis", tmp_path)
    bench.solve()
    return bench


INCIDENTS = "incident_correlation.json"

# What was planted; times, numbers and services were followed by hand through the five logs.
PLANTED = [
    ("critical", "auth_service", "22:52:07", "22:52:51", 8, 4, "PoolExhausted"),
    ("medium", "notification_service", "23:05:38", "23:06:15", 4, 2, "SchemaMismatch"),
    ("high", "api_gateway", "23:16:09", "23:16:44", 5, 2, "LedgerLocked"),
]


def test_the_incidents_are_those_that_were_planted_and_no_other(bench):
    found = [
        (
            each["severity"],
            each["origin_service"],
            each["first_seen"][11:19],
            each["last_seen"][11:19],
            each["error_count"],
            each["retry_count"],
            each["root_exception"],
        )
        for each in bench.read(INCIDENTS)["incidents"]
    ]
    assert found == PLANTED


def test_context_line_and_time_of_an_error_are_what_a_person_reads(bench):
    errors = bench.read("auth_service_report.json")["errors"]
    assert next(each for each in errors if len(each["context"]) > 2) == {
        "timestamp": "2024-12-31T22:52:10Z",
        "message": "token exchange failed",
        "request_id": "req-b9dc1a",
        "line": 28,
        "context": [
            "at authd.exchange (exchange.go:88)",
            "Caused by: UpstreamTimeout: no answer of directory",
            "Caused by: PoolExhausted: 64 of 64 connections in use",
        ],
    }


def test_entries_of_the_new_year_by_the_local_clock_are_of_the_old_one_in_utc(bench):
    period = bench.read("auth_service_report.json")["time_range"]
    assert period["end"].startswith("2024-12-31T23:2")


@pytest.mark.parametrize("name", ["payment", "scheduler", "notification", "auth"])
def test_errors_are_in_the_order_of_time(bench, name):
    errors = bench.read(f"{name}_service_report.json")["errors"]
    keys = [(each["timestamp"], each["line"]) for each in errors]
    assert keys == sorted(keys)


def test_the_noise_holds_errors_and_warnings_of_synthetic_checks_alone(bench):
    noise = bench.read(INCIDENTS)["benign_noise"]
    logs = {
        name: (bench.path / f"assets/log_analysis/{name}.log").read_text().splitlines()
        for name in {each["service"] for each in noise}
    }
    assert len(noise) == 17  # four checks in five logs, of which three mails went through
    assert all("syn-" in logs[each["service"]][each["line"] - 1] for each in noise)


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        (lambda r: r["errors"][0].update(timestamp="2024-12-31T22:00:00Z"), "errors"),
        (lambda r: r["errors"][0].update(context=[""]), "evidence"),
        (lambda r: r["errors"][0].update(line=1), "evidence"),
        (lambda r: r["time_range"].update(start="2024-12-31T22:41:08"), "time range"),
        (lambda r: r.update(info_count=r["info_count"] + 1), "counts"),
        (lambda r: r.update(summary=r["summary"].replace("=", "=9")), "summary"),
    ],
    ids=["time", "context", "line", "range", "count", "summary"],
)
def test_a_wrong_part_of_a_report_fails_its_check(bench, change, failed):
    bench.change("scheduler_service_report.json", change)
    rest = [] if failed == "summary" else ["sub_5_document"]
    assert bench.failed() == [f"sub_5_{failed}", *rest]


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        (lambda d: d["incidents"][0]["affected_services"].pop(), "incident services"),
        (lambda d: d["incidents"][1].update(retry_count=1), "incident numbers"),
        (lambda d: d["incidents"][1].update(last_seen="2024-12-31T23:06:14Z"), "incident times"),
        (lambda d: d["incidents"][2].update(root_exception="Timeout"), "incident causes"),
        (lambda d: d["benign_noise"].pop(), "benign noise"),
    ],
    ids=["service", "retries", "time", "cause", "noise"],
)
def test_a_wrong_part_of_the_incidents_fails_checks_of_no_sub_problem(bench, change, failed):
    bench.change(INCIDENTS, change)
    assert bench.failed() == [failed, "incident document"]


def test_an_incident_too_many_fails_all_of_them_but_not_the_noise(bench):
    bench.change(INCIDENTS, lambda d: d["incidents"].append(dict(d["incidents"][0])))
    assert len(bench.failed()) == 6
    assert "benign noise" not in bench.failed()


def test_incidents_without_an_explanation_fail_the_document_alone(bench):
    bench.change(INCIDENTS, lambda d: d["incidents"][0].update(explanation=""))
    assert bench.failed() == ["incident document"]
