"""Real agents over this repository's tasks, against a model on loopback that plays a solver.

    EVO_NANOBOT_BIN=… EVO_OPENCLAW_BIN=… python -m benchmarks.runtime_sessions [PART …]

Parts: ``session`` (all modes, usage against what the server sent, skills consulted, then the same
again from stored answers with the server down), ``faults`` (what each runtime does when the
provider fails), ``loops`` (limits that end a loop), ``cpu`` (the harness's CPU beside its agents').
``EVO_BENCH_RUNTIMES`` and ``EVO_BENCH_WORKERS`` change who takes part in the session, and ``-n``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tabulate import tabulate

from pytest_evoclaw.gateway import TrafficLimits
from pytest_evoclaw.journal import read_journal
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage
from tests.model_brains import Solver
from tests.model_brains import offers_skill
from tests.model_brains import run_shell
from tests.model_brains import wants_skill
from tests.model_brains import write_skill
from tests.model_server import ModelServer
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.reference_files import ROOT
from tests.reference_files import read_tasks
from tests.reference_files import solve_tasks
from tests.runtimes.bench import ADAPTERS
from tests.runtimes.bench import FAULTS
from tests.runtimes.bench import SOLVE
from tests.runtimes.bench import Adapter
from tests.runtimes.bench import Bench
from tests.runtimes.bench import Outcome
from tests.runtimes.bench import Wish
from tests.runtimes.bench import find_closed_url
from tests.runtimes.bench import make_fault
from tests.runtimes.bench import tell_usage

TASKS = ("task_00", "task_01", "task_05", "task_22", "task_24", "task_27")
RUNTIMES = os.environ.get("EVO_BENCH_RUNTIMES", "nanobot,openclaw").split(",")
WORKERS = int(os.environ.get("EVO_BENCH_WORKERS", "8"))


def say(text: str) -> None:
    """Print a text at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def find_installed() -> list[Adapter]:
    """Return the runtimes whose programs are there."""
    return [adapter for adapter in ADAPTERS if adapter.find() is not None]


def show_session() -> None:
    """Run and repeat one session of both runtimes in all modes."""
    tasks = read_tasks(TASKS)
    solver = Solver(
        files=solve_tasks(tasks),
        skills=write_skill("steady"),
        authoring=wants_skill,
        reading=offers_skill,
    )
    paths = [str(task.path) for task in tasks]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "answers"
        with ModelServer(solver) as server:
            url = server.base_url
            first, wall = run_session(url, Path(folder) / "first", f"--evo-record={store}", paths)
        sent = tell_usage(server.sent_usage)
        again, wall_again = run_session(url, Path(folder) / "again", f"--evo-replay={store}", paths)
    rows = [
        describe("model asked", first, wall),
        describe("replayed, server down", again, wall_again),
    ]
    say(tabulate(rows, headers="keys", disable_numparse=True))
    say(f"the server says it sent (input, output, cached, requests): {sent}")
    total = tell_usage(Usage.total(each.usage for each in first))
    say(f"usage is what was sent: {total == sent}; the replay's is the same: {same(first, again)}")
    say(tabulate(list_consulted(first), headers="keys", disable_numparse=True))


def run_session(
    url: str, results: Path, option: str, paths: Sequence[str]
) -> tuple[list[TrialResult], float]:
    """Run pytest over the tasks; return its trials, and the seconds that it took."""
    used = [each for each in ADAPTERS if each.name in RUNTIMES]
    binaries = [f"--evo-runtime-bin={each.name}={each.find()}" for each in used]
    argv = [
        *(sys.executable, "-m", "pytest", "-q", "-n", str(WORKERS), "--evo-mode=all"),
        *(f"--evo-runtime={','.join(RUNTIMES)}", *binaries, "--evo-model=scripted-1"),
        *(f"--evo-base-url={url}", f"--evo-results={results}", option, *paths),
        *(f"--evo-workspaces={results.parent / 'work'}", "--evo-timeout-factor=4"),
    ]
    started = time.monotonic()
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    wall = time.monotonic() - started
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
    (session,) = results.iterdir()
    return read_journal(session / "trials.jsonl"), wall


def describe(name: str, results: Sequence[TrialResult], wall: float) -> dict[str, object]:
    """Return a row about a session."""
    scores = Counter(str(result.score) for result in results)
    input_, output, cached, requests = tell_usage(Usage.total(each.usage for each in results))
    return {
        "session": name,
        "trials": len(results),
        "scores": ", ".join(f"{count} of {score}" for score, count in scores.items()),
        "input": input_,
        "output": output,
        "cached": cached,
        "requests": requests,
        "wall s": f"{wall:.0f}",
    }


def same(first: Sequence[TrialResult], again: Sequence[TrialResult]) -> bool:
    """Whether two sessions have the same scores and usage, trial by trial."""

    def list_facts(results: Sequence[TrialResult]) -> list[tuple[object, ...]]:
        return sorted((each.nodeid, each.score, tell_usage(each.usage)) for each in results)

    return list_facts(first) == list_facts(again)


