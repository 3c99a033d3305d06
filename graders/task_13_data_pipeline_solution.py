"""Reference solution of ``task_13_data_pipeline``: queries to SQLite instead of fractions."""

from __future__ import annotations

import csv
import json
import math
import re
import sqlite3
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_evoclaw.grading.workspace import GradedWorkspace

FOLDER = "assets/data_pipeline"
NUMBERS = re.compile(
    "quantity|unit_price|refund_amount|salary|rating|goals_met_pct|amount|risk_score|budget_usd|"
    "spend_usd|session_duration_sec|value"
)
NAMES = re.compile("name|holder|city|country|comment|merchant|reason|message|work|department|unit")


def solve(workspace: GradedWorkspace) -> None:
    for number in range(1, 6):
        base = connect(sorted((workspace / FOLDER).glob(f"group{number}_*.csv")))
        analysis = {"group": number, **SOLUTIONS[number - 1](base)}
        analysis["commentary"] = TEXTS[number - 1].format_map(analysis)
        text = json.dumps(analysis, ensure_ascii=False, indent=2)
        target = workspace / f"outputs/analysis_group{number}.json"
        target.write_text(text + "\n", encoding="utf-8")
        base.close()


def connect(paths: list[Path]) -> sqlite3.Connection:
    """Load the tables, without repeated records, under their names without the group."""
    base = sqlite3.connect(":memory:")
    for path in paths:
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
        columns = ", ".join(f'"{name}"' for name in rows[0])
        table = path.stem.partition("_")[2]
        base.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join("?" * len(rows[0]))
        key = '"employee_id", "review_period"' if table == "performance" else f'"{rows[0][0]}"'
        base.execute(f"CREATE UNIQUE INDEX one_{table} ON {table} ({key})")
        base.executemany(
            f"INSERT OR IGNORE INTO {table} VALUES ({marks})",
            ([read(*pair) for pair in zip(rows[0], row, strict=True)] for row in rows[1:]),
        )
    return base


def read(column: str, cell: str) -> str | float | None:
    text = cell.strip()
    if column.endswith("_id"):
        return text.upper()
    if NUMBERS.fullmatch(column):
        return float(text.replace(",", "")) if text else None
    return text if NAMES.search(column) else text.lower()


def ask(base: sqlite3.Connection, query: str) -> list[Any]:
    """Return the first column."""
    return [row[0] for row in base.execute(query)]


def ask_pairs(base: sqlite3.Connection, query: str) -> Iterator[tuple[Any, float]]:
    for key, value in base.execute(query):
        yield key, round(value, 2)


def solve_shop(base: sqlite3.Connection) -> dict[str, Any]:
    base.executescript(
        "DELETE FROM sales WHERE quantity IS NULL OR unit_price IS NULL;"
        "ALTER TABLE sales ADD COLUMN worth; UPDATE sales SET worth = quantity * unit_price"
    )
    worth = ask(base, "SELECT worth FROM sales")
    limit = statistics.fmean(worth) + 2 * statistics.pstdev(worth)
    by_region = "SELECT region, sum(worth) FROM sales GROUP BY region"
    regions = {key.capitalize(): value for key, value in ask_pairs(base, by_region)}
    by_tier = (
        "SELECT tier, count(*) FROM customers WHERE customer_id IN "
        "(SELECT customer_id FROM sales) GROUP BY tier"
    )
    returned = ask(base, "SELECT DISTINCT order_id FROM sales JOIN returns USING (order_id)")
    return {
        "total_orders": len(worth),
        "total_revenue": round(math.fsum(worth), 2),
        "return_rate": round(len(returned) / len(worth), 4),
        "top_product_by_revenue": ask(
            base, "SELECT product_id FROM sales GROUP BY 1 ORDER BY sum(worth) DESC"
        )[0],
        "revenue_by_region": regions,
        "customer_tier_breakdown": {k.capitalize(): n for k, n in base.execute(by_tier)},
        "anomalies": ask(
            base,
            f"SELECT order_id FROM sales WHERE worth > {limit} OR worth + 0.001 < (SELECT "
            "sum(refund_amount) FROM returns WHERE returns.order_id = sales.order_id) ORDER BY 1",
        ),
        "unmatched_customers": ask(
            base, "SELECT customer_id FROM sales EXCEPT SELECT customer_id FROM customers"
        ),
    }


