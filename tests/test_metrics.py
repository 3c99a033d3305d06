from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_evoclaw.measures import compute_consistency
from pytest_evoclaw.measures import compute_deviation
from pytest_evoclaw.measures import compute_efficiency
from pytest_evoclaw.measures import compute_ratio
from pytest_evoclaw.measures import order_naturally
from pytest_evoclaw.measures import total_usage
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.metrics import compute_metrics
from pytest_evoclaw.metrics import group_file_name
from pytest_evoclaw.metrics import name_group_files
from pytest_evoclaw.metrics import write_json
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Execution
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage
from pytest_evoclaw.schemas import make_validator
from tests.made_results import make_phase
from tests.made_results import make_result
from tests.made_results import make_scored
from tests.made_results import make_skill
from tests.made_results import make_trial
from tests.made_results import make_unscored
from tests.made_results import make_usage

FACTS = SessionFacts(
    run_id="20260101-120000-ab12",
    timestamp=1767268800,
    version="0.1.0",
    environment="local",
    workers=2,
    runs_per_task=1,
    modes=("baseline", "preskill", "postskill"),
    runtimes={"nanobot": "0.2.1"},
    models=("openai/gpt-x",),
    loaded_task_count=2,
    official_task_count=1,
)
# Worked out by hand below: one task, three modes, one repeat each.
GOLDEN = [
    make_result(
        make_trial(mode="baseline"),
        make_phase("execution", (1.0, 0.0, 0.5), make_usage(1000, 200, 300, 0.04), seconds=10.0),
    ),
    make_result(
        make_trial(mode="preskill"),
        replace(
            make_phase("skill_generation", (), make_usage(500, 400, 0, 0.03), seconds=20.0),
            created_skills=(make_skill("parse-data"), make_skill("check-data")),
        ),
        make_phase("execution", (1.0, 1.0, 0.25), make_usage(400, 100, 0, 0.01), seconds=4.0),
    ),
    make_result(
        make_trial(mode="postskill"),
        make_phase("first_execution", (0.5, 0.0, 0.25), make_usage(900, 100, 0, 0.05), seconds=8.0),
        replace(
            make_phase("skill_summary", (), make_usage(700, 300, 0, 0.05), seconds=16.0),
            created_skills=(make_skill("sum-data"),),
        ),
        make_phase(
            "second_execution", (1.0, 1.0, 1.0), make_usage(500, 500, 0, 0.10), seconds=16.0
        ),
    ),
]
EXPECTED_GROUP = json.loads(
    (Path(__file__).parent / "golden" / "three_trials.json").read_text(encoding="utf-8")
)


def compute_group(results: list[TrialResult], facts: SessionFacts = FACTS) -> dict[str, Any]:
    (group,) = compute_metrics(results, facts)["groups"]
    assert isinstance(group, dict)
    return group


METRICS = make_validator("metrics")
# Busy machines are slow: no deadline.
few = settings(deadline=None, max_examples=25)


def validate(metrics: dict[str, Any]) -> None:
    METRICS.validate(json.loads(json.dumps(metrics, allow_nan=False)))


def test_golden_means_and_ratios():
    scope = compute_group(GOLDEN)["metrics"]["execution_only"]

    assert scope["mean_scores"] == {"baseline": 0.5, "preskill": 0.75, "postskill": 1.0}
    assert scope["ratios_vs_baseline"] == {"preskill": 1.5, "postskill": 2.0}
    assert scope["ratio_flags"] == {"preskill": None, "postskill": None}


def test_golden_scopes_differ_in_usage_only():
    metrics = compute_group(GOLDEN)["metrics"]
    only, whole = metrics["execution_only"], metrics["end_to_end"]

    assert [only["usage"][mode]["total_tokens"] for mode in FACTS.modes] == [1500, 500, 1000]
    assert [whole["usage"][mode]["total_tokens"] for mode in FACTS.modes] == [1500, 1400, 3000]
    assert only["mean_scores"] == whole["mean_scores"]
    assert only["ratios_vs_baseline"] == whole["ratios_vs_baseline"]


