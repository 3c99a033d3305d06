from __future__ import annotations

import pytest

from pytest_evoclaw.evidence import derive_report
from pytest_evoclaw.evidence import list_generated_tasks
from pytest_evoclaw.evidence import read_case
from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.evidence.formats import render_case
from pytest_evoclaw.evidence.generator import generate_cases

TASKS = list_generated_tasks()


@pytest.mark.parametrize("task_id", TASKS)
def test_what_is_derived_from_the_file_is_what_the_generator_intended(task_id, tmp_path):
    spec = load_spec(task_id)
    for seed in (1, 2, 3):
        for planned in generate_cases(spec, seed):
            path = tmp_path / f"case.{spec.family.extension}"
            path.write_text(render_case(planned.case, spec.family.extension), encoding="utf-8")
            assert derive_report(read_case(path)) == planned.report


@pytest.mark.parametrize("extension", ["csv", "html", "json", "txt", "yaml"])
def test_every_format_keeps_a_case_whole(extension, tmp_path):
    case = generate_cases(load_spec(TASKS[0]), 5)[0].case
    path = tmp_path / f"case.{extension}"
    path.write_text(render_case(case, extension), encoding="utf-8")
    assert read_case(path) == case


def test_the_same_seed_gives_the_same_cases_and_another_seed_none_of_them():
    spec = load_spec(TASKS[0])
    first, second, other = (generate_cases(spec, seed) for seed in (4, 4, 5))
    assert first == second
    for left, right in zip(first, other, strict=True):
        assert left.case.packets != right.case.packets
        assert left.report != right.report
