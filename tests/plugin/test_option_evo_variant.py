from __future__ import annotations

import json

import pytest

from pytest_evoclaw.schemas import make_validator
from tests.plugin.generated_task import OFFICIAL
from tests.plugin.generated_task import TASK
from tests.plugin.generated_task import generated as generated
from tests.plugin.generated_task import write_steps


def read_inputs(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.*")}


def test_the_seed_is_in_ids_and_results(generated):
    result = generated.run("-k", TASK, "--evo-variant=7,8", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*::baseline[[]oracle-v7] PASSED*", "*oracle-v8] PASSED*"])
    assert [line["trial"]["variant"] for line in generated.journal] == [7, 8]
    group = generated.metrics["groups"][0]
    make_validator("group").validate(group)
    entry = group["baseline_results"][TASK]
    assert [grade["variant"] for grade in entry["grades"]] == [7, 8]
    assert generated.metrics["session"]["options"]["variants"] == [7, 8]


def test_every_mode_is_right_about_fresh_fixtures(generated):
    result = generated.run("-k", TASK, "--evo-variant=3", "-n2", mode="all")
    result.assert_outcomes(passed=3)


def test_workspaces_hold_the_variant_and_nothing_is_written_in_the_project(generated, tmp_path):
    before = sorted(generated.path.rglob("*"))
    keep = (f"--evo-workspaces={tmp_path / 'work'}", "--evo-keep-workspaces")
    results = f"--evo-results={tmp_path / 'results'}"
    for seed in (1, 2):
        options = (*keep, results, f"--evo-variant={seed}", "-p", "no:cacheprovider")
        generated.run("-k", TASK, *options).assert_outcomes(passed=1)
    found = [read_inputs(path) for path in (tmp_path / "work").rglob(f"workspace/assets/{TASK}")]
    official = read_inputs(OFFICIAL)
    assert len(found) == 2
    for name, data in official.items():
        assert len({data, found[0][name], found[1][name]}) == 3, name
    after = [path for path in sorted(generated.path.rglob("*")) if "__pycache__" not in str(path)]
    assert after == [path for path in before if "__pycache__" not in str(path)]


def test_answers_of_the_official_fixtures_are_wrong_on_a_variant(generated):
    """Graders follow the fixtures: what is right for one seed is not for another."""
    generated.run("-k", TASK).assert_outcomes(passed=1)
    generated.add_script(json.dumps([{"steps": write_steps(generated.session)}]))
    script = ("--evo-runtime=scripted", "--evo-script=script.yaml", "-k", TASK)
    generated.run(*script).assert_outcomes(passed=1)
    generated.run(*script, "--evo-variant=9").assert_outcomes(failed=1)
    score = generated.journal[0]["phases"][0]["grade"]
    assert sum(check["score"] for check in score["checks"]) < len(score["checks"])


def test_a_task_without_a_generator_is_skipped_with_that_reason(generated):
    result = generated.run("--evo-variant=7", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*no generator: there are no fresh fixtures of task_01_numbers"])


def test_a_task_that_only_has_the_name_of_a_generated_one_is_skipped(suite):
    suite.add_task(TASK)
    suite.run("-k", TASK, "--evo-variant=7").assert_outcomes(skipped=1)


@pytest.mark.parametrize("value", ["x", "-1", "1.5"])
def test_a_seed_is_a_whole_number(suite, value):
    result = suite.run(f"--evo-variant={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--evo-variant: found '{value}', allowed whole numbers from 0"])
