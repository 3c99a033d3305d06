from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_evoclaw.cli import main
from pytest_evoclaw.results import Failure
from tests.made_results import make_unscored
from tests.made_sessions import write_session
from tests.test_metrics import FACTS
from tests.test_metrics import GOLDEN


@pytest.fixture
def session(tmp_path):
    hostile = replace(make_unscored("task_02_x", "baseline"), nodeid="tasks/task_02_x.md::b")
    failure = Failure(reason="worker_died", detail="\x1b[2J\x07gone")
    results = [*GOLDEN, replace(hostile, failure=failure)]
    return str(write_session(tmp_path / "session", results, FACTS))


def test_a_trial_is_found_by_a_part_of_its_node_id(session, capsys):
    assert main(["show", session, "::preskill"]) == 0
    out = capsys.readouterr().out

    assert out.startswith(
        "tasks/task_01_x.md::preskill\n"
        "task_01_x, preskill, nanobot openai/gpt-x, repeat 1: score 0.7500\n"
    )
    assert "sub-problem 3\n  total (0.25): /tmp/abc/x is wrong\n" in out
    assert "skill_generation: tokens 900, cost $ 0.0300, requests 1, turns - (provider)\n" in out
    assert "  wrote skill parse-data (skills/parse-data)\n" in out


def test_a_trial_without_a_score_says_why_and_steers_no_terminal(session, capsys):
    assert main(["show", session, "task_02"]) == 0
    out = capsys.readouterr().out

    assert "not scored: worker_died\n  \\x1b[2J\\x07gone\n" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("task_01", "found 3 trials, allowed one of tasks/task_01_x.md::baseline, "),
        ("task_99", "found no trial, allowed one of tasks/task_01_x.md::baseline, "),
    ],
    ids=["ambiguous", "unknown"],
)
def test_no_single_trial_is_a_usage_error_that_lists_them(session, capsys, name, words):
    assert main(["show", session, name]) == 2
    assert words in capsys.readouterr().err


def test_a_whole_node_id_wins_over_longer_ones(tmp_path, capsys):
    longer = replace(GOLDEN[1], nodeid=f"{GOLDEN[0].nodeid}-more")
    folder = write_session(tmp_path / "session", [GOLDEN[0], longer], FACTS)

    assert main(["show", str(folder), GOLDEN[0].nodeid]) == 0
    assert ": score 0.5000" in capsys.readouterr().out
