from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from pytest_evoclaw.slots import SlotPool

HOLDER = """
import sys, time
from pathlib import Path
from pytest_evoclaw.slots import SlotPool
with SlotPool(folder=Path(sys.argv[1]), size=1).hold():
    print("holds", flush=True)
    time.sleep(60)
"""


def test_no_more_than_its_size_hold_a_place_at_the_same_time(tmp_path: Path):
    pool, most, now, lock = SlotPool(folder=tmp_path / "slots", size=2), [0], [0], threading.Lock()

    def work() -> None:
        with pool.hold():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.05)
            with lock:
                now[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, now) == ([2], [0])


def test_a_process_that_dies_frees_its_place(tmp_path: Path):
    argv = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        holder.kill()
    with SlotPool(folder=tmp_path, size=1).hold():
        pass


def test_a_place_is_free_again_after_an_exception(tmp_path: Path):
    pool = SlotPool(folder=tmp_path, size=1)
    for _ in range(2):
        try:
            with pool.hold():
                raise ValueError
        except ValueError:
            continue
