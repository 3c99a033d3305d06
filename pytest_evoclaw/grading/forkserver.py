"""Asks a small server for gradings: a process that forks one for each, so that it takes no time.

The server (:mod:`pytest_evoclaw.grading.forkserver_main`) starts with the first order, ends with
this process whatever way that ends, and serves any number of threads. Where whole process trees
cannot be ended (anywhere but on Linux) each order has a new process instead.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading.forkserver_child import make_variables
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.grading.orders import Reply
from pytest_evoclaw.processes import ENDS_WHOLE_TREES
from pytest_evoclaw.processes import TreeCommand
from pytest_evoclaw.processes import run_tree

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from pytest_evoclaw.grading import forkserver_main; forkserver_main.main(sys.argv[2:])"
)
_SLACK = 60.0  # seconds for a slow start and for the end of everything, besides the grading
_LOG_CHARACTERS = 2_000
_Connections = set[socket.socket]


class GradingServer(Protocol):
    """Carries out orders, from any thread."""

    def ask(self, order: Order) -> Reply:
        """Return how the grading ended; NotScored if nobody can tell."""

    def close(self) -> None:
        """End everything; a later order starts anew."""


class ForkServer:
    """One server process, and a connection for each order in flight; Linux."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._connections: _Connections = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder = Path()
        self._owner = 0

    def ask(self, order: Order) -> Reply:
        """Return how the grading ended; NotScored if nobody can tell."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                folder = self._hand_over(theirs)
            with self._in_flight(ours):
                said = _converse(ours, order)
        if not said:
            raise NotScored(
                Reason.GRADER,
                f"{order.place}: the process above the grader was ended from outside, or could "
                f"not start{_read_log(folder)}",
            )
        return Reply.from_json(said)

    def close(self) -> None:
        """Stop what is in flight, end the server, remove its folder."""
        with self._changed:
            for connection in self._connections:
                _hang_up(connection)
            self._changed.wait_for(lambda: not self._connections, _SLACK)
            self._stop()

    def _hand_over(self, connection: socket.socket) -> Path:
        """Give the server its end of a connection, and return the server's folder."""
        with self._changed:
            for _ in range(2):  # it may be gone without our knowledge
                if self._process is None or self._process.poll() is not None:
                    self._stop()
                    self._start()
                if self._control is not None and _send(self._control, connection):
                    return self._folder
                self._stop()
        raise NotScored(Reason.HARNESS, "the server for gradings cannot be reached")

    def _start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="evoclaw-grading-"))
        self._owner = os.getpid()
        ours, theirs = socket.socketpair()
        with theirs, (self._folder / "log.txt").open("wb") as log:
            try:
                self._process = subprocess.Popen(
                    _write_argv(self._folder),
                    stdin=theirs.fileno(),
                    stdout=log,
                    stderr=log,
                    env=_make_server_variables(self._folder),
                    cwd=self._folder,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise NotScored(
                    Reason.HARNESS, f"cannot start {sys.executable}: {error}"
                ) from error
        self._control = ours
        atexit.register(self.close)

    def _stop(self) -> None:
        process, control = self._process, self._control
        self._process = self._control = None
        if process is None or control is None or self._owner != os.getpid():
            return
        atexit.unregister(self.close)
        control.close()
        try:
            process.wait(_SLACK)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def _in_flight(self, connection: socket.socket) -> Iterator[None]:
        with self._changed:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._changed:
                self._connections.discard(connection)
                self._changed.notify_all()


class ProcessEach:
    """A new process for each order, ended as far as the platform allows."""

    def ask(self, order: Order) -> Reply:
        """Return how the grading ended; NotScored if the process cannot be started."""
        with tempfile.TemporaryDirectory(
            prefix="evoclaw-grading-", ignore_cleanup_errors=True
        ) as n:
            folder = Path(n)
            (folder / "job").mkdir()
            files = (folder / "order.json", folder / "reply.json")
            files[0].write_text(order.to_json(), encoding="utf-8")
            log = folder / "log.txt"
            end = run_tree(
                TreeCommand(
                    argv=(*_write_argv(folder), *map(str, files)),
                    variables=_make_server_variables(folder),
                    cwd=folder,
                    stdout=log,
                    stderr=log,
                    seconds=order.seconds + _SLACK,
                    grace=0,
                    output_bytes=max(order.output_bytes, 100_000_000),
                )
            )
            output = log.read_bytes()[-order.output_bytes :].decode("utf-8", "replace")
            if end.limit is None and files[1].is_file():
                told = Reply.from_json(files[1].read_bytes())
                return Reply(checks=told.checks, fault=told.fault, exit_code=0, output=output)
            return Reply(exit_code=end.exit_code, limit=end.limit, output=output)

    def close(self) -> None:
        """Nothing outlives its order."""


_server: GradingServer = ForkServer() if ENDS_WHOLE_TREES else ProcessEach()
ask = _server.ask
close = _server.close


def _write_argv(folder: Path) -> list[str]:
    paths = [path for path in sys.path if Path(path).is_absolute()]
    return [sys.executable, "-I", "-c", _START, json.dumps(paths), str(folder)]


def _make_server_variables(folder: Path) -> dict[str, str]:
    # Plugins that are installed here are for the user's session, not for the server's.
    return {**make_variables(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _send(control: socket.socket, connection: socket.socket) -> bool:
    try:
        socket.send_fds(control, [b"+"], [connection.fileno()])
    except OSError:
        return False
    return True


def _converse(connection: socket.socket, order: Order) -> bytes:
    """Give the order and return the reply, empty if the other side was lost."""
    try:
        return _exchange(connection, order)
    except BaseException:
        # An interrupted caller leaves no grader behind: its end closes the connection.
        _hang_up(connection)
        _receive(connection)
        raise


def _exchange(connection: socket.socket, order: Order) -> bytes:
    connection.settimeout(min(order.seconds + _SLACK, 1e8))
    try:
        connection.sendall(order.to_json().encode() + b"\n")
    except ConnectionError:
        return b""
    return _receive(connection)


def _receive(connection: socket.socket) -> bytes:
    said = bytearray()
    try:
        while not said.endswith(b"\n") and (more := connection.recv(65_536)):
            said += more
    except (ConnectionError, TimeoutError):
        return b""
    return bytes(said) if said.endswith(b"\n") else b""


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)


def _read_log(folder: Path) -> str:
    try:
        text = (folder / "log.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"; the server said at last:\n{text[-_LOG_CHARACTERS:]}" if text else ""
