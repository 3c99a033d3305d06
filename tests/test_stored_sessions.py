from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.journal import append_result
from pytest_evoclaw.stored_sessions import read_session
from pytest_evoclaw.stored_sessions import write_session
from tests.made_session import make_facts
from tests.made_session import make_grade
from tests.made_session import make_hybrid

RESULT = make_hybrid("task_01_x", "baseline", make_grade(1, 0.5))


def test_a_session_comes_back_as_it_was_written(tmp_path: Path):
    facts = make_facts(warnings=("careful",), models=(None,))
    write_session(tmp_path, facts, [RESULT])
    read = read_session(tmp_path)
    assert (read.facts, read.results) == (facts, (RESULT,))
    assert list(tmp_path.glob("first_*_nanobot.json"))


def test_of_a_trial_that_is_there_twice_the_last_line_counts(tmp_path: Path):
    write_session(tmp_path, make_facts(), [RESULT])
    again = make_hybrid("task_01_x", "baseline", make_grade(1, 1))
    append_result(tmp_path / "trials.jsonl", again)
    assert read_session(tmp_path).results == (again,)


@pytest.mark.parametrize("name", ["trials.jsonl", "metrics.json"])
def test_a_folder_that_lacks_a_file_is_no_session(tmp_path: Path, name: str):
    write_session(tmp_path, make_facts(), [RESULT])
    (tmp_path / name).unlink()
    with pytest.raises(SettingsError, match=f"found no {name}"):
        read_session(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("trials.jsonl", "{}\n"),
        ("metrics.json", "{}"),
        ("metrics.json", '{"session": {"modes": 1}}'),
    ],
    ids=["journal", "metrics", "facts"],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, text: str):
    write_session(tmp_path, make_facts(), [RESULT])
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=name):
        read_session(tmp_path)


def test_keys_that_others_have_added_do_no_harm(tmp_path: Path):
    write_session(tmp_path, make_facts(), [RESULT])
    data = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    data["session"]["moon"] = "full"
    (tmp_path / "metrics.json").write_text(json.dumps(data), encoding="utf-8")
    assert read_session(tmp_path).facts == make_facts()
