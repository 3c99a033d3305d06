from __future__ import annotations

import dataclasses

import pytest

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.grading import choose_grader
from pytest_evoclaw.grading.inline import create
from pytest_evoclaw.results import Check
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import Transcript
from tests.grading.made_jobs import Desk
from tests.grading.made_jobs import fault_of


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def returning(value: str) -> str:
    return f"def grade(transcript, workspace_path):\n    return {value}"


def test_keys_become_checks_grouped_by_sub_problem(desk):
    job = desk.inline_job(returning("{'sub_1_words': True, 'sub_2_a_b': 0.25, 'tone': 0}"))
    grade = create().grade(job)
    assert grade.checks == (
        Check(name="words", score=1.0, sub_problem=1),
        Check(name="a_b", score=0.25, sub_problem=2),
        Check(name="tone", score=0.0),
    )
    assert [check.key for check in grade.checks] == ["sub_1_words", "sub_2_a_b", "tone"]
    assert grade.sub_problem_scores == {1: 1.0, 2: 0.25}


def test_the_function_gets_the_transcript_and_the_workspace_as_text(desk):
    (desk.workspace / "outputs/words.txt").write_text("2", encoding="utf-8")
    job = desk.inline_job("""
        def grade(transcript, workspace_path):
            import os
            with open(os.path.join(workspace_path, "outputs", "words.txt")) as file:
                words = file.read()
            return {
                "words": words == "2",
                "transcript": [event["message"]["role"] for event in transcript] == ["assistant"],
                "elsewhere": os.getcwd() != workspace_path,
            }
    """)
    transcript = Transcript((Message(role="assistant"),))
    grade = create().grade(dataclasses.replace(job, transcript=transcript))
    assert [check.score for check in grade.checks] == [1, 1, 1]


NONSENSE = {
    "None": "grade() returned None, allowed a dict of at least one score",
    "{}": "grade() returned {}, allowed a dict of at least one score",
    "5": "grade() returned 5, allowed a dict of at least one score",
    "[('a', 1)]": "grade() returned [('a', 1)], allowed a dict",
    "{'a': 1, 'b': -3}": "grade() returned 'b': -3, allowed a bool or a finite number in 0..1",
    "{'a': 85}": "grade() returned 'a': 85, allowed",
    "{'a': float('nan')}": "grade() returned 'a': nan, allowed",
    "{'a': float('inf')}": "grade() returned 'a': inf, allowed",
    "{'a': '0.0'}": "grade() returned 'a': '0.0', allowed",
    "{'a': None}": "grade() returned 'a': None, allowed",
    "{'a': {'b': 1}}": "grade() returned 'a': {'b': 1}, allowed",
    "{3: 1}": "grade() returned the key 3, allowed 1 to 200 printable characters",
    "{'': 1}": "grade() returned the key '', allowed",
    "{'a\\nb': 1}": "grade() returned the key 'a\\nb', allowed",
    "{'sub_3_words': 1}": "check 'words': sub_problem: found 3, allowed 1..2",
    "{'sub_0_words': 1}": "check 'words': sub_problem: found 0, allowed 1..2",
    "{'sub_1_a': 1, 'sub_01_a': 0}": "check 'sub_1_a' was made twice",
}


@pytest.mark.parametrize(("value", "words"), NONSENSE.items(), ids=NONSENSE)
def test_what_is_no_score_is_a_fault_that_names_key_and_value(desk, value, words):
    assert f"tasks/task_01_words.md: {words}" in fault_of(
        create(), desk.inline_job(returning(value))
    )


FAULTS = {
    "no grade": ("x = 1", "has no grade()"),
    "coroutine function": (
        "async def grade(transcript, workspace_path): return {'a': 1}",
        "grade() is a coroutine function, allowed a plain function",
    ),
    "coroutine": (
        "async def ask(): ...\ndef grade(transcript, workspace_path): return ask()",
        "grade() returned <coroutine object ask",
    ),
    "assertion": (
        "def grade(transcript, workspace_path):\n    assert 1 == 2",
        "raised AssertionError",
    ),
    "sys.exit": (
        "import sys\ndef grade(transcript, workspace_path):\n    sys.exit('no')",
        "called sys.exit('no')",
    ),
    "os._exit": (
        "import os\ndef grade(transcript, workspace_path):\n    os._exit(4)",
        "the grader ended its own process with exit code 4",
    ),
    "memory": (
        "def grade(transcript, workspace_path):\n    bytearray(8 * 2**30)",
        "needs more memory than its limit of 2048 MiB",
    ),
    "import": (
        "def grade(transcript, workspace_path):\n    import nothing_of_that_name",
        "raised ModuleNotFoundError: No module named 'nothing_of_that_name'",
    ),
}


@pytest.mark.parametrize(("code", "words"), FAULTS.values(), ids=FAULTS)
def test_a_broken_function_is_not_scored(desk, code, words):
    assert words in fault_of(create(), desk.inline_job(code))


def test_a_function_that_hangs_is_not_scored(desk):
    job = desk.inline_job("def grade(t, w):\n    while len('a'): pass", seconds=0.5)
    assert "did not end within its time limit of 0.5 s" in fault_of(create(), job)


@pytest.mark.parametrize(
    ("code", "marker"),
    [
        ("def grade(transcript, workspace_path):\n    return {'a': 1 / 0}", "1 / 0"),
        ("def grade(transcript, workspace_path):\n    return {'a': 1\n", "{'a': 1"),
    ],
    ids=["raised", "syntax"],
)
def test_a_fault_names_the_line_in_the_task_file(desk, code, marker):
    job = desk.inline_job(code)
    lines = desk.task_path.read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines, 1) if marker in line)
    words = fault_of(create(), job)
    assert words.startswith(f"tasks/task_01_words.md:{number}: ")
    assert f'File "{desk.task_path}", line {number}' in words
    assert lines[number - 1].strip() in words


def test_annotations_and_dataclasses_work_as_in_any_module(desk):
    job = desk.inline_job("""
        from __future__ import annotations
        from dataclasses import dataclass

        @dataclass
        class Score:
            value: float = 0.5

        def grade(transcript: list, workspace_path: str) -> dict[str, Unknown]:
            return {"a": Score().value}
    """)
    assert create().grade(job).score == 0.5


def test_a_task_without_a_fence_is_not_scored(desk):
    job = desk.module_job("def grade(workspace, check): check.score('a', 1)")
    with pytest.raises(NotScored, match=r"task_01_words\.md: the task has no fenced grade\(\)"):
        create().grade(job)


def test_a_task_chooses_its_grader(desk):
    inline = desk.inline_job(returning("{'a': 1}")).task
    assert choose_grader(inline) == "inline"
    assert choose_grader(dataclasses.replace(inline, grader=desk.grader_path)) == "module"
    assert choose_grader(dataclasses.replace(inline, grading_type="hybrid")) == "hybrid"
    assert choose_grader(dataclasses.replace(inline, grading_type="llm_judge")) == "judge"
    with pytest.raises(SettingsError, match=r"task_01_words\.md: no grader: found neither"):
        choose_grader(dataclasses.replace(inline, inline_grader=None))
