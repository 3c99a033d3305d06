from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_evoclaw.cli import main
from pytest_evoclaw.journal import read_journal
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.metrics import compute_metrics
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.schemas import make_validator
from tests.made_results import make_scored
from tests.made_results import make_unscored
from tests.made_sessions import write_session
from tests.test_metrics import FACTS

MODES = ("baseline", "preskill")
ONE = [make_scored(f"task_{n}_x", mode, n / 10) for n in (1, 2) for mode in MODES]
TWO = [
    *(make_scored("task_3_x", mode, 0.7) for mode in MODES),
    make_unscored("task_4_x", "baseline"),
]


def make_facts(run_id: str, **changes: object) -> SessionFacts:
    known = replace(FACTS, run_id=run_id, loaded_task_count=2, official_task_count=2)
    return replace(known, **changes)  # type: ignore[arg-type]


def make_shards(tmp_path: Path, **changes: object) -> list[str]:
    one = write_session(tmp_path / "one", ONE, make_facts("one"))
    two = write_session(tmp_path / "two", TWO, make_facts("two", **changes))
    return [str(one), str(two)]


def test_a_merged_session_has_the_numbers_of_one_undisturbed(tmp_path):
    into = tmp_path / "all"

    assert main(["merge", *make_shards(tmp_path), "--into", str(into)]) == 0
    metrics = json.loads((into / "metrics.json").read_text(encoding="utf-8"))
    make_validator("metrics").validate(metrics)
    whole = make_facts("all", loaded_task_count=4, official_task_count=4)
    expected = json.loads(json.dumps(compute_metrics([*ONE, *TWO], whole)))
    assert metrics["groups"] == expected["groups"]
    assert metrics["counts"] == {**expected["counts"], "not_run": 0}
    assert metrics["session"]["options"] == {"merged_from": ["one", "two"]}
    alone = json.loads((into / "all_openai-gpt-x_nanobot.json").read_text(encoding="utf-8"))
    assert alone == metrics["groups"][0]


def test_journals_follow_each_other_without_torn_lines(tmp_path):
    shards = make_shards(tmp_path)
    with (tmp_path / "one" / "trials.jsonl").open("ab") as journal:
        journal.write(b'{"trial": ')
    into = tmp_path / "all"

    assert main(["merge", *shards, "--into", str(into)]) == 0
    assert read_journal(into / "trials.jsonl") == [*ONE, *TWO]


def test_artifacts_come_along(tmp_path):
    shards = make_shards(tmp_path)
    for name in ("one", "two"):
        folder = tmp_path / name / "trials" / name / "execution"
        folder.mkdir(parents=True)
        (folder / "stdout.txt").write_text(name, encoding="utf-8")

    assert main(["merge", *shards, "--into", str(tmp_path / "all")]) == 0
    for name in ("one", "two"):
        copied = tmp_path / "all" / "trials" / name / "execution" / "stdout.txt"
        assert copied.read_text(encoding="utf-8") == name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"judge_model": "a/b"}, "judge_model: found None and 'a/b'"),
        ({"timeout_factor": 2.0}, "timeout_factor: found 1.0 and 2.0"),
        ({"runtimes": {"nanobot": "9"}}, "nanobot: found '0.2.1' and '9'"),
        ({"options": {"judge": "off"}}, "judge: found None and 'off'"),
    ],
    ids=["judge", "timeout", "runtime-version", "option"],
)
def test_different_settings_are_refused_unless_asked_for(tmp_path, capsys, changes, words):
    shards = make_shards(tmp_path, **changes)
    into = tmp_path / "all"

    assert main(["merge", *shards, "--into", str(into)]) == 2
    assert words in capsys.readouterr().err
    assert not into.exists()
    assert main(["merge", *shards, "--into", str(into), "--mixed"]) == 0
    metrics = json.loads((into / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["session"]["warnings"] == [
        f"merged though settings differ: one and two: {words}"
    ]


def test_shards_by_mode_are_one_suite(tmp_path):
    folders = []
    for mode in MODES:
        results = [result for result in ONE if result.trial.mode == mode]
        facts = make_facts(mode, modes=(mode,))
        folders.append(str(write_session(tmp_path / mode, results, facts)))

    assert main(["merge", *folders, "--into", str(tmp_path / "all")]) == 0
    metrics = json.loads((tmp_path / "all" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["session"]["modes"] == list(MODES)
    assert metrics["session"]["loaded_task_count"] == 2
    assert metrics["groups"][0]["statistics"]["differences"]["preskill"]["tasks"] == 2


@pytest.mark.parametrize("mixed", [[], ["--mixed"]], ids=["plain", "mixed"])
def test_a_trial_in_two_sessions_is_refused(tmp_path, capsys, mixed):
    one, _ = make_shards(tmp_path)
    moved = [replace(r, trial=replace(r.trial, task_path=f"elsewhere/{r.nodeid}")) for r in ONE]
    again = str(write_session(tmp_path / "again", moved, make_facts("again")))

    assert main(["merge", one, again, "--into", str(tmp_path / "all"), *mixed]) == 2
    assert "found a trial twice, allowed once" in capsys.readouterr().err


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, capsys):
    shards = make_shards(tmp_path)

    assert main(["merge", *shards, "--into", shards[0]]) == 2
    assert "allowed a new or empty folder" in capsys.readouterr().err
    assert read_journal(tmp_path / "one" / "trials.jsonl") == ONE


def test_of_several_attempts_the_last_one_counts(tmp_path):
    first: list[TrialResult] = [make_unscored("task_1_x", "baseline")]
    one = write_session(tmp_path / "one", first, make_facts("one"))
    last = replace(make_scored("task_1_x", "baseline", 0.5), nodeid=first[0].nodeid)
    line = json.dumps(last.to_dict()) + "\n"
    with (one / "trials.jsonl").open("a", encoding="utf-8") as journal:
        journal.write(line)
    two = write_session(tmp_path / "two", TWO, make_facts("two"))

    assert main(["merge", str(one), str(two), "--into", str(tmp_path / "all")]) == 0
    metrics = json.loads((tmp_path / "all" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["counts"]["scored"] == 3
    assert metrics["groups"][0]["baseline_results"]["task_1_x"]["mean_score"] == 0.5
