from __future__ import annotations

from pathlib import Path

import pytest

from graders.task_04_test_generation_mutants import MUTANTS
from tests.tasks.bench import Bench

TASK = "task_04_test_generation"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(TASK, tmp_path)


def score(bench: Bench, tests: str) -> dict[str, float]:
    """Return the scores of the three functions of the second module."""
    bench.write("test_math_utils.py", tests.encode())
    return {c.name: c.score for c in bench.grade().checks if c.sub_problem == 2}


def test_the_reference_solution_scores_one(bench):
    bench.solve()
    assert bench.failed() == []
    assert len(bench.grade().checks) == 18


def test_no_output_scores_zero(bench):
    assert bench.grade().score == 0.0


NAMES = [f"test_{name}_{n}" for name in MUTANTS["math_utils"] for n in range(3)]
JUNK = {
    "empty": "",
    "a zero byte": "\0",
    "words": "test_fibonacci assert pytest.raises",
    "tests that pass": "\n".join(f"def {name}(): pass" for name in NAMES),
    "tests that fail": "\n".join(f"def {name}(): assert False" for name in NAMES),
    "an end of the process": "import os\nos._exit(0)",
    "an endless loop": "while True: pass",
    "skipped tests": "import pytest\n"
    + "\n".join(f"def {name}(): pytest.skip()" for name in NAMES),
    "tests of the source": "import inspect, math_utils\n"
    + "\n".join(f"def {name}(): assert 'a, b' in inspect.getsource(math_utils)" for name in NAMES),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_scores_zero(bench, junk):
    assert set(score(bench, junk).values()) == {0.0}


FEW = """
from math_utils import fibonacci, gcd
import pytest

class TestIt:
    @pytest.mark.parametrize("n", [0, 1, 2])
    def test_fibonacci_at_first(self, n):
        assert fibonacci(n) == min(n, 1)

def test_gcd():
    assert gcd(4, 6) == 2
    assert gcd(-4, 0) == 4
    assert gcd(0, 0) == 0
"""


def test_credit_is_the_share_of_wrong_versions_and_needs_three_cases(bench):
    assert score(bench, FEW) == {"fibonacci": 0.5, "is_prime": 0.0, "gcd": 0.0}


def test_one_failing_test_costs_the_whole_file(bench):
    assert set(score(bench, f"{FEW}\ndef test_x():\n    assert gcd(1, 1) == 2\n").values()) == {0.0}


def test_the_tests_of_another_module_earn_nothing(bench):
    bench.solve()
    tests = (bench.path / "outputs/test_data_utils.py").read_text(encoding="utf-8")
    assert set(score(bench, tests).values()) == {0.0}


def test_editing_the_inputs_does_not_help(bench):
    bench.solve()
    for name in bench.inputs:
        (bench.path / name).write_text("", encoding="utf-8")
    assert bench.failed() == []
