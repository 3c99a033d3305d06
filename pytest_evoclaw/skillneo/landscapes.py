"""Simulated tasks: chains of interdependent repairs with deceptive valleys, without any model.

A bundle is a list of repairs. A step of the chain needs all of its repairs, and counts only when
the steps before it are done. A step that is begun and not done makes what already worked less
sure: the valley that a search has to cross without being rewarded for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from random import Random

from pytest_evoclaw.skillneo.candidate import Edit
from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.executions import Kind
from pytest_evoclaw.skillneo.parties import Draft
from pytest_evoclaw.skillneo.parties import EditRequest
from pytest_evoclaw.skillneo.parties import Finding
from pytest_evoclaw.skillneo.parties import ProposalRequest
from pytest_evoclaw.skillneo.parties import Proposals
from pytest_evoclaw.skillneo.parties import Validation
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import SkillFile
from pytest_evoclaw.usage import Usage

PATH = "repair/SKILL.md"
CLUTTER = "clutter"
LUCK = 0.02  # chance that a check passes whose step is not done
USED = Usage(input_tokens=9_000, output_tokens=1_000, request_count=1, cost_usd=0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landscape:
    """A task: ``depths`` are the repairs of each step, ``valley`` is what a begun step costs.

    ``noise`` is the chance that a check fails whose step is done; ``insight`` that a proposal is
    the repair that is needed next. In a ``binary`` task the reward is 1 if all checks pass, else 0.
    """

    depths: tuple[int, ...]
    valley: float
    noise: float
    insight: float
    binary: bool

    @property
    def repairs(self) -> list[list[str]]:
        """The names of the repairs of each step, such as ``2.1``."""
        return [
            [f"{step}.{part}" for part in range(1, depth + 1)]
            for step, depth in enumerate(self.depths, start=1)
        ]

    def list_chances(self, applied: Collection[str]) -> list[float]:
        """Return the chance of each step's check to pass."""
        done = self.count_done(applied)
        begun = any(
            0 < sum(part in applied for part in parts) < len(parts) for parts in self.repairs
        )
        clutter = sum(name.startswith(CLUTTER) for name in applied)
        sure = (1 - self.noise) * (1 - self.valley * begun) * 0.8**clutter
        return [sure if step < done else LUCK for step in range(len(self.depths))]

    def count_done(self, applied: Collection[str]) -> int:
        """Return how many steps from the first on are done."""
        done = 0
        for parts in self.repairs:
            if not all(part in applied for part in parts):
                break
            done += 1
        return done

    def expect_reward(self, applied: Collection[str]) -> float:
        """Return the expected official reward, within 0..1."""
        chances = self.list_chances(applied)
        return math.prod(chances) if self.binary else math.fsum(chances) / len(chances)

    def find_best_reward(self) -> float:
        """Return the expected reward of the whole chain."""
        return self.expect_reward([part for parts in self.repairs for part in parts])


def draw_landscape(random: Random) -> Landscape:
    """Draw a task of two to four steps, each of one to three repairs."""
    return Landscape(
        depths=tuple(random.choice((1, 1, 2, 2, 3)) for _ in range(random.randint(2, 4))),
        valley=random.uniform(0.2, 1.0),
        noise=random.uniform(0.0, 0.15),
        insight=random.uniform(0.2, 0.7),
        binary=random.random() < 1 / 3,
    )


def write_repairs(names: Collection[str]) -> SkillBundle:
    """Return the bundle that has these repairs."""
    text = "".join(f"- {name}\n" for name in sorted(names))
    return SkillBundle((SkillFile(path=PATH, data=text.encode()),))


def read_repairs(bundle: SkillBundle) -> set[str]:
    """Return the repairs of a bundle."""
    file = bundle.find(PATH)
    text = "" if file is None else file.data.decode()
    return {line.removeprefix("- ") for line in text.splitlines()}


