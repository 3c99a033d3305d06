"""The numbers are worked out by hand from ``GOLDEN``: one task in three modes.

========= ============== ============== ===============
mode      set-up         scored         score in points
========= ============== ============== ===============
baseline                 1500, 0.04, 10 50
preskill  900, 0.03, 20  500, 0.01, 4   75
postskill 2000, 0.10, 24 1000, 0.10, 16 100
========= ============== ============== ===============
(tokens, dollars, seconds)
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_evoclaw.cli import main
from pytest_evoclaw.registry import list_parts
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.studies import format_table
from pytest_evoclaw.studies.amortization import Usage
from pytest_evoclaw.studies.cost import compute_points_per_million
from pytest_evoclaw.studies.distribution import find_bin
from tests.made_results import make_phase
from tests.made_results import make_result
from tests.made_results import make_scored
from tests.made_results import make_trial
from tests.made_results import make_unscored
from tests.made_results import make_usage
from tests.made_sessions import write_session
from tests.test_metrics import FACTS
from tests.test_metrics import GOLDEN


def study(tmp_path: Path, name: str, results: list[TrialResult]) -> dict[str, Any]:
    folder = write_session(tmp_path / "session", results, FACTS)
    assert main(["study", name, str(folder)]) == 0
    data = json.loads((folder / f"study-{name}.json").read_text(encoding="utf-8"))
    (group,) = data["groups"]
    assert isinstance(group, dict)
    return group


def find_amortization(group: dict[str, Any], mode: str, resource: str) -> dict[str, Any]:
    (row,) = [r for r in group["rows"] if (r["mode"], r["resource"]) == (mode, resource)]
    assert isinstance(row, dict)
    return row


def test_cost_of_more_tokens_is_points_per_million(tmp_path):
    rows = {row["mode"]: row for row in study(tmp_path, "cost", GOLDEN)["modes"]}
    post = rows["postskill"]

    assert post["delta_points"] == 50.0
    assert post["candidate"]["tokens"] == 3000
    assert post["extra"]["tokens"] == 1500
    assert post["extra"]["cost_usd"] == pytest.approx(0.16)
    assert post["extra"]["seconds"] == pytest.approx(30.0)
    assert post["points_per_million_extra_tokens"] == pytest.approx(50 / 0.0015)


def test_cost_of_fewer_tokens_has_no_points_per_million(tmp_path):
    rows = {row["mode"]: row for row in study(tmp_path, "cost", GOLDEN)["modes"]}

    assert rows["preskill"]["extra"]["tokens"] == -100
    assert rows["preskill"]["points_per_million_extra_tokens"] is None


@pytest.mark.parametrize(
    ("points", "tokens", "expected"),
    [(4.0, 2e6, 2.0), (-3.0, 1.5e6, -2.0), (4.0, 0, None), (4.0, None, None), (None, 1e6, None)],
    ids=["gain", "loss", "no-extra", "unknown-tokens", "unknown-score"],
)
def test_points_per_million(points, tokens, expected):
    assert compute_points_per_million(points, tokens) == expected


@pytest.mark.parametrize(
    ("mode", "resource", "numbers"),
    [
        ("preskill", "tokens", (900, 1000, 1)),
        ("preskill", "cost_usd", (0.03, 0.03, 1)),
        ("preskill", "seconds", (20, 6, 4)),  # 20 / 6 = 3.33
        ("postskill", "tokens", (500, 500, 1)),  # 2000 less one baseline execution
        ("postskill", "cost_usd", (0.06, -0.06, "never")),
        ("postskill", "seconds", (14, -6, "never")),
    ],
    ids=str,
)
def test_break_even_is_overhead_by_saving(tmp_path, mode, resource, numbers):
    row = find_amortization(study(tmp_path, "amortization", GOLDEN), mode, resource)
    overhead, saving, break_even = numbers

    assert row["overhead"] == pytest.approx(overhead)
    assert row["saving"] == pytest.approx(saving)
    assert row["break_even_reuses"] == break_even


def test_simulated_reuses(tmp_path):
    group = study(tmp_path, "amortization", GOLDEN)
    pre = find_amortization(group, "preskill", "tokens")["simulated_ratios"]
    post = find_amortization(group, "postskill", "tokens")["simulated_ratios"]

    assert list(pre) == ["1", "2", "5", "10"]
    assert list(pre.values()) == pytest.approx(
        [1400 / 1500, 1900 / 3000, 3400 / 7500, 5900 / 15000]
    )
    # The first run is one more answer: n + 1 baselines.
    assert list(post.values()) == pytest.approx(
        [3000 / 3000, 4000 / 4500, 7000 / 9000, 12000 / 16500]
    )


@pytest.mark.parametrize(
    ("setup", "baseline", "reuse", "answers", "expected"),
    [
        (0, 10, 20, 0, 1),
        (10, 10, 20, 1, 1),  # the credit covers the set-up, so that there is no overhead
        (11, 10, 20, 1, "never"),
        (10, 10, 10, 0, "never"),
        (0.3, 0.3, 0.2, 0, 3),  # 0.3 / (0.3 - 0.2) is more than 3 by its last bit
        (31, 20, 10, 0, 4),
        (None, 10, 5, 0, None),
        (10, None, 5, 0, None),
        (10, 10, None, 0, None),
    ],
    ids=str,
)
def test_break_even_rules(setup, baseline, reuse, answers, expected):
    usage = Usage(setup=setup, baseline=baseline, reuse=reuse, answers=answers)
    assert usage.break_even == expected


def test_unknown_usage_gives_no_number(tmp_path):
    unknown = make_usage(None)
    results = [
        *GOLDEN[:1],
        make_result(
            make_trial(mode="preskill"),
            make_phase("skill_generation", (), unknown),
            make_phase("execution", (1.0,), unknown),
        ),
    ]
    folder = tmp_path / "one"
    row = find_amortization(study(folder, "amortization", results), "preskill", "tokens")
    assert [row[k] for k in ("setup", "overhead", "saving", "break_even_reuses")] == [None] * 4
    assert set(row["simulated_ratios"].values()) == {None}
    (cost,) = study(tmp_path / "two", "cost", results)["modes"]
    assert cost["candidate"]["tokens"] is None
    assert cost["points_per_million_extra_tokens"] is None
    assert cost["delta_points"] == 50.0


def test_only_tasks_scored_on_both_sides_cost(tmp_path):
    results = [
        *GOLDEN,
        make_scored("task_02_x", "postskill", 0.0),
        make_unscored("task_02_x", "baseline"),
    ]
    rows = {row["mode"]: row for row in study(tmp_path, "cost", results)["modes"]}

    assert rows["postskill"]["tasks"] == 1
    assert rows["postskill"]["delta_points"] == 50.0


def test_repeats_count_once(tmp_path):
    again = [replace(r, trial=replace(r.trial, repeat=2)) for r in GOLDEN]
    rows = {row["mode"]: row for row in study(tmp_path, "cost", [*GOLDEN, *again])["modes"]}

    assert rows["postskill"]["candidate"]["tokens"] == 3000


def test_ablation_takes_the_content_out_of_the_gain(tmp_path):
    scores = {
        "baseline": (0.25, 0.5),
        "preskill": (0.5, 1.0),
        "preskill-empty": (0.5, 0.75),
        "postskill": (0.25, 0.75),
        "postskill-discard": (0.25, 0.25),
    }
    results = [
        make_scored(f"task_{n}_x", mode, score)
        for mode, both in scores.items()
        for n, score in enumerate(both, 1)
    ]
    rows = {row["mode"]: row for row in study(tmp_path, "ablation", results)["modes"]}

    assert rows["preskill"]["vs_baseline"]["mean"] == 0.375
    assert rows["preskill"]["normal_minus_this"] is None
    assert rows["preskill-empty"]["vs_baseline"]["mean"] == 0.25
    assert rows["preskill-empty"]["normal_minus_this"]["mean"] == 0.125
    assert rows["postskill-discard"]["vs_baseline"]["mean"] == -0.125
    assert rows["postskill-discard"]["normal_minus_this"]["mean"] == 0.25
    assert rows["preskill-irrelevant"]["score_points"] is None
    assert rows["preskill-irrelevant"]["vs_baseline"]["tasks"] == 0


def test_distribution_counts_tasks_once_and_scores_by_mode(tmp_path):
    results = [
        *GOLDEN,
        make_scored("task_02_x", "baseline", 0.0),
        make_unscored("task_02_x", "preskill"),
    ]
    group = study(tmp_path, "distribution", results)
    (row,) = group["by_family"]

    assert (row["name"], row["tasks"], row["trials"], row["scored"]) == ("Seed", 2, 5, 4)
    assert row["sub_problems"] == 4  # three of the first task, one of the second
    assert row["mean_scores"] == {"baseline": 0.25, "preskill": 0.75, "postskill": 1.0}
    assert group["scores"]["baseline"]["0"] == group["scores"]["baseline"]["50 to 75"] == 1
    assert group["scores"]["preskill"]["not scored"] == 1
    assert group["scores"]["postskill"]["100"] == 1


@pytest.mark.parametrize(
    ("score", "name"),
    [(0, "0"), (0.01, "0 to 25"), (0.25, "25 to 50"), (0.999, "75 to 100"), (1, "100")],
    ids=str,
)
def test_bins(score, name):
    assert find_bin(score) == name


@pytest.mark.parametrize("name", list_parts("studies"))
def test_a_study_writes_the_same_bytes_again_and_prints_its_tables(tmp_path, name, capsys):
    folder = write_session(tmp_path / "session", GOLDEN, FACTS)
    written = set()
    for _ in range(2):
        assert main(["study", name, str(folder)]) == 0
        written.add((folder / f"study-{name}.json").read_bytes())
    text = (folder / f"study-{name}.md").read_text(encoding="utf-8")

    assert len(written) == 1
    assert text.startswith("# ")
    assert "## nanobot openai/gpt-x" in text
    assert text in capsys.readouterr().out


def test_a_study_of_no_session_is_a_usage_error(tmp_path, capsys):
    assert main(["study", "cost", str(tmp_path)]) == 2
    assert "found no trials.jsonl" in capsys.readouterr().err


def test_damage_in_a_journal_is_named_with_its_line(tmp_path, capsys):
    folder = write_session(tmp_path / "session", GOLDEN, FACTS)
    journal = folder / "trials.jsonl"
    journal.write_bytes(b"{}\n" + journal.read_bytes())

    assert main(["study", "cost", str(folder)]) == 2
    assert "trials.jsonl:1: no trial result" in capsys.readouterr().err


def test_cells_cannot_break_a_table():
    table = format_table(("a",), [["x|y\n<script>"]])
    assert table == "| a |\n| --- |\n| x\\|y &lt;script> |\n\n"
