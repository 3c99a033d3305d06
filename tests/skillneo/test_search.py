"""Algorithm 1, one test a rule."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.skillneo.acceptance import Margins
from pytest_evoclaw.skillneo.executions import Conditions
from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.executions import Kind
from pytest_evoclaw.skillneo.journal import Journal
from tests.skillneo.made_search import World
from tests.skillneo.made_search import make_edit
from tests.skillneo.made_search import plan_children
from tests.skillneo.made_search import read_text
from tests.skillneo.made_search import search_world

BROKEN = Kind.INFRASTRUCTURE


def list_stages(journal: Journal, generation: int) -> list[tuple[str, str, int]]:
    return [
        (event["stage"], event["candidate"], event["repeat"])
        for event in journal.events
        if event["event"] == "execution" and event["generation"] == generation
    ]


def list_decisions(journal: Journal) -> list[dict[str, Any]]:
    return [event for event in journal.events if event["event"] == "decision"]


def search(world: World, **settings: Any):
    journal = Journal(lambda: 0.0)
    return search_world(world, journal=journal, **settings), journal


def test_a_perfect_root_is_returned_after_its_repeats():
    world = World(scores={"root": [1.0]})
    result, _ = search(world)
    assert (result.deployed, result.finished, result.why) == ("root", True, "the root is perfect")
    assert world.executed == ["root"] * 3
    assert world.requests == []


def test_a_root_that_is_perfect_only_sometimes_is_evolved():
    world = World(scores={"root": [1.0, 1.0, 0.9]}, plans=[plan_children("root", "one", "two")])
    search(world, generations=1)
    assert len(world.requests) == 1


def test_the_root_waits_for_all_its_repeats():
    world = World(scores={"root": [BROKEN, 0.0, 0.0, 1.0]})
    journal = Journal(lambda: 0.0)
    first = search_world(world, journal=journal)
    assert (first.finished, first.deployed) == (False, "root")
    assert world.requests == []
    search_world(world, journal=journal)
    assert world.executed == ["root"] * 4
    assert len(world.requests) == 1


def test_the_plan_is_announced_before_anything_is_executed():
    world = World(scores={"root": [1.0]})
    search(world)
    assert world.announced == [
        "at most 78 executions = 3 + 5 x [6 + 3 x 2 + 3], about 7,800 tokens, about $39.00; "
        "proposals and edits are extra"
    ]


def test_every_admitted_child_is_screened_once():
    world = World(plans=[plan_children("root", "one", "two", "three", "four")])
    _, journal = search(world, generations=1)
    screened = [entry for entry in list_stages(journal, 1) if entry[0] == "screen"]
    assert screened == [("screen", f"b0{n}", 1) for n in range(1, 5)]


def test_the_best_of_the_screening_are_promoted_and_complete_their_repeats():
    scores = {"one": [0.1], "two": [0.4], "three": [0.2], "four": [0.3]}
    world = World(scores=scores, plans=[plan_children("root", *scores)])
    result, journal = search(world, generations=1)
    promoted = {entry for entry in list_stages(journal, 1) if entry[0] == "promote"}
    assert promoted == {("promote", f"b0{n}", r) for n in (2, 3, 4) for r in (2, 3)}
    assert len(result.tree["b02"].records) == 3


def test_passed_checks_break_ties_of_the_screening():
    scores = {"one": [(0.0, 1)], "two": [(0.0, 0)], "three": [(0.0, 3)]}
    world = World(scores=scores, plans=[plan_children("root", *scores)])
    _, journal = search(world, generations=1, promoted=1)
    assert {name for stage, name, _ in list_stages(journal, 1) if stage == "promote"} == {"b03"}


def test_the_incumbent_is_measured_afresh_and_interleaved():
    world = World(plans=[plan_children("root", "one", "two")])
    result, journal = search(world, generations=1)
    compared = [entry for entry in list_stages(journal, 1) if entry[0] != "screen"]
    assert [r for _, _, r in compared] == [1, 2, 2, 2, 3, 3, 3]
    assert [entry for entry in compared if entry[0] == "incumbent"] == [
        ("incumbent", "root", repeat) for repeat in (1, 2, 3)
    ]
    assert len(result.tree.root.records) == 6


def test_the_incumbent_needs_no_place_among_the_promoted():
    world = World(plans=[plan_children("root", "one", "two", "three")])
    _, journal = search(world, generations=1)
    names = {name for stage, name, _ in list_stages(journal, 1) if stage == "promote"}
    assert names == {"b01", "b02", "b03"}


@pytest.mark.parametrize("complete", [0, 1])
def test_fewer_than_two_complete_screenings_interrupt_without_a_hold(complete):
    scores = {name: [0.5 if n < complete else BROKEN] for n, name in enumerate(("one", "two"))}
    world = World(scores=scores, plans=[plan_children("root", "one", "two")])
    result, journal = search(world)
    assert (result.finished, result.deployed, result.holds) == (False, "root", 0)
    assert (result.parents, result.generations) == (("root",), 0)
    assert "interrupted" in result.why
    assert list_decisions(journal) == []


def test_an_interrupted_generation_goes_on_with_what_was_missing():
    world = World(
        scores={"one": [BROKEN, 0.5], "two": [0.1]},
        plans=[plan_children("root", "one", "two")],
    )
    journal = Journal(lambda: 0.0)
    assert not search_world(world, journal=journal, generations=1).finished
    before = len(world.executed)
    result = search_world(world, journal=journal, generations=1)
    assert (result.deployed, result.finished) == ("b01", True)
    assert world.executed[before] == "one"
    assert world.executed.count("two") == 3
    assert len(world.requests) == 1


def test_a_generation_without_two_children_asks_again_when_it_goes_on():
    world = World(plans=[plan_children("root", "one"), plan_children("root", "one", "two")])
    journal = Journal(lambda: 0.0)
    assert not search_world(world, journal=journal, generations=1).finished
    result = search_world(world, journal=journal, generations=1)
    assert result.finished
    assert [each.name for each in result.tree.list_born(1)] == ["b01", "b03"]


@pytest.mark.parametrize("kind", [Kind.INFRASTRUCTURE, Kind.VERIFIER_FAILURE], ids=str)
def test_an_incomplete_record_never_enters_a_ranking(kind):
    world = World(
        scores={"one": [1.0, kind, 1.0], "two": [0.2]},
        plans=[plan_children("root", "one", "two")],
    )
    result, journal = search(world, generations=1)
    (decision,) = list_decisions(journal)
    assert [name for name, *_ in decision["standings"]] == ["b02", "root"]
    assert decision["left_out"] == ["b01: 2 of 3 executions measured"]
    assert result.deployed == "b02"
    assert "b01" not in result.parents


def test_an_official_timeout_counts_with_its_reward():
    record = ExecutionRecord(identity="a", kind=Kind.TIMEOUT, official=0.0)
    assert record.measured


@pytest.mark.parametrize("part", ["task", "model", "environment", "verifier"])
def test_records_of_other_conditions_are_not_compared(part):
    home = {"task": "t", "model": "m", "environment": "e", "verifier": "v"}
    world = World(
        scores={"one": [1.0], "two": [0.2]},
        plans=[plan_children("root", "one", "two")],
        elsewhere={"one": Conditions(**{**home, part: "other"})},
    )
    result, journal = search(world, generations=1)
    (decision,) = list_decisions(journal)
    assert decision["left_out"] == [f"b01: {part}: found 'other', allowed '{home[part]}'"]
    assert result.deployed == "b02"


def test_without_a_complete_incumbent_the_best_complete_child_is_deployed():
    world = World(
        scores={"root": [0.5, 0.5, 0.5, BROKEN], "one": [0.1], "two": [0.2]},
        plans=[plan_children("root", "one", "two")],
    )
    result, journal = search(world, generations=1)
    assert result.deployed == "b02"
    assert list_decisions(journal)[0]["why"] == "the incumbent has no complete record"
    assert result.holds == 0


def test_without_a_complete_child_the_incumbent_is_held():
    world = World(
        scores={"one": [0.5, BROKEN], "two": [0.5, BROKEN]},
        plans=[plan_children("root", "one", "two")],
    )
    result, _ = search(world, generations=1)
    assert (result.deployed, result.holds, result.parents) == ("root", 1, ("root",))


def test_deployment_resets_the_count_of_holds():
    world = World(
        scores={"three": [0.5]},
        plans=[
            plan_children("root", "one", "two"),
            plan_children("b01", "three", "four"),
            plan_children("c01", "five", "six"),
        ],
    )
    result, journal = search(world, generations=3, archive=False)
    assert [each["holds"] for each in list_decisions(journal)] == [1, 0, 1]
    assert result.deployed == "c01"


def test_only_children_are_parents_even_if_they_score_less_than_their_own():
    world = World(
        scores={"root": [0.5], "one": [0.2], "two": [0.1], "three": [0.0]},
        plans=[plan_children("root", "one", "two", "three")],
    )
    result, _ = search(world, generations=1, archive=False)
    assert (result.deployed, result.parents) == ("root", ("b01", "b02", "b03"))


def test_the_measured_root_is_added_below_two_parents():
    world = World(scores={"two": [0.5, BROKEN]}, plans=[plan_children("root", "one", "two")])
    result, _ = search(world, generations=1)
    assert result.parents == ("b01", "root")


def test_a_screening_only_child_is_no_parent_but_is_evidence():
    world = World(
        scores={"one": [0.3], "two": [0.2], "three": [0.1]},
        plans=[plan_children("root", "one", "two", "three"), []],
    )
    search(world, generations=2, promoted=2)
    request = world.requests[1]
    assert [parent.name for parent in request.parents] == ["b01", "b02"]
    assert len(request.tree["b03"].records) == 1


def test_a_negative_hold_goes_back_to_the_archive():
    world = World(
        scores={"root": [0.0], "one": [0.5], "two": [0.5, 0.2], "three": [0.1], "four": [0.1]},
        plans=[
            plan_children("root", "one", "two"),
            plan_children("b01", "three", "four"),
        ],
    )
    result, journal = search(world, generations=2)
    decision = list_decisions(journal)[1]
    assert decision["retired"] == ["c01", "c02", "b01"]
    assert decision["revisited"] is True
    assert (result.deployed, result.parents) == ("b01", ("b02", "root"))


def test_without_the_archive_a_negative_hold_keeps_the_children():
    world = World(scores={"root": [0.5]}, plans=[plan_children("root", "one", "two")])
    result, journal = search(world, generations=1, archive=False)
    assert result.parents == ("b01", "b02")
    assert "retired" not in list_decisions(journal)[0]


def test_a_tie_is_a_hold_but_no_reason_to_go_back():
    world = World(scores={"root": [0.5], "one": [0.5]}, plans=[plan_children("root", "one", "two")])
    result, journal = search(world, generations=1)
    assert (result.deployed, result.holds) == ("root", 1)
    assert "retired" not in list_decisions(journal)[0]


def test_a_search_without_survivors_keeps_the_ordinary_parents():
    world = World(
        scores={"root": [0.5], "one": [0.4], "two": [0.3]},
        plans=[plan_children("root", "one", "two")],
    )
    result, journal = search(world, generations=1)
    decision = list_decisions(journal)[0]
    assert decision["retired"] == ["b01", "b02", "root"]
    assert decision["revisited"] is False
    assert result.parents == ("b01", "b02")


class LossyJournal(Journal):
    """A journal that has lost all bundles but the root's."""

    def load_bundle(self, digest: str):
        del digest