@dataclass(slots=True)
class SimulatedTask:
    """Executes bundles on a landscape; ``made`` counts executions by digest.

    ``breakage`` is the chance that an execution ends as a fault of the infrastructure.

    The n-th execution of a bundle is the same whenever it is made, so that a search that was
    interrupted can be compared with one that was not.
    """

    landscape: Landscape
    seed: int
    breakage: float = 0.0
    made: Counter[str] = field(default_factory=Counter)

    def __call__(self, bundle: SkillBundle, n: int, /) -> Sequence[ExecutionRecord]:
        """Execute ``n`` times."""
        return [self._execute(bundle) for _ in range(n)]

    def _execute(self, bundle: SkillBundle) -> ExecutionRecord:
        digest = bundle.digest
        self.made[digest] += 1
        identity = f"{digest[:12]}-{self.made[digest]}"
        random = Random(f"{self.seed}/{identity}")
        if random.random() < self.breakage:
            return ExecutionRecord(identity=identity, kind=Kind.INFRASTRUCTURE, usage=USED)
        chances = self.landscape.list_chances(read_repairs(bundle))
        passed = sum(random.random() < chance for chance in chances)
        share = passed / len(chances)
        return ExecutionRecord(
            identity=identity,
            kind=Kind.COMPLETE,
            official=float(share == 1) if self.landscape.binary else share,
            passed=passed,
            coverage=tuple(f"step {step}" for step in range(1, len(chances) + 1)),
            usage=USED,
        )


@dataclass(frozen=True, slots=True)
class SimulatedProposer:
    """Knows the next repair with the landscape's insight, and errs otherwise."""

    landscape: Landscape

    def propose(self, request: ProposalRequest) -> Proposals:
        """Return ``wanted`` edits, spread over the parents in turn."""
        random = request.random
        offset = random.randrange(len(request.parents))
        edits = []
        for number in range(request.wanted):
            parent = request.parents[(offset + number) % len(request.parents)]
            others = [each.name for each in request.parents if each.name != parent.name]
            applied = read_repairs(parent.bundle or SkillBundle())
            operator, target = self._draw_edit(applied, random)
            donors: tuple[str, ...] = ()
            if others and random.random() < 1 / 10:
                operator, target, donors = "graft", PATH, (random.choice(others),)
            edits.append(
                Edit(
                    parent=parent.name,
                    operator=operator,
                    target=target,
                    direction=f"{operator} {target}",
                    donors=donors,
                )
            )
        return Proposals(edits=tuple(edits), usage=USED)

    def _draw_edit(self, applied: set[str], random: Random) -> tuple[str, str]:
        repairs = [part for parts in self.landscape.repairs for part in parts]
        missing = [part for part in repairs if part not in applied]
        if missing and random.random() < self.landscape.insight:
            return "extend", missing[0]
        choices = [("extend", f"{CLUTTER}-{random.randint(1, 40)}")]
        choices += [("prune", name) for name in sorted(applied)]
        choices += [("extend", part) for part in missing[1:]]
        return random.choice(choices)


@dataclass(frozen=True, slots=True)
class SimulatedEditor:
    """Adds, removes or grafts the repair that the edit names."""

    def edit(self, request: EditRequest) -> Draft:
        """Return the child."""
        applied = read_repairs(request.parent)
        if request.edit.operator == "prune":
            applied.discard(request.edit.target)
        elif request.edit.operator == "graft":
            applied.update(*(read_repairs(donor) for donor in request.donors))
        else:
            applied.add(request.edit.target)
        return Draft(bundle=write_repairs(applied), usage=USED)


@dataclass(frozen=True, slots=True)
class LenientValidator:
    """Admits every draft."""

    def check(self, parent: SkillBundle, child: SkillBundle, edit: Edit) -> Validation:
        """Return that the draft is admitted."""
        del parent, child, edit
        return Validation(finding=Finding.ADMITTED)
