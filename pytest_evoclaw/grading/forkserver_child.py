"""Inside the process that grades: its limits, its surroundings, and the account of its end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from types import TracebackType

from pytest_evoclaw.grading.checklist import GraderFault
from pytest_evoclaw.grading.checklist import bound_message
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.grading.orders import Reply
from pytest_evoclaw.results import Check

if sys.platform != "win32":
    import resource

FILE_BYTES = 2**30  # for each file that a grader, or what it starts, writes
Perform = Callable[[Order, Path], Sequence[Check]]


class TimeLimit(BaseException):
    """Raised inside the grader at its time limit, so that the traceback shows where it was."""


class Ending:
    """How a block ended: a foreign grader's exception is a fact about it, whatever its type."""

    error: BaseException | None = None

    def __enter__(self) -> Ending:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.error = error
        return True


def grade_here(order: Order, folder: Path, perform: Perform) -> Reply:
    """Carry out the order in this process, which is used up by it; ``folder`` is empty.

    The current directory, HOME and TMPDIR become ``folder``'s ``scratch``. What is printed goes to
    the descriptors 1 and 2.
    """
    (folder / "scratch").mkdir()
    (folder / "fixtures").mkdir()
    _surround(order, folder / "scratch")
    checks: Sequence[Check] = ()
    with Ending() as ending, _limit_time(order.seconds):
        checks = perform(order, folder / "fixtures")
    if ending.error is None:
        return Reply(checks=[asdict(check) for check in checks])
    return Reply(fault=describe_fault(ending.error, order))


def make_variables(scratch: Path) -> dict[str, str]:
    """Return the whole environment of a grader and of what it starts."""
    allowed = {n: os.environ[n] for n in ("PATH", "LD_LIBRARY_PATH") if n in os.environ}
    places = {"HOME": str(scratch), "TMPDIR": str(scratch)}
    return {**allowed, **places, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


def _surround(order: Order, scratch: Path) -> None:
    os.chdir(scratch)
    variables = make_variables(scratch)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None  # asks the environment again
    sys.path.insert(0, order.root)
    sys.argv[:] = [order.source]
    for name, number in (("stdout", 1), ("stderr", 2)):
        # Line by line, because a grader may end without flushing.
        stream = os.fdopen(
            number, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _limit_resources(order.memory_bytes)


def _limit_resources(memory_bytes: int) -> None:
    if sys.platform == "win32":
        return
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, FILE_BYTES)]
    if sys.platform == "linux":  # macOS refuses this one
        limits.append((resource.RLIMIT_AS, memory_bytes))
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


@contextlib.contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    signal.signal(signal.SIGALRM, _raise_time_limit)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _raise_time_limit(_: int, __: FrameType | None) -> None:
    raise TimeLimit


def describe_fault(error: BaseException, order: Order) -> str:
    """Say where in the grader's file what went wrong, with the traceback from there on."""
    raised = error.__cause__ or error if isinstance(error, GraderFault) else error
    trace = raised.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != order.source:
        trace = trace.tb_next
    lines = [n for frame, n in traceback.walk_tb(trace) if _is_in(order.source, frame)]
    if isinstance(raised, SyntaxError) and raised.filename == order.source:
        lines = [raised.lineno or 1]
    place = f"{order.place}:{lines[-1]}" if lines else order.place
    sentence = f"{place}: {_describe_error(error, order)}"
    if trace is None and isinstance(raised, GraderFault):
        return bound_message(sentence)
    told = traceback.TracebackException(type(raised), raised, trace)
    frames = [frame for frame in told.stack if frame.filename != __file__]
    told.stack = traceback.StackSummary.from_list(frames)
    return f"{bound_message(sentence)}\n{bound_message(''.join(told.format()).rstrip())}"


def _is_in(source: str, frame: FrameType) -> bool:
    return frame.f_code.co_filename == source


def _describe_error(error: BaseException, order: Order) -> str:
    if isinstance(error, GraderFault):
        return str(error)
    if isinstance(error, TimeLimit):
        return f"did not end within its time limit of {order.seconds:g} s"
    if isinstance(error, MemoryError):
        return f"needs more memory than its limit of {order.memory_bytes // 2**20} MiB"
    if isinstance(error, SystemExit):
        return f"called sys.exit({error.code!r})"
    lines = traceback.format_exception_only(error)
    return "raised " + next(line for line in lines if not line.startswith(" ")).strip()
