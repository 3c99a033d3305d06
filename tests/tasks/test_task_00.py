from __future__ import annotations

import pytest

from tests.tasks.bench import Bench


@pytest.fixture
def bench(tmp_path):
    bench = Bench("task_00_sanity", tmp_path)
    bench.solve()
    return bench


def test_the_summary_is_what_a_person_adds_up(bench):
    assert bench.read("summary.json") == {
        "rows": 10,
        "total_visitors": 1102,
        "visitors_by_gate": {"North": 586, "Harbour": 516},
    }


def test_a_total_as_text_fails_its_check_and_the_document(bench):
    bench.change("summary.json", lambda summary: summary.update(total_visitors="1102"))
    assert bench.failed() == ["sub_1_total_visitors", "sub_1_document"]
    assert bench.message("sub_1_total_visitors") == (
        "outputs/summary.json.total_visitors: found '1102' (string), expected 1102 (int)"
    )