def test_golden_efficiency_is_baseline_by_candidate():
    metrics = compute_group(GOLDEN)["metrics"]

    assert metrics["execution_only"]["efficiency_vs_baseline"] == {
        "preskill": {
            "token_efficiency_gain": 3.0,  # 1500 / 500
            "cost_efficiency_gain": 4.0,  # 0.04 / 0.01
            "time_efficiency_gain": 2.5,  # 10 / 4
        },
        "postskill": {
            "token_efficiency_gain": 1.5,
            "cost_efficiency_gain": pytest.approx(0.4),
            "time_efficiency_gain": 0.625,
        },
    }
    assert metrics["end_to_end"]["efficiency_vs_baseline"]["postskill"] == {
        "token_efficiency_gain": 0.5,  # 1500 / (1000 + 1000 + 1000)
        "cost_efficiency_gain": pytest.approx(0.2),  # 0.04 / 0.20
        "time_efficiency_gain": 0.25,  # 10 / (8 + 16 + 16)
    }


def test_golden_passes_skills_and_counts():
    metrics = compute_group(GOLDEN)["metrics"]

    assert metrics["postskill"] == {
        "first_pass_mean": 0.25,
        "second_pass_mean": 1.0,
        "second_vs_first_delta": 0.75,
        "second_vs_first_ratio": 4.0,
        "second_vs_first_ratio_flag": None,
    }
    created = metrics["created_skills"]
    assert (created["preskill_count"], created["postskill_count"]) == (2, 1)
    assert [skill["name"] for skill in created["preskill"]] == ["parse-data", "check-data"]
    # Name, description, over 100 and over 500 characters, scripts; no references.
    assert metrics["skill_quality"] == {
        "preskill_mean": pytest.approx(0.9),
        "postskill_mean": pytest.approx(0.9),
    }
    assert metrics["paired_vs_baseline"]["preskill"] == {
        "paired_tasks": 1,
        "unpaired_tasks": [],
        "baseline_mean": 0.5,
        "candidate_mean": 0.75,
        "delta": 0.25,
        "wins": 1,
        "ties": 0,
        "losses": 0,
    }


def test_golden_group_is_written_as_ever():
    group = compute_group(GOLDEN)

    assert json.loads(json.dumps(group)) == EXPECTED_GROUP
    assert list(group) == list(EXPECTED_GROUP)  # the order, too


def test_golden_is_valid_against_both_schemas():
    metrics = compute_metrics(GOLDEN, FACTS)

    validate(metrics)
    make_validator("group").validate(metrics["groups"][0])


def test_published_entry_has_links_and_breakdown():
    entry = compute_group(GOLDEN)["postskill_results"]["task_01_x"]

    assert entry["grades"][0]["breakdown"] == {
        "sub_1_total": 1.0,
        "sub_2_total": 1.0,
        "sub_3_total": 1.0,
    }
    assert entry["results"][0]["transcript"] == "trials/t/second_execution/transcript.jsonl"
    assert entry["phase_usage"]["skill_summary"]["total_tokens"] == 1000
    assert [grade["score"] for grade in entry["first_pass_grades"]] == [0.25]
    assert entry["second_vs_first_ratio"] == 4.0
    assert entry["execution_time"] == 16.0
    assert entry["created_skills"][0]["has_scripts"] is True


def test_check_messages_and_failure_details_stay_out():
    results = [*GOLDEN, make_unscored("task_02_x", "preskill")]

    assert "/tmp/" not in json.dumps(compute_metrics(results, FACTS))


