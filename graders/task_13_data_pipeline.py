"""Truth of ``task_13_data_pipeline``, in fractions; its solution is in a module of its own."""

from __future__ import annotations

import csv
from collections import Counter
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from typing import Any

from graders.shared_numbers import list_facts
from graders.shared_numbers import require_near
from graders.shared_numbers import require_quotes
from graders.shared_numbers import require_text
from graders.shared_numbers import snap
from graders.task_13_data_pipeline_solution import solve
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_object
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

__all__ = ["grade", "solve"]

FOLDER = "assets/data_pipeline"
Row = dict[str, str]
Table = list[Row]
WORDS = {
    "bounce",
    "currency",
    "outcome",
    "promotion_recommended",
    "region",
    "severity",
    "status",
    "tier",
    "txn_type",
}
DOLLARS = {"usd": Fraction(1), "eur": Fraction("1.08"), "gbp": Fraction("1.27")}


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    for number, (names, summarise) in enumerate(GROUPS, start=1):
        tables = [read_table(workspace, f"group{number}_{name}") for name in names]
        expected = summarise(*tables)
        output = f"outputs/analysis_group{number}.json"
        for field in expected:
            with check(field, sub_problem=number):
                found = pick(workspace.json(output), field, where=output)
                require_near(found, expected[field], f"{output}.{field}", tolerate(field))
        with check("commentary", sub_problem=number):
            text = require_commentary(workspace.json(output), output)
            require_quotes(text, list_facts(expected), tolerate, f"{output}.commentary")
        with check("document", sub_problem=number):
            require_document(workspace.json(output), {"group": number, **expected}, output)


def tolerate(field: str) -> float:
    """Return one unit of the last decimal."""
    return 0.0001 if field.endswith("_rate") else 0.01


def require_commentary(document: Any, output: str) -> str:
    text = pick(document, "commentary", where=output)
    return require_text(text, f"{output}.commentary", 200, 1500)


def require_document(document: Any, expected: dict[str, Any], output: str) -> None:
    text = require_commentary(document, output)
    fields = require_object(document, output).items()
    found = {k: snap(v, expected.get(k), tolerate(k)) for k, v in fields}
    require_same(found, {**expected, "commentary": text}, output)


def read_table(workspace: GradedWorkspace, name: str) -> Table:
    """Return the records by the rules for all tables; words of fixed lists in lower case."""
    path = workspace.fixture(f"{FOLDER}/{name}.csv")
    table: dict[tuple[str, ...], Row] = {}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header, *lines = [[cell.strip() for cell in cells] for cells in csv.reader(stream)]
    width = 2 if name == "group2_performance" else 1
    for cells in lines:
        row = dict(zip(header, cells, strict=True))
        row |= {key: row[key].upper() for key in row if key.endswith("_id")}
        row |= {key: row[key].lower() for key in row if key in WORDS}
        table.setdefault(tuple(row[key] for key in header[:width]), row)
    return list(table.values())


def number_of(text: str) -> Fraction:
    return Fraction(text.replace(",", "") or 0)


def mean(values: Iterable[Fraction | bool]) -> Fraction:
    numbers = [Fraction(value) for value in values]
    return sum(numbers, Fraction(0)) / len(numbers)


def deviate(values: list[Fraction], divisor: int) -> float:
    middle = mean(values)
    return sqrt(sum((value - middle) ** 2 for value in values) / divisor)


def cents(value: Fraction) -> float:
    return float(round(value, 2))


def rate(values: Iterable[Fraction | bool]) -> float:
    return float(round(mean(values), 4))


def add_up(pairs: Iterable[tuple[str, Fraction]]) -> dict[str, Fraction]:
    sums: dict[str, Fraction] = defaultdict(Fraction)
    for key, value in pairs:
        sums[key] += value
    return sums


def find_largest(sums: Mapping[str, Fraction | int]) -> str:
    """Return the key of the largest value; the fixtures have no tie there."""
    largest = max(sums.values())
    (key,) = [key for key, value in sums.items() if value == largest]
    return key


def summarise_shop(sales: Table, customers: Table, returns: Table) -> dict[str, Any]:
    orders = {r["order_id"]: r for r in sales if r["quantity"] and r["unit_price"]}
    worth = {o: number_of(r["quantity"]) * number_of(r["unit_price"]) for o, r in orders.items()}
    tiers = {row["customer_id"]: row["tier"].title() for row in customers}
    buyers = {row["customer_id"] for row in orders.values()}
    refunds = add_up((row["order_id"], number_of(row["refund_amount"])) for row in returns)
    limit = float(mean(worth.values())) + 2 * deviate([*worth.values()], len(worth))
    regions = add_up((row["region"].title(), worth[key]) for key, row in orders.items())
    counts = Counter(tiers[buyer] for buyer in buyers if buyer in tiers)
    return {
        "total_orders": len(orders),
        "total_revenue": cents(sum(worth.values(), Fraction(0))),
        "return_rate": rate(order in refunds for order in orders),
        "top_product_by_revenue": find_largest(
            add_up((row["product_id"], worth[key]) for key, row in orders.items())
        ),
        "revenue_by_region": {
            key: cents(regions[key]) for key in ("North", "South", "East", "West")
        },
        "customer_tier_breakdown": {key: counts[key] for key in ("Gold", "Silver", "Bronze")},
        "anomalies": sorted(o for o, v in worth.items() if v > limit or refunds.get(o, 0) > v),
        "unmatched_customers": sorted(buyers - tiers.keys()),
    }


