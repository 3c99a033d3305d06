from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from pytest_evoclaw.cli import main
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import PartialGrade
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.stored_sessions import StoredSession
from pytest_evoclaw.stored_sessions import read_session
from tests import judges
from tests.made_session import PHASES
from tests.made_session import MadeSession
from tests.made_session import make_grade
from tests.made_session import make_hybrid
from tests.made_session import store_session
from tests.model_server import Brain
from tests.model_server import ModelRequest
from tests.model_server import ModelServer
from tests.model_server import Reply

TASKS = [f"task_{number:02}_letter" for number in range(1, 13)]
GRADE = make_grade(1.0, 0.5)
# Prints every process that is started, then carries out the command.
WATCHED = """
import sys
from pytest_evoclaw.cli import main
sys.addaudithook(
    lambda name, args: name in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system")
    and print("STARTS", args[1])
)
sys.exit(main(sys.argv[1:]))
"""


def regrade(made: MadeSession, *args: str, brain: Brain | None = None) -> tuple[int, ModelServer]:
    """Grade again with a judge on loopback; return the exit code and the judge."""
    with ModelServer(brain or judges.good(0.5)) as server:
        url = f"--judge-base-url={server.base_url}"
        common = [f"--root={made.root}", "--judge-timeout=10", url]
        return main(["regrade", str(made.folder), *common, *args]), server


def find_new(made: MadeSession) -> StoredSession:
    (folder,) = made.folder.parent.glob("*-regraded")
    return read_session(folder)


