"""The real OpenClaw in sessions, against a model that the test plays; its starts are slow."""

from __future__ import annotations

import json
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


@pytest.fixture(scope="module")
def openclaw_binary() -> str:
    found = shutil.which(os.environ.get("EVO_OPENCLAW_BIN") or "openclaw")
    if found is None:
        pytest.skip("openclaw is not installed: set EVO_OPENCLAW_BIN")
    return found


def run_session(
    binary: str, base_url: str, results: Path, *args: str
) -> tuple[str, list[TrialResult]]:
    words = ("--evo-runtime=openclaw", f"--evo-openclaw-bin={binary}", "--evo-model=any-1")
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


def test_a_skill_is_written_and_read_and_the_start_is_reported_apart(openclaw_binary, tmp_path):
    tasks = read_tasks(("task_05",))
    solver = Solver(
        files=solve_tasks(tasks),
        skills=write_skill("steady"),
        authoring=wants_skill,
        reading=offers_skill,
    )
    arguments = (str(tasks[0].path), "--evo-mode=baseline,preskill", "-n2", "--evo-start-limit=1")
    with ModelServer(solver) as server:
        out, results = run_session(openclaw_binary, server.base_url, tmp_path, *arguments)
        sent = server.sent_usage
    assert "2 passed" in out, out
    assert [result.score for result in results] == [1.0, 1.0]
    total = Usage.total(result.usage for result in results)
    assert (total.input_tokens, total.output_tokens) == (sent.input_tokens, sent.output_tokens)
    assert (total.cache_read_tokens, total.request_count) == (
        sent.cache_read_tokens,
        sent.request_count,
    )
    phases = [phase for result in results for phase in result.phases]
    assert [skill.name for phase in phases for skill in phase.created_skills] == ["steady"]
    assert not any(phase.skill_changes or phase.fixture_changes for phase in phases)
    assert not any("differs from the gateway's" in note for phase in phases for note in phase.notes)
    for phase in phases:
        assert phase.execution.startup_seconds is not None
        assert 0.5 < phase.execution.startup_seconds < phase.execution.seconds
    (session,) = tmp_path.iterdir()
    transcripts = [session / phase.folder / "transcript.jsonl" for phase in phases]
    read = [path for path in transcripts if '"name": "read"' in path.read_text(encoding="utf-8")]
    assert len(read) == 1
    assert "Read, then write." in read[0].read_text(encoding="utf-8")
    assert json.loads((session / "metrics.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("status", [429, 500, None], ids=["429", "500", "refused"])
def test_a_provider_that_fails_is_not_scored_and_soon_over(openclaw_binary, tmp_path, status):
    arguments = ("tasks/task_00_sanity.md", "--evo-mode=baseline", "--evo-model-retries=1")
    if status is None:
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unheard.getsockname()[1]}/v1"
            _, results = run_session(openclaw_binary, url, tmp_path, *arguments)
    else:
        with ModelServer(faulty(status)) as server:
            _, results = run_session(openclaw_binary, server.base_url, tmp_path, *arguments)
    (result,) = results
    assert result.failure is not None
    assert (result.score, result.failure.reason) == (None, "provider_error")
    (phase,) = result.phases
    assert phase.execution.startup_seconds is not None
    assert phase.execution.seconds - phase.execution.startup_seconds < 20
