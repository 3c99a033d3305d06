from __future__ import annotations

from typing import Any

import pytest

from pytest_evoclaw.skillneo.admission import compute_parent_cap
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.parties import Finding
from pytest_evoclaw.skillneo.parties import Validation
from tests.skillneo.made_search import World
from tests.skillneo.made_search import make_edit
from tests.skillneo.made_search import plan_children
from tests.skillneo.made_search import read_text
from tests.skillneo.made_search import search_world

FIXABLE = Validation(finding=Finding.FIXABLE, words="Names a file that is not there.")
MISSING = Validation(
    finding=Finding.MISSING_FILE, words="A file is missing.", missing_file="scripts/check.py"
)
REJECTED = Validation(finding=Finding.REJECTED, words="Cannot be mended.")
ADMITTED = Validation(finding=Finding.ADMITTED)


def breed(world: World, **settings: Any):
    """Return the result and the drafts of generation one, each as (name, outcome)."""
    journal = Journal(lambda: 0.0)
    result = search_world(world, journal=journal, generations=1, **settings)
    drafts = [event for event in journal.events if event["event"] == "draft"]
    return result, [(event.get("name"), event["outcome"]) for event in drafts]


@pytest.mark.parametrize(
    ("width", "parents", "cap"), [(6, 1, 8), (6, 2, 5), (6, 3, 4), (6, 4, 4), (7, 3, 5)]
)
def test_the_cap_of_a_parent(width, parents, cap):
    assert compute_parent_cap(width, parents) == cap


def test_a_parent_has_no_more_children_than_its_cap():
    world = World(
        plans=[
            plan_children("root", "one", "two", "three"),
            plan_children("b01", *(f"c{n}" for n in range(6))),
        ],
        scores={"one": [0.3], "two": [0.2], "three": [0.1]},
    )
    result = search_world(world, generations=2)
    assert len(result.tree.list_children("b01")) == 4 == world.requests[1].cap


def test_a_parent_outside_the_pool_is_refused_and_fed_back():
    world = World(plans=[[make_edit("b07", "zero"), *plan_children("root", "one", "two")], []])
    breed(world, rounds=2)
    (refusal,) = world.requests[1].refused
    assert (refusal.edit.direction, refusal.why) == ("zero", "parent: found b07, allowed root")
    assert [edit.direction for edit in world.requests[1].proposed] == ["zero", "one", "two"]


def test_donors_are_other_versions_of_the_pool():
    world = World(
        scores={"one": [0.3], "two": [0.2]},
        plans=[
            plan_children("root", "one", "two"),
            [
                make_edit("b01", "good", donors=("b02",)),
                make_edit("b01", "own", donors=("b01",)),
                make_edit("b01", "strange", donors=("root",)),
                make_edit("b02", "plain"),
            ],
        ],
    )
    result = search_world(world, generations=2)
    born = [each.edit.direction for each in result.tree.list_born(2) if each.edit]
    assert born == ["good", "plain"]
    assert result.tree["c01"].parent == "b01"
    assert [read_text(bundle) for bundle in world.edited[2].donors] == ["two"]


def test_duplicates_of_any_version_are_named_but_not_kept():
    world = World(plans=[plan_children("root", "one", "one", "root", "two")])
    result, drafts = breed(world)
    assert drafts == [
        ("b01", "admitted"),
        ("b02", "duplicate"),
        ("b03", "duplicate"),
        ("b04", "admitted"),
    ]
    assert [each.name for each in result.tree] == ["root", "b01", "b04"]


def test_a_generation_has_no_more_children_than_were_asked_for():
    world = World(plans=[plan_children("root", *(f"child {n}" for n in range(9)))])
    result, _ = breed(world)
    assert len(result.tree.list_born(1)) == 6


def test_another_round_fills_the_places_that_are_left():
    world = World(plans=[plan_children("root", "one", "one"), plan_children("root", "two")])
    result, _ = breed(world, rounds=2)
    assert [request.wanted for request in world.requests] == [6, 5]
    assert len(result.tree.list_born(1)) == 2


@pytest.mark.parametrize(
    ("findings", "outcome", "edits"),
    [
        ([ADMITTED], "admitted", 1),
        ([FIXABLE, ADMITTED], "admitted", 2),
        ([FIXABLE, FIXABLE], "rejected", 2),
        ([REJECTED], "rejected", 1),
        ([MISSING, ADMITTED], "admitted", 2),
        ([FIXABLE, MISSING, ADMITTED], "admitted", 3),
        ([FIXABLE, MISSING, FIXABLE], "rejected", 3),
        ([MISSING, MISSING], "rejected", 2),
    ],
    ids=[
        "at once",
        "revised",
        "one revision",
        "beyond repair",
        "file added",
        "revised, then file added",
        "no second revision",
        "one repair of a file",
    ],
)
def test_repairs_of_a_draft(findings, outcome, edits):
    world = World(
        findings={"one": list(findings)}, plans=[plan_children("root", "one", "two", "three")]
    )
    _, drafts = breed(world)
    assert drafts[0][1] == outcome
    assert len(world.edited) == edits + 2


def test_a_repair_of_a_missing_file_is_limited_to_it():
    world = World(
        findings={"one": [MISSING, ADMITTED]}, plans=[plan_children("root", "one", "two")]
    )
    breed(world)
    assert world.edited[1].only_file == "scripts/check.py"
    assert world.edited[1].complaint == "A file is missing."
    assert world.edited[1].draft is not None


def test_a_rejected_draft_has_neither_name_nor_executions():
    world = World(
        findings={"one": [REJECTED]}, plans=[plan_children("root", "one", "two", "three")]
    )
    _, drafts = breed(world)
    assert drafts == [(None, "rejected"), ("b01", "admitted"), ("b02", "admitted")]
    assert "one" not in world.executed


def test_measured_net_losses_reach_the_proposer():
    world = World(
        scores={"root": [0.5], "one": [0.2], "two": [0.6]},
        plans=[plan_children("root", "one", "two"), []],
    )
    search_world(world, generations=2)
    assert [edit.direction for edit in world.requests[1].losses] == ["one"]