def read_files(folder: Path) -> Mapping[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def judge_by_number(request: ModelRequest) -> Reply:
    """Score a task by its number, and the modes unlike each other."""
    number = next(n for n, task in enumerate(TASKS, 1) if f"This is {task}." in request.prompt)
    mode = next(n for n, mode in enumerate(PHASES) if f"({mode})" in request.prompt)
    return judges.good(min(1.0, number * 0.07 + mode * 0.05))(request)


@pytest.fixture
def made(tmp_path: Path) -> MadeSession:
    """A session of one task in the three modes."""
    return store_session(tmp_path, [make_hybrid(TASKS[0], mode, GRADE) for mode in PHASES])


def test_another_judge_replaces_its_part_of_36_hybrid_trials_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    old = [
        make_hybrid(task, mode, make_grade(number / 12, 0.08 * number))
        for number, task in enumerate(TASKS, 1)
        for mode in PHASES
    ]
    made = store_session(tmp_path, old)
    before = read_files(made.folder)
    code, server = regrade(made, "--judge-model=judge-2", brain=judge_by_number)
    assert code == 0
    assert len(server.requests) == 48  # PostSkill grades twice
    assert read_files(made.folder) == before
    new = find_new(made)
    assert new.facts.judge_model == "judge-2"
    assert new.facts.options["automated"] == "held fixed"
    for left, right in zip(old, new.results, strict=True):
        assert left.primary is not None
        assert right.primary is not None
        first, second = left.primary.grade, right.primary.grade
        assert first is not None
        assert second is not None
        assert second.automated_score == first.automated_score
        assert second.judge is not None
        assert second.judge.model == "judge-2"
        assert second.score == pytest.approx(
            0.75 * (first.automated_score or 0) + 0.25 * (second.judge_score or 0), abs=1e-12
        )
        assert right.usage == left.usage
        assert right.trial == left.trial
    capsys.readouterr()

    numbers = tmp_path / "agreement.json"
    assert main(["judge-agreement", str(made.folder), str(new.folder), f"--json={numbers}"]) == 0
    found = json.loads(numbers.read_text(encoding="utf-8"))
    first_scores = [result.score for result in old]
    second_scores = [result.score for result in new.results]
    deltas = [abs(a - b) for a, b in zip(first_scores, second_scores, strict=True)]  # type: ignore[operator]
    assert found["scores"]["pairs"] == 36
    assert found["scores"]["pearson"] == pytest.approx(
        stats.pearsonr(first_scores, second_scores).statistic, abs=1e-12
    )
    assert found["scores"]["mean_absolute_delta"] == pytest.approx(stats.tmean(deltas), abs=1e-12)
    assert found["scores"]["within_005"] == sum(delta <= 0.05 for delta in deltas)
    assert found["scores"]["within_010"] == sum(delta <= 0.10 for delta in deltas)
    assert abs(found["scores"]["largest"][0]["delta"]) == pytest.approx(max(deltas))
    assert found["second"]["regraded_from"] == "first"
    report = capsys.readouterr().out
    assert f"| scores | 36 | {found['scores']['pearson']:.4f} |" in report
    assert "judge judge-2, graded again from first" in report


def test_no_agent_is_started_only_the_process_for_graders(made: MadeSession):
    with ModelServer(judges.good(1)) as server:
        args = ["regrade", str(made.folder), f"--root={made.root}"]
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, *args, f"--judge-base-url={server.base_url}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    started = [line for line in done.stdout.splitlines() if line.startswith("STARTS")]
    (grading,) = [line for line in started if "uname" not in line]  # the SDK asks for the machine
    assert "forkserver_main" in grading
    assert [result.score for result in find_new(made).results] == [1.0, 1.0, 1.0]


def test_without_another_judge_both_parts_are_graded_again(made: MadeSession):
    (made.root / f"graders/{TASKS[0]}.py").write_text(
        "def grade(workspace, check):\n    check.score('letters', 0.2, sub_problem=1)\n",
        encoding="utf-8",
    )
    code, _ = regrade(made, brain=judges.good(1))
    assert code == 0
    new = find_new(made)
    assert new.results[0].score == pytest.approx(0.75 * 0.2 + 0.25)
    assert new.facts.judge_model == "judge-1"
    assert new.facts.options["automated"] == "graded again"
    folder = new.folder / new.results[0].phases[-1].folder
    assert json.loads((folder / "grade.json").read_text(encoding="utf-8"))["score"] == 0.4
    assert json.loads((folder / "judge.json").read_text(encoding="utf-8"))["replies"]


def fail_last(result: TrialResult, reason: str, phases: int) -> TrialResult:
    """Let a trial end in its last graded phase among the first ``phases``."""
    kept = result.phases[:phases]
    automated = replace(GRADE, checks=GRADE.checks[:2], judge=None, grading_type="automated")
    unjudged = replace(kept[-1], grade=None, partial=PartialGrade(automated=automated))
    failure = Failure(reason=reason, detail="it was down")
    return replace(result, phases=(*kept[:-1], unjudged), failure=failure)


def test_a_trial_that_lacks_nothing_but_a_judgement_is_mended(tmp_path: Path):
    whole = make_hybrid(TASKS[0], "baseline", GRADE)
    torn = make_hybrid(TASKS[1], "postskill", GRADE)
    dead = make_hybrid(TASKS[2], "baseline", GRADE)
    made = store_session(
        tmp_path,
        [
            fail_last(whole, "judge_error", 1),
            fail_last(torn, "judge_error", 1),
            fail_last(dead, "provider_error", 1),
        ],
    )
    code, server = regrade(made, "--judge-model=judge-2")
    assert code == 1
    assert len(server.requests) == 2
    mended, still_torn, still_dead = find_new(made).results
    assert (mended.score, mended.failure, mended.phases[0].partial) == (0.875, None, None)
    assert still_torn.failure is not None
    assert "ended before its phase second_execution" in still_torn.failure.detail
    assert still_torn.phases[0].grade is not None
    assert still_torn.score is None
    assert still_dead.failure == Failure(reason="provider_error", detail="it was down")


def test_a_judge_that_fails_takes_the_score_and_keeps_the_automated_part(made: MadeSession):
    code, _ = regrade(made, "--judge-model=judge-2", brain=judges.refusing)
    assert code == 1
    for result in find_new(made).results:
        assert result.failure is not None
        assert result.failure.reason == "judge_error"
        partial = result.phases[-1].partial
        assert partial is not None
        assert partial.automated is not None
        assert partial.automated.score == 1.0


def test_some_tasks_alone_can_be_graded_again(tmp_path: Path):
    made = store_session(tmp_path, [make_hybrid(task, "baseline", GRADE) for task in TASKS[:3]])
    code, server = regrade(made, f"--tasks={TASKS[1]},{TASKS[2]}", "--judge-model=judge-2")
    assert (code, len(server.requests)) == (0, 2)
    new = find_new(made)
    assert [result.trial.task_id for result in new.results] == TASKS[1:3]
    assert new.facts.loaded_task_count == 2


def test_with_the_judge_off_the_automated_part_is_the_score(made: MadeSession):
    code, server = regrade(made, "--judge=off")
    assert (code, server.requests) == (0, [])
    new = find_new(made)
    assert [result.score for result in new.results] == [1.0, 1.0, 1.0]
    assert new.facts.judge_model is None
    assert new.facts.options["judge"] == "off"
    assert "the judge is off" in new.facts.warnings[0]


def test_outputs_that_were_not_all_stored_keep_their_automated_part(tmp_path: Path):
    result = make_hybrid(TASKS[0], "baseline", make_grade(0.25, 0.5))
    notes = ("not stored: outputs/big.bin: larger than 20000000 bytes",)
    result = replace(result, phases=(replace(result.phases[0], notes=notes),))
    made = store_session(tmp_path, [result])
    regrade(made)
    grade = find_new(made).results[0].phases[0].grade
    assert grade is not None
    assert grade.automated_score == 0.25


def test_outputs_that_are_gone_are_a_fault_of_their_trial_alone(tmp_path: Path):
    made = store_session(tmp_path, [make_hybrid(task, "baseline", GRADE) for task in TASKS[:2]])
    for path in (made.folder / f"trials/{TASKS[0]}/baseline/execution/outputs").iterdir():
        path.unlink()
    (made.folder / f"trials/{TASKS[0]}/baseline/execution/outputs").rmdir()
    code, _ = regrade(made, "--judge-model=judge-2")
    assert code == 1
    lost, fine = find_new(made).results
    assert lost.failure is not None
    assert "no stored outputs" in lost.failure.detail
    assert fine.score == 0.875


def test_the_agents_own_model_as_judge_is_warned_of(made: MadeSession, capsys):
    regrade(made, "--judge-model=openai/gpt-x")
    assert "the judge openai/gpt-x is the agents' own model" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tasks=task_77"], "--tasks: found task_77, allowed task_01_letter"),
        (["--judge=off", "--judge-model=x"], "--judge-model: found a model, allowed none"),
        (["--root=/nowhere"], "--root: found no tasks/task_01_letter.md below /nowhere"),
        (["--judge-base-url=ftp://x"], "base URL: found 'ftp://x'"),
    ],
    ids=["task", "off", "root", "url"],
)
def test_what_cannot_be_had_is_a_usage_error(made: MadeSession, capsys, options, words):
    assert regrade(made, *options)[0] == 2
    assert words in capsys.readouterr().err
    assert len(list(made.folder.parent.iterdir())) == 1


def test_without_any_judge_hybrid_tasks_are_a_usage_error(tmp_path: Path, capsys):
    made = store_session(tmp_path, [make_hybrid(TASKS[0], "baseline", GRADE)], judge_model=None)
    assert regrade(made)[0] == 2
    assert "name one, or give --judge=off" in capsys.readouterr().err


def test_a_folder_that_is_no_session_is_a_usage_error(tmp_path: Path, capsys):
    assert main(["regrade", str(tmp_path)]) == 2
    assert "found no trials.jsonl, allowed the folder of a session" in capsys.readouterr().err