def test_order_of_results_does_not_change_a_byte(tmp_path: Path):
    results = [
        *GOLDEN,
        *(make_scored(f"task_{n}_x", "baseline", n / 20, k) for n in (2, 10, 3) for k in (1, 2)),
        make_unscored("task_2_x", "preskill"),
        replace(GOLDEN[0], trial=replace(GOLDEN[0].trial, model=None)),
        replace(GOLDEN[0], trial=replace(GOLDEN[0].trial, runtime="oracle")),
        replace(GOLDEN[0], trial=replace(GOLDEN[0].trial, mode="preskill_empty")),
    ]
    written = set()
    for seed in range(10):
        random.Random(seed).shuffle(results)
        metrics = compute_metrics(results, FACTS)
        validate(metrics)
        write_json(tmp_path / "metrics.json", metrics)
        written.add((tmp_path / "metrics.json").read_bytes())

    assert len(written) == 1
    assert [(g["runtime"], g["model"]) for g in metrics["groups"]] == [
        ("nanobot", None),
        ("nanobot", "openai/gpt-x"),
        ("oracle", "openai/gpt-x"),
    ]
    assert list(metrics["groups"][1]["baseline_results"]) == [
        "task_01_x",
        "task_2_x",
        "task_3_x",
        "task_10_x",
    ]


def test_unscored_baseline_takes_the_task_out_of_the_pair_on_both_sides():
    results = [
        make_scored("task_1_x", "baseline", 0.5),
        make_scored("task_1_x", "preskill", 1.0),
        make_unscored("task_2_x", "baseline", "provider_error"),
        make_scored("task_2_x", "preskill", 0.0),
    ]
    metrics = compute_group(results)["metrics"]

    assert metrics["execution_only"]["mean_scores"]["preskill"] == 0.5
    assert metrics["execution_only"]["ratios_vs_baseline"]["preskill"] == 2.0
    assert metrics["paired_vs_baseline"]["preskill"]["unpaired_tasks"] == ["task_2_x"]
    assert metrics["paired_vs_baseline"]["preskill"]["candidate_mean"] == 1.0
    assert metrics["task_counts"]["baseline"] == {
        "tasks": 2,
        "scored": 1,
        "not_scored": 1,
        "passed": 0,
        "failed": 1,
    }
    efficiency = metrics["execution_only"]["efficiency_vs_baseline"]["preskill"]
    assert efficiency["token_efficiency_gain"] == 1.0


def test_unscored_trials_are_counted_by_reason():
    results = [
        *GOLDEN,
        make_unscored("task_02_x", "baseline"),
        make_unscored("task_02_x", "preskill", "judge_error"),
        make_unscored("task_02_x", "postskill", "judge_error"),
        make_result(make_trial("task_03_x")),  # says nothing: our fault
    ]
    counts = compute_metrics(results, FACTS)["counts"]

    assert {name: counts[name] for name in counts if name != "by_mode"} == {
        "trials": 7,
        "scored": 3,
        "not_scored": 4,
        "not_scored_by_reason": {"harness_error": 1, "judge_error": 2, "worker_died": 1},
        "passed": 1,
        "failed": 2,
    }
    assert counts["by_mode"]["postskill"]["not_scored_by_reason"] == {"judge_error": 1}


def test_unscored_task_appears_without_numbers():
    group = compute_group([make_unscored("task_02_x", "preskill"), *GOLDEN])
    entry = group["preskill_results"]["task_02_x"]

    assert entry["mean_score"] is None
    assert entry["std_score"] is None
    assert entry["grades"] == entry["results"] == entry["created_skills"] == []
    assert entry["usage"]["total_tokens"] is None
    assert entry["not_scored"] == [{"repeat": 1, "reason": "worker_died"}]


def test_execution_of_an_unscored_trial_is_listed_but_not_added():
    broken = replace(
        make_scored("task_02_x", "preskill", 1.0),
        failure=make_unscored("t", "preskill", "grader_error").failure,
    )
    group = compute_group([broken])
    entry = group["preskill_results"]["task_02_x"]

    assert [execution["scored"] for execution in entry["results"]] == [False]
    assert len(entry["skill_generation_results"]) == 1
    assert entry["end_to_end_usage"]["trials"] == 0
    assert group["usage_all_trials"]["total_tokens"] == 240


def test_changed_skills_are_counted_and_fail_the_trial():
    phase = replace(make_phase("execution", (1.0,)), skill_changes=("changed a",))
    result = make_result(make_trial(mode="preskill"), make_phase("skill_generation"), phase)
    metrics = compute_metrics([result], FACTS)
    group = metrics["groups"][0]

    assert group["metrics"]["skill_mutation_violations"] == {"preskill": 1, "postskill": 0}
    assert group["preskill_results"]["task_01_x"]["skill_mutation_violation"] is True
    assert (metrics["counts"]["passed"], metrics["counts"]["failed"]) == (0, 1)


