from __future__ import annotations

import json

import pytest

from graders import evidence
from pytest_evoclaw.evidence import build_fixtures
from pytest_evoclaw.evidence import list_generated_tasks
from tests.evidence.desk import grade_workspace
from tests.evidence.desk import open_workspace
from tests.evidence.desk import write_reports

TASKS = list_generated_tasks()
JUNK = [b"", b"\xff\xfe\x00junk", b"null", b"[]", b"{}", b'"text"', b"{", b"NaN"]


@pytest.fixture
def ledgers(tmp_path):
    return open_workspace("task_22_finance_ledger_reconciliation", tmp_path)


@pytest.mark.parametrize("task_id", TASKS)
def test_the_reference_solution_scores_one_on_a_fresh_variant(task_id, tmp_path):
    workspace = open_workspace(task_id, tmp_path, seed=11)
    evidence.solve(workspace)
    grade = grade_workspace(workspace)
    assert grade.score == 1.0
    assert sorted(grade.sub_problem_scores) == [1, 2, 3, 4, 5]


def test_every_case_has_one_check_for_each_field(ledgers):
    names = [(check.sub_problem, check.name) for check in grade_workspace(ledgers).checks]
    fields = ["ledger_total", "exception_ids", "currencies", "tax_total", "balanced"]
    assert names == [(case, field) for case in range(1, 6) for field in fields]


def test_an_empty_workspace_scores_zero(ledgers):
    assert grade_workspace(ledgers).score == 0.0


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_in_every_report_scores_zero(junk, ledgers):
    for number in range(1, 6):
        (ledgers / f"outputs/case_{number:02}_report.json").write_bytes(junk)
    assert grade_workspace(ledgers).score == 0.0


def test_values_of_a_wrong_type_are_wrong(ledgers):
    evidence.solve(ledgers)
    path = ledgers / "outputs/case_02_report.json"
    right = json.loads(path.read_text(encoding="utf-8"))
    wrong = {
        "ledger_total": str(right["ledger_total"]),
        "exception_ids": list(reversed(right["exception_ids"])) * 2,
        "currencies": ",".join(right["currencies"]),
        "tax_total": None,
        "balanced": int(right["balanced"]),
    }
    path.write_text(json.dumps(wrong), encoding="utf-8")
    assert grade_workspace(ledgers).sub_problem_scores == {1: 1, 2: 0, 3: 1, 4: 1, 5: 1}


def test_a_whole_amount_needs_no_decimals():
    evidence.require_answer(12, 12.0, "tax_total")
    with pytest.raises(AssertionError, match="tax_total: found True"):
        evidence.require_answer(actual=True, expected=1.0, field="tax_total")


def test_a_count_with_decimals_is_wrong():
    with pytest.raises(AssertionError, match="row_count"):
        evidence.require_answer(12.0, 12, "row_count")


def test_the_truth_comes_from_pristine_fixtures(ledgers):
    evidence.solve(ledgers)
    build_fixtures(ledgers.task_id, 99, ledgers.path)
    assert grade_workspace(ledgers).score == 1.0


def test_further_fields_do_no_harm_and_missing_ones_cost_only_themselves(ledgers):
    evidence.solve(ledgers)
    path = ledgers / "outputs/case_01_report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    del report["currencies"]
    path.write_text(json.dumps(report | {"note": "late"}), encoding="utf-8")
    assert grade_workspace(ledgers).sub_problem_scores[1] == 0.8


def test_the_reports_of_another_variant_lose(ledgers, tmp_path):
    other = open_workspace(ledgers.task_id, tmp_path / "other", seed=8)
    evidence.solve(other)
    reports = [
        json.loads((other / f"outputs/case_{n:02}_report.json").read_text(encoding="utf-8"))
        for n in range(1, 6)
    ]
    write_reports(ledgers, reports)
    assert grade_workspace(ledgers).score < 0.3
