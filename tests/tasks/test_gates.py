from __future__ import annotations

import pytest

from tests.tasks.bench import ROOT

# One of each kind; the whole suite is `pytest tasks/ --evo-mode=gate -n 4`.
TASKS = ("task_00_sanity", "task_05_config_migration", "task_52_kubernetes_policy_review")


@pytest.mark.parametrize("task_id", TASKS)
def test_a_task_of_this_suite_passes_every_gate(pytester, task_id):
    result = pytester.runpytest_subprocess(
        ROOT / f"tasks/{task_id}.md",
        f"--rootdir={ROOT}",
        f"--config-file={ROOT / 'pyproject.toml'}",
        "--evo-mode=gate",
        "-p",
        "no:cacheprovider",
    )
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines([f"{task_id} *ok * ok * ok * ok * ok * ok*"])