def test_sanity_task_is_in_the_loaded_numbers_only():
    results = [*GOLDEN, make_scored("task_00_sanity", "baseline", 1.0)]
    group = compute_group(results)

    assert group["metrics"]["execution_only"]["mean_scores"]["baseline"] == 0.5
    assert group["metrics_loaded"]["execution_only"]["mean_scores"]["baseline"] == 0.75
    assert group["baseline_results"]["task_00_sanity"]["official"] is False


@pytest.mark.parametrize("label", ["category", "family"])
def test_sanity_is_also_known_by_its_label(label: str):
    labels: dict[str, Any] = {label: "Sanity"}
    trial = replace(make_trial("task_99_x"), **labels)
    group = compute_group([make_result(trial, make_phase("execution", (1.0,)))])

    assert group["metrics"]["task_counts"]["baseline"]["tasks"] == 0
    assert group["metrics_loaded"]["task_counts"]["baseline"]["tasks"] == 1


def test_repeats_are_averaged_per_task_before_tasks_are():
    results = [
        make_scored("task_1_x", "baseline", 0.0, repeat=1),
        make_scored("task_1_x", "baseline", 1.0, repeat=2),
        make_unscored("task_1_x", "baseline", repeat=3),
        make_scored("task_2_x", "baseline", 1.0, repeat=1),
    ]
    group = compute_group(results)
    entry = group["baseline_results"]["task_1_x"]

    assert (entry["mean_score"], entry["std_score"]) == (0.5, 0.5)
    assert (entry["repeats"], entry["scored_repeats"]) == (3, 2)
    assert entry["usage"]["total_tokens"] == 240
    assert group["metrics"]["execution_only"]["mean_scores"]["baseline"] == 0.75


def test_efficiency_compares_repeats_of_unequal_number_fairly():
    results = [
        make_scored("task_1_x", "baseline", 1.0, repeat=1),
        make_scored("task_1_x", "baseline", 1.0, repeat=2),
        make_scored("task_1_x", "preskill", 1.0, repeat=1),
        make_unscored("task_1_x", "preskill", repeat=2),
    ]
    scope = compute_group(results)["metrics"]["execution_only"]

    assert scope["efficiency_vs_baseline"]["preskill"]["token_efficiency_gain"] == 1.0


def test_unknown_usage_is_null_and_never_zero():
    unknown = make_result(make_trial(), make_phase("execution", (1.0,), make_usage(fresh=None)))
    scope = compute_group([unknown, *GOLDEN[1:]])["metrics"]["execution_only"]

    assert scope["usage"]["baseline"]["input_tokens"] is None
    assert scope["usage"]["baseline"]["total_tokens"] is None
    assert scope["usage"]["baseline"]["trials_unknown"] == 1
    assert scope["usage"]["baseline"]["usage_source"] == "unknown"
    assert scope["efficiency_vs_baseline"]["preskill"]["token_efficiency_gain"] is None
    assert scope["efficiency_vs_baseline"]["preskill"]["time_efficiency_gain"] == 0.25


def test_cached_tokens_stay_in_the_total_when_another_phase_reports_none():
    executions = [
        Execution(status="success", exit_code=0, seconds=1.0, usage=make_usage(10, 10, cached))
        for cached in (80, None)
    ]
    usage = total_usage([executions])

    assert usage["cache_read_tokens"] is None
    assert usage["total_tokens"] == 120


def test_group_without_baseline_has_no_ratio():
    metrics = compute_group(GOLDEN[1:])["metrics"]

    assert metrics["execution_only"]["mean_scores"]["baseline"] is None
    assert metrics["execution_only"]["ratios_vs_baseline"] == {"preskill": None, "postskill": None}
    assert metrics["paired_vs_baseline"]["preskill"]["unpaired_tasks"] == ["task_01_x"]


def test_session_without_results_is_valid():
    metrics = compute_metrics([], FACTS)

    validate(metrics)
    assert metrics["groups"] == []
    assert metrics["counts"]["trials"] == 0


