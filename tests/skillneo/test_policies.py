from __future__ import annotations

import pytest

from pytest_evoclaw.registry import list_parts
from pytest_evoclaw.skillneo.policies import ParentChoice
from pytest_evoclaw.skillneo.search import find_policy
from tests.skillneo.made_search import World
from tests.skillneo.made_search import make_tree
from tests.skillneo.made_search import plan_children
from tests.skillneo.made_search import search_world

# b01 and b02 were the parents of c01 and c02; b03 was complete too, but is no parent.
CHOSEN = {
    "comma": ["c01", "c02"],
    "plus": ["b01", "c01"],
    "single": ["b01"],
    "frontier": ["b01", "b03"],
}


@pytest.mark.parametrize("policy", list_parts("skillneo.policies"))
def test_a_policy_chooses(policy):
    tree = make_tree(
        root=[0.1] * 3,
        b01=[0.9] * 3,
        b02=[0.4] * 3,
        b03=[0.8] * 3,
        c01_b01=[0.4] * 3,
        c02_b02=[0.3] * 3,
        c03_b02=[1.0],
    )
    choice = ParentChoice(
        tree=tree, children=("c01", "c02"), previous=("b01", "b02"), incumbent="b01", slots=2
    )
    assert find_policy(policy).choose(choice) == CHOSEN[policy]


def test_plus_prefers_the_child_where_it_ties_with_its_parent():
    tree = make_tree(b01=[0.4] * 3, c01_b01=[0.4] * 3)
    choice = ParentChoice(tree=tree, children=("c01",), previous=("b01",), incumbent="b01", slots=1)
    assert find_policy("plus").choose(choice) == ["c01"]


def test_single_path_refinement_stays_with_one_parent():
    world = World(plans=[plan_children("root", "one", "two")])
    result = search_world(world, generations=1, policy="single", archive=False)
    assert result.parents == ("root",)


def test_the_frontier_keeps_the_best_of_all_generations():
    world = World(
        scores={"root": [0.5], "one": [0.4], "two": [0.3]},
        plans=[plan_children("root", "one", "two"), plan_children("b01", "three", "four")],
    )
    result = search_world(world, generations=2, policy="frontier", archive=False)
    assert result.parents == ("root", "b01", "b02")
