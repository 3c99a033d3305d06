"""Algorithm 1 of SkillNEO: screen, promote, compare, deploy or hold, choose parents, stop.

A search is a function of its settings, its seed and what others answered. All answers are in the
journal, so going on after an interruption is running the search again with them.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from functools import cache
from random import Random

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.registry import make_part
from pytest_evoclaw.skillneo.admission import Admission
from pytest_evoclaw.skillneo.archive import find_survivors
from pytest_evoclaw.skillneo.archive import retire_losers
from pytest_evoclaw.skillneo.budget import Budget
from pytest_evoclaw.skillneo.budget import SearchSettings
from pytest_evoclaw.skillneo.budget import Spending
from pytest_evoclaw.skillneo.budget import describe_plan
from pytest_evoclaw.skillneo.candidate import ROOT
from pytest_evoclaw.skillneo.candidate import Candidate
from pytest_evoclaw.skillneo.deciding import Decision
from pytest_evoclaw.skillneo.deciding import compare_versions
from pytest_evoclaw.skillneo.deciding import decide_deployment
from pytest_evoclaw.skillneo.executions import Conditions
from pytest_evoclaw.skillneo.journal import Event
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.measuring import Measuring
from pytest_evoclaw.skillneo.measuring import SearchPaused
from pytest_evoclaw.skillneo.measuring import Slot
from pytest_evoclaw.skillneo.parties import Parties
from pytest_evoclaw.skillneo.policies import ParentChoice
from pytest_evoclaw.skillneo.policies import Policy
from pytest_evoclaw.skillneo.ranking import Batch
from pytest_evoclaw.skillneo.ranking import rank_batches
from pytest_evoclaw.skillneo.tree import Tree
from pytest_evoclaw.skills import SkillBundle

VERSION = 1
LEAST_SCREENED = 2
LEAST_PARENTS = 2
PERFECT = 1.0


@cache
def find_policy(name: str) -> Policy:
    """Return the policy of this name; SettingsError if there is none."""
    policy: Policy = make_part("skillneo.policies", name)
    return policy


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """How a search ended, or why it paused; ``finished`` says that nothing is left to do."""

    tree: Tree
    deployed: str
    parents: tuple[str, ...]
    generations: int
    holds: int
    finished: bool
    why: str
    spending: Spending

    @property
    def bundle(self) -> SkillBundle | None:
        """The frozen bundle, None if its files are lost."""
        return self.tree[self.deployed].bundle


@dataclass(slots=True)
class Search:
    """One search, new or gone on with, as its journal says; ``budget`` may change between sittings.

    SettingsError if the journal is of another search.
    """

    settings: SearchSettings
    parties: Parties
    journal: Journal
    budget: Budget = field(default_factory=Budget)
    jobs: int = 1
    _tree: Tree = field(init=False)
    _measuring: Measuring = field(init=False)
    _admission: Admission = field(init=False)
    _policy: Policy = field(init=False)
    _conditions: Conditions = field(init=False)
    _seed: int = field(init=False)
    _incumbent: str = ROOT
    _parents: tuple[str, ...] = (ROOT,)
    _generation: int = 0
    _holds: int = 0

    def run(self, root: SkillBundle) -> SearchResult:
        """Search until an end of Algorithm 1, an interruption, or a limit of the budget."""
        self._policy = find_policy(self.settings.policy)
        self._seed = self._open(root)
        self._tree = Tree(repeats=self.settings.repeats)
        self._tree.add(Candidate(name=ROOT, generation=0, digest=root.digest, bundle=root))
        self._measuring = Measuring(self.parties, self.journal, self.budget, self.jobs)
        self._admission = Admission(
            self.settings, self.parties, self.journal, self._seed, self._measuring.check_budget
        )
        self._incumbent, self._parents, self._generation, self._holds = ROOT, (ROOT,), 0, 0
        try:
            finished, why = self._evolve()
        except SearchPaused as pause:
            finished, why = False, f"budget: {pause}"
        return SearchResult(
            tree=self._tree,
            deployed=self._incumbent,
            parents=self._parents,
            generations=self._generation,
            holds=self._holds,
            finished=finished,
            why=why,
            spending=self._measuring.add_up_spending(),
        )

    def _open(self, root: SkillBundle) -> int:
        """Announce the plan, and return the seed of a new search or of the one in the journal."""
        facts = {"version": VERSION, "settings": asdict(self.settings), "root": root.digest}
        event = self.journal.find(event="search")
        if event is None:
            self.journal.store_bundle(root)
            event = {"event": "search", **facts, "seed": self.parties.random.getrandbits(64)}
            self.journal.append(event)
        for name, allowed in facts.items():
            if event[name] != json.loads(json.dumps(allowed)):
                found = f"{name}: found {allowed}, allowed {event[name]}"
                raise SettingsError(f"journal of a search: it belongs to another one: {found}")
        self.parties.announce(describe_plan(self.settings, self.parties.expected_usage))
        return int(event["seed"])

    def _evolve(self) -> tuple[bool, str]:
        end = self._measure_root()
        while end is None:
            if self._generation >= self.settings.generations:
                return True, "generation limit"
            end = self._breed(self._generation + 1)
        return end

    def _measure_root(self) -> tuple[bool, str] | None:
        attempt = 0
        while True:
            self._fill(0, "root", [ROOT], attempt)
            records = self._tree.root.records
            if len(records) >= self.settings.repeats:
                break
            if self._interrupt(0, attempt, f"{len(records)} root executions measured"):
                return False, "interrupted: the root has no complete record"
            attempt += 1
        self._conditions = records[0].conditions
        if any(record.conditions != self._conditions for record in records):
            raise SettingsError("root: its executions differ in task, model, environment, verifier")
        perfect = all(record.official == PERFECT for record in records)
        return (True, "the root is perfect") if perfect else None

    def _breed(self, generation: int) -> tuple[bool, str] | None:
        """Go through one generation; return how the search ends, None if it goes on."""
        attempt = 0
        while True:
            if attempt == 0 or len(self._tree.list_born(generation)) < LEAST_SCREENED:
                who = (self._parents, self._incumbent)
                self._admission.admit(self._tree, *who, generation, attempt)
            born = [each.name for each in self._tree.list_born(generation)]
            self._fill(generation, "screen", born, attempt)
            screened = [Batch(name=n, records=r) for n in born if (r := self._tree[n].records)]
            if len(screened) >= LEAST_SCREENED:
                break
            if self._interrupt(generation, attempt, f"{len(screened)} complete screenings"):
                return False, f"interrupted: {len(screened)} complete screenings, 2 are needed"
            attempt += 1
        ranked = [each.name for each in rank_batches(screened)]
        decision = self._compare(generation, ranked[: self.settings.promoted], attempt)
        return self._conclude(generation, decision)

    def _fill(self, generation: int, stage: str, names: list[str], attempt: int) -> None:
        """Execute what a stage still lacks: once in a sitting, again after an interruption."""
        wanted = self.settings.repeats if stage == "root" else 1
        slots = []
        for name in names:
            missing = wanted - len(self._tree[name].records)
            slots += [
                Slot(generation=generation, stage=stage, candidate=name, repeat=n, attempt=attempt)
                for n in range(1, missing + 1)
            ]
        self._measuring.measure(self._tree, slots)

    def _interrupt(self, generation: int, attempt: int, why: str) -> bool:
        """Record an interruption; False if it is an earlier one, after which the search went on."""
        place = {"event": "interrupted", "generation": generation, "attempt": attempt}
        if self.journal.find(**place) is not None:
            return False
        self.journal.append({**place, "why": why})
        return True

    def _compare(self, generation: int, promoted: list[str], attempt: int) -> Decision:
        """Complete the promoted children and measure the incumbent afresh, interleaved."""
        random = Random(f"{self._seed}/{generation}/interleaving")
        slots = []
        for repeat in range(1, self.settings.repeats + 1):
            names = [self._incumbent, *(promoted if repeat > 1 else ())]
            random.shuffle(names)
            for name in names:
                stage = "incumbent" if name == self._incumbent else "promote"
                slot = Slot(generation=generation, stage=stage, candidate=name, repeat=repeat)
                slots.append(slot)
        self._measuring.measure(self._tree, slots)
        names = [*promoted, self._incumbent]
        comparison = compare_versions(
            self._tree, generation, names, self._incumbent, self._conditions
        )
        return decide_deployment(self._tree, comparison, self._incumbent, self.settings.margins)

    def _conclude(self, generation: int, decision: Decision) -> tuple[bool, str] | None:
        """Deploy or hold, choose the next parents, record both, and say whether to stop."""
        self._generation = generation
        self._incumbent = decision.deployed
        self._holds = self._holds + 1 if decision.held else 0
        parents, choice = self._choose_parents(decision)
        self._parents = tuple(parents)
        self._record(generation, decision, choice)
        if choice.get("exhausted"):
            return True, "archive exhausted"
        if self._holds >= self.settings.holds:
            return True, f"{self._holds} consecutive holds"
        if self._is_nothing_left(decision):
            return True, "no room for a gain beyond the margin"
        return None

    def _is_nothing_left(self, decision: Decision) -> bool:
        official = decision.deployed_official
        if official is None or self._holds < 1:
            return False
        return 100 - official < self.settings.margins.official

    def _choose_parents(self, decision: Decision) -> tuple[list[str], Event]:
        """Return the parents of the next generation, and what was retired and revisited for it."""
        slots = self._policy.slots or self.settings.promoted
        children = tuple(
            each.name
            for each in decision.comparison.standings
            if each.name != decision.incumbent and self._tree[each.name].bundle is not None
        )
        choice = ParentChoice(
            tree=self._tree,
            children=children,
            previous=self._parents,
            incumbent=self._incumbent,
            slots=slots,
        )
        parents = self._policy.choose(choice)
        facts: Event = {}
        if self.settings.archive and decision.lost:
            standings = decision.comparison.standings
            facts["retired"] = retire_losers(self._tree, standings, decision.incumbent)
            survivors = find_survivors(self._tree, slots)
            facts["revisited"] = bool(survivors)
            facts["exhausted"] = not survivors and not parents
            parents = survivors or parents
        if len(parents) < LEAST_PARENTS and self._policy.slots is None and ROOT not in parents:
            parents = [*parents, ROOT]
        return parents, {**facts, "parents": parents}

    def _record(self, generation: int, decision: Decision, choice: Event) -> None:
        facts = {**decision.to_dict(), "holds": self._holds}
        event = self.journal.find(event="decision", generation=generation)
        if event is None:
            place = {"event": "decision", "generation": generation}
            self.journal.append({**place, **facts, **choice})
            return
        changed = [name for name, value in facts.items() if event[name] != value]
        if changed:
            found = {name: facts[name] for name in changed}
            raise SettingsError(f"journal of a search: generation {generation}: found {found}")
