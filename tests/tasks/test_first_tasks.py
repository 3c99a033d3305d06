"""What holds for every task with JSON outputs: one a sub-problem, then those about all of them."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import pytest

from pytest_evoclaw.results import Grade
from pytest_evoclaw.task import read_task
from tests.tasks.bench import ROOT
from tests.tasks.bench import Bench
from tests.tasks.bench import mutate

TASKS = [
    "task_00_sanity",
    "task_01_batch_data_transform",
    "task_02_log_analysis",
    "task_05_config_migration",
    "task_11_web_extraction",
    "task_13_data_pipeline",
    "task_21_metrics_anomaly",
]
STRIDE = 7  # of some 3,000 single changes; coprime to the number of changes of each place
JUNK = [b"", b"\x00\xff\xfejunk", b"null", b"[]", b"{}", b"[{}]", b"[null]", b"0", b'"text"', b"["]


@pytest.fixture(params=TASKS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path / "workspace")


def list_names(grade: Grade) -> list[str]:
    return [check.key for check in grade.checks]


def order_outputs(bench: Bench) -> list[str]:
    """The outputs in the order of their sub-problems, which the prompt's table shows."""
    return list(dict.fromkeys(re.findall(r"`outputs/([\w.]+)`", bench.task.content)))


def test_the_task_file_says_what_the_grader_reads(bench):
    task = read_task(ROOT / "tasks" / f"{bench.task_id}.md", ROOT)
    assert task.id == bench.task_id
    assert [file.dest for file in task.workspace_files] == bench.inputs
    assert len(task.sub_problems) == bench.task.metadata["sub_problems"]
    assert task.grader == ROOT / "graders" / f"{bench.task_id}.py"
    assert "Grading Criteria" not in task.prompt


def test_the_reference_solution_scores_one(bench):
    bench.solve()
    assert bench.failed() == []


def test_no_output_scores_zero(bench):
    assert bench.grade().score == 0.0


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_in_every_output_scores_zero(bench, junk):
    bench.solve()
    for name in bench.outputs:
        bench.write(name, junk)
    assert {check.score for check in bench.grade().checks} == {0.0}


def test_the_checks_are_the_same_whatever_the_outputs_are(bench):
    names = [list_names(bench.grade())]
    bench.solve()
    names.append(list_names(bench.grade()))
    for name in bench.outputs:
        bench.write(name, b"junk")
        names.append(list_names(bench.grade()))
    assert all(each == names[0] for each in names)


def test_every_sub_problem_has_equally_many_checks(bench):
    numbers = [check.sub_problem for check in bench.grade().checks if check.sub_problem]
    wanted = list(range(1, bench.task.metadata["sub_problems"] + 1))
    assert sorted(set(numbers)) == wanted
    assert len({numbers.count(number) for number in wanted}) == 1


def test_each_output_matters_for_its_own_sub_problem_alone(bench):
    bench.solve()
    assert sorted(order_outputs(bench)) == bench.outputs
    for number, name in enumerate(order_outputs(bench), start=1):
        right = bench.read(name)
        bench.write(name, b"junk")
        grade = bench.grade()
        scores = grade.sub_problem_scores
        assert scores == {each: float(each != number) for each in scores}
        assert number in scores or grade.score < 1
        bench.write(name, right)


def test_a_change_at_any_place_of_a_solution_lowers_its_sub_problem(bench):
    bench.solve()
    for number, name in enumerate(order_outputs(bench), start=1):
        right = bench.read(name)
        for words, wrong in islice(mutate(right), 0, None, STRIDE):
            bench.write(name, wrong)
            grade = bench.grade()
            scores = grade.sub_problem_scores
            assert scores.pop(number, grade.score) < 1, f"{name} {words}"
            assert set(scores.values()) <= {1.0}
        bench.write(name, right)


def test_nulls_in_the_right_shape_earn_nothing(bench):
    bench.solve()
    for name in bench.outputs:
        bench.write(name, empty(bench.read(name)))
    assert bench.grade().score == 0.0


def empty(value: Any) -> Any:
    if isinstance(value, list):
        return [empty(each) for each in value]
    return {key: empty(each) for key, each in value.items()} if isinstance(value, dict) else None


def test_the_examples_of_the_prompt_earn_nothing(bench):
    bench.solve()
    names = bench.outputs
    examples = re.findall(r"```json\n(.*?)```", bench.task.content, re.DOTALL)
    for example in [*map(json.loads, examples), [json.loads(e) for e in examples]]:
        for name in names:
            bench.write(name, example)
        assert bench.grade().score == 0.0


def test_no_sub_problem_is_solved_by_the_answer_to_another(bench):
    bench.solve()
    answers = {name: bench.read(name) for name in bench.outputs}
    for number, name in enumerate(order_outputs(bench), start=1):
        for other in answers.keys() - {name}:
            bench.write(name, answers[other])
            checks = bench.grade().checks
            numbers = {check.sub_problem for check in checks}
            own = number if number in numbers else None
            scores = [check.score for check in checks if check.sub_problem == own]
            assert sum(scores) / len(scores) < 0.3
        bench.write(name, answers[name])


def test_inputs_changed_by_the_agent_change_no_grade(bench):
    bench.solve()
    for name in bench.inputs:
        (bench.path / name).write_bytes(b"")
    assert bench.grade().score == 1.0
    for name in bench.outputs:
        bench.write(name, b"{}")
    for name in bench.inputs:
        (bench.path / name).unlink()
    assert bench.grade().score == 0.0


def test_the_workspace_holds_no_answer(bench):
    bench.solve()
    inputs = b"".join((ROOT / name).read_bytes() for name in bench.inputs)
    for name in bench.outputs:
        assert (bench.path / "outputs" / name).read_bytes() not in inputs


def test_failing_checks_say_which_file_is_at_fault(bench):
    for check in bench.grade().checks:
        assert re.fullmatch(r"outputs/\w+\.json: missing", check.message)
