"""Runs one command to its end, and with it everything that it started.

The only place that knows how a whole process tree is ended:

- Linux: a small program above the command (:mod:`pytest_evoclaw.drivers.reaper`) ends whatever
  descends from it, in other sessions and process groups too, also when this process is killed.
- elsewhere: the command's process group. A process that leaves the group survives.

Out of reach everywhere: what a command asks a service of the machine (cron, systemd, docker) to
start. A command that kills the program above it is ended as far as it can still be found, and its
end is a fault, never a success.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_evoclaw.drivers import reaper
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.logs import open_log
from pytest_evoclaw.reaper_order import encode_order
from pytest_evoclaw.stops import Stop

ENDS_WHOLE_TREES = sys.platform == "linux"
# Not as a script: this way its compiled form is used.
_START_REAPER = "import sys; sys.path.append(sys.argv[1]); import reaper; reaper.main()"
_SLACK = reaper.KILL_BUDGET + 20  # seconds until a reaper that does not answer is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCommand:
    """A command, and the limits of its whole process tree.

    ``variables`` is its whole environment, stdin is empty. ``stdout`` and ``stderr`` (they may be
    one file) are written anew and hold at most ``output_bytes`` each. ``seconds`` is the time
    limit, ``grace`` the seconds from TERM to KILL after it, and after a ``stop``.
    """

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    cwd: Path
    stdout: Path
    stderr: Path
    seconds: float
    grace: float = 5.0
    output_bytes: int = 10_000_000
    stop: Stop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnd:
    """How a command ended; nothing of it is left.

    ``exit_code`` is negative for a signal, None after a ``limit``: ``timeout``,
    ``output`` or what the ``stop`` names. ``seconds`` is the time until then. ``survivors`` counts
    the processes that outlived the first one or, after a limit, the TERM.
    """

    exit_code: int | None
    seconds: float
    limit: str | None = None
    survivors: int = 0


def run_tree(command: TreeCommand) -> TreeEnd:
    """Run a command and end its tree; block without using CPU, from any thread.

    Whatever is raised meanwhile (KeyboardInterrupt) ends the tree first. NotScored if the command
    cannot be started, or if something of it cannot be ended.
    """
    limits = (command.seconds, command.grace, command.output_bytes)
    order = encode_order(limits, command.cwd, command.argv, command.variables)
    with contextlib.ExitStack() as stack:
        out = err = stack.enter_context(open_log(command.stdout, command.output_bytes))
        if command.stderr != command.stdout:
            err = stack.enter_context(open_log(command.stderr, command.output_bytes))
        if ENDS_WHOLE_TREES:
            return _Reaper(command, out, err).serve(order)
        return run_group(command, out, err)


def describe() -> str:
    """Say how far process trees are ended on this machine."""
    return "whole process trees" if ENDS_WHOLE_TREES else "process groups only: daemons survive"


class _Reaper:
    """The program above one command, and the socket to it; Linux."""

    def __init__(self, command: TreeCommand, out: int, err: int) -> None:
        self._command = command
        self._files = {command.stdout.resolve(), command.stderr.resolve()}
        self._said = b""
        self._socket, theirs = socket.socketpair()
        folder = str(Path(reaper.__file__).parent)
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _START_REAPER, folder],
                    stdin=theirs.fileno(),
                    stdout=out,
                    stderr=err,
                    # Some interpreters need it to find their own library.
                    env={k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH"},
                    cwd="/",  # its folder is visible to the command
                    start_new_session=True,
                )
        except OSError as error:
            self._socket.close()
            raise _not_scored(f"cannot start {sys.executable}: {error}") from error
        except BaseException:
            self._socket.close()  # which ends it, if it started
            raise

    def serve(self, order: bytes) -> TreeEnd:
        """Hand over the order, wait for the account of the end."""
        with self._socket:
            try:
                self._converse(order, self._command.seconds + self._command.grace + _SLACK)
            except BaseException:
                self._stop()
                raise
            exit_code = self._process.wait()
        lines = [json.loads(line) for line in self._said.splitlines()]
        if lines and "pid" not in lines[-1]:
            return self._read_account(lines[-1])
        swept = self._sweep(lines[0]["pid"] if lines else self._process.pid)
        raise _not_scored(
            f"{self._command.argv[0]!r}: the process above it was stopped or ended by the command "
            f"or from outside (exit code {exit_code}); {swept} processes were still found and ended"
        )

    def _converse(self, order: bytes, seconds: float) -> None:
        stop = self._command.stop
        self._socket.settimeout(min(seconds, 1e8))
        try:
            if order:
                self._socket.sendall(order)
            with contextlib.nullcontext() if stop is None else stop.tell(self._ask):
                while more := self._socket.recv(4096):
                    self._said += more
        except ConnectionError:
            return
        except TimeoutError:
            self._end_from_here()

    def _ask(self) -> None:
        with contextlib.suppress(OSError):  # it is gone already
            self._socket.send(reaper.ASK)

    def _stop(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._converse(b"", _SLACK)
        self._process.wait()

    def _end_from_here(self) -> None:
        """End the tree of a program that is stopped or stuck, and the program last."""
        until = time.monotonic() + reaper.KILL_BUDGET
        while reaper.list_living_below(self._process.pid) and time.monotonic() < until:
            reaper.kill_below(self._process.pid)
            time.sleep(0.1)
        self._process.kill()

    def _sweep(self, session: int) -> int:
        """End what a killed program left: the command's session, and who writes to its files."""
        swept: set[int] = set()
        until = time.monotonic() + reaper.KILL_BUDGET
        while found := {pid for pid in reaper.list_pids() if self._is_stray(pid, session)}:
            if time.monotonic() > until:
                raise _not_scored(f"{self._command.argv[0]!r}: cannot end processes {found}")
            for pid in found:
                reaper.kill_below(pid)
                reaper.send(pid, signal.SIGKILL)
            swept |= found
            time.sleep(0.1)
        return len(swept)

    def _is_stray(self, pid: int, session: int) -> bool:
        state = reaper.read_state(pid)
        if state is None or state[0] in "ZX" or pid == os.getpid():
            return False
        for number in (1, 2):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/fd/{number}").readlink() in self._files:
                    return True
        return state[2] == session

    def _read_account(self, account: dict[str, Any]) -> TreeEnd:
        if "fault" in account:
            raise _not_scored(_explain(self._command, account["fault"], account["errno"]))
        if left := account.pop("left"):
            raise _not_scored(f"{self._command.argv[0]!r}: cannot end {left} of its processes")
        stop = self._command.stop
        if account["limit"] == "asked" and stop is not None:
            account["limit"] = stop.limit
        return TreeEnd(**account)


