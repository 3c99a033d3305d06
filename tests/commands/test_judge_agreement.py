from __future__ import annotations

from pathlib import Path

from pytest_evoclaw.cli import main
from pytest_evoclaw.results import Grade
from tests.made_session import make_grade
from tests.made_session import make_hybrid
from tests.made_session import store_session


def test_sessions_without_a_common_judgement_are_a_usage_error(tmp_path: Path, capsys):
    plain = make_hybrid("task_01_x", "baseline", Grade(checks=make_grade(1, 0).checks[:2]))
    made = store_session(tmp_path, [plain])
    assert main(["judge-agreement", str(made.folder), str(made.folder)]) == 2
    assert "found no trial that a judge had a part in" in capsys.readouterr().err


def test_a_session_agrees_with_itself(tmp_path: Path, capsys):
    results = [
        make_hybrid("task_01_x", mode, make_grade(1, score))
        for mode, score in (("baseline", 0.25), ("preskill", 0.75))
    ]
    made = store_session(tmp_path, results)
    assert main(["judge-agreement", str(made.folder), str(made.folder)]) == 0
    assert "| scores | 2 | 1.0000 | 0.0000 | 2 of 2 (100.0 %) |" in capsys.readouterr().out
