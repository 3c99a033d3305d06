from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies

from pytest_evoclaw.registry import list_parts
from pytest_evoclaw.skillneo.budget import Budget
from pytest_evoclaw.skillneo.budget import SearchSettings
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.landscapes import Landscape
from pytest_evoclaw.skillneo.landscapes import draw_landscape
from pytest_evoclaw.skillneo.landscapes import read_repairs
from pytest_evoclaw.skillneo.landscapes import write_repairs
from pytest_evoclaw.skillneo.search import Search
from pytest_evoclaw.skillneo.simulate import Cell
from pytest_evoclaw.skillneo.simulate import main
from pytest_evoclaw.skillneo.simulate import make_parties
from pytest_evoclaw.skillneo.trace import render_trace

GOLDEN = Path(__file__).parent.parent / "golden" / "skillneo_trace.txt"
CHAIN = Landscape(depths=(1, 2, 1), valley=0.6, noise=0.1, insight=0.4, binary=False)


def search_landscape(landscape: Landscape, seed: int, **facts):
    parties = make_parties(landscape, seed)
    journal = Journal(parties.clock)
    budget = Budget(executions=78)
    result = Search(SearchSettings(**facts), parties, journal, budget).run(write_repairs(()))
    return result, journal


def test_a_simulated_search_reads_like_algorithm_1():
    result, journal = search_landscape(CHAIN, 46)
    assert render_trace(journal.events) == GOLDEN.read_text(encoding="utf-8")
    # The deployed version comes from a child that did not beat the version deployed then.
    assert result.tree.trace_lineage(result.deployed) == ["root", "b02", "c04", "d04"]


def test_a_begun_step_is_a_valley():
    rewards = [CHAIN.expect_reward(names) for names in (["1.1"], ["1.1", "2.1"])]
    assert rewards[1] < rewards[0]
    assert CHAIN.expect_reward(["1.1", "2.1", "2.2"]) > rewards[0]


def test_a_later_step_counts_only_after_the_ones_before_it():
    assert CHAIN.expect_reward(["3.1"]) == CHAIN.expect_reward([])


def test_repairs_survive_being_written():
    assert read_repairs(write_repairs({"1.1", "2.1"})) == {"1.1", "2.1"}
    assert read_repairs(write_repairs(())) == set()


def test_the_interval_of_a_share_is_wilsons():
    low, high = Cell(name="x", solved=5, searches=10, reward=0.5, executions=78).interval
    assert (round(low, 4), round(high, 4)) == (0.2366, 0.7634)


def test_the_command_prints_a_row_for_each_policy_and_archive(capsys):
    assert main(["--landscapes", "1", "--executions", "30"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 landscapes, 30 executions, ends at the budget only"
    assert [line.split(" archive")[0].strip() for line in lines[2:]] == [
        policy for policy in list_parts("skillneo.policies") for _ in range(2)
    ]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=strategies.integers(0, 10_000),
    policy=strategies.sampled_from(list_parts("skillneo.policies")),
    archive=strategies.booleans(),
)
def test_every_search_keeps_the_rules(seed, policy, archive):
    result, journal = search_landscape(
        draw_landscape(Random(seed)), seed, policy=policy, archive=archive
    )
    tree = result.tree
    decisions = [event for event in journal.events if event["event"] == "decision"]
    assert result.spending.executions <= 78
    assert len({each.digest for each in tree}) == len(list(tree))
    assert result.holds <= 2
    for event in decisions:
        assert len(event["parents"]) <= 3
        assert all(name in tree for name in event["parents"])
        assert event["deployed"] in {event["incumbent"], *(n for n, *_ in event["standings"])}
        if event["deployed"] != event["incumbent"]:
            scores = {name: official for name, official, _ in event["standings"]}
            assert scores[event["deployed"]] > event["floor"]
    for version in tree:
        pool = _find_pool(decisions, version.generation)
        assert version.parent is None or version.parent in pool
        assert version.edit is None or set(version.edit.donors) <= pool


def _find_pool(decisions, generation: int) -> set[str]:
    before = [event for event in decisions if event["generation"] == generation - 1]
    return set(before[0]["parents"]) if before else {"root"}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=strategies.integers(0, 10_000))
def test_comma_has_no_parents_but_children_and_the_root_without_the_archive(seed):
    result, journal = search_landscape(draw_landscape(Random(seed)), seed, archive=False)
    for event in journal.events:
        if event["event"] == "decision":
            born = {each.name for each in result.tree.list_born(event["generation"])}
            assert set(event["parents"]) <= born | {"root"}
            assert len(event["parents"]) >= 2 or event["parents"] == ["root"]


@pytest.mark.parametrize("policy", list_parts("skillneo.policies"))
def test_every_policy_solves_a_chain_without_valleys_or_noise(policy):
    easy = Landscape(depths=(1, 1, 1), valley=0.0, noise=0.0, insight=0.8, binary=False)
    result, _ = search_landscape(easy, 1, policy=policy)
    assert result.bundle is not None
    assert easy.count_done(read_repairs(result.bundle)) == 3
