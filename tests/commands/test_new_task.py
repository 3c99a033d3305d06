from __future__ import annotations

import pytest

from pytest_evoclaw.cli import main
from pytest_evoclaw.task import read_task

TASK = "task_101_parcel_weights"


def test_a_new_task_passes_every_gate(pytester, capsys):
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")
    assert main(["new-task", TASK, "--root", str(pytester.path)]) == 0
    assert (
        f"next: pytest {pytester.path}/tasks/{TASK}.md --evo-mode=gate" in capsys.readouterr().out
    )
    result = pytester.runpytest("tasks", "--evo-mode=gate")
    result.assert_outcomes(passed=6)


def test_name_and_family_are_in_the_task(tmp_path):
    arguments = ["--name", 'Parcels: "heavy" ones', "--family", "Own/Post"]
    main(["new-task", TASK, "--root", str(tmp_path), *arguments])
    task = read_task(tmp_path / f"tasks/{TASK}.md", tmp_path)
    assert (task.id, task.name, task.family) == (TASK, 'Parcels: "heavy" ones', "Own/Post")


@pytest.mark.parametrize("task_id", ["parcels", "task_parcels", "task_1_Parcels", "task_1_../x"])
def test_a_malformed_id_is_refused_and_nothing_is_written(tmp_path, capsys, task_id):
    assert main(["new-task", task_id, "--root", str(tmp_path)]) == 2
    assert f"id: found '{task_id}', allowed task_NUMBER_words" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_overwritten(tmp_path, capsys):
    grader = tmp_path / f"graders/{TASK}.py"
    grader.parent.mkdir()
    grader.write_text("mine\n", encoding="utf-8")
    assert main(["new-task", TASK, "--root", str(tmp_path)]) == 2
    assert f"but graders/{TASK}.py is there already" in capsys.readouterr().err
    assert grader.read_text(encoding="utf-8") == "mine\n"
    assert not (tmp_path / "tasks").exists()
