"""The way to the model during one phase, and whose word counts about it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING
from typing import Self

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.gateway import TrafficReport
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.stops import Stop

if TYPE_CHECKING:
    from pytest_evoclaw.gateway.service import Gateway
    from pytest_evoclaw.gateway.service import Traffic

_ABOUT_MODELS = (Reason.PROVIDER.value, Reason.NO_TURNS.value)


@dataclass(slots=True)
class ModelWay:
    """What a phase asks the model through; ``report`` is there when the block has ended."""

    endpoint: Endpoint | None
    report: TrafficReport | None = None
    _traffic: Traffic | None = None

    @classmethod
    def open(cls, gateway: Gateway | None, traffic: PhaseTraffic | None, stop: Stop) -> Self:
        """Open a way through the gateway; without one it is the provider itself, unmeasured."""
        if traffic is None or gateway is None:
            return cls(None if traffic is None else traffic.endpoint)
        opened = gateway.open(traffic, stop.set)
        return cls(opened.endpoint, _traffic=opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._traffic is not None:
            self.report = self._traffic.close()


def apply_report(
    ended: Ended, account: Account, report: TrafficReport | None
) -> tuple[Ended, Account, tuple[str, ...]]:
    """Let the gateway's word count: usage, turns, limits and problems of the provider.

    Returns notes about what is left out: what the runtime itself says, where it differs, and
    problems after which a limit ended the phase, which is then graded on what is there.
    """
    if report is None:
        return ended, account, ()
    ended = replace(ended, limit=ended.limit or report.limit)
    problem, notes = _weigh_problems(ended, account.problem, report)
    if note := _compare(account.usage, report.usage):
        notes = (*notes, note)
    measured = replace(account, usage=report.usage, turns=report.turns, problem=problem)
    return ended, measured, notes


def _weigh_problems(
    ended: Ended, own: Problem | None, report: TrafficReport
) -> tuple[Problem | None, tuple[str, ...]]:
    found, notes = report.problem, []
    if found is not None and own is not None and own.reason not in _ABOUT_MODELS:
        # A program that broke before it asked is why no answer came.
        found = None if found.reason == Reason.NO_TURNS.value else found
    limited = ended.limit is not None and report.turns > 0
    if found is not None and not (limited and found.reason == Reason.PROVIDER.value):
        return _convert(found), ()
    if found is not None:
        notes.append(f"before the limit {ended.limit!r}: {found.detail}")
    # A runtime may well call it a fault that the gateway refused to go on.
    refused = limited and report.limit is not None
    if own is not None and (refused or own.reason in _ABOUT_MODELS):
        notes.append(f"the runtime says, against the gateway: {own.reason}: {own.detail}")
        own = None
    return own, tuple(notes)


def _convert(failure: Failure) -> Problem:
    return Problem(reason=failure.reason, detail=failure.detail)


def _compare(own: Usage, measured: Usage) -> str:
    names = ("input_tokens", "output_tokens", "cache_read_tokens")
    pairs = {name: (getattr(own, name), getattr(measured, name)) for name in names}
    if own.source != "provider" or all(mine in (None, true) for mine, true in pairs.values()):
        return ""
    words = ", ".join(f"{name} {mine} ({true})" for name, (mine, true) in pairs.items())
    return f"the runtime's own usage differs from the gateway's: {words}"
