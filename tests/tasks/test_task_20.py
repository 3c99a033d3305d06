from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tasks.bench import Bench
from tests.tasks.bench import mutate

TASK = "task_20_env_config"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(TASK, tmp_path)


@pytest.fixture
def solved(bench: Bench) -> Bench:
    bench.solve()
    return bench


def load(bench: Bench, name: str) -> Any:
    return yaml.safe_load((bench.path / "outputs" / name).read_text(encoding="utf-8"))


def test_the_reference_solution_scores_one(solved):
    assert solved.failed() == []
    assert len(solved.grade().checks) == 20


@pytest.mark.parametrize("junk", [b"", b"null", b"[]", b"{}", b"\xff", b"&a [*a]"], ids=repr)
def test_junk_scores_zero(solved, junk):
    for path in (solved.path / "outputs").rglob("*.*"):
        if path.is_file():
            path.write_bytes(junk)
    assert solved.grade().score == 0.0


# Worked out by hand from the fixtures and the prompt.
BY_HAND = [
    ("web-service/config.dev.yml", ["features", "flags"], ["checkout_v2", "profiler"]),
    ("web-service/config.dev.yml", ["database", "port"], 5433),
    ("web-service/config.dev.yml", ["database", "url"], "postgres://127.0.0.1:5433/shop"),
    ("web-service/config.dev.yml", ["server", "reload"], {"paths": ["src", "templates"]}),
    ("web-service/config.prod.yml", ["cache", "backend"], "redis"),
    ("web-service/config.prod.yml", ["logging", "sinks"], ["stdout", "syslog"]),
    ("web-service/config.prod.yml", ["features", "launch"], "2026-03-01"),
    ("web-service/config.prod.yml", ["server", "window"], "22:30"),
    ("web-service/config.prod.yml", ["features", "currency"], "NO"),
    ("worker-service/config.prod.yml", ["retry", "note"], "up to ${RETRIES} times"),
    ("worker-service/config.prod.yml", ["worker", "queues"], ["default", "mail", "reports"]),
    ("ml-inference/config.dev.yml", ["model", "gpu"], False),
    ("ml-inference/config.prod.yml", ["model", "revision"], "1e3"),
    ("ml-inference/config.prod.yml", ["monitoring", "labels"], {"team": "search", "oncall": "on"}),
    ("ml-inference/config.dev.yml", ["cache"], {"enabled": False}),
    ("notification-service/config.dev.yml", ["push", "topics"], []),
    ("data-exporter/config.prod.yml", ["export_jobs", 0, "limit"], 1000000),
]


@pytest.mark.parametrize(("name", "path", "expected"), BY_HAND, ids=lambda each: str(each)[:40])
def test_a_value_is_what_a_person_makes_of_it(solved, name, path, expected):
    found = load(solved, name)
    for part in path:
        found = found[part]
    assert found == expected
    assert type(found) is type(expected)


def test_a_section_without_keys_is_gone(solved):
    assert "alerting" not in load(solved, "data-exporter/config.dev.yml")
    changes = solved.read("data-exporter/changes.json")
    assert changes["dev"]["removed"] == [
        "alerting.after_minutes",
        "alerting.channel",
        "alerting.mute_until",
        "schedule.cron",
    ]


@pytest.mark.parametrize("name", ["web-service", "ml-inference", "data-exporter"])
def test_each_single_change_loses_its_check_and_no_other(solved, name):
    target = solved.path / "outputs" / name / "config.prod.yml"
    right = load(solved, f"{name}/config.prod.yml")
    number = ["web-service", "worker-service", "ml-inference", "", "data-exporter"].index(name) + 1
    for words, wrong in list(mutate(right))[::5]:
        target.write_text(yaml.safe_dump(wrong), encoding="utf-8")
        assert solved.failed() == [f"sub_{number}_config prod"], words


@pytest.mark.parametrize(
    "text", ["a: &x 1\nb: *x\n", "a: !!str 1\n"], ids=["anchor and alias", "tag"]
)
def test_anchors_aliases_and_tags_are_refused(solved, text):
    target = solved.path / "outputs/web-service/config.dev.yml"
    target.write_text(text, encoding="utf-8")
    assert "not allowed" in solved.message("sub_1_config dev")


def test_editing_the_inputs_does_not_help(solved):
    for name in solved.inputs:
        (solved.path / name).write_text("{}", encoding="utf-8")
    assert solved.failed() == []
