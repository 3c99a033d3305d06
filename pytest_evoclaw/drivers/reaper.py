"""Starts one command below itself and ends everything that descends from it; Linux, no root.

A program of its own, started by :mod:`pytest_evoclaw.processes` for each command. It is a *child
subreaper*: whatever loses its parent below it (``setsid``, double forks) becomes its own child, so
"no child left" means that nothing is left. Its stdin is a socket:

- in: eight bytes of length, then NUL-joined fields (:func:`read_order`). One more byte asks for the
  end as after a time limit; end of file (the caller is gone, say) for TERM, and KILL at once.
- out: JSON lines: ``pid``, then ``exit_code, limit, survivors, left, seconds``, where ``left`` did
  not die; or ``fault`` (the stage) and ``errno`` if the command could not be started.

The command gets this program's stdout and stderr, which are files: nothing here waits for a pipe.
Every command pays for its start: ``signal``, ``json`` and ``typing`` would double the 15 ms.
"""

# ruff: noqa: PTH123, PTH208
from __future__ import annotations

import ctypes
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import NoReturn
else:
    import _signal as signal

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
KILL_BUDGET = 20.0  # seconds until what does not die of KILL (other users' processes) is given up
SHORT_GRACE = 0.2  # seconds for what is left when the command ended by itself
ASK, FAULT = b"!", b'{"fault": "%s", "errno": %d}'
FIRST_LOOK, SLOWEST_LOOK = 0.05, 1.0  # seconds between two looks at the size of the output


class Order:
    """What to start, as the caller sent it: bytes, because names need not be UTF-8."""

    def __init__(self, fields: list[bytes]) -> None:
        seconds, grace, output_bytes, caller, self.cwd, count, *rest = fields
        self.seconds = float(seconds)
        self.grace = float(grace)
        self.output_bytes = int(output_bytes)
        self.caller = int(caller)
        self.argv = rest[: int(count)]
        self.variables = dict(variable.split(b"=", 1) for variable in rest[int(count) :])


class StartFault(Exception):
    """The command could not be started; the text is the answer for the caller."""


def set_process(option: int, value: int) -> int:
    """Set an attribute of this process by ``prctl`` and return the error number, 0 if it worked."""
    done = ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0
    return 0 if done else ctypes.get_errno()


def read_state(pid: int) -> tuple[str, int, int] | None:
    """Return (state letter, parent, session) of a process, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[1]), int(fields[3])


def is_living(pid: int) -> bool:
    """Say whether a process exists and is no zombie."""
    return (state := read_state(pid)) is not None and state[0] not in "ZX"


def list_pids() -> list[int]:
    """Return the processes of the machine, as far as they are visible."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def list_children(pid: int) -> list[int]:
    """Return the children of a process, zombies included.

    By ``children`` files where the kernel has them: a scan of /proc takes so long that a process
    which forks and exits in a loop is always gone by then.
    """
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        if is_living(pid):
            states = ((other, read_state(other)) for other in list_pids())
            return [other for other, state in states if state is not None and state[1] == pid]
    return found


def walk_below(root: int, visit: Callable[[int], None]) -> list[int]:
    """Call ``visit`` for each descendant before looking at its children, and return them all."""
    found: list[int] = []
    todo = [root]
    while todo:
        for pid in list_children(todo.pop()):
            visit(pid)
            found.append(pid)
            todo.append(pid)
    return found


