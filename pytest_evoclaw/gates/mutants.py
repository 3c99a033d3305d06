"""``gate[mutants]``: each small wrong change to the solution lowers the right sub-problem.

Which sub-problem an output belongs to is learned by taking the output away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_evoclaw.gates import Finding
from pytest_evoclaw.gates import Gate
from pytest_evoclaw.mutations import Mutant
from pytest_evoclaw.mutations import Mutated
from pytest_evoclaw.mutations.formats import mutate_output
from pytest_evoclaw.mutations.formats import sample_mutants
from pytest_evoclaw.results import Grade
from pytest_evoclaw.workbench import Workbench

MUTANTS = 40
SHARE = 0.95
SHOWN = 10
# A prompt that allows more fields than it asks for says so in some way; "no other" does not.
LENIENT = re.compile(
    r"(?<!\bno )(?<!\bwithout )\b(further|additional|extra|other|more|surplus) "
    r"(fields|keys|columns)\b"
    r"|\b(fields|keys|columns) (outside|beyond|of your own)\b"
    r"|\b(may|can) (add others|contain more)\b|\banything else in\b",
    re.I,
)
SubProblems = frozenset[int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trying:
    """One mutant of one output, and the sub-problems that it lowered."""

    output: str
    mutant: Mutant
    due: SubProblems
    lowered: SubProblems

    @property
    def caught(self) -> bool:
        """Whether a sub-problem of the output is lower, and no other is."""
        return bool(self.lowered) and self.lowered <= self.due

    def __str__(self) -> str:
        where = f"lowers sub-problem {_show(self.lowered)} instead of {_show(self.due)}"
        return f"{self.output}: {self.mutant}: {where if self.lowered else 'nobody notices'}"


class Mutants:
    """Tries a sample of mutants, the same for the same task."""

    name = "mutants"

    def inspect(self, bench: Workbench) -> Finding:
        """Find outputs that nobody grades, and mutants that nobody notices."""
        owners = {name: _find_owners(bench, name) for name in bench.solution.outputs}
        faults = [f"{name}: taking it away lowers no check" for name, o in owners.items() if not o]
        outputs, remarks = _mutate(bench, [name for name, due in owners.items() if due])
        tried = [
            _try(bench, name, mutant, owners[name])
            for name, mutant in sample_mutants(outputs, MUTANTS, bench.task.id)
        ]
        counted = [each for each in tried if not _is_allowed(each, bench.task.prompt)]
        fields = [each for each in counted if each.mutant.kind != "line"]
        faults += [*_judge_fields(fields), *_judge_lines(counted)]
        lines = [each for each in counted if each.mutant.kind == "line"]
        if lines:
            caught = sum(each.caught for each in lines)
            remarks.append(f"lines without fields: {caught} of {len(lines)} changes noticed")
        return Finding(
            faults=tuple(faults),
            remarks=(*remarks, *(str(each) for each in counted if not each.caught)),
            caught=sum(each.caught for each in fields),
            tried=len(fields),
        )


def create() -> Gate:
    """Return the gate."""
    return Mutants()


def _find_owners(bench: Workbench, name: str) -> SubProblems:
    return find_lowered(bench.grade_with(name, None))


def find_lowered(grade: Grade) -> SubProblems:
    """Return the sub-problems with a check below 1; None stands for checks of no sub-problem."""
    return frozenset(check.sub_problem for check in grade.checks if check.score < 1)


def _mutate(bench: Workbench, names: Sequence[str]) -> tuple[dict[str, Mutated], list[str]]:
    """Return what can be mutated, with remarks about the rest."""
    outputs, remarks = {}, []
    for name in names:
        mutated = mutate_output(name, bench.solution.outputs[name])
        if mutated is None:
            remarks.append(f"{name}: not mutated, its format is unknown")
        elif find_lowered(bench.grade_with(name, mutated.same())):
            # What a mutant then lowers would say nothing about its change.
            remarks.append(f"{name}: not mutated, writing it anew without a change lowers a check")
        else:
            outputs[name] = mutated
    return outputs, remarks


def _try(bench: Workbench, name: str, mutant: Mutant, due: SubProblems) -> Trying:
    lowered = find_lowered(bench.grade_with(name, mutant.make()))
    return Trying(output=name, mutant=mutant, due=due, lowered=lowered)


def _is_allowed(trying: Trying, prompt: str) -> bool:
    surplus = trying.mutant.kind == "surplus key" and not trying.lowered
    return surplus and LENIENT.search(prompt) is not None


def _judge_fields(tried: Sequence[Trying]) -> Iterator[str]:
    survivors = [each for each in tried if not each.caught]
    if tried and 1 - len(survivors) / len(tried) < SHARE:
        share = 1 - len(survivors) / len(tried)
        yield (
            f"{len(tried) - len(survivors)} of {len(tried)} mutants are caught ({share:.2f}), "
            f"required {SHARE:.2f}; the others:"
        )
        yield from (f"  {each}" for each in survivors[:SHOWN])
        if any(each.mutant.kind == "surplus key" for each in survivors):
            yield "  (if further fields do no harm, say so in the prompt)"


def _judge_lines(tried: Sequence[Trying]) -> Iterator[str]:
    by_output: dict[str, list[Trying]] = {}
    for each in tried:
        if each.mutant.kind == "line":
            by_output.setdefault(each.output, []).append(each)
    for name, group in by_output.items():
        if not any(each.caught for each in group):
            yield f"{name}: no change of a line lowers its sub-problem ({len(group)} tried)"


def _show(numbers: SubProblems) -> str:
    return ", ".join(sorted("none" if n is None else str(n) for n in numbers))