def solve_staff(base: sqlite3.Connection) -> dict[str, Any]:
    base.executescript(
        "DELETE FROM employees WHERE salary IS NULL; CREATE TABLE latest AS SELECT *, "
        "max(review_period) FROM performance JOIN employees USING (employee_id) GROUP BY 1"
    )
    salaries = ask(base, "SELECT salary FROM employees")
    by_department = (
        "SELECT coalesce(department_name, department), avg(salary) FROM employees LEFT JOIN "
        "departments ON lower(department) = lower(department_name) GROUP BY 1"
    )
    low = "SELECT employee_id FROM latest WHERE rating <= 2 OR goals_met_pct < 50 ORDER BY 1"
    return {
        "total_employees": len(salaries),
        "avg_salary": round(statistics.fmean(salaries), 2),
        "salary_std_dev": round(statistics.stdev(salaries), 2),
        "promotion_rate": round(
            ask(base, "SELECT avg(promotion_recommended = 'yes') FROM latest")[0], 4
        ),
        "top_rated_employees": ask(
            base, "SELECT employee_id FROM latest WHERE rating >= 4.5 ORDER BY 1"
        ),
        "department_avg_salary": dict(ask_pairs(base, by_department)),
        "low_performers": ask(base, low),
        "unmatched_departments": ask(
            base,
            "SELECT DISTINCT department FROM employees WHERE lower(department) NOT IN "
            "(SELECT lower(department_name) FROM departments) ORDER BY 1",
        ),
    }


def solve_payments(base: sqlite3.Connection) -> dict[str, Any]:
    base.executescript(
        "DELETE FROM transactions WHERE status = 'failed';"
        "DELETE FROM fraud_flags WHERE txn_id NOT IN (SELECT txn_id FROM transactions);"
        "UPDATE transactions SET amount = amount * CASE currency WHEN 'eur' THEN 1.08 "
        "WHEN 'gbp' THEN 1.27 ELSE 1 END"
    )
    total = ask(base, "SELECT count(*) FROM transactions")[0]
    flagged = ask(
        base,
        "SELECT count(*) FROM transactions WHERE status = 'flagged' OR txn_id IN "
        "(SELECT txn_id FROM fraud_flags)",
    )[0]
    frauds = "SELECT count(DISTINCT txn_id) FROM fraud_flags WHERE outcome = 'confirmed_fraud'"
    debits = ask(base, "SELECT amount FROM transactions WHERE txn_type = 'debit'")
    return {
        "total_transactions": total,
        "flagged_transaction_count": flagged,
        "flag_rate": round(flagged / total, 4),
        "confirmed_fraud_count": ask(base, frauds)[0],
        "total_debit_amount": round(math.fsum(debits), 2),
        "avg_transaction_amount": round(ask(base, "SELECT avg(amount) FROM transactions")[0], 2),
        "high_risk_accounts": ask(
            base,
            "SELECT DISTINCT account_id FROM transactions JOIN fraud_flags USING (txn_id) "
            "WHERE risk_score >= 80 AND outcome <> 'false_positive' ORDER BY 1",
        ),
        "unmatched_transactions": ask(
            base,
            "SELECT txn_id FROM transactions LEFT JOIN accounts USING (account_id) "
            "WHERE opened_on IS NULL ORDER BY 1",
        ),
    }


def solve_website(base: sqlite3.Connection) -> dict[str, Any]:
    row = base.execute(
        "SELECT count(*), avg(bounce IN ('true', 'yes', '1')), avg(session_duration_sec), "
        "avg(session_id IN (SELECT session_id FROM conversions)) FROM web_traffic"
    ).fetchone()
    source = (
        "SELECT replace(referrer, 'www.', '') FROM web_traffic WHERE referrer <> 'direct' "
        "AND referrer NOT LIKE '/%' GROUP BY 1 ORDER BY count(*) DESC"
    )
    return {
        "total_sessions": row[0],
        "bounce_rate": round(row[1], 4),
        "avg_session_duration_sec": round(row[2], 2),
        "conversion_count": ask(
            base, "SELECT count(*) FROM conversions JOIN web_traffic USING (session_id)"
        )[0],
        "conversion_rate": round(row[3], 4),
        "top_traffic_source": ask(base, source)[0],
        "campaign_total_spend": round(ask(base, "SELECT sum(spend_usd) FROM campaigns")[0], 2),
        "overspent_campaigns": ask(
            base, "SELECT campaign_id FROM campaigns WHERE spend_usd > budget_usd ORDER BY 1"
        ),
    }


