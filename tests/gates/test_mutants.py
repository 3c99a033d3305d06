from __future__ import annotations

from pathlib import Path

import pytest

from pytest_evoclaw.evidence import list_generated_tasks
from pytest_evoclaw.gates.mutants import LENIENT
from pytest_evoclaw.task import read_task
from tests.conftest import GRADER

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("task_id", list_generated_tasks()[::5])
def test_every_family_says_that_more_fields_do_no_harm(task_id):
    prompt = read_task(ROOT / f"tasks/{task_id}.md", ROOT).prompt
    assert LENIENT.search(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Each has exactly these keys and no other keys.",
        "Write these fields, without further fields.",
        "Write the other files.",
    ],
)
def test_a_prompt_that_forbids_more_fields_does_not_allow_them(prompt):
    assert not LENIENT.search(prompt)


def gate(suite, grader=GRADER):
    suite.add_task(grader=grader)
    return suite.run("-k", "mutants", mode="gate")


def test_surplus_keys_do_not_count_where_the_prompt_allows_them(suite):
    lenient = GRADER.replace(' == {"value"}', ' >= {"value"}')
    result = gate(suite, lenient)
    result.assert_outcomes(failed=1, deselected=5)
    path = suite.path / "tasks/task_01_numbers.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("N}.", "N}. Extra keys are ignored."), encoding="utf-8")
    result = suite.run("-k", "mutants", mode="gate")
    result.assert_outcomes(passed=1, deselected=5)
    result.stdout.fnmatch_lines(["task_01_numbers * 6/6 ok *"])


def test_a_check_that_reads_the_wrong_output_is_found(suite):
    """Sub-problem 2 notices a change of the first output, but not that it is gone."""
    crossed = GRADER.replace(
        "def solve(",
        """    with check("cross", sub_problem=2):
        path = workspace / "outputs/sum.json"
        assert not path.exists() or json.loads(path.read_text(encoding="utf-8")) == {"value": 6}


def solve(""",
    )
    result = gate(suite, crossed)
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines(["*outputs/sum.json: * lowers sub-problem 1, 2 instead of 1*"])


def test_an_output_that_nobody_grades_is_found(suite):
    more = (
        GRADER + """    (workspace / "outputs/more.txt").write_text("more", encoding="utf-8")\n"""
    )
    result = gate(suite, more)
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines(["outputs/more.txt: taking it away lowers no check"])


def test_text_that_is_only_looked_for_and_not_read_is_found(suite):
    """Lines have no fields: how many are noticed is told, and none is a fault."""
    text = GRADER.replace(
        "def solve(",
        """    with check("notes", sub_problem=1):
        assert len(workspace.text("outputs/notes.md")) > 3


def solve(""",
    )
    notes = (
        """    (workspace / "outputs/notes.md").write_text("One.\\nTwo.\\n", encoding="utf-8")\n"""
    )
    result = gate(suite, text + notes)
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines(
        [
            "outputs/notes.md: no change of a line lowers its sub-problem (4 tried)",
            "*lines without fields: 0 of 4 changes noticed",
        ]
    )
