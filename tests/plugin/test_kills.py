"""What is left when pytest, or one of its workers, is killed in the middle of a session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from collections.abc import Iterator

import psutil
import pytest

from tests.conftest import Suite

# The first task ends at once; the others start a daemon, say so, and wait for ever.
SCRIPT = """
- task: task_01*
  steps:
    - solve: true
- steps:
    - spawn: [{python}, "-c", "import time; time.sleep(600)", "{mark}"]
      detached: true
    - python: "import os, pathlib; pathlib.Path('{marks}', str(os.getpid())).touch()"
    - sleep: 600
"""


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def list_processes(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if mark in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


@pytest.fixture
def session(suite) -> Iterator[tuple[subprocess.Popen[bytes], Suite]]:
    """A session with two workers: one trial is over, two are in flight."""
    suite.add_task("task_02_more")
    suite.add_task("task_03_even_more")
    marks = suite.path / "marks"
    marks.mkdir()
    mark = f"daemon-of-{suite.path.name}"
    suite.add_script(SCRIPT.format(python=sys.executable, mark=mark, marks=marks))
    words = ("tasks", "--evo-mode=baseline", "--evo-runtime=scripted", "--evo-script=script.yaml")
    with (suite.path / "out.txt").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words, "-n2", "--dist=load", "--maxschedchunk=1"],
            cwd=suite.path,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for(lambda: len(list(marks.iterdir())) == 2)
        wait_for(lambda: len(suite.journal) == 1)
        yield process, suite
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for left in list_processes(mark):
            left.kill()


def test_a_killed_controller_leaves_the_journal_and_no_process(session):
    process, suite = session
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not list_processes(f"daemon-of-{suite.path.name}"))
    wait_for(lambda: not list_processes(str(suite.path)))
    (row,) = suite.journal
    assert row["trial"]["task_id"] == "task_01_numbers"
    assert row["failure"] is None


def test_the_trials_of_a_killed_worker_are_counted_as_not_scored(session):
    process, suite = session
    workers = psutil.Process(process.pid).children()
    for worker in workers:
        worker.kill()
    assert process.wait(timeout=120) == pytest.ExitCode.TESTS_FAILED
    counts = suite.metrics["counts"]
    assert counts["scored"] == 1
    assert counts["not_scored_by_reason"] == {"worker_died": 2}
    assert {row["trial"]["task_id"] for row in suite.journal} == {
        "task_01_numbers",
        "task_02_more",
        "task_03_even_more",
    }
    text = (suite.path / "out.txt").read_text(encoding="utf-8")
    assert "1 passed, 2 errors" in text
    wait_for(lambda: not list_processes(f"daemon-of-{suite.path.name}"))


def test_an_interrupt_ends_the_agents_and_keeps_what_is_finished(session):
    process, suite = session
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == pytest.ExitCode.INTERRUPTED
    wait_for(lambda: not list_processes(f"daemon-of-{suite.path.name}"))
    counts = suite.metrics["counts"]
    assert (counts["scored"], counts["not_run"]) == (1, 2)
