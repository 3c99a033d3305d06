"""The server that forks a process for each grading: a pytest session with one item that serves.

A session, because then assertions are rewritten and compared as in any test, and each fork
inherits that: ``assert 3 == 2`` says ``where 3 = len([…])``. Nothing of the user's project is
loaded: no ini file, no conftest, no plugin.

Started by :mod:`pytest_evoclaw.grading.forkserver` with a folder for everything it writes, and with
a socket at stdin: each byte there brings the connection of one order, its end is the server's too.
With two more arguments, the files of an order and of the reply, it grades once in this process.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from typing import NoReturn

import pytest  # noqa: TID251 - this process is a pytest session, whatever the client is

from pytest_evoclaw.drivers import reaper
from pytest_evoclaw.grading.forkserver_child import grade_here
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.results import Check
from pytest_evoclaw.workspace import remove_tree

PR_SET_DUMPABLE = 4
_OPTIONS = ("--noconftest", "--capture=no", "--color=no", "--no-header", "-qq")
_INI = "[pytest]\nverbosity_assertions = 0\n"
# What would act at exit, on warnings or on signals: graders behave as in a bare interpreter.
_BLOCKED = ("cacheprovider", "faulthandler", "logging", "threadexception", "unraisableexception")


class Service(pytest.Item):
    """The one item: its test is to serve."""

    def __init__(self, *, serve: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.serve = serve

    def runtest(self) -> None:
        """Serve until nobody asks any more."""
        self.serve()


class ServiceFile(pytest.File):
    """The one file."""

    serve: Callable[[], None]

    def collect(self) -> Iterator[Service]:
        """Yield the item."""
        yield Service.from_parent(self, name="service", serve=self.serve)


class ServicePlugin:
    """Collects the service."""

    def __init__(self, serve: Callable[[], None]) -> None:
        self.serve = serve

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ServiceFile:
        """Take whatever file there is."""
        file = ServiceFile.from_parent(parent, path=file_path)
        file.serve = self.serve
        return file


def perform(order: Order, folder: Path) -> Sequence[Check]:
    """Grade by the form that the order names."""
    pytest.register_assert_rewrite(Path(order.place).parts[0])
    checks: Sequence[Check] = import_module(f"pytest_evoclaw.grading.{order.form}").perform(
        order, folder
    )
    return checks


def serve(folder: Path) -> None:
    """Fork a supervisor for each connection, until the client is gone; then end them all."""
    from pytest_evoclaw import evidence  # noqa: F401 - once here instead of in each fork
    from pytest_evoclaw.grading import inline  # noqa: F401
    from pytest_evoclaw.grading.supervisor import watch_children

    reaper.set_process(reaper.PR_SET_CHILD_SUBREAPER, 1)
    # What a grader starts has the same user: it may not read the descriptors and memory from here
    # down to the grader, or it could write its own grade.
    reaper.set_process(PR_SET_DUMPABLE, 0)
    control = socket.socket(fileno=os.dup(0))
    sys.stdout.flush()  # or each fork would have it to print
    wake = watch_children()
    supervisors: set[int] = set()
    while True:
        ready = select.select([control.fileno(), wake], [], [])[0]
        if wake in ready:
            os.read(wake, 4096)
            _reap(supervisors)
        if control.fileno() in ready:
            data, descriptors, *_ = socket.recv_fds(control, 1, 1)
            if not data:
                break
            connection = socket.socket(fileno=descriptors[0])
            pid = os.fork()
            if pid == 0:
                _become_supervisor(control, connection, folder)
            connection.close()
            supervisors.add(pid)
    _wait_for_end(supervisors, wake)


def _become_supervisor(control: socket.socket, connection: socket.socket, folder: Path) -> NoReturn:
    from pytest_evoclaw.grading.supervisor import supervise

    code = 1
    try:
        control.close()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        supervise(connection, folder, perform)
        code = 0
    except Exception:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


def _reap(supervisors: set[int]) -> bool:
    """Take in who has ended, end what a killed supervisor left; return whether a child is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            break
        supervisors.discard(pid)
    for stray in set(reaper.list_children(os.getpid())) - supervisors:
        reaper.kill_below(stray)
        reaper.send(stray, signal.SIGKILL)
    return True


def _wait_for_end(supervisors: set[int], wake: int) -> None:
    # They see the end of their own connections; who does not is ended here.
    until = time.monotonic() + reaper.KILL_BUDGET
    while _reap(supervisors):
        if time.monotonic() > until:
            reaper.kill_below(os.getpid())
        if select.select([wake], [], [], 0.1)[0]:
            os.read(wake, 4096)


def grade_once(folder: Path, order: Path, reply: Path) -> NoReturn:
    """Carry out the order in a file, in this process, and write the reply to another."""
    told = grade_here(Order.from_json(order.read_text(encoding="utf-8")), folder, perform)
    reply.write_text(told.to_json(), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # pytest has nothing to add


def main(arguments: Sequence[str]) -> NoReturn:
    """Run the session; exit with pytest's code."""
    folder, *files = map(Path, arguments)
    session = folder / "session"
    session.mkdir()
    (session / "pytest.ini").write_text(_INI, encoding="utf-8")
    (session / "service").touch()
    blocked = [f"-pno:{name}" for name in (*_BLOCKED, "warnings")]
    where = [f"-c{session / 'pytest.ini'}", f"--rootdir={session}", str(session / "service")]

    def act() -> None:
        if files:
            grade_once(folder / "job", *files)
        else:
            serve(folder)

    code = pytest.main([*_OPTIONS, *blocked, *where], plugins=[ServicePlugin(act)])
    if not files and code == pytest.ExitCode.OK:
        remove_tree(folder)
    sys.exit(code)
