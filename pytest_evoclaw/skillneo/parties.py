"""Who a search works with: Protocols and the values that pass between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pytest_evoclaw.skillneo.candidate import Candidate
from pytest_evoclaw.skillneo.candidate import Edit
from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.tree import Tree
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.usage import UNKNOWN_USAGE
from pytest_evoclaw.usage import Usage


class Execute(Protocol):
    """Executes the task ``n`` times with a bundle; may be called from several threads."""

    def __call__(self, bundle: SkillBundle, n: int, /) -> Sequence[ExecutionRecord]:
        """Return exactly ``n`` records; what broke is of kind ``infrastructure``, not raised."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A proposal that made no child, and why: fed back, so that it is not made again."""

    edit: Edit
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """What a proposer gets: ``wanted`` edits of ``parents``, at most ``cap`` of each.

    ``tree`` has all saved evidence, of screening-only versions too; donors are from ``parents``.
    ``proposed`` was already proposed in this generation, ``losses`` are edits measured as net
    losses. ``random`` is the same again when an interrupted search goes on.
    """

    generation: int
    wanted: int
    cap: int
    parents: tuple[Candidate, ...]
    incumbent: str
    tree: Tree
    proposed: tuple[Edit, ...]
    refused: tuple[Refusal, ...]
    losses: tuple[Edit, ...]
    random: random.Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """The answer of a proposer, best first."""

    edits: tuple[Edit, ...]
    usage: Usage = UNKNOWN_USAGE


class Proposer(Protocol):
    """Specifies edits from comparisons of executions."""

    def propose(self, request: ProposalRequest) -> Proposals:
        """Return edits; those beyond ``wanted``, the cap or the parents are refused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """One edit to make on ``parent``; ``draft`` and ``complaint`` are there for a repair.

    With ``only_file`` the repair is limited to this one file, promised and missing.
    """

    edit: Edit
    parent: SkillBundle
    donors: tuple[SkillBundle, ...] = ()
    draft: SkillBundle | None = None
    complaint: str = ""
    only_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The complete bundle that an editor made of a parent."""

    bundle: SkillBundle
    usage: Usage = UNKNOWN_USAGE


class Editor(Protocol):
    """Turns an edit into a complete child bundle."""

    def edit(self, request: EditRequest) -> Draft:
        """Return the child, with everything that the edit does not name left as it was."""
        ...


class Finding(StrEnum):
    """What Edit Validation says of a draft."""

    ADMITTED = "admitted"
    FIXABLE = "fixable"
    MISSING_FILE = "missing_file"  # a promised executable was not shipped
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The finding on a draft; ``words`` go to the editor and reveal nothing private."""

    finding: Finding
    words: str = ""
    missing_file: str | None = None


class Validator(Protocol):
    """Checks a draft before the task is executed with it."""

    def check(self, parent: SkillBundle, child: SkillBundle, edit: Edit) -> Validation:
        """Return the finding, with words unless it is admitted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parties:
    """All that a search receives from outside; ``random`` is asked once, for the search's seed."""

    execute: Execute
    proposer: Proposer
    editor: Editor
    validator: Validator
    clock: Callable[[], float]
    random: random.Random
    announce: Callable[[str], None]
    expected_usage: Usage = UNKNOWN_USAGE
