"""What one phase asked and got: limits, the log, and the report."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

from pytest_evoclaw.errors import Reason
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.gateway import TrafficReport
from pytest_evoclaw.gateway.erasing import is_secret
from pytest_evoclaw.gateway.exchanges import Exchange
from pytest_evoclaw.gateway.requests import Asked
from pytest_evoclaw.gateway.store import Shelf
from pytest_evoclaw.results import UNKNOWN_USAGE
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Usage

HANG_SECONDS = 10.0  # who waits that long for a first byte and leaves was not served
_CLOSED = "The model is not available. Further requests will not be served."


class Ledger:
    """The traffic of one phase; used in the gateway's thread only."""

    def __init__(
        self, traffic: PhaseTraffic, settings: GatewaySettings, stop: Callable[[str], None]
    ) -> None:
        self.traffic = traffic
        self.shelf = Shelf.open(traffic, settings)
        self._settings = settings
        self._stop = stop
        self._opened = time.monotonic()
        self._log: TextIO | None = None
        self._logged = 0
        self._numbers = 0
        self._requests = 0
        self._turns = 0
        self._usages: list[Usage] = []
        self._partial = False
        self._open: dict[Exchange, asyncio.Task[object] | None] = {}
        self._settled = asyncio.Event()
        self._last: Exchange | None = None
        self._succeeded = False
        self._closed: Failure | None = None
        self._limit: str | None = None

    def begin(self, asked: Asked) -> Exchange:
        """Open an exchange in the current task, which :meth:`close` cancels."""
        self._numbers += 1
        exchange = Exchange(number=self._numbers, asked=asked, opened=self._opened)
        if asked.api != "other":
            self._requests += 1
            if self.traffic.asking is not None:
                self.traffic.asking()
        self._open[exchange] = asyncio.current_task()
        return exchange

    async def admit(self, exchange: Exchange) -> str | None:
        """Return None, or what to say if no model may be asked any more."""
        if exchange.asked.api == "other":
            return None
        limits = self.traffic.limits
        while (limit := self._find_limit(exchange)) == "wait":
            await self._settled.wait()
        if limit is not None:
            self._limit = self._limit or limit
            exchange.outcome = "limit"
            self._stop(limit)
            bound = limits.max_turns if limit == "turns" else limits.max_tokens
            return f"This conversation is over after {bound} {limit}."
        if self._closed is not None:
            exchange.outcome = "closed"
            return _CLOSED
        return None

    def _find_limit(self, exchange: Exchange) -> str | None:
        limits = self.traffic.limits
        if limits.max_tokens is not None and self._count_tokens() >= limits.max_tokens:
            return "tokens"
        if limits.max_turns is None:
            return None
        if self._turns >= limits.max_turns:
            return "turns"
        # An answer on its way may become the last turn.
        before = [e for e in self._open if e.number < exchange.number and e.asked.api != "other"]
        return "wait" if self._turns + len(before) >= limits.max_turns else None

    def _count_tokens(self) -> int:
        return sum(usage.total_tokens or 0 for usage in self._usages)

    def give_up(self, exchange: Exchange, detail: str, reason: Reason) -> str:
        """Note that the provider failed for good, and return what to tell the agent."""
        exchange.outcome, exchange.error = "failed", detail
        if exchange.asked.api != "other" or reason is not Reason.PROVIDER:
            self._closed = self._closed or Failure(reason=reason.value, detail=detail)
        return _CLOSED

    def settle(self, exchange: Exchange) -> None:
        """Close an exchange: count it and write its line; once."""
        if exchange not in self._open:
            return
        del self._open[exchange]
        if exchange.asked.api != "other":
            self._count(exchange)
        try:
            if self.shelf is not None:
                self.shelf.keep(exchange)
            self._write(exchange)
        except OSError as error:
            detail = f"cannot write what was asked: {error}"
            self._closed = self._closed or Failure(reason=Reason.HARNESS.value, detail=detail)
        self._settled.set()
        self._settled = asyncio.Event()

    def _count(self, exchange: Exchange) -> None:
        usage = exchange.meter.usage
        if exchange.outcome in ("answered", "empty"):
            self._turns += exchange.outcome == "answered"
            self._usages.append(usage or Usage(request_count=1))
            self._succeeded = True
        elif exchange.outcome in ("cut", "abandoned", "failed"):
            self._partial = self._partial or exchange.first_byte is not None
            if usage is not None:
                self._usages.append(usage)
        if exchange.outcome == "abandoned" and not _hung(exchange):
            return
        if exchange.outcome not in ("limit", "closed"):
            self._last = exchange

    def _write(self, exchange: Exchange) -> None:
        left = max(0, self._settings.log_bytes - self._logged)
        line = json.dumps(
            exchange.to_dict(min(self._settings.body_bytes, left)), ensure_ascii=False
        )
        key = self.traffic.endpoint.api_key
        line = line.replace(key, "<key>") if is_secret(key) else line
        if self._log is None:
            self._log = self.traffic.log.open("w", encoding="utf-8", newline="\n")
        self._log.write(line.encode("utf-8", "replace").decode() + "\n")
        self._log.flush()
        self._logged += len(line)

    async def close(self, patience: float) -> TrafficReport:
        """End what is under way; who is nearly done gets ``patience`` seconds."""
        while any(exchange.nearly_done for exchange in self._open) and patience > 0:
            await asyncio.sleep(0.01)
            patience -= 0.01
        tasks = [task for task in self._open.values() if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._log is not None:
            self._log.close()
        usage = Usage.total(self._usages) if self._usages else UNKNOWN_USAGE
        return TrafficReport(
            turns=self._turns,
            requests=self._requests,
            usage=replace(usage, partial=self._partial),
            problem=self._find_problem(),
            limit=self._limit,
        )

    def _find_problem(self) -> Failure | None:
        if self._closed is not None:
            return self._closed
        last = self._last
        if last is None or last.outcome in ("answered", "empty"):
            return None
        if last.outcome == "refused" and self._succeeded:
            return None  # what the agent asked was wrong: too long, say
        detail = last.error or f"no answer within {HANG_SECONDS:g} s"
        return Failure(
            reason=Reason.PROVIDER.value,
            detail=f"request {last.number} ({last.asked.rest}): {detail}",
        )


def _hung(exchange: Exchange) -> bool:
    waited = time.monotonic() - exchange.started
    return exchange.first_byte is None and waited >= HANG_SECONDS