def solve_machines(base: sqlite3.Connection) -> dict[str, Any]:
    base.executescript(
        "DELETE FROM sensors WHERE status = 'error';"
        "DELETE FROM alerts WHERE device_id NOT IN (SELECT device_id FROM sensors);"
        "DELETE FROM maintenance_log WHERE status <> 'completed' OR device_id NOT IN "
        "(SELECT device_id FROM sensors);"
        "UPDATE sensors SET value = (value - 32) / 1.8 WHERE unit = 'F'"
    )
    metric = "SELECT {}(value) FROM sensors WHERE metric = '{}'"
    alarms = dict(base.execute("SELECT severity, count(*) FROM alerts GROUP BY 1"))
    return {
        "total_readings": ask(base, "SELECT count(*) FROM sensors")[0],
        "critical_alert_count": alarms["critical"],
        "warning_alert_count": alarms["warning"],
        "devices_with_incidents": ask(
            base,
            "SELECT device_id FROM alerts GROUP BY 1 HAVING sum(severity = 'critical') > 0 "
            "OR sum(severity = 'warning') > 1 ORDER BY 1",
        ),
        "avg_temperature": round(ask(base, metric.format("avg", "temperature"))[0], 2),
        "max_cpu_usage": round(ask(base, metric.format("max", "cpu_usage"))[0], 2),
        "maintenance_events": ask(base, "SELECT count(*) FROM maintenance_log")[0],
        "devices_without_maintenance": ask(
            base, "SELECT device_id FROM sensors EXCEPT SELECT device_id FROM maintenance_log"
        ),
    }


SOLUTIONS = (solve_shop, solve_staff, solve_payments, solve_website, solve_machines)
TEXTS = (
    "The shop took [total_revenue={total_revenue}] in [total_orders={total_orders}] orders, and "
    "product [top_product_by_revenue={top_product_by_revenue}] brought in the most. A few very "
    "large orders carry much of that, so one customer less might change the ranking. Returns may "
    "be understated, because some refer to orders that are not on file. Before changing the "
    "stock, call the buyers of the large orders and ask whether they will come back.",
    "On average [total_employees={total_employees}] people earn [avg_salary={avg_salary}], with a "
    "spread of [salary_std_dev={salary_std_dev}] that probably follows the departments. Some "
    "departments have a handful of people, and two are missing in the department table, so their "
    "means say little. Settle the names of the departments first, and use the list of promotions "
    "for the talks that are due anyway.",
    "Of [total_transactions={total_transactions}] payments a share of [flag_rate={flag_rate}] was "
    "flagged, yet fraud was confirmed for [confirmed_fraud_count={confirmed_fraud_count}] of them "
    "only. Many cases are still open, so the true share may be higher. Some payments belong to "
    "accounts that are not on file and cannot be traced. Close the open cases of the risky "
    "accounts first, and find out where the unknown accounts come from.",
    "[top_traffic_source={top_traffic_source}] sends more visitors than any other site, and a "
    "share of [bounce_rate={bounce_rate}] of all visits ends on the first page. Visits convert at "
    "[conversion_rate={conversion_rate}], but these are few conversions, so differences between "
    "campaigns may be chance. Three campaigns went over their budgets or reached them. Hold back "
    "new money until the conversions of one more month are in.",
    "Devices ran at [avg_temperature={avg_temperature}] degrees on average, while processors "
    "peaked at [max_cpu_usage={max_cpu_usage}] percent. There were "
    "[critical_alert_count={critical_alert_count}] critical alerts, possibly of few causes, as "
    "they come from a few devices. Readings in error were left out, which hides the worst "
    "moments of broken sensors. Plan maintenance for the devices that had none before the summer.",
)
