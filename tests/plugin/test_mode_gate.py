from __future__ import annotations

import pytest

from tests.conftest import GRADER
from tests.conftest import TASK
from tests.plugin.generated_task import TASK as GENERATED
from tests.plugin.generated_task import generated as generated

GATES = ["lint", "oracle", "nop", "garbage", "mutants", "leak"]


def put_through(suite, *arguments):
    return suite.run(*arguments, mode="gate")


def words_about(result):
    """Return the lines of the failures, without pytest's own."""
    lines = result.stdout.lines
    start = next(n for n, line in enumerate(lines) if "= FAILURES =" in line)
    end = next(n for n, line in enumerate(lines) if "= evo gates =" in line)
    return "\n".join(lines[start + 1 : end])


def test_each_gate_is_an_item_in_the_order_of_a_review(suite):
    result = put_through(suite, "--collect-only", "-q")
    names = [line.rpartition("::")[2] for line in result.outlines if "::" in line]
    assert names == [f"gate[{name}]" for name in GATES]


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_good_task_passes_all_and_leaves_no_scores(suite, arguments):
    result = put_through(suite, *arguments)
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        ["*evo gates*", "task * mutants *", "task_01_numbers * ok * 8/8 ok *", "mutants: 8 of 8 *"]
    )
    assert not (suite.path / "evo-results").exists()


def test_a_generated_task_passes_all_gates(generated):
    put_through(generated, "-k", GENERATED, "-n2").assert_outcomes(passed=6)


def test_gates_stand_beside_trials_and_are_none(suite):
    suite.run(mode="gate,baseline").assert_outcomes(passed=7)
    assert [line["trial"]["mode"] for line in suite.journal] == ["baseline"]
    assert suite.metrics["counts"]["trials"] == 1
    assert suite.metrics["counts"]["not_run"] == 0
    assert suite.metrics["session"]["modes"] == ["baseline"]


def test_the_share_of_mutants_is_a_property_in_junit_files(suite):
    put_through(suite, "--junitxml=junit.xml")
    text = (suite.path / "junit.xml").read_text(encoding="utf-8")
    assert '<property name="evo_mutants_caught" value="8/8"' in text


def test_a_vacuous_check_is_named_by_the_gates_that_it_lets_through(suite):
    vacuous = GRADER.replace(
        'assert set(require_object(workspace.json(f"outputs/{name}.json"))) == {"value"}',
        'assert not (workspace / "outputs/extra").exists()',
    )
    suite.add_task(grader=vacuous)
    result = put_through(suite)
    result.assert_outcomes(passed=3, failed=3)
    words = words_about(result)
    for line in (
        "no output at all: check sub_1_nothing else is vacuous, it scores 1.00",
        "null: check sub_2_nothing else is vacuous, it scores 1.00",
        "6 of 8 mutants are caught (0.75), required 0.95; the others:",
        "outputs/sum.json: document: has the key 'surplus' too: nobody notices",
        "(if further fields do no harm, say so in the prompt)",
    ):
        assert line in words
    result.stdout.fnmatch_lines(["task_01_numbers *ok * ok * FAIL * FAIL * 6/8 FAIL * ok*"])


def test_a_leaked_answer_is_named_with_its_line_and_place(suite):
    text = TASK.format(id="task_01_numbers").replace("[1, 2, 3]", "[1200, 2500, 310]")
    suite.write("tasks/task_01_numbers.md", text.replace("as {", "(a sum like 4,010) as {"))
    result = put_through(suite)
    result.assert_outcomes(passed=5, failed=1)
    assert (
        "task_01_numbers.md:18: Prompt: found '4010', which is the answer at "
        "outputs/sum.json: value" in words_about(result)
    )


def test_a_path_that_the_prompt_does_not_state_is_named_with_its_checks(suite):
    text = TASK.format(id="task_01_numbers").replace(
        "`outputs/max.json`, each", "another file, each"
    )
    suite.write("tasks/task_01_numbers.md", text)
    result = put_through(suite)
    result.assert_outcomes(passed=5, failed=1)
    assert (
        "task_01_numbers.md:15: Prompt: does not name outputs/max.json, "
        "which is graded by sub_2_value, sub_2_nothing else" in words_about(result)
    )


def test_a_solution_that_breaks_fails_the_gates_that_need_it(suite):
    suite.add_task(
        grader=GRADER.replace("def solve(workspace):", "def solve(workspace):\n    1 / 0")
    )
    result = put_through(suite)
    result.assert_outcomes(failed=6)
    assert "ZeroDivisionError" in words_about(result)


def test_a_wrong_solution_fails_the_oracle_gate(suite):
    suite.add_task(
        grader=GRADER.replace('json.dumps({"value": value})', 'json.dumps({"value": 1})')
    )
    result = put_through(suite, "-k", "oracle")
    result.assert_outcomes(failed=1, deselected=5)
    assert "solution 3 fails sub_2_value (0.00)" in words_about(result)


def test_a_sub_problem_without_a_check_fails_the_oracle_gate(suite):
    suite.add_task(
        grader=GRADER.replace("sub_problem=number", "sub_problem=1")
        .replace('"value", s', 'f"v {name}", s')
        .replace('"nothing else"', 'f"else {name}"')
    )
    result = put_through(suite, "-k", "oracle")
    result.assert_outcomes(failed=1, deselected=5)
    assert "task_01_numbers.md:30: sub-problem 2 has no check" in words_about(result)


def test_a_grader_that_breaks_is_a_fault_of_the_task(suite):
    suite.add_task(
        grader=GRADER.replace(
            "def grade(workspace, check):", "def grade(workspace, check):\n    1 / 0"
        )
    )
    result = put_through(suite, "-k", "nop")
    result.assert_outcomes(failed=1, deselected=5)
    assert "raised ZeroDivisionError" in words_about(result)


def test_a_task_that_a_judge_grades_alone_is_skipped(suite):
    text = TASK.format(id="task_01_numbers").replace("automated", "llm_judge")
    suite.write(
        "tasks/task_01_numbers.md", text + "\n## LLM Judge Rubric\n\n### Criterion 1\n\nOk.\n"
    )
    put_through(suite).assert_outcomes(skipped=6)


def test_a_malformed_task_is_a_collection_error(suite):
    suite.write("tasks/task_02_bad.md", "no frontmatter\n")
    result = put_through(suite)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*task_02_bad.md:1: frontmatter: found*"])
