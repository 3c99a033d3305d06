from __future__ import annotations

from dataclasses import replace

from pytest_evoclaw.skillneo.archive import find_survivors
from pytest_evoclaw.skillneo.archive import retire_losers
from pytest_evoclaw.skillneo.candidate import name_candidate
from pytest_evoclaw.skillneo.ranking import Standing
from tests.skillneo.made_search import make_record
from tests.skillneo.made_search import make_tree


def stand(**scores: float) -> list[Standing]:
    return [Standing(name=name, official=s, auxiliary=s) for name, s in scores.items()]


def test_complete_children_below_the_incumbent_are_retired():
    tree = make_tree(b01=[0.2] * 3, b02=[0.5] * 3, b03=[0.1])
    assert retire_losers(tree, stand(b02=50, b01=20, root=50), "root") == ["b01"]
    assert tree.retired == {"b01"}


def test_a_compared_parent_above_all_of_its_evaluated_children_is_retired():
    tree = make_tree(b01=[0.5] * 3, c01_b01=[0.2] * 3, c02_b01=[0.4])
    assert retire_losers(tree, stand(b01=50, c01=20), "b01") == ["c01", "b01"]


def test_a_screened_child_that_holds_its_own_keeps_its_parent():
    tree = make_tree(b01=[0.5] * 3, c01_b01=[0.2] * 3, c02_b01=[0.5])
    assert retire_losers(tree, stand(b01=50, c01=20), "b01") == ["c01"]


def test_a_parent_that_was_not_compared_is_not_retired():
    tree = make_tree(b01=[0.9] * 3, b02=[0.5] * 3, c01_b01=[0.2] * 3)
    assert retire_losers(tree, stand(b02=50, c01=20), "b02") == ["c01"]


def test_a_parent_without_evaluated_children_is_not_retired():
    tree = make_tree(b01=[0.5] * 3, c01_b01=[])
    assert retire_losers(tree, stand(b01=50), "b01") == []


def test_survivors_are_unretired_leaves():
    tree = make_tree(b01=[0.5] * 3, b02=[0.4] * 3, b03=[0.3] * 3, c01_b01=[0.2] * 3)
    tree.retired.add("b03")
    assert find_survivors(tree, 3) == ["b02", "c01"]


def test_a_version_whose_children_are_all_retired_is_a_leaf_again():
    tree = make_tree(b01=[0.5] * 3, c01_b01=[0.2] * 3)
    tree.retired.add("c01")
    assert find_survivors(tree, 3) == ["b01"]


def test_survivors_with_all_repeats_come_alone_and_best_first():
    tree = make_tree(b01=[0.2] * 3, b02=[0.4] * 3, b03=[0.9], b04=[0.4] * 3)
    assert find_survivors(tree, 3) == ["b02", "b04", "b01"]


def test_thinner_survivors_are_the_second_tier():
    tree = make_tree(b01=[0.2] * 3, b02=[0.4], b03=[0.9], b04=[])
    tree.retired.add("b01")
    assert find_survivors(tree, 3) == ["b03", "b02"]


def test_there_are_as_many_survivors_as_places():
    tree = make_tree(b01=[0.2] * 3, b02=[0.4] * 3, b03=[0.3] * 3)
    assert find_survivors(tree, 2) == ["b02", "b03"]


def test_a_version_whose_files_are_lost_is_no_survivor():
    tree = make_tree(b01=[0.2] * 3)
    tree._versions["b01"] = replace(tree["b01"], bundle=None)
    assert find_survivors(tree, 2) == []


def test_the_latest_complete_mean_is_a_versions_score():
    tree = make_tree(b01=[0.2] * 3)
    for number in range(3):
        tree.record("b01", 2, make_record(f"again-{number}", 0.6))
    tree.record("b01", 3, make_record("thin", 1.0))
    assert tree.find_score("b01") == 60.0


def test_edits_whose_children_score_below_their_parents_are_net_losses():
    tree = make_tree(root=[0.5] * 3, b01=[0.2] * 3, b02=[0.6] * 3, c01_b02=[0.5], c02_b02=[])
    assert [edit.direction for edit in tree.list_losses()] == ["b01", "c01"]


def test_the_lineage_follows_primary_parents():
    tree = make_tree(b01=[], c03_b01=[], e02_c03=[])
    assert tree.trace_lineage("e02") == ["root", "b01", "c03", "e02"]


def test_names_have_the_letter_of_their_generation():
    names = [name_candidate(g, n) for g, n in ((1, 5), (5, 8), (25, 1), (26, 12))]
    assert names == ["b05", "f08", "z01", "aa12"]
