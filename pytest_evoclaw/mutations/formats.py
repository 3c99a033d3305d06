"""Choose how to mutate an output by the ending of its name, and a bounded sample of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from collections.abc import Mapping
from itertools import chain
from itertools import zip_longest
from pathlib import PurePosixPath

from pytest_evoclaw.mutations import Mutant
from pytest_evoclaw.mutations import Mutated
from pytest_evoclaw.mutations.lines import mutate_lines
from pytest_evoclaw.mutations.office import mutate_document
from pytest_evoclaw.mutations.office import mutate_workbook
from pytest_evoclaw.mutations.tables import mutate_table
from pytest_evoclaw.mutations.values import mutate_json
from pytest_evoclaw.mutations.values import mutate_json_lines
from pytest_evoclaw.mutations.values import mutate_yaml

FORMATS: Mapping[str, Callable[[bytes], Mutated]] = {
    ".json": mutate_json,
    ".jsonl": mutate_json_lines,
    ".ndjson": mutate_json_lines,
    ".yaml": mutate_yaml,
    ".yml": mutate_yaml,
    ".csv": lambda data: mutate_table(data, ","),
    ".tsv": lambda data: mutate_table(data, "\t"),
    ".xlsx": mutate_workbook,
    ".docx": mutate_document,
}


def mutate_output(name: str, data: bytes) -> Mutated | None:
    """Return the mutants of an output; None for bytes that are neither a known format nor text."""
    suffix = PurePosixPath(name).suffix.lower()
    try:
        return FORMATS.get(suffix, mutate_lines)(data)
    except ValueError:
        return None


def sample_mutants(
    outputs: Mapping[str, Mutated], count: int, seed: str
) -> list[tuple[str, Mutant]]:
    """Return at most ``count`` mutants with their outputs' names: all outputs and kinds by turns.

    The same mutants for the same arguments.
    """
    groups: dict[tuple[str, str], list[tuple[str, Mutant]]] = {}
    for name, mutated in outputs.items():
        for mutant in mutated.mutants:
            groups.setdefault((mutant.kind, name), []).append((name, mutant))
    for (kind, name), group in groups.items():
        random.Random(f"{seed} {name} {kind}").shuffle(group)
    by_turns = chain.from_iterable(zip_longest(*(groups[key] for key in sorted(groups))))
    return [each for each in by_turns if each is not None][:count]