def list_consulted(results: Sequence[TrialResult]) -> list[dict[str, object]]:
    """Return how many final phases opened a skill that was written, and in which turn."""
    rows: list[dict[str, object]] = []
    for runtime in RUNTIMES:
        for mode in ("baseline", "preskill", "postskill"):
            mine = [r for r in results if (r.trial.runtime, r.trial.mode) == (runtime, mode)]
            last = [result.phases[-1] for result in mine if result.phases]
            turns = [
                min(each.turn for each in p.consulted_skills) for p in last if p.consulted_skills
            ]
            words = f"{len(turns)} of {len(mine)}"
            rows.append(
                {
                    "runtime": runtime,
                    "mode": mode,
                    "skill consulted": words,
                    "turns": set(turns) or "-",
                }
            )
    return rows


def show_faults() -> None:
    """Print what became of a trial under each fault, for each runtime."""
    rows = []
    for name in FAULTS:
        row: dict[str, object] = {"fault": name}
        for adapter in find_installed():
            outcome = try_trial(adapter, name)
            row[adapter.name] = f"{tell(outcome)} {outcome.seconds:.0f} s, {outcome.left}"
        rows.append(row)
        say(str(row))
    say(tabulate(rows, headers="keys"))


def try_trial(adapter: Adapter, fault: str) -> Outcome:
    """Run one trial under a fault."""
    brain = make_fault(fault)
    endless = fault == "empty answer" and not adapter.ends_by_text
    wish = Wish(seconds=adapter.short) if endless else Wish()
    with tempfile.TemporaryDirectory() as folder, Bench.open(Path(folder), adapter) as bench:
        if brain is None:
            return bench.run(find_closed_url(), "fault", wish)
        with ModelServer(brain) as server:
            return bench.run(server.base_url, "fault", wish)


def tell(outcome: Outcome) -> str:
    """Return a score, or why there is none."""
    failure = outcome.result.failure
    return failure.reason if failure is not None else f"score {outcome.result.score}"


def loop(request: ModelRequest) -> Reply:
    """Call the shell for ever."""
    return Reply(calls=(run_shell(request.tools, "echo again"),))


def hang(request: ModelRequest) -> Reply:
    """Call the shell once, with a command that never ends."""
    return Reply(calls=(run_shell(request.tools, "while :; do sleep 1; done"),))


def show_loops() -> None:
    """Print which limit ended a looping model and a looping agent."""
    cases: dict[str, tuple[Callable[[ModelRequest], Reply], Wish]] = {
        "model, 5 turns": (loop, Wish(limits=TrafficLimits(max_turns=5))),
        "model, 5000 tokens": (loop, Wish(limits=TrafficLimits(max_tokens=5_000))),
        "model, time": (loop, Wish()),
        "agent's tool, time": (hang, Wish()),
    }
    rows = []
    for name, (brain, wish) in cases.items():
        row: dict[str, object] = {"loop": name}
        for adapter in find_installed():
            timed = replace(wish, seconds=adapter.short) if "time" in name else wish
            with (
                tempfile.TemporaryDirectory() as folder,
                Bench.open(Path(folder), adapter) as bench,
                ModelServer(brain) as server,
            ):
                outcome = bench.run(server.base_url, "loop", timed)
            execution = outcome.result.phases[-1].execution
            words = f"{execution.limit} at {execution.turns} turns, {outcome.seconds:.0f} s"
            row[adapter.name] = f"{words}, {outcome.left}"
        rows.append(row)
        say(str(row))
    say(tabulate(rows, headers="keys"))


def show_cpu(count: int = 8) -> None:
    """Print the CPU seconds of the harness and of its agents for some trials of OpenClaw."""
    adapter = ADAPTERS[1]
    with (
        tempfile.TemporaryDirectory() as folder,
        Bench.open(Path(folder), adapter) as bench,
        ModelServer(SOLVE) as server,
        ThreadPoolExecutor(2) as pool,
    ):
        bench.run(server.base_url, "first")  # starts what starts once: gateway and grader
        before = measure()
        list(pool.map(lambda n: bench.run(server.base_url, f"trial {n}"), range(count)))
        own, children = (after - start for after, start in zip(measure(), before, strict=True))
    say(
        f"{count} trials of {adapter.name}: harness {own:.1f} CPU s (the scripted model included), "
        f"its agents {children:.1f} CPU s, ratio {own / children:.3f}"
    )


def measure() -> tuple[float, float]:
    """Return the CPU seconds of this process, and of its children that are over."""
    totals = []
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        totals.append(used.ru_utime + used.ru_stime)
    return totals[0], totals[1]


PARTS = {"session": show_session, "faults": show_faults, "loops": show_loops, "cpu": show_cpu}

if __name__ == "__main__":
    os.chdir(ROOT)
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
