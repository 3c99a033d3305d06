"""The start of an agent program: few slow ones at a time, and not at the task's expense."""

from __future__ import annotations

import getpass
import os
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.slots import SlotPool
from pytest_evoclaw.stops import Stop

START_SECONDS = 300.0  # after that a program counts as started


def find_places(limit: int | None) -> SlotPool:
    """Return the places of this user's slow starts on this machine; by default one a core."""
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    folder = Path(tempfile.gettempdir()) / f"evoclaw-starts-{user}"
    return SlotPool(folder=folder, size=limit or os.cpu_count() or 1, pause=0.1)


class Start:
    """One program from its beginning to its first request for the model.

    ``seconds`` is how long that took, None as long as there was no request.
    """

    def __init__(self, stop: Stop) -> None:
        self.seconds: float | None = None
        self._stop = stop
        self._began: float | None = None
        self._fault: OSError | None = None
        self._admitted = threading.Event()
        self._over = threading.Event()
        self._ended = threading.Event()

    def finish(self) -> None:
        """Say that the model is being asked; from any thread, any number of times."""
        if self.seconds is None and self._began is not None:
            self.seconds = time.monotonic() - self._began
        self._over.set()

    def run(self, environment: Environment, command: Command, places: SlotPool | None) -> Ended:
        """Run a command to its end.

        With ``places`` it waits for one, keeps it until the start is over, and the time limit
        counts from then on. Raises NotScored.
        """
        if places is None:
            self._began = time.monotonic()
            return environment.run(command)
        watch = threading.Thread(target=self._watch, args=(places, command.seconds), daemon=True)
        watch.start()
        try:
            self._admitted.wait()
            if self._fault is not None:
                detail = f"cannot wait for a start at {places.folder}: {self._fault}"
                raise NotScored(Reason.HARNESS, detail) from self._fault
            self._began = time.monotonic()
            return environment.run(replace(command, seconds=command.seconds + START_SECONDS))
        finally:
            self._ended.set()
            self._over.set()

    def _watch(self, places: SlotPool, seconds: float) -> None:
        try:
            with places.hold():
                self._admitted.set()
                self._over.wait(START_SECONDS)
        except OSError as error:
            self._fault = error
            self._admitted.set()
            return
        if not self._ended.wait(seconds):
            self._stop.set("timeout")