def test_session_carries_the_validity_checklist():
    session = compute_metrics([], replace(FACTS, judge_model="openai/judge"))["session"]

    assert session["mode"] == "all"
    assert session["judge_model"] == "openai/judge"
    assert session["runtimes"] == {"nanobot": "0.2.1"}
    assert (session["loaded_task_count"], session["official_task_count"]) == (2, 1)


def test_two_results_of_one_trial_are_refused():
    with pytest.raises(ValueError, match="two results of one trial: task_01_x, baseline, nanobot"):
        compute_metrics([GOLDEN[0], GOLDEN[0]], FACTS)


def test_two_checks_of_one_name_both_show():
    grade = Grade(checks=(Check(name="total", score=1.0), Check(name="total", score=0.0)))
    result = make_result(make_trial(), replace(make_phase("execution", (1.0,)), grade=grade))
    entry = compute_group([result])["baseline_results"]["task_01_x"]

    assert entry["grades"][0]["breakdown"] == {"total": 1.0, "total_2": 0.0}


def test_other_modes_are_reported_beside_the_published_ones():
    result = make_result(make_trial(mode="transfer"), make_phase("execution", (0.5,)))
    metrics = compute_metrics([*GOLDEN, result], FACTS)
    group = metrics["groups"][0]

    validate(metrics)
    assert list(group["transfer_results"]) == ["task_01_x"]
    assert group["metrics"]["execution_only"]["ratios_vs_baseline"]["transfer"] == 1.0


@pytest.mark.parametrize(
    ("candidate", "baseline", "expected"),
    [
        (0.5, 0.0, ("inf", "baseline_zero")),
        (0.0, 0.0, (1.0, "both_zero")),
        (0.0, 0.5, (0.0, None)),
        (0.75, 0.5, (1.5, None)),
        (None, 0.5, (None, None)),
        (0.5, None, (None, None)),
        (1.0, 5e-324, ("inf", "baseline_zero")),
    ],
    ids=["infinite", "both-zero", "zero", "plain", "no-candidate", "no-baseline", "overflow"],
)
def test_ratio_follows_the_paper(candidate: Any, baseline: Any, expected: Any):
    assert compute_ratio(candidate, baseline) == expected


@pytest.mark.parametrize(
    ("candidate", "baseline", "expected"),
    [(500, 1500, 3.0), (0, 1500, None), (None, 1500, None), (500, None, None), (500, 0, 0.0)],
    ids=["plain", "candidate-zero", "candidate-unknown", "baseline-unknown", "baseline-zero"],
)
def test_efficiency_follows_the_paper(candidate: Any, baseline: Any, expected: Any):
    assert compute_efficiency(candidate, baseline) == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], None),
        ([0.3], 1.0),
        ([0.0], 1.0),
        ([0.0, 0.0], 0.0),
        ([0.5, 1.0], 2 / 3),
        ([0, 0, 1], 0),
    ],
    ids=["none", "one", "one-zero", "zeros", "two", "spread"],
)
def test_consistency_of_sub_problems(scores: list[float], expected: float | None):
    assert compute_consistency(scores) == (None if expected is None else pytest.approx(expected))


def test_deviation_is_that_of_the_population():
    assert compute_deviation([0.0, 1.0]) == 0.5
    assert compute_deviation([0.7]) == 0.0
    assert compute_deviation([]) is None


def test_tasks_are_ordered_by_number():
    names = ["task_10_b", "task_2_a", "task_2", "task_02", "other", "9"]

    assert sorted(names, key=order_naturally) == [
        "9",
        "other",
        "task_02",
        "task_2",
        "task_2_a",
        "task_10_b",
    ]


scores = st.sampled_from([0.0, 0.25, 0.5, 1.0])
cells = st.dictionaries(
    st.tuples(
        st.sampled_from(["task_00_sanity", "task_1_x", "task_2_x"]),
        st.sampled_from(["baseline", "preskill", "postskill"]),
        st.integers(1, 2),
    ),
    st.one_of(st.none(), scores),
)


