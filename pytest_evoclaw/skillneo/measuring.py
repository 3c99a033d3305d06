"""Executions of versions, each recorded as it ends and none made twice."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any

from pytest_evoclaw.skillneo.budget import Budget
from pytest_evoclaw.skillneo.budget import Spending
from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.journal import Journal
from pytest_evoclaw.skillneo.parties import Parties
from pytest_evoclaw.skillneo.tree import Tree
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.usage import Usage


class SearchPaused(Exception):
    """A limit of the budget is reached at a safe point; the journal has everything until here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One planned execution: ``stage`` is ``root``, ``screen``, ``promote`` or ``incumbent``.

    ``attempt`` counts how often the generation was interrupted before.
    """

    generation: int
    stage: str
    candidate: str
    repeat: int
    attempt: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the key of the execution in the journal."""
        return {
            "generation": self.generation,
            "stage": self.stage,
            "candidate": self.candidate,
            "repeat": self.repeat,
            "attempt": self.attempt,
        }


@dataclass(slots=True)
class Measuring:
    """Fills slots from the journal, and the missing ones by executing; ``jobs`` at a time."""

    parties: Parties
    journal: Journal
    budget: Budget = field(default_factory=Budget)
    jobs: int = 1
    _started: float | None = None
    _spent: Spending = field(default_factory=Spending)
    _counted: int = 0

    def measure(self, tree: Tree, slots: Sequence[Slot]) -> None:
        """Add the record of each slot to the tree, in the order of ``slots``.

        SearchPaused if the budget forbids to make, or to go on making, the missing ones.
        """
        missing = [slot for slot in slots if self._find(slot) is None]
        if missing:
            self.check_budget(len(missing))
            execute = self._execute_all if self.jobs == 1 else self._execute_concurrently
            execute(tree, missing)
        for slot in slots:
            record = self._find(slot)
            if record is not None:
                tree.record(slot.candidate, slot.generation, record)

    def check_budget(self, planned: int) -> None:
        """Raise SearchPaused if ``planned`` more executions are not allowed."""
        limit = self.budget.find_limit(self.add_up_spending(), planned)
        if limit is not None:
            raise SearchPaused(limit)

    def add_up_spending(self) -> Spending:
        """Return what the search has spent, and the seconds of this sitting."""
        now = self.parties.clock()
        self._started = now if self._started is None else self._started
        for event in self.journal.events[self._counted :]:
            if "record" in event:
                usage = Usage(**event["record"]["usage"])
                self._spent = self._spent.add(usage, executions=1)
            elif "usage" in event:
                self._spent = self._spent.add(Usage(**event["usage"]), executions=0)
        self._counted = len(self.journal.events)
        return replace(self._spent, seconds=now - self._started)

    def _find(self, slot: Slot) -> ExecutionRecord | None:
        event = self.journal.find(event="execution", **slot.to_dict())
        return None if event is None else ExecutionRecord.from_dict(event["record"])

    def _execute_all(self, tree: Tree, slots: Sequence[Slot]) -> None:
        for number, slot in enumerate(slots):
            self.check_budget(len(slots) - number)
            self._write(slot, self._execute(tree[slot.candidate].bundle))

    def _execute_concurrently(self, tree: Tree, slots: Sequence[Slot]) -> None:
        flying: dict[Future[ExecutionRecord], Slot] = {}
        failed: list[Future[ExecutionRecord]] = []
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                for number, slot in enumerate(slots):
                    if len(flying) >= self.jobs:
                        failed += self._land(flying)
                    if failed:
                        break
                    self.check_budget(len(slots) - number + len(flying))
                    future = pool.submit(self._execute, tree[slot.candidate].bundle)
                    flying[future] = slot
            finally:
                # What was started is paid for: it is recorded even if the next may not start.
                while flying:
                    failed += self._land(flying)
        for future in failed:
            future.result()

    def _land(self, flying: dict[Future[ExecutionRecord], Slot]) -> list[Future[ExecutionRecord]]:
        """Record what has ended, and return what has raised."""
        done, _ = wait(flying, return_when=FIRST_COMPLETED)
        slots = {future: flying.pop(future) for future in done}
        failed = [future for future in done if future.exception() is not None]
        for future in done.difference(failed):
            self._write(slots[future], future.result())
        return failed

    def _write(self, slot: Slot, record: ExecutionRecord) -> None:
        event = {"event": "execution", **slot.to_dict(), "record": record.to_dict()}
        self.journal.append(event)

    def _execute(self, bundle: SkillBundle | None) -> ExecutionRecord:
        if bundle is None:
            raise ValueError("execution: the bundle's files are lost")
        records = self.parties.execute(bundle, 1)
        if len(records) != 1:
            raise ValueError(f"execute: found {len(records)} records, allowed exactly 1")
        return records[0]
