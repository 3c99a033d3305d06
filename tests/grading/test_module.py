from __future__ import annotations

import dataclasses
import json
import sys
from textwrap import dedent

import pytest

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading.module import create
from pytest_evoclaw.results import Check
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import Transcript
from tests.grading.made_jobs import Desk
from tests.grading.made_jobs import fault_of


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def checks_of(job: GradingJob) -> dict[str, Check]:
    return {check.key: check for check in create().grade(job).checks}


def test_checks_come_back_in_order_with_scores_and_sub_problems(desk):
    job = desk.module_job("""
        def grade(workspace, check):
            with check("words", sub_problem=1):
                assert workspace.text("outputs/words.txt") == "2"
            check.score("f1", 0.25, sub_problem=2, message="a quarter")
            with check("names"):
                assert workspace.names() == ["outputs/words.txt"]
    """)
    (desk.workspace / "outputs/words.txt").write_text("2", encoding="utf-8")
    grade = create().grade(job)
    assert grade.checks == (
        Check(name="words", score=1.0, sub_problem=1),
        Check(name="f1", score=0.25, sub_problem=2, message="a quarter"),
        Check(name="names", score=1.0),
    )
    assert grade.score == 0.75
    assert grade.sub_problem_scores == {1: 1.0, 2: 0.25}
    assert grade.grading_type == "automated"


def test_a_missing_output_fails_its_check_and_no_other(desk):
    job = desk.module_job("""
        def grade(workspace, check):
            with check("first"):
                workspace.json("outputs/none.json")
            with check("second"):
                pass
    """)
    checks = checks_of(job)
    assert (checks["first"].score, checks["second"].score) == (0, 1)
    assert checks["first"].message == "outputs/none.json: missing"


ASSERTIONS = {
    "where": "assert len([1, 2, 3]) == 2",
    "dict": "assert {'a': 1, 'b': [1, 2]} == {'a': 2, 'b': [1, 2]}",
    "long": "assert list(range(100)) == list(range(1, 100))",
    "text": "assert 'one\\ntwo\\n' == 'one\\nthree\\n'",
    "in": "assert 'x' in ['a', 'b']",
    "own-words": "assert not sorted([2, 1]), 'a list'",
}
TEST = """
import json
from pathlib import Path

def test_them():
    said = {{}}
{blocks}
    Path("said.json").write_text(json.dumps(said), encoding="utf-8")
"""
BLOCK = """
    try:
        {statement}
    except AssertionError as error:
        said[{name!r}] = str(error)
"""


def test_failed_assertions_read_exactly_as_in_a_test(desk, pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)  # pytest does not truncate there
    blocks = [BLOCK.format(statement=each, name=name) for name, each in ASSERTIONS.items()]
    pytester.makepyfile(test_it=TEST.format(blocks="".join(blocks)))
    pytester.runpytest_subprocess("-p", "no:evoclaw").assert_outcomes(passed=1)
    expected = json.loads((pytester.path / "said.json").read_text(encoding="utf-8"))
    blocks = [f"    with check({name!r}):\n        {each}\n" for name, each in ASSERTIONS.items()]
    job = desk.module_job("def grade(workspace, check):\n" + "".join(blocks))
    assert {name: check.message for name, check in checks_of(job).items()} == expected
    assert expected["where"] == "assert 3 == 2\n +  where 3 = len([1, 2, 3])"


def test_modules_that_graders_share_are_found_and_rewritten(desk):
    (desk.suite / "graders/shared.py").write_text(
        "def require_two(value):\n    assert abs(value) == 2\n", encoding="utf-8"
    )
    job = desk.module_job("""
        from graders.shared import require_two

        def grade(workspace, check):
            with check("it"):
                require_two(-3)
    """)
    assert checks_of(job)["it"].message == "assert 3 == 2\n +  where 3 = abs(-3)"


