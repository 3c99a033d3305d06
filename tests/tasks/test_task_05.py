from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.bench import Bench


@pytest.fixture
def bench(tmp_path):
    bench = Bench("task_05_config_migration", tmp_path)
    bench.solve()
    return bench


def leaf(value: Any, kind: str) -> dict[str, Any]:
    return {"value": value, "type": kind}


# One field for each quirk, worked out by hand from fixture and prompt.
BY_HAND = [
    ("webapp", "app", "build", leaf(9007199254740993, "integer")),
    ("webapp", "server", "timeout", leaf(30.0, "float")),
    ("webapp", "logging", "level", leaf("info", "string")),
    ("webapp", "logging", "rotate", leaf("daily", "string")),
    ("webapp", "database", "pool_max", leaf(20, "integer")),
    ("worker", "database", "host", leaf("pg-primary.example.org", "string")),
    ("worker", "database", "name", leaf("media", "string")),
    ("worker", "database", "read_only", leaf(0, "integer")),
    ("worker", "retry", "backoff_cap", leaf(600.0, "float")),
    ("worker", "worker", "labels", leaf({}, "object")),
    ("gateway", "upstream", "api.internal_timeout", leaf(4.0, "float")),
    ("gateway", "cors", "enabled", leaf("true", "string")),
    ("scheduler", "jobs", "nightly.report_cron", leaf("15 2 * * *", "string")),
    ("scheduler", "notifications", "channel", leaf("#ops", "string")),
    ("scheduler", "notifications", "pager", leaf(None, "null")),
    ("mailer", "queue", "priority", leaf([3, 2, 1], "list")),
]


@pytest.mark.parametrize(
    ("service", "section", "field", "expected"), BY_HAND, ids=lambda each: str(each)[:30]
)
def test_a_field_is_what_a_person_makes_of_it(bench, service, section, field, expected):
    found = bench.read(f"{service}_v2.json")[section][field]
    assert found == expected
    assert type(found["value"]) is type(expected["value"])


@pytest.mark.parametrize(
    ("service", "dropped"),
    [
        ("webapp", ["app.motd"]),
        ("worker", ["monitoring.statsd_port"]),
        ("gateway", ["gateway.admin.token"]),
        ("scheduler", ["jobs.legacy_cron"]),
    ],
)
def test_keys_that_are_not_there_are_not_reported_as_dropped(bench, service, dropped):
    assert not set(dropped) & set(bench.read(f"{service}_v2.json")["_dropped"])


def test_a_section_of_dropped_keys_alone_is_gone(bench):
    document = bench.read("mailer_v2.json")
    assert "legacy" not in document
    assert "legacy.use_sendmail" in document["_dropped"]


def test_an_integer_for_a_float_fails_section_and_document_alone(bench):
    bench.change("webapp_v2.json", lambda d: d["server"]["timeout"].update(value=30))
    assert bench.failed() == ["sub_1_server", "sub_1_document"]
    assert bench.message("sub_1_server") == (
        "outputs/webapp_v2.json.server.timeout.value: found 30 (int), expected 30.0 (float)"
    )


def test_wrong_type_names_fail_every_section(bench):
    def spoil(document):
        for section in document.values():
            for field in section.values() if isinstance(section, dict) else ():
                field["type"] = "any"

    bench.change("gateway_v2.json", spoil)
    assert bench.grade().sub_problem_scores[3] == pytest.approx(1 / 7)


def test_the_old_section_name_beside_the_new_one_fails_the_document_alone(bench):
    bench.change("worker_v2.json", lambda d: d.update(db=d["database"]))
    assert bench.failed() == ["sub_2_document"]
    assert bench.message("sub_2_document") == (
        "outputs/worker_v2.json.db: found object of 6, expected no such key"
    )


def test_the_v1_files_as_outputs_score_zero(bench):
    for name in bench.inputs:
        content = (bench.path / name).read_bytes()
        bench.write(name.rpartition("/")[2].replace("_v1", "_v2"), content)
    assert bench.grade().score == 0.0
