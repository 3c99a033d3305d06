from __future__ import annotations

import pytest

from pytest_evoclaw.evidence import list_generated_tasks
from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.evidence.generator import generate_cases
from pytest_evoclaw.evidence.suite import OFFICIAL_SEED
from tests.evidence.shortcut_rules import list_shortcuts
from tests.evidence.shortcuts import Shortcut
from tests.evidence.shortcuts import count_right

TASKS = list_generated_tasks()
SEEDS = [OFFICIAL_SEED, 3]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task_id", TASKS)
def test_breaking_any_one_rule_loses_checks(task_id, seed):
    spec = load_spec(task_id)
    cases = generate_cases(spec, seed)
    full = [shortcut for shortcut in list_shortcuts(spec) if count_right(shortcut, cases) == 25]
    assert full == []


@pytest.mark.parametrize("task_id", TASKS)
def test_a_solver_that_breaks_no_rule_is_right(task_id):
    cases = generate_cases(load_spec(task_id), OFFICIAL_SEED)
    assert count_right("", cases) == 25
    assert [Shortcut().solve(planned.case) for planned in cases] == [p.report for p in cases]