def build(table: dict[tuple[str, str, int], float | None]) -> list[TrialResult]:
    return [
        make_unscored(task, mode, repeat=repeat)
        if score is None
        else make_scored(task, mode, score, repeat)
        for (task, mode, repeat), score in table.items()
    ]


@few
@given(cells)
def test_any_results_give_a_valid_file(table: dict[tuple[str, str, int], float | None]):
    validate(compute_metrics(build(table), FACTS))


@few
@given(cells, st.sampled_from(["baseline", "preskill", "postskill"]))
def test_unscored_trial_changes_no_number_but_counts(
    table: dict[tuple[str, str, int], float | None], mode: str
):
    results = build(table)
    if not results:
        return
    before = compute_group(results)
    after = compute_group([*results, make_unscored("task_1_x", mode, repeat=9)])

    for name in ("execution_only", "end_to_end", "postskill", "created_skills", "skill_quality"):
        assert after["metrics"][name] == before["metrics"][name]
        assert after["metrics_loaded"][name] == before["metrics_loaded"][name]


@few
@given(cells)
def test_counts_add_up(table: dict[tuple[str, str, int], float | None]):
    counts = compute_metrics(build(table), FACTS)["counts"]

    assert counts["scored"] + counts["not_scored"] == counts["trials"] == len(table)
    assert counts["passed"] + counts["failed"] == counts["scored"]
    assert sum(counts["not_scored_by_reason"].values()) == counts["not_scored"]
    assert sum(mode["trials"] for mode in counts["by_mode"].values()) == counts["trials"]


@given(st.one_of(st.none(), st.floats(0, 1)), st.one_of(st.none(), st.floats(0, 1)))
def test_ratio_is_absent_exactly_when_a_side_is(candidate: float | None, baseline: float | None):
    ratio, flag = compute_ratio(candidate, baseline)

    assert (ratio is None) == (candidate is None or baseline is None)
    assert flag is None or ratio in {"inf", 1.0}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-5.4-mini", "s1_openai-gpt-5.4-mini_nanobot.json"),
        (None, "s1_default_nanobot.json"),
        ("../../etc:x y", "s1_etc-x-y_nanobot.json"),
        ("模型", "s1_model_nanobot.json"),
    ],
    ids=["provider", "none", "hostile", "not-ascii"],
)
def test_group_file_is_named_after_session_model_and_runtime(model: str | None, name: str):
    assert group_file_name("s1", model, "nanobot") == name


def test_models_with_one_slug_get_two_files():
    results = [
        replace(GOLDEN[0], trial=replace(GOLDEN[0].trial, model=model)) for model in ("a/b", "A-b")
    ]
    files = name_group_files(compute_metrics(results, FACTS))

    assert [(name.split("_")[1], group["model"]) for name, group in files.items()] == [
        ("A-b", "A-b"),
        ("a-b", "a/b"),
    ]
    assert [name.endswith("nanobot-2.json") for name in files] == [False, True]


def test_json_is_utf8_and_escapes_what_is_no_text(tmp_path: Path):
    write_json(tmp_path / "a.json", {"b": "é模", "a": "x\udcff"})

    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text == '{\n  "b": "é模",\n  "a": "x\\udcff"\n}\n'
    assert json.loads(text)["a"] == "x\udcff"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")], ids=str)
def test_json_has_no_numbers_that_json_lacks(tmp_path: Path, value: float):
    (tmp_path / "a.json").write_text("old", encoding="utf-8")

    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"a": value})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "old"


def test_partial_usage_of_a_cut_off_agent_is_marked():
    usage = replace(make_usage(), partial=True)
    result = make_result(make_trial(), make_phase("execution", (0.5,), usage))

    scope = compute_group([result])["metrics"]["execution_only"]
    assert scope["usage"]["baseline"]["partial"] is True


def test_estimated_usage_names_its_source():
    usage = Usage(input_tokens=1, output_tokens=1, source="estimated")
    result = make_result(make_trial(), make_phase("execution", (0.5,), usage))

    scope = compute_group([result])["metrics"]["execution_only"]
    assert scope["usage"]["baseline"]["usage_source"] == "estimated"
