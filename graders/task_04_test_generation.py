"""Grader of ``task_04_test_generation``: tests are run on right and on wrong modules."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from graders.shared_programs import run_program
from graders.task_04_test_generation_mutants import MUTANTS
from graders.task_04_test_generation_solution import solve
from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.checklist import GraderFault
from pytest_evoclaw.grading.workspace import GradedWorkspace

__all__ = ["grade", "solve"]

FOLDER = "assets/test_generation"
PROBE = Path(__file__).with_name("task_04_test_generation_probe.py")
CASES = 3
SECONDS = 45.0  # the files run at once, and have to fit into the time that grading has
TEST_BYTES = 200_000


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    with ThreadPoolExecutor(len(MUTANTS)) as pool:
        results = list(pool.map(lambda module: grade_module(workspace, module), MUTANTS))
    for number, found in enumerate(results, start=1):
        for function, (score, message) in found.items():
            check.score(function, score, sub_problem=number, message=message)


def grade_module(workspace: GradedWorkspace, module: str) -> dict[str, tuple[float, str]]:
    source = workspace.fixture(f"{FOLDER}/{module}.py").read_text(encoding="utf-8")
    try:
        return run_tests(workspace, module, source)
    except CheckFailed as error:
        return dict.fromkeys(MUTANTS[module], (0.0, str(error)))


def run_tests(workspace: GradedWorkspace, module: str, source: str) -> dict[str, tuple[float, str]]:
    """Return for each function the share of its wrong versions that fail, with words."""
    name = f"outputs/test_{module}.py"
    tests = workspace.text(name, limit=TEST_BYTES)
    functions = MUTANTS[module]
    wrong = [change(source, old, new) for changes in functions.values() for old, new in changes]
    outcome = run_versions(module, tests, [source, *wrong])
    require_green(outcome, name)
    noticed = [bool(failed) for failed in outcome["failed"][1:]]
    cases = [case.partition("::")[2] for case in outcome["passed"]]
    found = {}
    for function, changes in functions.items():
        own, noticed = noticed[: len(changes)], noticed[len(changes) :]
        found[function] = judge(function, own, cases, name)
    return found


def judge(function: str, noticed: list[bool], cases: list[str], name: str) -> tuple[float, str]:
    pattern = re.compile(rf"(^|::)test_{function}(?![a-z0-9])")
    count = sum(pattern.search(case) is not None for case in cases)
    if count < CASES:
        return 0.0, f"{name}: found {count} cases named test_{function}…, expected {CASES} or more"
    share = sum(noticed) / len(noticed)
    words = f"{name}: {sum(noticed)} of {len(noticed)} wrong versions of {function} fail"
    return share, "" if share == 1 else words


def change(source: str, old: str, new: str) -> str:
    if source.count(old) != 1:
        raise GraderFault(f"{old!r} stands {source.count(old)} times in the module")
    return source.replace(old, new)


def run_versions(module: str, tests: str, versions: list[str]) -> dict[str, Any]:
    functions = list(MUTANTS[module])
    order = {"module": module, "functions": functions, "tests": tests, "versions": versions}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "order.json")
        path.write_text(json.dumps(order), encoding="utf-8")
        argv = (sys.executable, "-I", str(PROBE), str(path))
        ran = run_program(argv, Path(place), seconds=SECONDS)
    lines = ran.stdout.splitlines()
    if ran.exit_code != 0 or not lines:
        raise CheckFailed(f"test_{module}.py: the tests ended pytest ({ran.exit_code})")
    outcome: dict[str, Any] = json.loads(lines[-1])
    return outcome


def require_green(outcome: dict[str, Any], name: str) -> None:
    if outcome["failed"][0] or not outcome["passed"]:
        failed = ", ".join(outcome["failed"][0][:5]) or "no case passed"
        raise CheckFailed(f"{name}: not green on the right module: {failed}")