@pytest.mark.parametrize("regular", [True, False], ids=["package", "plain folder"])
def test_the_suite_wins_over_a_package_of_the_same_name_elsewhere(
    desk, tmp_path, monkeypatch, regular
):
    (tmp_path / "other/graders").mkdir(parents=True)
    (tmp_path / "other/graders/__init__.py").write_text("1 / 0\n", encoding="utf-8")
    if regular:
        (desk.suite / "graders/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "other")
    job = desk.module_job("""
        def grade(workspace, check):
            check.score("it", 1)
    """)
    assert checks_of(job)["it"].score == 1


FAULTS = {
    "no grade": ("x = 1", "graders/task_01_words.py: has no grade()"),
    "no function": ("grade = 5", "graders/task_01_words.py: grade: found 5, allowed a function"),
    "coroutine function": (
        "async def grade(workspace, check): ...",
        "grade() is a coroutine function, allowed a plain function",
    ),
    "generator": (
        "def grade(workspace, check):\n    yield",
        "grade() is a generator, allowed a plain function",
    ),
    "signature": (
        "def grade(workspace): ...",
        "raised TypeError: grade() takes 1 positional argument but 2 were given",
    ),
    "raises": (
        "def grade(workspace, check):\n    return 1 / 0",
        "graders/task_01_words.py:2: raised ZeroDivisionError: division by zero\nTraceback",
    ),
    "raises in a check": (
        "def grade(workspace, check):\n    with check('a'):\n        {}['key']",
        "graders/task_01_words.py:3: raised KeyError: 'key'",
    ),
    "assertion outside": (
        "def grade(workspace, check):\n    check.score('a', 1)\n    assert len('ab') == 3",
        "graders/task_01_words.py:3: an assertion failed outside every check, so that the set of "
        "checks would depend on the outputs: assert 2 == 3",
    ),
    "reader outside": (
        "def grade(workspace, check):\n    workspace.text('outputs/none.txt')",
        "graders/task_01_words.py:2: an assertion failed outside every check, so that the set of "
        "checks would depend on the outputs: outputs/none.txt: missing",
    ),
    "sys.exit": (
        "import sys\ndef grade(workspace, check):\n    sys.exit(0)",
        "graders/task_01_words.py:3: called sys.exit(0)",
    ),
    "interrupt": (
        "def grade(workspace, check):\n    raise KeyboardInterrupt",
        "graders/task_01_words.py:2: raised KeyboardInterrupt",
    ),
    "os._exit": (
        "import os\ndef grade(workspace, check):\n    check.score('a', 1)\n    os._exit(0)",
        "the grader ended its own process with exit code 0 and without an answer",
    ),
    "signal": (
        "import os\ndef grade(workspace, check):\n    os.kill(os.getpid(), 9)",
        "the grader was ended by SIGKILL; its memory limit is 2048 MiB",
    ),
    "abort": (
        "import os\ndef grade(workspace, check):\n    os.abort()",
        "the grader was ended by SIGABRT",
    ),
    "memory": (
        "def grade(workspace, check):\n    return bytearray(8 * 2**30)",
        "graders/task_01_words.py:2: needs more memory than its limit of 2048 MiB",
    ),
    "no checks": (
        "def grade(workspace, check): ...",
        "graders/task_01_words.py: grade() made no check",
    ),
    "value": (
        "def grade(workspace, check):\n    check.score('a', 1)\n    return {'a': 1}",
        "grade() returned {'a': 1}, allowed None",
    ),
    "coroutine": (
        "async def ask(): ...\ndef grade(workspace, check):\n    return ask()",
        "grade() returned <coroutine object ask",
    ),
    "sub-problem": (
        "def grade(workspace, check):\n    check.score('a', 1, sub_problem=3)",
        "check 'a': sub_problem: found 3, allowed 1..2",
    ),
    "score": (
        "def grade(workspace, check):\n    check.score('a', 85)",
        "graders/task_01_words.py:2: check 'a': score: found 85, allowed a number in 0..1",
    ),
    "name outside": (
        "def grade(workspace, check):\n    with check('a'):\n        workspace.text('../x')",
        "graders/task_01_words.py:3: file name: found '../x'",
    ),
    "import": (
        "import nothing_of_that_name",
        "graders/task_01_words.py:1: raised ModuleNotFoundError: No module named 'nothing_of_that",
    ),
    "syntax": (
        "x = 1\ndef grade(workspace, check:",
        "graders/task_01_words.py:2: raised SyntaxError: '(' was never closed",
    ),
    "recursion": (
        "def grade(workspace, check):\n    grade(workspace, check)",
        "graders/task_01_words.py:2: raised RecursionError",
    ),
    "unreadable exception": (
        "class Odd(Exception):\n    def __str__(self): raise ValueError\n"
        "def grade(workspace, check):\n    raise Odd",
        "graders/task_01_words.py:4: raised graders.task_01_words.Odd: <exception str() failed>",
    ),
}


@pytest.mark.parametrize(("code", "words"), FAULTS.values(), ids=FAULTS)
def test_a_broken_grader_is_not_scored_and_says_where(desk, code, words):
    assert words in fault_of(create(), desk.module_job(code))


@pytest.mark.parametrize(
    "code",
    [
        "def grade(workspace, check):\n    while len('a'): pass",
        "import time\ndef grade(workspace, check):\n    with check('a'):\n        time.sleep(60)",
    ],
    ids=["busy", "asleep in a check"],
)
def test_a_grader_that_hangs_is_not_scored_and_says_where(desk, code):
    words = fault_of(create(), desk.module_job(code, seconds=0.5))
    line = code.count("\n") + 1
    assert f"graders/task_01_words.py:{line}: did not end within its time limit of 0.5 s" in words
    assert code.splitlines()[-1].strip() in words


def test_a_grader_that_ignores_its_time_limit_is_killed(desk):
    job = desk.module_job(
        """
        import time

        def grade(workspace, check):
            while True:
                try:
                    time.sleep(60)
                except BaseException:
                    continue
        """,
        seconds=0.5,
    )
    words = "the grader did not end within its time limit of 0.5 s"
    assert words in fault_of(create(), job)


def test_the_traceback_begins_in_the_grader(desk):
    job = desk.module_job("""
        def grade(workspace, check):
            compute(0)

        def compute(value):
            return 1 / value
    """)
    words = fault_of(create(), job)
    head, _, trace = words.partition("\nTraceback (most recent call last):\n")
    assert head == "graders/task_01_words.py:6: raised ZeroDivisionError: division by zero"
    assert trace.startswith(f'  File "{desk.grader_path}", line 3, in grade\n    compute(0)\n')
    assert "pytest_evoclaw" not in trace
    assert trace.endswith("ZeroDivisionError: division by zero")


def test_the_end_of_what_a_broken_grader_printed_is_shown(desk):
    job = desk.module_job("""
        import os
        import sys

        def grade(workspace, check):
            for number in range(50):
                print("line", number)
            print("to stderr \\x1b[31m", file=sys.stderr)
            os.system("echo from a command")
            1 / 0
    """)
    shown = fault_of(create(), job).partition("It printed at last:\n")[2].splitlines()
    assert len(shown) == 20
    assert shown[0] == "line 32"
    assert shown[-2:] == ["to stderr \\x1b[31m", "from a command"]


def test_printing_ten_megabytes_does_not_fail_a_grade(desk):
    job = desk.module_job("""
        def grade(workspace, check):
            for _ in range(10):
                print("x" * 1_000_000)
            check.score("it", 1)
    """)
    assert checks_of(job)["it"].score == 1


def test_an_answer_without_end_is_not_scored(desk):
    job = desk.module_job("""
        def grade(workspace, check):
            for number in range(12_000):
                check.score(f"n{number}", 1, message="m" * 2_000)
    """)
    assert "made more checks, or longer ones" in fault_of(create(), job)


def test_inputs_are_pristine_whatever_the_agent_did_to_its_copies(desk):
    for name in ("assets/words.txt", "inputs/numbers.json"):
        (desk.workspace / name).parent.mkdir(exist_ok=True)
        (desk.workspace / name).write_text("spoilt", encoding="utf-8")
    job = desk.module_job("""
        def grade(workspace, check):
            words = workspace.fixture("assets/words.txt")
            numbers = workspace.fixture("inputs/numbers.json")
            check.score("source", words.read_text() == "one two\\n")
            check.score("content", numbers.read_bytes() == b"[1, 2, 3]")
            check.score("path", str(workspace.path) not in str(numbers))
    """)
    assert [check.score for check in create().grade(job).checks] == [1, 1, 1]


def test_a_grader_sees_task_and_transcript(desk):
    message = Message(role="user", items=(TextItem(text="caf\u00e9 \ud800"),))
    job = desk.module_job(f"""
        def grade(workspace, check):
            check.score("id", workspace.task_id == "task_01_words")
            check.score("transcript", workspace.transcript == ({message.to_event()!r},))
    """)
    grade = create().grade(dataclasses.replace(job, transcript=Transcript((message,))))
    assert [check.score for check in grade.checks] == [1, 1]


PLANTED = ("conftest.py", "sitecustomize.py", "usercustomize.py", "openpyxl.py", "json.py")


def test_nothing_that_an_agent_planted_is_imported(desk, monkeypatch):
    for name in (*PLANTED, "graders/__init__.py", "graders/planted.py", "pytest.ini"):
        path = desk.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"import pathlib\npathlib.Path({str(desk.marks)!r}, 'hit').touch()\n", encoding="utf-8"
        )
    monkeypatch.chdir(desk.workspace)
    job = desk.module_job("""
        import importlib.util
        import json
        import sys

        import openpyxl

        def grade(workspace, check):
            own = [path for path in sys.path if str(workspace.path) in path or not path]
            check.score("no path", own == [])
            check.score("not found", importlib.util.find_spec("planted") is None)
            check.score("real", hasattr(openpyxl, "load_workbook"))
    """)
    assert [check.score for check in create().grade(job).checks] == [1, 1, 1]
    assert not any(desk.marks.iterdir())


