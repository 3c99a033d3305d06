from __future__ import annotations

import threading

from pytest_evoclaw.stops import Stop


def test_a_listener_is_told_once_with_the_first_limit():
    stop = Stop()
    told = []
    with stop.tell(lambda: told.append(stop.limit)):
        stop.set("turns")
        stop.set("tokens")
    assert (told, stop.limit) == (["turns"], "turns")


def test_a_listener_that_comes_late_is_told_at_once():
    stop = Stop()
    stop.set("tokens")
    told = []
    with stop.tell(lambda: told.append(True)):
        assert told == [True]


def test_nobody_is_told_after_the_block():
    stop = Stop()
    told = []
    with stop.tell(lambda: told.append(True)):
        pass
    stop.set("turns")
    assert told == []


def test_the_word_can_be_said_from_any_thread():
    stop = Stop()
    told = threading.Event()
    with stop.tell(told.set):
        threading.Thread(target=stop.set, args=("turns",)).start()
        assert told.wait(5)
