from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.bench import Bench


@pytest.fixture
def bench(tmp_path):
    bench = Bench("task_13_data_pipeline", tmp_path)
    bench.solve()
    return bench


# Counted by hand in the fixtures, by the rules of the prompt.
BY_HAND: list[tuple[int, str, Any]] = [
    (1, "total_orders", 70),  # 74 lines, less two repeated and two blank ones
    (1, "anomalies", ["SO-5013", "SO-5021"]),  # two refunds of 124.74 for 113.40; 14 * 1129.95
    (1, "unmatched_customers", ["C910", "C912"]),
    (2, "total_employees", 45),
    (2, "unmatched_departments", ["People Ops", "R&D"]),
    (3, "total_transactions", 82),
    (3, "unmatched_transactions", ["T30517", "T30544", "T30570"]),
    (4, "total_sessions", 88),
    (4, "campaign_total_spend", 9029.35),
    (4, "overspent_campaigns", ["CP2", "CP4"]),
    (5, "critical_alert_count", 4),
    (5, "warning_alert_count", 8),
    (5, "devices_with_incidents", ["DV-01", "DV-02", "DV-05", "DV-08", "DV-09"]),
    (5, "maintenance_events", 7),
    (5, "devices_without_maintenance", ["DV-03", "DV-04", "DV-06", "DV-07"]),
]


@pytest.mark.parametrize(("number", "field", "value"), BY_HAND, ids=lambda each: str(each)[:30])
def test_a_field_is_what_a_person_counts(bench, number, field, value):
    assert bench.read(f"analysis_group{number}.json")[field] == value


@pytest.mark.parametrize(
    ("number", "field", "off", "failed"),
    [
        (1, "total_revenue", 0.01, []),
        (1, "total_revenue", 0.02, ["sub_1_total_revenue", "sub_1_document"]),
        (3, "flag_rate", -0.0001, []),
        (3, "flag_rate", 0.0002, ["sub_3_flag_rate", "sub_3_document"]),
    ],
)
def test_rounded_numbers_may_be_off_by_one_unit_of_the_last_decimal(
    bench, number, field, off, failed
):
    bench.change(
        f"analysis_group{number}.json",
        lambda values: values.update({field: round(values[field] + off, 4)}),
    )
    assert bench.failed() == failed


GOOD = "Bounces look high and may be mobile visits; " * 6


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "found 0 characters, expected 200 to 1500"),
        (GOOD + "[total_sessions=88] [bounce_rate=0.3182].", "quotes fewer than three values"),
        (GOOD + "[total_sessions=88] [total_sessions=88] [total_sessions=88].", "fewer than three"),
        (GOOD + "[total_sessions=88] [bounce_rate=0.3182] [conversion_count=61].", "expected 16"),
        (GOOD + "[a=1] [total_sessions=88] [bounce_rate=0.3182].", "'a', which is no value"),
        (GOOD + "[group=4] [total_sessions=88] [bounce_rate=0.3182].", "'group', which is no"),
        (GOOD + "[note] [total_sessions=88] [bounce_rate=0.3182].", "hold no [name=value]"),
        (GOOD + "[total_sessions=88] [bounce_rate=0.3182] [conversion_count=16]", "a full stop"),
        (GOOD + "[total_sessions=88]\n[bounce_rate=0.3182] [conversion_count=16].", "line breaks"),
        (GOOD * 6 + "[total_sessions=88].", "expected 200 to 1500"),
        (["a text"], "expected a text without line breaks"),
    ],
)
def test_a_commentary_with_missing_or_wrong_quotes_fails_its_check(bench, text, says):
    bench.change("analysis_group4.json", lambda values: values.update(commentary=text))
    assert "sub_4_commentary" in bench.failed()
    assert says in bench.message("sub_4_commentary")


def test_a_commentary_may_quote_parts_of_objects(bench):
    text = GOOD + "[revenue_by_region.East=6676.95] [total_orders=70] [return_rate=0.1571]."
    bench.change("analysis_group1.json", lambda values: values.update(commentary=text))
    assert bench.failed() == []


@pytest.mark.parametrize(
    "number", [10**400, 1e300, True, -0.0], ids=["400 digits", "1e300", "bool", "zero"]
)
def test_numbers_out_of_all_bounds_are_wrong_and_nothing_worse(bench, number):
    bench.change("analysis_group1.json", lambda values: values.update(total_revenue=number))
    assert bench.failed() == ["sub_1_total_revenue", "sub_1_document"]
