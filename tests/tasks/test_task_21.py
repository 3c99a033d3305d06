from __future__ import annotations

import pytest

from tests.tasks.bench import Bench


@pytest.fixture
def bench(tmp_path):
    bench = Bench("task_21_metrics_anomaly", tmp_path)
    bench.solve()
    return bench


# What was planted: (report, dimension, first high point, last one, points, severity).
PLANTED = [
    ("server_cpu", "app-02", "00:00", "00:15", 4, "warning"),
    ("server_cpu", "app-01", "11:05", "11:20", 4, "critical"),
    ("server_mem", "app-02", "23:30", "23:55", 6, "critical"),
    ("db_query_perf", "pg-a_select", "05:00", "05:15", 4, "critical"),
    ("db_query_perf", "pg-b_insert", "07:55", "08:10", 4, "warning"),
    ("db_query_perf", "pg-a_update", "14:10", "14:20", 3, "warning"),
    ("db_query_perf", "pg-b_select", "20:00", "20:05", 2, "critical"),  # 20:10 is missing
    ("db_query_perf", "pg-b_select", "20:15", "20:20", 2, "critical"),
    ("network_traffic", "eth1", "00:15", "00:30", 4, "warning"),
    ("network_traffic", "eth0", "04:00", "04:00", 1, "critical"),  # 04:05 has no value
    ("network_traffic", "eth0", "04:10", "04:10", 1, "critical"),
    ("network_traffic", "eth0", "18:00", "18:10", 3, "critical"),
    ("disk_io", "nvme0n1", "10:00", "10:15", 4, "warning"),
]
NAMES = sorted({each[0] for each in PLANTED})


@pytest.mark.parametrize("name", NAMES)
def test_the_events_are_those_that_were_planted_and_no_other(bench, name):
    events = bench.read(f"{name}_report.json")["anomalies"]
    found = [
        (e["dimension"], e["start"][-8:-3], e["end"][-8:-3], e["point_count"], e["severity"])
        for e in events
    ]
    assert found == [each[1:] for each in PLANTED if each[0] == name]


@pytest.mark.parametrize("name", NAMES)
def test_no_value_is_so_near_to_a_limit_that_the_deviation_of_samples_would_matter(bench, name):
    for event in bench.read(f"{name}_report.json")["anomalies"]:
        assert event["sigma"] > 3.3
        assert abs(event["sigma"] - 4) > 0.2


@pytest.mark.parametrize(
    ("name", "points", "score", "status"),
    [
        ("server_cpu", 3 * 288 - 2 - 2, 7, "warning"),
        ("server_mem", 3 * 288 - 1 - 2, 8, "healthy"),
        ("db_query_perf", 6 * 288 - 1 - 1, 2, "critical"),
        ("network_traffic", 2 * 288 - 1 - 1, 3, "critical"),
        ("disk_io", 2 * 288 - 1 - 1, 9, "healthy"),
    ],
)
def test_points_and_score_are_what_a_person_counts(bench, name, points, score, status):
    report = bench.read(f"{name}_report.json")
    assert report["total_data_points"] == points
    assert (report["health_score"], report["health_status"]) == (score, status)


def test_a_repeated_row_never_counts(bench):
    # The values 99.00 (in an event) and 88.00 stand in rows that repeat earlier ones.
    report = bench.read("server_cpu_report.json")
    assert max(each["max"] for each in report["statistics"].values()) < 85


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        (lambda r: r["statistics"]["app-01"].update(p95=40.0), "statistics"),
        (lambda r: r["anomalies"].reverse(), "anomalies"),
        (lambda r: r["anomalies"][0].update(note="spike"), "anomalies"),
        (lambda r: r.update(health_status="healthy"), "health"),
        (lambda r: r["period"].update(end="2025-09-17T00:00:00"), "period"),
        (lambda r: r.update(total_data_points=288), "data points"),
    ],
    ids=["percentile", "order", "surplus key", "status", "period", "steps for rows"],
)
def test_a_wrong_part_fails_its_check_and_the_document(bench, change, failed):
    bench.change("server_cpu_report.json", change)
    assert bench.failed() == [f"sub_1_{failed}", "sub_1_document"]


def test_a_percentile_of_another_method_is_noticed(bench):
    def spoil(report):
        for numbers in report["statistics"].values():
            numbers["p99"] = numbers["max"]

    bench.change("disk_io_report.json", spoil)
    assert bench.failed() == ["sub_5_statistics", "sub_5_document"]


def test_a_summary_that_quotes_a_wrong_number_fails_its_check_alone(bench):
    bench.change(
        "server_mem_report.json",
        lambda r: r.update(summary=r["summary"].replace("[health_score=8]", "[health_score=9]")),
    )
    assert bench.failed() == ["sub_2_summary"]
    assert "quotes health_score=9, expected 8" in bench.message("sub_2_summary")
