from __future__ import annotations

from typing import Any

import pytest

from pytest_evoclaw.skillneo.budget import Budget
from pytest_evoclaw.skillneo.budget import SearchSettings
from pytest_evoclaw.skillneo.budget import Spending
from pytest_evoclaw.skillneo.budget import describe_plan
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.usage import UNKNOWN_USAGE
from pytest_evoclaw.usage import Usage
from tests.skillneo.made_search import World
from tests.skillneo.made_search import plan_children
from tests.skillneo.made_search import search_world


def test_the_default_plan_has_78_executions():
    assert SearchSettings().planned_executions == 78


@pytest.mark.parametrize(
    ("settings", "planned"),
    [
        ({"generations": 1}, 18),
        ({"repeats": 1}, 1 + 5 * 7),
        ({"width": 2, "promoted": 1, "repeats": 2, "generations": 2}, 2 + 2 * 5),
    ],
    ids=["one generation", "one repeat", "small"],
)
def test_the_plan_follows_its_formula(settings: dict[str, Any], planned):
    assert SearchSettings(**settings).planned_executions == planned


def test_an_unknown_estimate_says_so():
    text = describe_plan(SearchSettings(), UNKNOWN_USAGE)
    assert text.startswith("at most 78 executions = 3 + 5 x [6 + 3 x 2 + 3]")
    assert "tokens unknown, cost unknown" in text


@pytest.mark.parametrize("name", ["generations", "width", "promoted", "repeats", "holds", "rounds"])
def test_a_setting_out_of_range_is_named(name):
    settings: dict[str, Any] = {name: 0}
    with pytest.raises(ValueError, match=f"search settings: {name}: found 0, allowed"):
        SearchSettings(**settings)


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(executions=10), "8 executions made and 3 planned, allowed 10"),
        (Budget(tokens=500), "500 tokens spent, allowed 500"),
        (Budget(cost_usd=1.5), "2 US dollars spent, allowed 1.5"),
        (Budget(seconds=60), "61 seconds spent, allowed 60"),
        (Budget(executions=11, tokens=501, cost_usd=2.1, seconds=62), None),
    ],
    ids=["executions", "tokens", "cost", "seconds", "none"],
)
def test_a_reached_limit_is_told(budget, words):
    spent = Spending(executions=8, tokens=500, cost_usd=2.0, seconds=61)
    assert budget.find_limit(spent, 3) == words


def test_usage_that_nobody_reported_is_counted_as_such():
    spent = Spending().add(Usage(), executions=1).add(Usage(input_tokens=1), executions=0)
    assert (spent.executions, spent.tokens, spent.unreported) == (1, 0, 2)


def test_a_stage_that_does_not_fit_is_not_begun():
    world = World(plans=[plan_children("root", "one", "two")])
    result = search_world(world, budget=Budget(executions=11))
    assert len(world.executed) == 5
    assert result.why == "budget: 5 executions made and 7 planned, allowed 11"
    assert (result.finished, result.deployed) == (False, "root")


def test_nothing_is_proposed_that_could_not_be_screened():
    world = World()
    search_world(world, budget=Budget(executions=5))
    assert world.requests == []


@pytest.mark.parametrize(
    "budget", [Budget(cost_usd=2.0), Budget(tokens=400), Budget(seconds=3)], ids=str
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_spent_budget_ends_between_executions_and_a_larger_one_goes_on(budget, jobs):
    world = World(plans=[plan_children("root", "one", "two")])
    journal = Journal(lambda: 0.0)
    paused = search_world(world, journal=journal, budget=budget, jobs=jobs, generations=1)
    assert paused.why.startswith("budget: ")
    assert len(world.executed) < 12
    result = search_world(world, journal=journal, generations=1)
    assert result.finished
    assert len(world.executed) == 12


def test_a_spent_budget_does_not_hide_what_was_deployed():
    world = World(scores={"one": [0.5]}, plans=[plan_children("root", "one", "two")])
    journal = Journal(lambda: 0.0)
    search_world(world, journal=journal)
    again = search_world(world, journal=journal, budget=Budget(cost_usd=0.1))
    assert again.deployed == "b01"


def test_proposals_and_edits_are_paid_for_too():
    world = World(plans=[plan_children("root", "one", "two")])
    result = search_world(world, generations=1)
    assert result.spending.executions == 12
    assert result.spending.tokens == (12 + 1 + 2) * 100
