"""Policies compared on simulated tasks: ``python -m pytest_evoclaw.skillneo.simulate``.

The engine is the one of real searches. All searches of a landscape have the same budget of
executions and no other end than that: neither holds nor a number of generations stop them.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from random import Random

from pytest_evoclaw.registry import list_parts
from pytest_evoclaw.skillneo.budget import Budget
from pytest_evoclaw.skillneo.budget import SearchSettings
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.landscapes import Landscape
from pytest_evoclaw.skillneo.landscapes import LenientValidator
from pytest_evoclaw.skillneo.landscapes import SimulatedEditor
from pytest_evoclaw.skillneo.landscapes import SimulatedProposer
from pytest_evoclaw.skillneo.landscapes import SimulatedTask
from pytest_evoclaw.skillneo.landscapes import draw_landscape
from pytest_evoclaw.skillneo.landscapes import read_repairs
from pytest_evoclaw.skillneo.landscapes import write_repairs
from pytest_evoclaw.skillneo.parties import Parties
from pytest_evoclaw.skillneo.search import Search
from pytest_evoclaw.skillneo.search import SearchResult

SOLVED = 0.9  # of the expected reward of the whole chain
Z = 1.959963984540054  # 97.5 % quantile of the normal distribution
ENDLESS = 1_000
INTERRUPTIONS = 20  # a generation without two distinct children asks again at most so often


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one setting did on all landscapes: how many solved, mean share of the best reward."""

    name: str
    solved: int
    searches: int
    reward: float
    executions: float

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share of solved landscapes."""
        n, share = self.searches, self.solved / self.searches
        middle = share + Z**2 / (2 * n)
        half = Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
        return (middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)


def make_parties(landscape: Landscape, seed: int, task: SimulatedTask | None = None) -> Parties:
    """Return the parties of a simulated search; ``task`` to count its executions."""
    return Parties(
        execute=task or SimulatedTask(landscape, seed),
        proposer=SimulatedProposer(landscape),
        editor=SimulatedEditor(),
        validator=LenientValidator(),
        clock=lambda: 0.0,
        random=Random(seed),
        announce=lambda text: None,
    )


def simulate_search(
    landscape: Landscape, seed: int, settings: SearchSettings, budget: Budget
) -> SearchResult:
    """Search on one landscape, from a bundle without repairs, also on after interruptions."""
    parties = make_parties(landscape, seed)
    search = Search(settings, parties, Journal(parties.clock), budget)
    result = search.run(write_repairs(()))
    for _ in range(INTERRUPTIONS):
        if result.finished or not result.why.startswith("interrupted"):
            break
        result = search.run(write_repairs(()))
    return result


def compare_settings(
    landscapes: Sequence[Landscape], settings: Sequence[SearchSettings], budget: Budget
) -> list[Cell]:
    """Search each landscape with each setting, with the same seed for all settings."""
    return [_measure_setting(landscapes, each, budget) for each in settings]


def _measure_setting(
    landscapes: Sequence[Landscape], settings: SearchSettings, budget: Budget
) -> Cell:
    shares = []
    executions = 0
    for seed, landscape in enumerate(landscapes):
        result = simulate_search(landscape, seed, settings, budget)
        deployed = read_repairs(result.bundle) if result.bundle else set()
        shares.append(landscape.expect_reward(deployed) / landscape.find_best_reward())
        executions += result.spending.executions
    return Cell(
        name=f"{settings.policy:9} archive {'on' if settings.archive else 'off'}",
        solved=sum(share >= SOLVED for share in shares),
        searches=len(shares),
        reward=math.fsum(shares) / len(shares),
        executions=executions / len(shares),
    )


def list_settings(base: SearchSettings) -> list[SearchSettings]:
    """Return ``base`` with each policy, with and without the archive."""
    policies = list_parts("skillneo.policies")
    return [
        replace(base, policy=policy, archive=archive)
        for policy in policies
        for archive in (True, False)
    ]


def render_cells(cells: Sequence[Cell]) -> str:
    """Return the table."""
    lines = [f"{'policy':21} {'solved':>8}  {'95 % interval':>15} {'reward':>8} {'executions':>11}"]
    for cell in cells:
        low, high = cell.interval
        share = cell.solved / cell.searches
        interval = f"{100 * low:5.1f} .. {100 * high:5.1f}"
        lines.append(
            f"{cell.name:21} {100 * share:7.1f}%  {interval:>15} {100 * cell.reward:7.1f}% "
            f"{cell.executions:11.1f}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison for the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m pytest_evoclaw.skillneo.simulate")
    parser.add_argument("--landscapes", type=int, default=200)
    parser.add_argument("--executions", type=int, default=SearchSettings().planned_executions)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depth", type=int, help="Only landscapes whose deepest step is this")
    parser.add_argument("--stopping", action="store_true", help="Stop as Algorithm 1 does")
    options = parser.parse_args(arguments)
    random = Random(options.seed)
    landscapes: list[Landscape] = []
    while len(landscapes) < options.landscapes:
        drawn = draw_landscape(random)
        if options.depth in (None, max(drawn.depths)):
            landscapes.append(drawn)
    base = SearchSettings()
    if not options.stopping:
        base = replace(base, generations=ENDLESS, holds=ENDLESS)
    cells = compare_settings(landscapes, list_settings(base), Budget(executions=options.executions))
    ends = "as in Algorithm 1" if options.stopping else "at the budget only"
    sys.stdout.write(
        f"{options.landscapes} landscapes, {options.executions} executions, ends {ends}\n"
        f"{render_cells(cells)}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