def test_a_search_whose_bundles_are_all_lost_ends_as_exhausted():
    world = World(scores={"root": [0.5]}, plans=[plan_children("root", "one", "two")])
    journal = Journal(lambda: 0.0)
    search_world(world, journal=journal, generations=2, holds=3)
    lossy = LossyJournal(lambda: 0.0)
    for event in journal.events:
        lossy.append({key: value for key, value in event.items() if key != "at"})
    result = search_world(world, journal=lossy, generations=2, holds=3)
    assert (result.finished, result.why) == (True, "archive exhausted")
    assert result.deployed == "root"


def test_two_consecutive_holds_end_the_search():
    world = World(
        plans=[plan_children("root", "one", "two"), plan_children("b01", "three", "four")]
    )
    result, _ = search(world)
    assert (result.finished, result.why, result.generations) == (True, "2 consecutive holds", 2)


def test_a_hold_ends_the_search_where_no_gain_beyond_the_margin_is_left():
    world = World(scores={"root": [0.9]}, plans=[plan_children("root", "one", "two")])
    result, _ = search(world, margins=Margins(official=20.0))
    assert (result.why, result.generations) == ("no room for a gain beyond the margin", 1)


def test_the_search_ends_at_the_generation_limit():
    world = World(scores={"one": [0.5]}, plans=[plan_children("root", "one", "two")])
    result, _ = search(world, generations=1)
    assert (result.finished, result.why, result.deployed) == (True, "generation limit", "b01")