def send(pid: int, number: int) -> None:
    """Send a signal; a process that is gone or another user's is left alone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def list_living_below(root: int, number: int = 0) -> list[int]:
    """Return the descendants of a process that still live, and send them a signal."""
    living: list[int] = []

    def visit(pid: int) -> None:
        if is_living(pid):
            living.append(pid)
            send(pid, number)

    walk_below(root, visit)
    return living


def kill_below(root: int) -> None:
    """Stop each descendant of a process, so that none forks ahead of us, then kill them.

    Children first and fast: those that fork and exit without end come back as children.
    """
    stopped: set[int] = set()
    while fresh := set(list_children(root)) - stopped:
        for pid in fresh:
            send(pid, signal.SIGSTOP)
        stopped |= fresh
    for pid in walk_below(root, lambda pid: send(pid, signal.SIGSTOP)):
        send(pid, signal.SIGKILL)


class Tree:
    """The command and everything that descends from it: the children of this process."""

    def __init__(self, order: Order, wake: int) -> None:
        self.order = order
        self.started = time.monotonic()
        self.pid = start(order)
        self.exit_code: int | None = None
        self.empty = False
        self._wake = wake
        self._events = select.poll()
        self._events.register(0, select.POLLIN)
        self._events.register(wake, select.POLLIN)

    def reap(self) -> None:
        """Take in what has ended, without waiting."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.empty = True
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.exit_code = os.waitstatus_to_exitcode(status)

    def wait(self, seconds: float, done: Callable[[], bool]) -> str | None:
        """Block until ``done``; otherwise return ``timeout``, ``output``, ``asked`` or ``stop``."""
        until = time.monotonic() + seconds
        pause = FIRST_LOOK
        while True:
            self.reap()
            if done():
                return None
            if max(os.fstat(1).st_size, os.fstat(2).st_size) > self.order.output_bytes:
                return "output"
            left = until - time.monotonic()
            if left <= 0:
                return "timeout"
            ready = [fd for fd, _ in self._events.poll(min(left, pause) * 1000 + 1)]
            if 0 in ready or os.getppid() != self.order.caller:
                return "asked" if 0 in ready and os.read(0, 1) else "stop"
            if ready:
                os.read(self._wake, 4096)
            else:
                pause = min(2 * pause, SLOWEST_LOOK)

    def end(self, grace: float) -> tuple[int, int]:
        """End what is left by TERM, a grace, KILL; return how many others lived around it."""
        before = set(list_living_below(os.getpid(), signal.SIGTERM)) - {self.pid}
        self.wait(grace, lambda: self.empty)
        after = set() if self.empty else set(list_living_below(os.getpid())) - {self.pid}
        until = time.monotonic() + KILL_BUDGET
        pause = 0.005
        while not self.empty and time.monotonic() < until:
            kill_below(os.getpid())
            if select.select([self._wake], [], [], pause)[0]:
                os.read(self._wake, 4096)
            self.reap()
            pause = min(pause * 1.2, 0.1)
        return len(before), len(after)


def start(order: Order) -> int:
    """Start the command as the leader of a new session and return its pid."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(order, tell)
    os.close(tell)
    fault = os.read(told, 100).decode()  # empty: closed by a successful start
    os.close(told)
    if fault:
        os.waitpid(pid, 0)
        raise StartFault(fault)
    return pid


def _become(order: Order, tell: int) -> NoReturn:
    stage = b"cwd"
    try:
        os.chdir(order.cwd)
        stage = b"exec"
        os.setsid()
        set_process(PR_SET_PDEATHSIG, signal.SIGKILL)  # who kills this program goes with it
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execvpe(order.argv[0], order.argv, order.variables)
    except OSError as error:
        os.write(tell, FAULT % (stage, error.errno or 0))
    finally:
        os._exit(127)


def supervise(order: Order, wake: int) -> str:
    """Start the command, wait for its end or a limit, end its tree and return the account."""
    if errno := set_process(PR_SET_CHILD_SUBREAPER, 1):
        raise StartFault((FAULT % (b"subreaper", errno)).decode())
    tree = Tree(order, wake)
    answer(f'{{"pid": {tree.pid}}}')
    limit = tree.wait(order.seconds, lambda: tree.exit_code is not None)
    seconds = time.monotonic() - tree.started
    patient = limit in ("timeout", "asked")
    before, after = tree.end(order.grace if patient else min(order.grace, SHORT_GRACE))
    fields = {
        "exit_code": "null" if limit else tree.exit_code,
        "limit": f'"{limit}"' if limit else "null",
        "survivors": after if limit else before,
        "left": 0 if tree.empty else len(list_living_below(os.getpid())),
        "seconds": f"{seconds:.6f}",
    }
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"


def answer(line: str) -> None:
    """Send one line to the caller, who may be gone."""
    try:
        os.write(0, line.encode() + b"\n")
    except OSError:
        return


def read_order() -> Order | None:
    """Read seconds, grace, bytes, caller, cwd, number of arguments, arguments, NAME=VALUE …."""
    data, size = b"", 8
    while len(data) < size:
        if not (more := os.read(0, min(size - len(data), 1 << 20))):
            return None
        data += more
        size = 8 + int.from_bytes(data[:8], "big") if len(data) >= 8 else 8
    return Order(data[8:].split(b"\0"))


def main() -> NoReturn:
    """Serve one order from the socket at stdin, and exit without Python's own clean-up."""
    order = read_order()
    if order is not None:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
            signal.signal(number, signal.SIG_IGN)  # a command's `kill $PPID` is no way out
        signal.signal(signal.SIGCHLD, lambda *_: None)
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        try:
            answer(supervise(order, woken))
        except StartFault as fault:
            answer(str(fault))
        finally:
            kill_below(os.getpid())  # after a fault of this program
    os._exit(0)
