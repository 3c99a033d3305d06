from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

HALF_RIGHT = """
- phase: "*execution"
  steps:
    - write: outputs/sum.json
      text: '{"value": 6}'
    - write: outputs/max.json
      text: '{"value": 2, "note": "?"}'
"""
OUTAGE = """
- steps: []
  turns: 0
  problem: {reason: provider_error, detail: "HTTP 500 from the model"}
"""
CHANGES_SKILLS = """
- phase: skill_generation
  steps:
    - write: skills/adding/SKILL.md
      text: "---\\nname: adding\\ndescription: Adds.\\n---\\nAdd.\\n"
- steps:
    - solve: true
    - write: skills/adding/SKILL.md
      text: "changed"
"""
CHANGES_INPUTS = """
- steps:
    - solve: true
    - write: inputs/numbers.json
      text: "[1]"
"""


def test_a_half_right_output_fails_and_lists_what_was_expected(suite):
    suite.add_script(HALF_RIGHT)
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*score 0.50 (2 of 4 checks)",
            "*sub-problem 2",
            "*value: *assert 2 == 3",
            "*nothing else: *",
            "*execution: success, * s, *evo-results*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    (group,) = suite.metrics["groups"]
    assert group["baseline_results"]["task_01_numbers"]["mean_score"] == 0.5


def test_a_pass_score_below_lets_a_half_right_output_pass(suite):
    suite.add_script(HALF_RIGHT)
    args = ("--evo-runtime=scripted", "--evo-script=script.yaml", "--evo-pass-score=0.5")
    suite.run(*args).assert_outcomes(passed=1)


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["serial", "n2"])
def test_an_outage_is_an_error_and_no_score(suite, workers):
    suite.add_script(OUTAGE)
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml", *workers, mode="all")
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        ["*HTTP 500 from the model*", "3 trials: 0 scored, 3 not scored (provider_error 3)"]
    )
    assert suite.metrics["counts"]["not_scored_by_reason"] == {"provider_error": 3}
    (group,) = suite.metrics["groups"]
    assert group["metrics"]["execution_only"]["mean_scores"]["baseline"] is None


def test_an_outage_is_an_error_in_junit_files_too(suite):
    suite.add_script(OUTAGE)
    suite.run("--evo-runtime=scripted", "--evo-script=script.yaml", "--junitxml=j.xml")
    (case,) = ElementTree.parse(suite.path / "j.xml").getroot().iter("testcase")
    assert [child.tag for child in case] == ["error"]


def test_a_changed_skill_in_a_locked_phase_fails_in_its_own_words(suite):
    suite.add_script(CHANGES_SKILLS)
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml", mode="preskill")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*skills changed during execution: *adding/SKILL.md*"])
    (group,) = suite.metrics["groups"]
    entry = group["preskill_results"]["task_01_numbers"]
    assert entry["skill_mutation_violation"] is True
    assert entry["mean_score"] == 1.0


def test_a_changed_input_fails_in_its_own_words(suite):
    suite.add_script(CHANGES_INPUTS)
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*inputs changed during execution: *inputs/numbers.json*"])


def test_a_broken_grader_is_an_error_with_its_own_traceback(suite):
    suite.write(
        "graders/task_01_numbers.py", "def grade(workspace, check):\n    raise KeyError('total')\n"
    )
    result = suite.run("--evo-runtime=nop")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*not scored: grader_error", "*task_01_numbers.py*2*"])


def test_a_broken_fixture_of_a_conftest_is_counted_as_not_scored(suite):
    suite.pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def broken():
            raise RuntimeError("no such database")
        """
    )
    suite.run().assert_outcomes(errors=1)
    assert suite.metrics["counts"]["not_scored_by_reason"] == {"harness_error": 1}
    assert "no such database" in suite.journal[0]["failure"]["detail"]


def test_a_timeout_is_graded_on_what_is_there(suite):
    suite.add_script(
        """
- steps:
    - solve: true
    - sleep: 60
  turns: 1
"""
    )
    factor = "--evo-timeout-factor=0.5"
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml", factor)
    result.assert_outcomes(passed=1)
    (execution,) = (phase["execution"] for phase in suite.journal[0]["phases"])
    assert execution["status"] == "timeout"
    assert execution["limit"] == "timeout"


def test_a_runtime_that_raises_keeps_its_traceback_and_is_not_scored(suite):
    suite.pytester.makeconftest(
        """
        class Broken:
            name = "broken"
            uses_model = False
            own_files = ()
            skill_folders = ()

            def check(self):
                return "1"

            def prepare(self, assignment):
                raise RuntimeError("a bug in the adapter")

        def pytest_evo_make_runtime(name):
            return Broken() if name == "broken" else None
        """
    )
    result = suite.run("--evo-runtime=broken")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*RuntimeError: a bug in the adapter*", "*harness_error 1*"])


def test_a_phase_that_cannot_be_started_is_on_record_and_not_scored(suite):
    suite.pytester.makeconftest(
        """
        from pytest_evoclaw.runtimes import Launch

        class Missing:
            name = "missing"
            uses_model = False
            own_files = ()
            skill_folders = ()

            def check(self):
                return "1"

            def prepare(self, assignment):
                return Launch(argv=("no-such-program-anywhere",))

        def pytest_evo_make_runtime(name):
            return Missing() if name == "missing" else None
        """
    )
    result = suite.run("--evo-runtime=missing")
    result.assert_outcomes(errors=1)
    (row,) = suite.journal
    assert row["failure"]["reason"] == "environment_error"
    assert "no-such-program-anywhere" in row["failure"]["detail"]
    assert [phase["execution"]["status"] for phase in row["phases"]] == ["error"]