def test_nothing_is_written_into_the_workspace(desk):
    (desk.workspace / "outputs/tool.py").write_text("print('made')\n", encoding="utf-8")
    before = sorted(desk.workspace.rglob("*"))
    job = desk.module_job("""
        import pathlib
        import subprocess
        import sys
        import tempfile

        def grade(workspace, check):
            pathlib.Path("here.txt").write_text("scratch")
            tempfile.mkstemp()
            code = f"import sys; sys.path.insert(0, {str(workspace / 'outputs')!r}); import tool"
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            check.score("ran", said.stdout == "made\\n")
    """)
    assert checks_of(job)["ran"].score == 1
    assert sorted(desk.workspace.rglob("*")) == before


def test_a_grader_has_a_folder_of_its_own_and_little_else(desk, monkeypatch):
    monkeypatch.setenv("EVO_SECRET", "s3cret")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--nonsense")
    job = desk.module_job("""
        import os
        import pathlib
        import sys
        import tempfile

        def grade(workspace, check):
            here = pathlib.Path.cwd()
            check.score("empty", not list(here.iterdir()))
            check.score("home", pathlib.Path.home() == here == pathlib.Path(tempfile.gettempdir()))
            names = {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONDONTWRITEBYTECODE", "LD_LIBRARY_PATH"}
            check.score("variables", set(os.environ) <= names, message=str(set(os.environ) - names))
            check.score("stdin", sys.stdin.read() == "" if sys.stdin else 1)
            pathlib.Path(MARKS, "where").write_text(str(here))
    """)
    grade = create().grade(job)
    assert {check.name: check.score for check in grade.checks} == {
        "empty": 1,
        "home": 1,
        "variables": 1,
        "stdin": 1,
    }
    where = (desk.marks / "where").read_text(encoding="utf-8")
    assert not type(desk.marks)(where).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_file_without_end_is_the_graders_fault(desk):
    job = desk.module_job("""
        def grade(workspace, check):
            with open("large", "wb") as file:
                file.truncate(2 * 2**30)
    """)
    assert "raised OSError: [Errno 27] File too large" in fault_of(create(), job)


def test_a_module_that_hides_behind_another_name_is_refused(desk):
    job = desk.module_job("def grade(workspace, check): check.score('a', 1)")
    path = desk.suite / "json.py"
    path.write_text(desk.grader_path.read_text(encoding="utf-8"), encoding="utf-8")
    task = dataclasses.replace(job.task, grader=path)
    words = fault_of(create(), dataclasses.replace(job, task=task))
    assert "json.py: the name 'json' is taken by" in words


def test_a_task_without_a_module_is_not_scored(desk):
    job = desk.inline_job("def grade(transcript, workspace_path): return {'a': 1}")
    with pytest.raises(NotScored, match=r"task_01_words\.md: the task has no grader module"):
        create().grade(job)


def test_a_changed_grader_counts_at_once(desk):
    for score in (0, 1):
        code = f"def grade(workspace, check):\n    check.score('a', {score})\n" + "#" * score
        assert checks_of(desk.module_job(dedent(code)))["a"].score == score
