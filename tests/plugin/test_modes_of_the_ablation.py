from __future__ import annotations

import pytest

from pytest_evoclaw.schemas import make_validator

MODES = {
    "preskill-empty": ["execution"],
    "preskill-irrelevant": ["execution"],
    "postskill-discard": ["first_execution", "skill_summary", "second_execution"],
}


@pytest.fixture
def finished(suite):
    result = suite.run(mode=",".join(("baseline", *MODES)))
    result.assert_outcomes(passed=4)
    return suite


def test_the_recipes_have_their_phases(finished):
    phases = {t["trial"]["mode"]: [p["name"] for p in t["phases"]] for t in finished.journal}
    assert phases == {"baseline": ["execution"], **MODES}


def test_no_generated_skill_reaches_the_last_phase(finished):
    last = {t["trial"]["mode"]: t["phases"][-1] for t in finished.journal}
    none = last["baseline"]["skills_before"]

    assert last["postskill-discard"]["skills_before"] == none
    assert len({none, *(last[m]["skills_before"] for m in list(MODES)[:2])}) == 3
    assert all(phase["locked"] and phase["graded"] for phase in last.values())


def test_their_metrics_are_valid(finished):
    make_validator("metrics").validate(finished.metrics)
    modes = finished.metrics["groups"][0]["statistics"]["modes"]
    assert all(modes[mode]["mean"] == 1.0 for mode in MODES)
