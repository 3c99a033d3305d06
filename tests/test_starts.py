from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments.local import create as create_local
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.slots import SlotPool
from pytest_evoclaw.starts import Start
from pytest_evoclaw.starts import find_places
from pytest_evoclaw.stops import Stop
from pytest_evoclaw.workspace import create_folders


class Bench:
    """Starts commands and tells what goes on at the same time."""

    def __init__(self, tmp_path: Path, size: int = 1) -> None:
        self.root = tmp_path
        self.places = SlotPool(folder=tmp_path / "places", size=size, pause=0.01)

    def command(self, name: str, script: str, seconds: float, stop: Stop) -> Command:
        return Command(
            argv=("sh", "-c", script),
            variables={},
            folders=create_folders(self.root / name),
            seconds=seconds,
            stop=stop,
        )

    def begin(self, name: str, script: str, seconds: float = 30.0) -> Running:
        return Running(self, name, script, seconds)


class Running:
    """A program under way in a thread of its own."""

    def __init__(self, bench: Bench, name: str, script: str, seconds: float) -> None:
        stop = Stop()
        self.start = Start(stop)
        self.begun = bench.root / f"{name}.begun"
        self.ended: Ended | None = None
        command = bench.command(name, f"touch {self.begun}; {script}", seconds, stop)
        self._work = (command, bench.places)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        command, places = self._work
        self.ended = self.start.run(create_local(), command, places)

    def wait_begun(self) -> None:
        until = time.monotonic() + 20
        while not self.begun.exists():
            assert time.monotonic() < until
            time.sleep(0.01)

    def join(self) -> Ended:
        self._thread.join(20)
        assert self.ended is not None
        return self.ended


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_next_program_starts_when_the_one_before_asks_the_model(bench):
    first = bench.begin("first", "sleep 20", seconds=0.5)
    first.wait_begun()
    second = bench.begin("second", "true")
    time.sleep(0.3)
    assert not second.begun.exists()
    first.start.finish()
    assert second.join().exit_code == 0
    assert first.join().limit == "timeout"


def test_the_next_program_starts_when_the_one_before_ends_without_a_word(bench):
    first = bench.begin("first", "sleep 0.3")
    first.wait_begun()
    second = bench.begin("second", "true")
    assert (first.join().exit_code, second.join().exit_code) == (0, 0)
    assert first.start.seconds is None


def test_as_many_start_at_a_time_as_there_are_places(tmp_path):
    bench = Bench(tmp_path, size=2)
    running = [bench.begin(f"n{number}", "sleep 0.4") for number in range(3)]
    until = time.monotonic() + 20
    while sum(each.begun.exists() for each in running) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert sum(each.begun.exists() for each in running) == 2
    assert [each.join().exit_code for each in running] == [0, 0, 0]


def test_the_time_limit_counts_from_the_first_request(bench):
    running = bench.begin("slow", "sleep 60", seconds=3.0)
    running.wait_begun()
    time.sleep(1.0)
    running.start.finish()
    ended = running.join()
    assert ended.limit == "timeout"
    assert running.start.seconds is not None
    assert running.start.seconds >= 1.0
    assert 2.0 <= ended.seconds - running.start.seconds < 40


def test_only_the_first_request_counts(bench):
    running = bench.begin("twice", "sleep 0.5")
    running.wait_begun()
    running.start.finish()
    first = running.start.seconds
    time.sleep(0.1)
    running.start.finish()
    assert running.start.seconds == first
    running.join()


def test_without_places_the_limit_is_the_plain_one(bench):
    start = Start(Stop())
    command = bench.command("plain", "sleep 30", 0.3, Stop())
    assert start.run(create_local(), command, None).limit == "timeout"
    assert start.seconds is None


def test_places_that_cannot_be_had_are_not_scored(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    bench = Bench(tmp_path)
    places = SlotPool(folder=tmp_path / "file" / "below", size=1)
    with pytest.raises(NotScored, match="cannot wait for a start at"):
        Start(Stop()).run(create_local(), bench.command("x", "true", 1, Stop()), places)


def test_places_are_one_a_core_unless_said_otherwise(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    assert find_places(None).size == 6
    assert find_places(3).size == 3
    assert find_places(3).folder == find_places(None).folder
