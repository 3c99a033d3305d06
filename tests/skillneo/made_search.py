"""A scripted world for searches: what is proposed, how drafts fare, and what executions score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from random import Random
from typing import Any

from pytest_evoclaw.skillneo.budget import Budget
from pytest_evoclaw.skillneo.budget import SearchSettings
from pytest_evoclaw.skillneo.candidate import ROOT
from pytest_evoclaw.skillneo.candidate import Candidate
from pytest_evoclaw.skillneo.candidate import Edit
from pytest_evoclaw.skillneo.executions import Conditions
from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.executions import Kind
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.parties import Draft
from pytest_evoclaw.skillneo.parties import EditRequest
from pytest_evoclaw.skillneo.parties import Finding
from pytest_evoclaw.skillneo.parties import Parties
from pytest_evoclaw.skillneo.parties import ProposalRequest
from pytest_evoclaw.skillneo.parties import Proposals
from pytest_evoclaw.skillneo.parties import Validation
from pytest_evoclaw.skillneo.search import Search
from pytest_evoclaw.skillneo.tree import Tree
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile
from pytest_evoclaw.usage import Usage

HOME = Conditions(task="t", model="m", environment="e", verifier="v")
USED = Usage(input_tokens=90, output_tokens=10, cost_usd=0.5)


def make_bundle(text: str) -> SkillBundle:
    return SkillBundle((SkillFile(path="skill/SKILL.md", data=text.encode()),))


def read_text(bundle: SkillBundle) -> str:
    (file,) = bundle.files
    return file.data.decode()


def make_record(identity: str, score: object, conditions: Conditions = HOME) -> ExecutionRecord:
    """``score`` is a reward, a kind without one, or (reward, passed of four checks)."""
    if isinstance(score, Kind):
        return ExecutionRecord(
            identity=identity, kind=score, conditions=conditions, usage=USED, seconds=1.0
        )
    official, passed = score if isinstance(score, tuple) else (score, None)
    return ExecutionRecord(
        identity=identity,
        kind=Kind.COMPLETE,
        official=float(official),
        passed=passed,
        coverage=() if passed is None else ("w", "x", "y", "z"),
        conditions=conditions,
        usage=USED,
    )


def make_edit(parent: str, text: str, donors: tuple[str, ...] = ()) -> Edit:
    return Edit(parent=parent, operator="rewrite", target="skill", direction=text, donors=donors)


@dataclass
class World:
    """``scores`` of a bundle by its text, the last one again and again; ``plans`` by request."""

    scores: Mapping[str, Sequence[object]] = field(default_factory=dict)
    plans: list[list[Edit]] = field(default_factory=list)
    findings: dict[str, list[Validation]] = field(default_factory=dict)
    elsewhere: dict[str, Conditions] = field(default_factory=dict)
    executed: list[str] = field(default_factory=list)
    requests: list[ProposalRequest] = field(default_factory=list)
    edited: list[EditRequest] = field(default_factory=list)
    announced: list[str] = field(default_factory=list)
    now: float = 0.0
    made: Counter[str] = field(default_factory=Counter)

    def execute(self, bundle: SkillBundle, n: int, /) -> list[ExecutionRecord]:
        return [self._execute(read_text(bundle)) for _ in range(n)]

    def _execute(self, text: str) -> ExecutionRecord:
        self.now += 1
        self.executed.append(text)
        scores = self.scores.get(text, [0.0])
        score = scores[min(self.made[text], len(scores) - 1)]
        self.made[text] += 1
        identity = f"{text}-{self.made[text]}"
        return make_record(identity, score, self.elsewhere.get(text, HOME))

    def propose(self, request: ProposalRequest) -> Proposals:
        self.requests.append(request)
        edits = self.plans.pop(0) if self.plans else []
        return Proposals(edits=tuple(edits), usage=USED)

    def edit(self, request: EditRequest) -> Draft:
        self.edited.append(request)
        return Draft(bundle=make_bundle(request.edit.direction), usage=USED)

    def check(self, parent: SkillBundle, child: SkillBundle, edit: Edit) -> Validation:
        del parent, edit
        findings = self.findings.get(read_text(child), [])
        return findings.pop(0) if findings else Validation(finding=Finding.ADMITTED)

    @property
    def parties(self) -> Parties:
        return Parties(
            execute=self.execute,
            proposer=self,
            editor=self,
            validator=self,
            clock=lambda: self.now,
            random=Random(5),
            announce=self.announced.append,
            expected_usage=USED,
        )


def search_world(
    world: World,
    *,
    journal: Journal | None = None,
    budget: Budget | None = None,
    jobs: int = 1,
    **settings: Any,
):
    """Search in the world from the bundle ``root``, one round of proposals a generation."""
    chosen = SearchSettings(**{"rounds": 1, **settings})
    found = Journal(lambda: 0.0) if journal is None else journal
    search = Search(chosen, world.parties, found, budget or Budget(), jobs)
    return search.run(make_bundle(ROOT))


def plan_children(parent: str, *texts: str) -> list[Edit]:
    return [make_edit(parent, text) for text in texts]


def make_tree(**scores: Sequence[object]) -> Tree:
    """Return a tree whose names tell the parents: ``c01_b02`` is ``c01`` made from ``b02``.

    The scores are those of the generation that the name's letter stands for.
    """
    tree = Tree(repeats=3)
    for key, found in {ROOT: [], **scores}.items():
        name, _, parent = key.partition("_")
        generation = 0 if name == ROOT else ord(name[0]) - ord("a")
        edit = None if name == ROOT else make_edit(parent or ROOT, name)
        bundle = make_bundle(name)
        tree.add(
            Candidate(
                name=name, generation=generation, digest=bundle.digest, bundle=bundle, edit=edit
            )
        )
        for number, score in enumerate(found):
            tree.record(name, generation, make_record(f"{name}-{number}", score))
    return tree
