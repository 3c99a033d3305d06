"""A search that was ended anywhere goes on to the same end, and repeats no execution."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from pytest_evoclaw.skillneo.budget import Budget
from pytest_evoclaw.skillneo.budget import SearchSettings
from pytest_evoclaw.skillneo.executions import Kind
from pytest_evoclaw.skillneo.journal import NAME
from pytest_evoclaw.skillneo.journal import FolderJournal
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.landscapes import Landscape
from pytest_evoclaw.skillneo.landscapes import SimulatedTask
from pytest_evoclaw.skillneo.landscapes import write_repairs
from pytest_evoclaw.skillneo.search import Search
from pytest_evoclaw.skillneo.simulate import make_parties
from tests.skillneo.made_search import World
from tests.skillneo.made_search import plan_children
from tests.skillneo.made_search import search_world

LANDSCAPE = Landscape(depths=(1, 2), valley=0.6, noise=0.1, insight=0.4, binary=False)
SETTINGS = SearchSettings(generations=2, width=4, promoted=2)


class Killed(Exception):
    """The process is gone."""


class MortalJournal(Journal):
    """A journal in whose process no more than ``life`` events can be recorded."""

    def __init__(self, events, life: int) -> None:
        super().__init__(lambda: 0.0)
        for event in events:
            self._index(event)
        self.life = life

    def append(self, event) -> None:
        if len(self.events) >= self.life:
            raise Killed
        super().append(event)


def search_task(journal: Journal, breakage: float = 0.0, seed: int = 29):
    """Go on with the journal's search on a fresh task that knows what was executed before."""
    task = SimulatedTask(LANDSCAPE, seed, breakage)
    bundles = [event["record"] for event in journal.events if event["event"] == "execution"]
    made = Counter(record["identity"].split("-")[0] for record in bundles)
    digests = {write_repairs(()).digest}
    digests |= {event["digest"] for event in journal.events if "digest" in event}
    task.made.update({digest: made[digest[:12]] for digest in digests if made[digest[:12]]})
    before = task.made.total()
    search = Search(SETTINGS, make_parties(LANDSCAPE, seed, task), journal)
    result = search.run(write_repairs(()))
    while not result.finished:  # interrupted: the faults of the infrastructure pass by
        result = search.run(write_repairs(()))
    return result, task.made.total() - before


@pytest.mark.parametrize("breakage", [0.0, 0.5], ids=["sound", "breaking"])
def test_a_search_killed_at_every_line_goes_on_to_the_same_end(tmp_path, breakage):
    whole = Journal(lambda: 0.0)
    expected, executed = search_task(whole, breakage)
    assert len(whole.events) > 40
    assert any(event["event"] == "interrupted" for event in whole.events) == (breakage > 0)
    for life in range(1, len(whole.events)):
        folder = tmp_path / str(life)
        folder.mkdir()
        lines = [json.dumps(event) for event in whole.events[:life]]
        torn = json.dumps(whole.events[life])[:-5]
        (folder / NAME).write_text("\n".join([*lines, torn]), "utf-8")
        journal = Journal(lambda: 0.0)
        for event in FolderJournal(folder, lambda: 0.0).events:
            journal._index(event)
        for digest, bundle in whole._bundles.items():
            assert journal.store_bundle(bundle) == digest
        result, more = search_task(journal, breakage)
        done = sum(event["event"] == "execution" for event in whole.events[:life])
        assert journal.events == whole.events
        assert done + more == executed
        assert (result.deployed, result.parents, result.why) == (
            expected.deployed,
            expected.parents,
            expected.why,
        )


def test_a_process_that_dies_while_it_records_loses_that_event_alone():
    whole = Journal(lambda: 0.0)
    search_task(whole)
    events: list[dict[str, object]] = []
    for life in range(10, len(whole.events), 10):
        journal = MortalJournal(events, life)
        for bundle in whole._bundles.values():
            journal.store_bundle(bundle)
        with pytest.raises(Killed):
            search_task(journal)
        assert journal.events == whole.events[:life]
        events = journal.events


def test_a_search_on_disk_goes_on_from_its_folder(tmp_path):
    scores = {"one": [0.5], "two": [0.2]}
    plan = [plan_children("root", "one", "two"), plan_children("b01", "three", "four")]
    first = World(scores=scores, plans=plan[:1])
    paused = search_world(
        first, journal=FolderJournal(tmp_path, lambda: 0.0), budget=Budget(executions=12)
    )
    assert paused.deployed == "b01"
    assert not paused.finished
    second = World(scores=scores, plans=plan[1:])
    result = search_world(second, journal=FolderJournal(tmp_path, lambda: 0.0), generations=5)
    assert result.tree["b01"].bundle is not None
    assert "root" not in second.executed
    assert result.generations == 2


def test_a_finished_search_is_read_without_executing():
    world = World(scores={"root": [1.0]})
    journal = Journal(lambda: 0.0)
    search_world(world, journal=journal)
    again = search_world(world, journal=journal)
    assert again.why == "the root is perfect"
    assert len(world.executed) == 3


def test_what_broke_in_a_comparison_stays_broken_when_the_search_goes_on():
    world = World(
        scores={"one": [1.0, Kind.INFRASTRUCTURE, 1.0], "two": [0.2]},
        plans=[plan_children("root", "one", "two"), [], plan_children("b02", "three", "four")],
    )
    journal = Journal(lambda: 0.0)
    first = search_world(world, journal=journal, generations=2)
    executed = list(world.executed)
    second = search_world(world, journal=journal, generations=2)
    assert (first.deployed, second.deployed) == ("b02", "b02")
    assert world.executed[: len(executed)] == executed
    assert "one" not in world.executed[len(executed) :]
