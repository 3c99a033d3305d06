"""From proposals to distinct admitted children: editing, Edit Validation, repairs (B.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from random import Random

from pytest_evoclaw.skillneo.budget import SearchSettings
from pytest_evoclaw.skillneo.candidate import Candidate
from pytest_evoclaw.skillneo.candidate import Edit
from pytest_evoclaw.skillneo.candidate import name_candidate
from pytest_evoclaw.skillneo.journal import Event
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.parties import Draft
from pytest_evoclaw.skillneo.parties import EditRequest
from pytest_evoclaw.skillneo.parties import Finding
from pytest_evoclaw.skillneo.parties import Parties
from pytest_evoclaw.skillneo.parties import ProposalRequest
from pytest_evoclaw.skillneo.parties import Refusal
from pytest_evoclaw.skillneo.parties import Validation
from pytest_evoclaw.skillneo.tree import Tree
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.usage import Usage

ADMITTED, DUPLICATE, REJECTED = "admitted", "duplicate", "rejected"


def compute_parent_cap(width: int, parents: int) -> int:
    """Return ``⌈b/|B|⌉ + 2``: how many edits of one generation may share a parent."""
    return math.ceil(width / parents) + 2


@dataclass(slots=True)
class Admission:
    """Fills a generation with children; everything asked of others is asked once."""

    settings: SearchSettings
    parties: Parties
    journal: Journal
    seed: int
    check_budget: Callable[[int], None]

    def admit(
        self, tree: Tree, parents: Sequence[str], incumbent: str, generation: int, attempt: int
    ) -> None:
        """Add up to ``width`` children to the tree; fewer if the rounds of proposals run out."""
        for number in range(self.settings.rounds):
            wanted = self.settings.width - len(tree.list_born(generation))
            if wanted <= 0:
                return
            place = {"generation": generation, "attempt": attempt, "round": number}
            random = Random(f"{self.seed}/{generation}/{attempt}/{number}")
            request = ProposalRequest(
                generation=generation,
                wanted=wanted,
                cap=compute_parent_cap(self.settings.width, len(parents)),
                parents=tuple(tree[name] for name in parents),
                incumbent=incumbent,
                tree=tree,
                proposed=tuple(self._list_edits(generation)),
                refused=tuple(self._list_refusals(generation)),
                losses=tuple(tree.list_losses()),
                random=random,
            )
            for position, edit in enumerate(self._propose(request, place), start=1):
                self._enter(tree, request, edit, {**place, "number": position})

    def _propose(self, request: ProposalRequest, place: Event) -> list[Edit]:
        event = self.journal.find(event="proposals", **place)
        if event is None:
            self.check_budget(request.wanted)
            answer = self.parties.proposer.propose(request)
            edits = [edit.to_dict() for edit in answer.edits]
            event = {"event": "proposals", **place, "edits": edits, "usage": asdict(answer.usage)}
            self.journal.append(event)
        return [Edit.from_dict(edit) for edit in event["edits"]]

    def _enter(self, tree: Tree, request: ProposalRequest, edit: Edit, place: Event) -> None:
        event = self.journal.find(event="draft", **place)
        if event is None:
            earlier = self._list_drafts(request.generation)
            event = {"event": "draft", **place, "edit": edit.to_dict()}
            event.update(self._judge_draft(tree, request, edit, earlier))
            self.journal.append(event)
        if event["outcome"] == ADMITTED:
            child = Candidate(
                name=event["name"],
                generation=request.generation,
                digest=event["digest"],
                bundle=self.journal.load_bundle(event["digest"]),
                edit=edit,
            )
            tree.add(child)

    def _judge_draft(
        self, tree: Tree, request: ProposalRequest, edit: Edit, earlier: list[Event]
    ) -> Event:
        refused = self._find_fault(tree, request, edit)
        if refused:
            return {"outcome": REJECTED, "why": refused}
        bundle, validation, usage = self._make_child(tree, edit)
        facts: Event = {"usage": asdict(usage)}
        if validation.finding is not Finding.ADMITTED:
            return {**facts, "outcome": REJECTED, "why": validation.words}
        entries = sum(event["outcome"] != REJECTED for event in earlier)
        facts["name"] = name_candidate(request.generation, entries + 1)
        same = tree.find_digest(bundle.digest)
        if same is not None:
            return {**facts, "outcome": DUPLICATE, "why": f"is the bundle of {same.name}"}
        return {**facts, "outcome": ADMITTED, "digest": self.journal.store_bundle(bundle)}

    def _make_child(self, tree: Tree, edit: Edit) -> tuple[SkillBundle, Validation, Usage]:
        """Edit and validate, with one revision, and one repair more for a missing executable."""
        parent = _take_bundle(tree, edit.parent)
        donors = tuple(_take_bundle(tree, name) for name in edit.donors)
        request = EditRequest(edit=edit, parent=parent, donors=donors)
        draft, validation = self._draft(request)
        usage = [draft.usage]
        repairs = {Finding.FIXABLE, Finding.MISSING_FILE}
        while validation.finding in repairs:
            repairs.remove(validation.finding)
            again = replace(
                request,
                draft=draft.bundle,
                complaint=validation.words,
                only_file=validation.missing_file,
            )
            draft, validation = self._draft(again)
            usage.append(draft.usage)
        return draft.bundle, validation, Usage.total(usage)

    def _draft(self, request: EditRequest) -> tuple[Draft, Validation]:
        draft = self.parties.editor.edit(request)
        return draft, self.parties.validator.check(request.parent, draft.bundle, request.edit)

    def _find_fault(self, tree: Tree, request: ProposalRequest, edit: Edit) -> str | None:
        """Return why the edit cannot be made in this generation at all."""
        eligible = [parent.name for parent in request.parents]
        allowed = ", ".join(eligible)
        born = tree.list_born(request.generation)
        strangers = [name for name in edit.donors if name not in eligible or name == edit.parent]
        if edit.parent not in eligible:
            return f"parent: found {edit.parent}, allowed {allowed}"
        if strangers:
            return f"donor: found {', '.join(strangers)}, allowed the other ones of {allowed}"
        if len(born) >= self.settings.width:
            return f"the generation has {self.settings.width} children, all that were asked for"
        if sum(child.parent == edit.parent for child in born) >= request.cap:
            return f"parent: {edit.parent} has {request.cap} children already, the most allowed"
        return None

    def _list_drafts(self, generation: int) -> list[Event]:
        return [
            event
            for event in self.journal.events
            if event["event"] == "draft" and event["generation"] == generation
        ]

    def _list_edits(self, generation: int) -> list[Edit]:
        return [Edit.from_dict(event["edit"]) for event in self._list_drafts(generation)]

    def _list_refusals(self, generation: int) -> list[Refusal]:
        return [
            Refusal(edit=Edit.from_dict(event["edit"]), why=event["why"])
            for event in self._list_drafts(generation)
            if event["outcome"] != ADMITTED
        ]


def _take_bundle(tree: Tree, name: str) -> SkillBundle:
    bundle = tree[name].bundle
    if bundle is None:
        raise ValueError(f"parent {name}: its bundle is lost")
    return bundle