def test_a_full_search_executes_as_planned():
    plans = [
        plan_children("root" if g == 0 else f"{'abcdef'[g]}01", *(f"{g}-{n}" for n in range(4)))
        for g in range(5)
    ]
    for g, plan in enumerate(plans):
        parent = "root" if g == 0 else f"{'abcdef'[g]}02"
        plan += [make_edit(parent, f"{g}-{n}") for n in (4, 5)]
    scores = {f"{g}-{n}": [0.1 * g + 0.1 - 0.01 * n] for g in range(5) for n in range(6)}
    world = World(scores=scores, plans=plans)
    result, _ = search(world)
    assert (result.generations, result.deployed) == (5, "f01")
    assert len(world.executed) == 78


def test_roots_of_different_conditions_are_refused():
    world = World()
    execute = world.execute

    def move(bundle, n, /):
        world.elsewhere["root"] = Conditions(task=str(len(world.executed)))
        return execute(bundle, n)

    world.execute = move  # type: ignore[method-assign]
    with pytest.raises(SettingsError, match="root: its executions differ"):
        search(world)


def test_a_journal_of_another_search_is_refused():
    world = World(scores={"root": [1.0]})
    _, journal = search(world)
    with pytest.raises(SettingsError, match="belongs to another one: settings"):
        search_world(world, journal=journal, width=4)