def run_group(command: TreeCommand, out: int, err: int) -> TreeEnd:
    """Run a command where there is no reaper, and end its process group."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=command.cwd,
            env=dict(command.variables),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError as error:
        raise _not_scored(_explain(command, "exec", error.errno or 0)) from error
    try:
        limit = _wait_group(process, command, (out, err))
        seconds = time.monotonic() - started
        exit_code = None if limit else process.returncode
    except BaseException:
        _end_group(process, 0)
        raise
    survivors = _end_group(process, 0 if limit in (None, "output") else command.grace)
    return TreeEnd(exit_code=exit_code, seconds=seconds, limit=limit, survivors=survivors)


def _wait_group(
    process: subprocess.Popen[bytes], command: TreeCommand, files: tuple[int, int]
) -> str | None:
    until = time.monotonic() + command.seconds
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return "timeout"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(left, reaper.SLOWEST_LOOK))
            return None
        if command.stop is not None and command.stop.limit is not None:
            return command.stop.limit
        if max(os.fstat(file).st_size for file in files) > command.output_bytes:
            return "output"


def _end_group(process: subprocess.Popen[bytes], grace: float) -> int:
    """End the group; return 1 if it outlived its leader, which is all that can be known."""
    if sys.platform == "win32":
        process.kill()
        process.wait()
        return 0
    if process.returncode is None and grace:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    outlived = 0
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
        outlived = int(process.returncode is not None)
    process.wait()
    return outlived


def _explain(command: TreeCommand, stage: str, number: int) -> str:
    program = command.argv[0]
    reason = os.strerror(number)
    if stage == "cwd":
        return f"cannot start {program!r}: working directory {command.cwd}: {reason}"
    if stage == "subreaper":
        return f"cannot start {program!r}: no process can be a child subreaper here: {reason}"
    if number == errno.E2BIG:
        sizes = [len(os.fsencode(argument)) for argument in command.argv]
        reason += f": {sum(sizes)} bytes in {len(sizes)} arguments, {max(sizes)} in the longest"
        reason += ", which may have 131071 on Linux"
    if number == errno.ENOENT and os.sep not in program:
        return f"cannot start {program!r}: not found in PATH {command.variables.get('PATH')!r}"
    return f"cannot start {program!r}: {reason}"


def _not_scored(detail: str) -> NotScored:
    return NotScored(Reason.ENVIRONMENT, detail)