def summarise_staff(employees: Table, departments: Table, reviews: Table) -> dict[str, Any]:
    salaries = {r["employee_id"]: number_of(r["salary"]) for r in employees if r["salary"]}
    spelt = {r["department_name"].lower(): r["department_name"] for r in departments}
    latest: dict[str, Row] = {}
    for row in sorted(reviews, key=lambda row: row["review_period"]):
        if row["employee_id"] in salaries:
            latest[row["employee_id"]] = row
    groups: dict[str, list[Fraction]] = defaultdict(list)
    for row in employees:
        if row["employee_id"] in salaries:
            label = spelt.get(row["department"].lower(), row["department"])
            groups[label].append(salaries[row["employee_id"]])
    ratings = {key: number_of(row["rating"]) for key, row in latest.items()}
    goals = {key: number_of(row["goals_met_pct"]) for key, row in latest.items()}
    return {
        "total_employees": len(salaries),
        "avg_salary": cents(mean(salaries.values())),
        "salary_std_dev": round(deviate([*salaries.values()], len(salaries) - 1), 2),
        "promotion_rate": rate(r["promotion_recommended"] == "yes" for r in latest.values()),
        "top_rated_employees": sorted(key for key in latest if ratings[key] >= Fraction("4.5")),
        "department_avg_salary": {key: cents(mean(group)) for key, group in groups.items()},
        "low_performers": sorted(k for k in latest if ratings[k] <= 2 or goals[k] < 50),
        "unmatched_departments": sorted(groups.keys() - set(spelt.values())),
    }


def summarise_payments(transactions: Table, accounts: Table, flags: Table) -> dict[str, Any]:
    kept = {row["txn_id"]: row for row in transactions if row["status"] != "failed"}
    dollars = {k: number_of(r["amount"]) * DOLLARS[r["currency"]] for k, r in kept.items()}
    known = [row for row in flags if row["txn_id"] in kept]
    flagged = {row["txn_id"] for row in known}
    flagged |= {key for key, row in kept.items() if row["status"] == "flagged"}
    risky = [
        row["txn_id"]
        for row in known
        if number_of(row["risk_score"]) >= 80 and row["outcome"] != "false_positive"
    ]
    own = {row["account_id"] for row in accounts}
    debits = [dollars[key] for key, row in kept.items() if row["txn_type"] == "debit"]
    frauds = {row["txn_id"] for row in known if row["outcome"] == "confirmed_fraud"}
    return {
        "total_transactions": len(kept),
        "flagged_transaction_count": len(flagged),
        "flag_rate": rate(key in flagged for key in kept),
        "confirmed_fraud_count": len(frauds),
        "total_debit_amount": cents(sum(debits, Fraction(0))),
        "avg_transaction_amount": cents(mean(dollars.values())),
        "high_risk_accounts": sorted({kept[key]["account_id"] for key in risky}),
        "unmatched_transactions": sorted(k for k, r in kept.items() if r["account_id"] not in own),
    }


def summarise_website(traffic: Table, conversions: Table, campaigns: Table) -> dict[str, Any]:
    sessions = {row["session_id"]: row for row in traffic}
    converted = [row["session_id"] for row in conversions if row["session_id"] in sessions]
    referrers = [row["referrer"].lower().removeprefix("www.") for row in traffic]
    external = [each for each in referrers if each != "direct" and not each.startswith("/")]
    spent = {row["campaign_id"]: number_of(row["spend_usd"]) for row in campaigns}
    durations = [row["session_duration_sec"] for row in traffic]
    return {
        "total_sessions": len(sessions),
        "bounce_rate": rate(row["bounce"] in ("true", "yes", "1") for row in traffic),
        "avg_session_duration_sec": cents(mean(number_of(each) for each in durations if each)),
        "conversion_count": len(converted),
        "conversion_rate": rate(key in converted for key in sessions),
        "top_traffic_source": find_largest(Counter(external)),
        "campaign_total_spend": cents(sum(spent.values(), Fraction(0))),
        "overspent_campaigns": sorted(
            row["campaign_id"]
            for row in campaigns
            if spent[row["campaign_id"]] > number_of(row["budget_usd"])
        ),
    }


def summarise_machines(readings: Table, alerts: Table, log: Table) -> dict[str, Any]:
    kept = [row for row in readings if row["status"] != "error"]
    devices = {row["device_id"] for row in kept}
    alarms = Counter((r["device_id"], r["severity"]) for r in alerts if r["device_id"] in devices)
    done = [r["device_id"] for r in log if r["status"] == "completed"]
    celsius = [
        (number_of(row["value"]) - 32) * Fraction(5, 9)
        if row["unit"] == "F"
        else number_of(row["value"])
        for row in kept
        if row["metric"] == "temperature"
    ]
    loads = [number_of(row["value"]) for row in kept if row["metric"] == "cpu_usage"]
    return {
        "total_readings": len(kept),
        "critical_alert_count": sum(alarms[each, "critical"] for each in devices),
        "warning_alert_count": sum(alarms[each, "warning"] for each in devices),
        "devices_with_incidents": sorted(
            each for each in devices if alarms[each, "critical"] or alarms[each, "warning"] > 1
        ),
        "avg_temperature": cents(mean(celsius)),
        "max_cpu_usage": cents(max(loads)),
        "maintenance_events": sum(each in devices for each in done),
        "devices_without_maintenance": sorted(devices - set(done)),
    }


GROUPS: list[tuple[tuple[str, str, str], Callable[[Table, Table, Table], dict[str, Any]]]] = [
    (("sales", "customers", "returns"), summarise_shop),
    (("employees", "departments", "performance"), summarise_staff),
    (("transactions", "accounts", "fraud_flags"), summarise_payments),
    (("web_traffic", "conversions", "campaigns"), summarise_website),
    (("sensors", "alerts", "maintenance_log"), summarise_machines),
]
