"""The process above one grading, Linux: its clock, its output, and the end of all that it started.

Forked from the server for each order, it speaks with who gave the order and with nobody else. The
end of the connection, at any time, means that the answer is no longer wanted.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import tempfile
import time
import traceback
from pathlib import Path
from typing import NoReturn

from pytest_evoclaw.drivers import reaper
from pytest_evoclaw.grading.forkserver_child import Perform
from pytest_evoclaw.grading.forkserver_child import grade_here
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.grading.orders import Reply
from pytest_evoclaw.workspace import remove_tree

ANSWER_BYTES = 20_000_000
LATE = 1.0  # seconds that a grader has to take notice of its time limit
_CHUNK = 65_536
_FAULTY = 70  # the exit code of a fault of this package


def supervise(connection: socket.socket, folder: Path, perform: Perform) -> None:
    """Read an order from ``connection``, answer it, and leave nothing of it behind."""
    os.setsid()
    reaper.set_process(reaper.PR_SET_CHILD_SUBREAPER, 1)
    line = _read_line(connection)
    if line is None:
        return
    order = Order.from_json(line)
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        reply = _Grading(order, connection).watch(place, perform)
    finally:
        remove_tree(place)
    connection.sendall(reply.to_json().encode() + b"\n")


def watch_children() -> int:
    """Return a descriptor that becomes readable when a child ends, and ignore what can be ignored.

    What a grader runs may know this process's number: ``kill`` is no way out.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


class _Grading:
    """One grading process and what descends from it: the children of this process."""

    def __init__(self, order: Order, connection: socket.socket) -> None:
        self._order = order
        self._connection = connection
        self._wake = watch_children()
        self._answer = bytearray()
        self._output = bytearray()
        self._exit_code: int | None = None
        self._pid = 0

    def watch(self, place: Path, perform: Perform) -> Reply:
        """Start, wait for the end or a limit, end everything."""
        answer, answers = os.pipe()
        output, outputs = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _become_grader(self._order, place, perform, (answers, outputs))
        os.close(answers)
        os.close(outputs)
        os.set_blocking(answer, False)
        os.set_blocking(output, False)
        limit = self._wait(answer, output)
        self._end_all()
        for pipe in (answer, output):
            while self._take(pipe, into_answer=pipe == answer):
                continue
        return self._reply(limit)

    def _wait(self, answer: int, output: int) -> str | None:
        events = select.poll()
        for descriptor in (self._connection.fileno(), self._wake, answer, output):
            events.register(descriptor, select.POLLIN)
        until = time.monotonic() + self._order.seconds + LATE
        limit: str | None = None
        while not limit:
            self._reap()
            if self._exit_code is not None:
                return None
            left = until - time.monotonic()
            limit = self._serve(events, left, answer) if left > 0 else "timeout"
        return limit

    def _serve(self, events: select.poll, seconds: float, answer: int) -> str | None:
        """Wait for what happens next; return the limit that it means."""
        for descriptor, _ in events.poll(seconds * 1000 + 1):
            if descriptor == self._connection.fileno():
                return "stop"
            if descriptor == self._wake:
                os.read(self._wake, 4096)
            elif not self._take(descriptor, into_answer=descriptor == answer):
                events.unregister(descriptor)
        return "answer" if len(self._answer) > ANSWER_BYTES else None

    def _take(self, pipe: int, *, into_answer: bool) -> bool:
        """Read a piece; return whether there can be more."""
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:  # held by somebody who could not be ended
            return False
        if into_answer:
            self._answer += data
        else:
            self._output += data
            if len(self._output) > 2 * self._order.output_bytes + _CHUNK:
                del self._output[: -self._order.output_bytes or None]
        return bool(data)

    def _reap(self) -> bool:
        """Take in who has ended; return whether a child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid:
                self._exit_code = os.waitstatus_to_exitcode(status)

    def _end_all(self) -> None:
        until = time.monotonic() + reaper.KILL_BUDGET
        while self._reap() and time.monotonic() < until:
            reaper.kill_below(os.getpid())
            if select.select([self._wake], [], [], 0.01)[0]:
                os.read(self._wake, 4096)

    def _reply(self, limit: str | None) -> Reply:
        output = bytes(self._output[-self._order.output_bytes :]).decode("utf-8", "replace")
        exit_code = None if limit else self._exit_code
        if limit is None and exit_code == 0 and self._answer:
            told = Reply.from_json(self._answer)
            return Reply(checks=told.checks, fault=told.fault, exit_code=0, output=output)
        return Reply(exit_code=exit_code, limit=limit, output=output)


def _become_grader(order: Order, place: Path, perform: Perform, pipes: tuple[int, int]) -> NoReturn:
    code = _FAULTY
    answers, outputs = pipes
    try:
        os.setsid()
        reaper.set_process(reaper.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(outputs, 1)
        os.dup2(outputs, 2)
        reply = grade_here(order, place, perform)
        with os.fdopen(answers, "wb") as file:
            file.write(reply.to_json().encode())
        code = 0
    except Exception:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def _read_line(connection: socket.socket) -> bytes | None:
    data = bytearray()
    while not data.endswith(b"\n"):
        more = connection.recv(_CHUNK * 16)
        if not more:
            return None
        data += more
    return bytes(data)
