"""Grade in a bounded process, and tell a grade from a grader that broke."""

from __future__ import annotations

import signal
from typing import NoReturn

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading import forkserver
from pytest_evoclaw.grading.checklist import bound_message
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.grading.orders import Reply
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Grade

LINES = 20  # of what a broken grader printed


def grade_bounded(order: Order) -> Grade:
    """Carry out an order; NotScored if there are no checks in the end, with all that is known."""
    reply = forkserver.ask(order)
    if reply.checks is None:
        _raise_fault(order, reply)
    return Grade(checks=tuple(Check(**check) for check in reply.checks))


def _raise_fault(order: Order, reply: Reply) -> NoReturn:
    text = reply.fault or f"{order.place}: the grader {_describe_end(order, reply)}"
    printed = "\n".join(reply.output.rstrip().splitlines()[-LINES:])
    if printed:
        text += f"\nIt printed at last:\n{bound_message(printed)}"
    raise NotScored(Reason.HARNESS if reply.limit == "stop" else Reason.GRADER, text)


def _describe_end(order: Order, reply: Reply) -> str:
    if reply.limit is not None:
        return {
            "timeout": f"did not end within its time limit of {order.seconds:g} s",
            "answer": "made more checks, or longer ones, than an answer may hold",
            "output": "printed without end",
            "stop": "was stopped from our side before its end",
        }[reply.limit]
    if reply.exit_code is not None and reply.exit_code < 0:
        number = -reply.exit_code
        known = {each.value: each.name for each in signal.Signals}
        return (
            f"was ended by {known.get(number, f'signal {number}')}; "
            f"its memory limit is {order.memory_bytes // 2**20} MiB"
        )
    return f"ended its own process with exit code {reply.exit_code} and without an answer"