def test_an_unknown_policy_is_named_with_those_allowed():
    with pytest.raises(SettingsError, match="found 'coma', allowed comma, frontier, plus, single"):
        search(World(), policy="coma")


def test_several_jobs_find_the_same_as_one():
    scores = {"one": [0.1], "two": [0.4], "three": [0.2], "four": [0.3]}
    worlds = [World(scores=scores, plans=[plan_children("root", *scores)]) for _ in range(2)]
    one = search_world(worlds[0], generations=1)
    many = search_world(worlds[1], generations=1, jobs=4)
    assert (one.deployed, one.parents) == (many.deployed, many.parents)
    assert sorted(worlds[0].executed) == sorted(worlds[1].executed)


def test_what_ended_beside_a_crash_is_recorded():
    world = World(plans=[plan_children("root", "one", "two")])
    execute = world.execute

    def crash(bundle, n, /):
        records = execute(bundle, n)
        if read_text(bundle) == "two":
            raise OSError("no space left")
        return records

    world.execute = crash  # type: ignore[method-assign]
    journal = Journal(lambda: 0.0)
    with pytest.raises(OSError, match="no space left"):
        search_world(world, journal=journal, jobs=2)
    assert ("screen", "b01", 1) in list_stages(journal, 1)
    assert ("screen", "b02", 1) not in list_stages(journal, 1)
