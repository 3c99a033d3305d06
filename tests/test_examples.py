"""Each folder in examples/ is run as its reader would run it."""

from __future__ import annotations


def test_an_agent_of_your_own(pytester):
    pytester.copy_example("own_agent")
    result = pytester.runpytest_subprocess("--evo-mode=all", "--evo-runtime=shell")
    result.assert_outcomes(passed=3)


def test_tests_of_your_own(pytester):
    pytester.copy_example("own_tests")
    pytester.runpytest_subprocess().assert_outcomes(passed=3)


def test_tasks_beside_tests_of_your_own(pytester):
    pytester.copy_example("own_tests")
    pytester.runpytest_subprocess("--evo-mode=baseline").assert_outcomes(passed=4)
