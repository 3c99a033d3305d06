"""The real nanobot over this repository's own tasks, against a model that the test plays."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evoclaw.journal import read_journal
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage
from tests.model_brains import Solver
from tests.model_brains import faulty
from tests.model_brains import offers_skill
from tests.model_brains import wants_skill
from tests.model_brains import write_skill
from tests.model_server import ModelServer
from tests.reference_files import ROOT
from tests.reference_files import read_tasks
from tests.reference_files import solve_tasks

TASKS = ("task_00", "task_01", "task_05", "task_22")


@pytest.fixture(scope="module")
def nanobot_binary() -> str:
    found = shutil.which(os.environ.get("EVO_NANOBOT_BIN") or "nanobot")
    if found is None:
        pytest.skip("nanobot is not installed: set EVO_NANOBOT_BIN")
    return found


def run_session(
    binary: str, base_url: str, results: Path, *args: str
) -> tuple[str, list[TrialResult]]:
    words = ("--evo-runtime=nanobot", f"--evo-runtime-bin=nanobot={binary}", "--evo-model=any-1")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *words, f"--evo-base-url={base_url}"),
            *(f"--evo-results={results}", *args),
        ],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (session,) = results.iterdir()
    return done.stdout, read_journal(session / "trials.jsonl")


def test_three_modes_score_and_usage_is_what_the_server_said(nanobot_binary, tmp_path):
    tasks = read_tasks(TASKS)
    solver = Solver(
        files=solve_tasks(tasks),
        skills=write_skill("steady"),
        authoring=wants_skill,
        reading=offers_skill,
    )
    paths = [str(task.path) for task in tasks]
    with ModelServer(solver) as server:
        out, results = run_session(
            nanobot_binary, server.base_url, tmp_path, *paths, "--evo-mode=all", "-n4"
        )
        sent = server.sent_usage
    assert "12 passed" in out, out
    assert [result.score for result in results] == [1.0] * 12
    total = Usage.total(result.usage for result in results)
    assert total.input_tokens == sent.input_tokens
    assert total.cache_read_tokens == sent.cache_read_tokens
    assert total.output_tokens == sent.output_tokens
    assert total.request_count == sent.request_count
    assert total.source == "provider"
    created = [
        [skill.name for phase in result.phases for skill in phase.created_skills]
        for result in results
        if result.trial.mode != "baseline"
    ]
    assert created == [["steady"]] * 8
    assert {phase.execution.status for result in results for phase in result.phases} == {"success"}
    assert not any(result.skills_changed or result.fixtures_changed for result in results)


@pytest.mark.parametrize("status", [401, 429, 500, None], ids=["401", "429", "500", "refused"])
def test_a_provider_that_fails_is_never_a_score(nanobot_binary, tmp_path, status):
    arguments = ("tasks/task_00_sanity.md", "--evo-mode=all", "--evo-model-retries=1")
    if status is None:
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unheard.getsockname()[1]}/v1"
            out, results = run_session(nanobot_binary, url, tmp_path, *arguments)
    else:
        with ModelServer(faulty(status)) as server:
            out, results = run_session(nanobot_binary, server.base_url, tmp_path, *arguments)
    assert "3 errors" in out, out
    assert "3 trials: 0 scored, 3 not scored (provider_error 3)" in out
    assert all(result.score is None for result in results)
    for result in results:
        assert result.failure is not None
        assert str(status or "refused") in result.failure.detail or "connect" in (
            result.failure.detail.lower()
        )
