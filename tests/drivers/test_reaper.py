from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_evoclaw import processes
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from tests.made_processes import DAEMON
from tests.made_processes import DEAF
from tests.made_processes import HOPPER
from tests.made_processes import NEW_GROUP
from tests.made_processes import NEW_SESSION
from tests.made_processes import PARENT
from tests.made_processes import SLEEPER
from tests.made_processes import STOPPED
from tests.made_processes import STORM
from tests.made_processes import living
from tests.made_processes import read
from tests.made_processes import run
from tests.made_processes import run_python
from tests.made_processes import wait_until

pytestmark = pytest.mark.skipif(
    not processes.ENDS_WHOLE_TREES, reason="elsewhere only process groups are ended"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pids").mkdir()
    return tmp_path


@pytest.mark.parametrize("ends", ["itself", "by the limit"])
@pytest.mark.parametrize(
    "child",
    [
        pytest.param(SLEEPER, id="background child"),
        pytest.param(DEAF, id="TERM ignored"),
        pytest.param(NEW_SESSION, id="new session"),
        pytest.param(NEW_GROUP, id="new group"),
        pytest.param(DAEMON, id="double fork"),
        pytest.param(STOPPED, id="stopped"),
        pytest.param(HOPPER, id="hopper"),
        pytest.param(STORM, id="storm"),
    ],
)
def test_nothing_of_the_tree_survives(folder, child, ends):
    rest = "sys.exit(5)" if ends == "itself" else "time.sleep(60)"
    started = time.monotonic()
    end = run_python(folder, PARENT + rest, child, seconds=30 if ends == "itself" else 1, grace=0.3)
    assert living(folder) == []
    assert time.monotonic() - started - end.seconds < 10
    assert end.exit_code == (5 if ends == "itself" else None)


def test_background_child_that_holds_the_streams_does_not_delay_the_end(folder):
    started = time.monotonic()
    end = run(folder, "sh", "-c", "echo done; sleep 60 & exit 3")
    assert time.monotonic() - started < 2
    assert (end.exit_code, end.survivors, read(folder)) == (3, 1, "done\n")


def test_survivors_are_counted(folder):
    end = run(folder, "sh", "-c", "sleep 60 & sleep 60 & setsid sleep 60 & exit 0")
    assert (end.exit_code, end.survivors) == (0, 3)


def test_zombies_are_no_survivors(folder):
    end = run(folder, "sh", "-c", "true & (true &) ; sleep 0.1; exit 0")
    assert end.survivors == 0


def test_limit_counts_what_outlived_the_grace_besides_the_command(folder):
    end = run_python(folder, PARENT + "time.sleep(60)", DEAF, seconds=1, grace=0.3)
    assert (end.limit, end.survivors) == ("timeout", 1)


def test_term_and_hangup_to_the_parent_are_no_way_out(folder):
    end = run(folder, "sh", "-c", "kill $PPID; kill -HUP $PPID; kill -INT $PPID; exit 6")
    assert end.exit_code == 6


@pytest.mark.parametrize(
    "child",
    [
        pytest.param(SLEEPER, id="same session"),
        pytest.param(NEW_SESSION, id="new session that holds the streams"),
    ],
)
def test_command_that_kills_its_parent_is_not_scored_and_ended(folder, child):
    started = time.monotonic()
    with pytest.raises(NotScored, match="process above it was stopped or ended") as caught:
        run_python(folder, PARENT + "import os\nos.kill(os.getppid(), 9)\ntime.sleep(60)", child)
    assert caught.value.reason is Reason.ENVIRONMENT
    assert living(folder) == []
    assert time.monotonic() - started < 5


def test_command_that_stops_its_parent_is_not_scored_and_ended(folder, monkeypatch):
    monkeypatch.setattr(processes, "_SLACK", 1)
    with pytest.raises(NotScored, match="process above it was stopped or ended"):
        run_python(
            folder,
            PARENT + "import os\nos.kill(os.getppid(), 19)\ntime.sleep(60)",
            DAEMON,
            seconds=1,
            grace=0,
        )
    assert living(folder) == []


# The caller


CALLER = """
import os, pathlib, sys
from pytest_evoclaw.processes import TreeCommand, run_tree
here = pathlib.Path(sys.argv[1])
command = TreeCommand(argv=tuple(sys.argv[2:]), variables={"PATH": os.environ["PATH"]}, cwd=here,
                      stdout=here / "stdout.txt", stderr=here / "stderr.txt", seconds=50, grace=20)
try:
    run_tree(command)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["SIGKILL", "SIGINT"])
def test_tree_ends_with_its_caller(folder, number):
    argv = [sys.executable, "-S", "-c", PARENT + "time.sleep(60)", DAEMON]
    with subprocess.Popen(
        [sys.executable, "-c", CALLER, str(folder), *argv], stdout=subprocess.PIPE, text=True
    ) as caller:
        wait_until(lambda: any((folder / "pids").iterdir()))
        started = time.monotonic()
        caller.send_signal(number)
        said, _ = caller.communicate(timeout=10)
    if number == signal.SIGINT:
        assert said == "interrupted\n"
        assert living(folder) == []
    wait_until(lambda: living(folder) == [])
    assert time.monotonic() - started < 3


def test_thirty_two_at_once_do_not_mix(folder):
    def run_one(number: int) -> tuple[int | None, str]:
        own = folder / str(number)
        own.mkdir()
        (own / "pids").mkdir()
        end = run(own, "sh", "-c", f"setsid sleep 60 & sleep 0.2; echo {number}; exit {number}")
        return end.exit_code, read(own)

    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - numbers, not paths
    with ThreadPoolExecutor(32) as pool:
        ends = list(pool.map(run_one, range(32)))
    assert ends == [(number, f"{number}\n") for number in range(32)]
    assert [pid for n in range(32) for pid in living(folder / str(n))] == []
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_order_longer_than_a_socket_buffer_arrives(folder):
    arguments = ["x" * 100_000] * 15
    code = "import json, sys\nprint(json.dumps([len(a) for a in sys.argv[1:]]))"
    run_python(folder, code, *arguments)
    assert json.loads(read(folder)) == [100_000] * 15
