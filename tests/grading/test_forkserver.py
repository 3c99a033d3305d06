from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import psutil
import pytest

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading.forkserver import ForkServer
from pytest_evoclaw.grading.forkserver import ProcessEach
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.grading.orders import Reply
from tests.made_processes import is_living
from tests.made_processes import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is Linux's")

TRIVIAL = "def grade(workspace, check):\n    check.score('a', 1)\n"
# Starts a child in a session of its own that would live for a minute, and writes its pid.
SLEEPERS = """
import os, pathlib, subprocess, sys, time

def grade(workspace, check):
    code = "import time; time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    for pid in (child.pid, os.getpid()):
        pathlib.Path(MARKS, str(pid)).touch()
    pathlib.Path(MARKS, "ready").touch()
    END
    check.score("a", 1)
"""


class Suite:
    """Graders without tasks, and orders for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marks = folder / "marks"
        for each in ("graders", "workspace", "marks", "temporary"):
            (folder / each).mkdir()

    def order(self, code: str, name: str = "one", **limits) -> Order:
        text = dedent(code).replace("MARKS", repr(str(self.marks)))
        path = self.folder / f"graders/{name}.py"
        path.write_text(text, encoding="utf-8")
        return Order(
            form="module",
            source=str(path),
            root=str(self.folder),
            workspace=str(self.folder / "workspace"),
            task_id=name,
            sub_problems=0,
            fixtures={},
            contents={},
            transcript=[],
            **{"seconds": 20, "memory_bytes": 2**31, "output_bytes": 100_000, **limits},
        )

    def pids(self) -> list[int]:
        return [int(path.name) for path in self.marks.iterdir() if path.name.isdigit()]

    def living(self) -> list[int]:
        return [pid for pid in self.pids() if is_living(pid)]

    @property
    def ready(self) -> bool:
        return (self.marks / "ready").exists()


@pytest.fixture
def suite(tmp_path, monkeypatch):
    made = Suite(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(made.folder / "temporary"))
    return made


@pytest.fixture
def server(suite):
    made = ForkServer()
    yield made
    made.close()
    assert not any((suite.folder / "temporary").iterdir())


def children(*, recursive: bool = False) -> list[psutil.Process]:
    return [p for p in psutil.Process().children(recursive) if is_living(p.pid)]


def in_background(act) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def ask_in_background(server: ForkServer, order: Order) -> tuple[threading.Thread, list[object]]:
    said: list[object] = []

    def act() -> None:
        try:
            said.append(server.ask(order))
        except NotScored as error:
            said.append(error)

    return in_background(act), said


def test_the_server_starts_with_the_first_order_and_serves_the_next(suite, server):
    before = children()
    server.ask(suite.order(TRIVIAL))
    (first,) = [p for p in children() if p not in before]
    server.ask(suite.order(TRIVIAL))
    assert [p for p in children() if p not in before] == [first]


def test_a_grade_costs_about_as_much_as_an_empty_python(suite, server):
    order = suite.order(TRIVIAL)
    server.ask(order)
    fastest = {"grade": 60.0, "python": 60.0}
    for _ in range(10):
        for name, act in (
            ("grade", lambda: server.ask(order)),
            ("python", lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)),
        ):
            started = time.perf_counter()
            act()
            fastest[name] = min(fastest[name], time.perf_counter() - started)
    assert fastest["grade"] < 5 * fastest["python"]


def test_sixteen_threads_get_their_own_answers(suite, server):
    code = """
        import time

        def grade(workspace, check):
            time.sleep(0.05)
            check.score("n" + workspace.task_id, 1)
    """
    orders = [suite.order(code, f"g{number}") for number in range(64)]
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(server.ask, orders))
    names = [[check["name"] for check in reply.checks or ()] for reply in replies]
    assert names == [[f"ng{number}"] for number in range(64)]


def test_faults_do_not_touch_the_gradings_beside_them(suite, server):
    faults = {
        "hangs": "def grade(w, c):\n    while len('a'): pass",
        "takes": "def grade(w, c):\n    bytearray(8 * 2**30)",
        "exits": "import os\ndef grade(w, c):\n    os._exit(1)",
        "dies": "import os\ndef grade(w, c):\n    os.kill(0, 9)",
        "prints": "def grade(w, c):\n    while True: print('x' * 100_000)",
    }
    orders = [suite.order(code, name, seconds=1) for name, code in faults.items()]
    good = [suite.order(TRIVIAL, f"good{number}") for number in range(20)]
    mixed = [*orders[:3], *good[:10], *orders[3:], *good[10:]]
    with ThreadPoolExecutor(8) as pool:
        replies = dict(zip((o.task_id for o in mixed), pool.map(server.ask, mixed), strict=True))
    assert all(replies[name].checks is None for name in faults)
    assert all(replies[order.task_id].checks for order in good)
    assert len(replies["prints"].output) == 100_000


LEAVES = {
    "changes directory": "import os; os.chdir('/')",
    "changes modules": "import json; json.loads = None; import pathlib; del pathlib.Path.exists",
    "changes variables": "import os, sys; os.environ['X'] = '1'; sys.path.clear()",
    "leaves threads": "import threading, time; threading.Timer(60, print).start()",
    "closes everything": "import os; check.score('a', 1); os.closerange(3, 1000)",
    "sets limits": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))",
}


@pytest.mark.parametrize("statement", LEAVES.values(), ids=LEAVES)
def test_nothing_of_a_grading_reaches_the_next(suite, server, statement):
    spoiling = f"def grade(workspace, check):\n    {statement}\n    check.score('b', 1)\n"
    server.ask(suite.order(spoiling, "spoils"))
    after = """
        import json, os, pathlib, sys, threading

        def grade(workspace, check):
            check.score("json", json.loads("[1]") == [1])
            check.score("paths", pathlib.Path(".").exists() and os.getcwd() != "/")
            check.score("variables", "X" not in os.environ and len(sys.path) > 2)
            check.score("threads", threading.active_count() == 1)
    """
    reply = server.ask(suite.order(after, "looks"))
    assert [check["score"] for check in reply.checks or ()] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("end", "graded"),
    [("pass", True), ("time.sleep(60)", False), ("os._exit(1)", False), ("1 / 0", False)],
    ids=["ends", "hangs", "exits", "raises"],
)
def test_what_a_grader_started_ends_with_it(suite, server, end, graded):
    reply = server.ask(suite.order(SLEEPERS.replace("END", end), seconds=2))
    assert (reply.checks is not None) is graded
    assert len(suite.pids()) == 2
    assert suite.living() == []


def test_close_ends_what_is_in_flight(suite, server):
    before = children(recursive=True)
    order = suite.order(SLEEPERS.replace("END", "time.sleep(60)"), seconds=60)
    thread, said = ask_in_background(server, order)
    wait_until(lambda: suite.ready)
    family = [p for p in children(recursive=True) if p not in before]
    server.close()
    thread.join(20)
    assert isinstance(said[0], Reply)
    assert said[0].limit == "stop"
    assert suite.living() == []
    assert len(family) >= 4  # server, supervisor, grader, and what that started
    assert not [p for p in family if is_living(p.pid)]


def test_close_may_come_twice_and_a_later_order_starts_anew(suite, server):
    server.ask(suite.order(TRIVIAL))
    server.close()
    server.close()
    assert server.ask(suite.order(TRIVIAL)).checks


def test_an_interrupted_caller_leaves_no_grader(suite):
    script = """
        import sys
        from pytest_evoclaw.grading.forkserver import ForkServer
        from pytest_evoclaw.grading.orders import Order
        server = ForkServer()
        try:
            server.ask(Order.from_json(sys.argv[1]))
        except KeyboardInterrupt:
            print("interrupted")
    """
    order = suite.order(SLEEPERS.replace("END", "time.sleep(60)"), seconds=60)
    with client_of(suite, script, order) as client:
        client.send_signal(signal.SIGINT)
        assert client.communicate(timeout=30)[0] == "interrupted\n"
    assert suite.living() == []
    assert not any((suite.folder / "temporary").iterdir())


@contextmanager
def client_of(suite: Suite, script: str, order: Order) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", dedent(script), order.to_json()],
        env={
            **os.environ,
            "PYTHONPATH": str(Path.cwd()),
            "TMPDIR": str(suite.folder / "temporary"),
        },
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        try:
            wait_until(lambda: suite.ready)
            yield client
        finally:
            client.kill()


def test_nothing_lives_on_when_the_client_is_killed(suite):
    script = """
        import sys
        from pytest_evoclaw.grading import forkserver
        from pytest_evoclaw.grading.orders import Order
        forkserver.ask(Order.from_json(sys.argv[1]))
    """
    order = suite.order(SLEEPERS.replace("END", "time.sleep(60)"), seconds=60)
    with client_of(suite, script, order) as client:
        family = psutil.Process(client.pid).children(recursive=True)
        assert len(family) >= 4  # server, supervisor, grader, and what that started
        client.kill()
    wait_until(lambda: not any(is_living(process.pid) for process in family))
    wait_until(lambda: not any((suite.folder / "temporary").iterdir()))


def test_the_server_ends_with_a_client_that_ends(suite):
    script = """
        import sys
        from pytest_evoclaw.grading import forkserver
        from pytest_evoclaw.grading.orders import Order
        print(len(forkserver.ask(Order.from_json(sys.argv[1])).checks))
    """
    with client_of(suite, script, suite.order(SLEEPERS.replace("END", "pass"))) as client:
        assert client.communicate(timeout=30)[0] == "1\n"
    assert suite.living() == []
    assert not any((suite.folder / "temporary").iterdir())


def test_a_grader_that_kills_the_process_above_it_is_not_scored_and_ends(suite, server):
    code = """
        import os, pathlib, time

        def grade(workspace, check):
            pathlib.Path(MARKS, str(os.getpid())).touch()
            if os.fork() == 0:
                os.setsid()
                pathlib.Path(MARKS, str(os.getpid())).touch()
                time.sleep(60)
            while len(list(pathlib.Path(MARKS).iterdir())) < 2:
                time.sleep(0.01)
            os.kill(os.getppid(), 9)
            time.sleep(60)
    """
    with pytest.raises(NotScored, match="was ended from outside") as caught:
        server.ask(suite.order(code))
    assert caught.value.reason is Reason.GRADER
    wait_until(lambda: not suite.living())
    assert server.ask(suite.order(TRIVIAL)).checks


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=str)
def test_polite_signals_from_below_end_nothing(suite, server, number):
    code = f"""
        import os

        def grade(workspace, check):
            above = os.getppid()
            with open(f"/proc/{{above}}/stat") as file:
                server = int(file.read().rpartition(")")[2].split()[1])
            for pid in (above, server):
                os.kill(pid, {int(number)})
            check.score("a", 1)
    """
    assert server.ask(suite.order(code)).checks
    assert server.ask(suite.order(TRIVIAL)).checks


def test_a_server_that_was_killed_is_replaced(suite, server):
    before = children()
    server.ask(suite.order(TRIVIAL))
    (process,) = [p for p in children() if p not in before]
    process.kill()
    wait_until(lambda: not is_living(process.pid))
    assert server.ask(suite.order(TRIVIAL)).checks


def test_a_server_that_is_killed_takes_no_grade_with_it_and_leaves_nothing(suite, server):
    before = children()
    order = suite.order(SLEEPERS.replace("END", "time.sleep(1)"))
    thread, said = ask_in_background(server, order)
    wait_until(lambda: suite.ready)
    (process,) = [p for p in children() if p not in before]
    process.kill()
    thread.join(20)
    assert isinstance(said[0], Reply)
    assert said[0].checks
    assert suite.living() == []


def test_a_server_that_cannot_start_says_why(suite, server, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(suite.folder)])
    with pytest.raises(NotScored, match="No module named"):
        server.ask(suite.order(TRIVIAL))


def test_code_below_a_grader_reaches_neither_its_memory_nor_its_answer(suite, server):
    # Root may do anything, so the tests step down; cat is there for every user.
    code = """
        import os, subprocess, sys

        def grade(workspace, check):
            drop = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
            for name, pid in (("own", os.getpid()), ("above", os.getppid())):
                for file in ("environ", "fd/1", "maps"):
                    said = subprocess.run(
                        ["cat", f"/proc/{pid}/{file}"],
                        capture_output=True,
                        text=True,
                        cwd="/",
                        **drop,
                    )
                    check.score(f"{name}-{file[:2]}", "Permission denied" in said.stderr)
            listing = ["ls", "/proc/self/fd"]
            said = subprocess.run(listing, capture_output=True, text=True)
            check.score("inherited", len(said.stdout.split()) == 4)
    """
    reply = server.ask(suite.order(code))
    assert reply.fault == ""
    assert [check["name"] for check in reply.checks or () if check["score"] != 1] == []


def test_a_process_for_each_order_gives_the_same_answers(suite, server):
    each = ProcessEach()
    codes = {
        "fine": "def grade(w, c):\n    with c('a'):\n        assert len('ab') == 3",
        "raises": "def grade(w, c):\n    1 / 0",
        "prints": "def grade(w, c):\n    print('x')\n    c.score('a', 1)",
        "exits": "import os\ndef grade(w, c):\n    os._exit(3)",
    }
    for name, code in codes.items():
        order = suite.order(code, name)
        assert each.ask(order) == server.ask(order)
    each.close()
