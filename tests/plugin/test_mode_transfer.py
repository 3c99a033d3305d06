from __future__ import annotations

import json

import pytest

from pytest_evoclaw.schemas import make_validator
from tests.plugin.generated_task import TASK
from tests.plugin.generated_task import generated as generated
from tests.plugin.generated_task import write_steps

PHASES = ["first_execution", "skill_summary", "variant_baseline", "second_execution"]


def test_the_skills_meet_a_variant_beside_the_baseline_on_it(generated):
    result = generated.run("-k", TASK, "-v", mode="transfer")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*::transfer[[]oracle-v1] PASSED*"])
    (trial,) = generated.journal
    assert trial["trial"]["variant"] == 1
    assert [phase["name"] for phase in trial["phases"]] == PHASES
    assert [phase["graded"] for phase in trial["phases"]] == [True, False, True, True]


def test_only_the_last_phase_has_the_skills(generated):
    generated.run("-k", TASK, "--evo-variant=4", mode="transfer").assert_outcomes(passed=1)
    (trial,) = generated.journal
    empty, *_, last = (phase["skills_before"] for phase in trial["phases"])
    assert trial["phases"][2]["skills_before"] == empty != last
    assert trial["phases"][1]["created_skills"]


def test_metrics_compare_both_phases_on_the_same_fixtures(generated):
    """An agent that copies the official answers has learned nothing that transfers."""
    generated.run("-k", TASK).assert_outcomes(passed=1)
    copied = write_steps(generated.session)
    skill = "---\nname: copying\ndescription: Copies. Use when lazy.\n---\n\nCopy.\n"
    entries = [
        {"phase": "*_execution", "steps": copied},
        {"phase": "skill_summary", "steps": [{"write": "skills/copying/SKILL.md", "text": skill}]},
    ]
    generated.add_script(json.dumps(entries))
    options = ("--evo-runtime=scripted", "--evo-script=script.yaml", "-k", TASK)
    generated.run(*options, mode="transfer").assert_outcomes(failed=1)
    metrics = generated.metrics
    make_validator("metrics").validate(metrics)
    entry = metrics["groups"][0]["transfer_results"][TASK]
    assert entry["first_pass_mean_score"] == 1.0
    assert entry["variant_baseline_mean_score"] == 0.0
    assert 0 < entry["second_pass_mean_score"] < 0.5
    numbers = metrics["groups"][0]["metrics"]["transfer"]
    assert numbers["tasks"] == numbers["wins"] == 1
    assert numbers["delta"] == entry["second_pass_mean_score"]
    assert numbers["ratio"] == "inf"
    assert numbers["ratio_flag"] == "baseline_zero"


def test_a_task_without_a_generator_is_skipped_with_that_reason(suite):
    result = suite.run("-rs", mode="transfer")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no generator: there are no fresh fixtures of task_01_numbers"])


def test_a_mode_that_asks_for_fresh_fixtures_must_say_so(suite):
    suite.pytester.makeconftest(
        """
        from pytest_evoclaw.phases import Phase

        class Odd:
            name = "odd"

            def run(self, stage):
                stage.run(Phase(name="only", preamble="", graded=True, fresh=True))

        def pytest_evo_make_mode(name):
            return Odd() if name == "odd" else None
        """
    )
    result = suite.run(mode="odd")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*phase only wants fresh fixtures, but the mode does not*"])


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["serial", "n2"])
def test_each_seed_is_a_trial(generated, arguments):
    seeds = ("--evo-variant=5,6", "-k", TASK)
    generated.run(*seeds, *arguments, mode="transfer").assert_outcomes(passed=2)
    assert sorted(line["trial"]["variant"] for line in generated.journal) == [5, 6]
