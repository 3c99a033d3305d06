"""Print how far each shortcut gets in each family (``python -m tests.evidence.shortcut_table``)."""

from __future__ import annotations

import sys
from statistics import fmean

from pytest_evoclaw.evidence.families import load_specs
from pytest_evoclaw.evidence.generator import generate_cases
from pytest_evoclaw.evidence.suite import OFFICIAL_SEED
from tests.evidence.shortcut_rules import list_shortcuts
from tests.evidence.shortcuts import count_right

Table = dict[str, dict[str, float]]


def compute_table(seed: int) -> Table:
    """Return shortcut → family → mean score; a rule that a family does not need is absent."""
    scores: dict[str, dict[str, list[float]]] = {}
    for spec in load_specs().values():
        cases = generate_cases(spec, seed)
        for shortcut in list_shortcuts(spec):
            row = scores.setdefault(shortcut, {})
            row.setdefault(spec.family.name, []).append(count_right(shortcut, cases) / 25)
    return {
        shortcut: {family: fmean(found) for family, found in row.items()}
        for shortcut, row in sorted(scores.items())
    }


def render_table(table: Table) -> str:
    """Return a markdown table."""
    families = list(dict.fromkeys(spec.family.name for spec in load_specs().values()))
    lines = [["shortcut", *families], ["---"] * (len(families) + 1)]
    for shortcut, row in table.items():
        cells = (f"{row[family]:.2f}" if family in row else "-" for family in families)
        lines.append([shortcut, *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else OFFICIAL_SEED
    sys.stdout.write(render_table(compute_table(seed)))
