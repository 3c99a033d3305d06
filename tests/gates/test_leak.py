from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_evoclaw.answers import Answers
from pytest_evoclaw.task import read_task
from tests.conftest import GRADER
from tests.conftest import TASK


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task_01_numbers.md"
    path.write_text(TASK.format(id="task_01_numbers").replace("automated", "llm_judge"), "utf-8")
    return read_task(path, tmp_path)


def collect(task, value):
    return Answers.of({"outputs/sum.json": json.dumps(value).encode()}, task)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (48213, "about 48,213 pieces"),
        (1234.5, "exactly 1_234.50"),
        (-4821, "less 4821"),
        ("Halden Marine", "such as halden marine."),
        ("2024-06-30", "until 2024-06-30"),
    ],
)
def test_an_answer_is_found_in_other_spellings(task, value, text):
    assert list(collect(task, {"a": value}).find_in(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 123}, "123"),
        ({"a": 48213}, "148213 or 482130 or 48213.7"),
        ({"a": "short"}, "short"),
        ({"a": "Halden"}, "Haldens"),
        ({"amount": "amount"}, "the amount"),
        ({"a": "numbers.json"}, "read numbers.json"),
        (["string"] * 3, "a string"),
        ({"a": True}, "true"),
        ({"a": "failed"}, "if it failed"),
    ],
    ids=[
        "few digits",
        "other number",
        "short",
        "inside",
        "key",
        "file",
        "format",
        "boolean",
        "word",
    ],
)
def test_what_a_prompt_has_to_say_is_no_leak(task, value, text):
    assert not list(collect(task, value).find_in(text))


def add_input(suite, name, text, prompt="Read `"):
    suite.write(name, text)
    path = suite.path / "tasks/task_01_numbers.md"
    old = path.read_text(encoding="utf-8").replace("[1, 2, 3]", "[1200, 2500, 310]")
    new = old.replace("workspace_files:", f"workspace_files:\n  - {name}")
    path.write_text(new.replace("Read `", f"Read `{name}`, `", 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("assets/total_4010.txt", "x\n", "the name of this input holds '4010'"),
        ("assets/decoy.txt", "x\n", "the name of this input tells what it is for"),
        (
            "assets/a.yaml",
            "x: 1\n# the sum is 4010\n",
            "assets/a.yaml:2: this comment holds '4010'",
        ),
        (
            "assets/a.html",
            "<!-- a decoy -->\n",
            "assets/a.html:1: this comment tells how to answer",
        ),
        ("assets/a.py", GRADER, "holds * lines of task_01_numbers.py, such as"),
    ],
    ids=["name", "telling name", "comment", "telling comment", "grader"],
)
def test_what_an_input_gives_away_is_found(suite, name, text, words):
    add_input(suite, name, text)
    result = suite.run("-k", "leak", mode="gate")
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines([f"*{words}*"])


def test_a_number_that_the_data_hold_is_no_leak_of_a_comment(suite):
    add_input(suite, "assets/a.yaml", "x: 4010\n# 4010 is above\n")
    suite.run("-k", "leak", mode="gate").assert_outcomes(passed=1, deselected=5)


@pytest.mark.parametrize("name", ["graders/task_01_numbers.py", "tasks/task_01_numbers.md"])
def test_graders_and_task_files_are_no_inputs(suite, name):
    add_input(suite, name, (suite.path / name).read_text(encoding="utf-8"))
    result = suite.run(mode="gate")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"*.md:11: workspace_files*: found '{name}', which says how*"])


def test_an_input_that_is_a_link_is_found(suite):
    add_input(suite, "assets/real.txt", "x\n")
    (suite.path / "assets/real.txt").rename(suite.path / "kept.txt")
    Path(suite.path / "assets/real.txt").symlink_to(suite.path / "kept.txt")
    result = suite.run("-k", "leak", mode="gate")
    result.stdout.fnmatch_lines(["*found 'assets/real.txt', where assets/real.txt is a symlink"])
