from __future__ import annotations

from dataclasses import replace

import pytest

from tests.grading.made_judge import make_task

HEADINGS = (
    "Judge the fixes.\n\n### Fix quality (40%)\n\n- not this\n\n### Tone: is it kind?\n\nText."
)
ITEMS = "Score:\n\n- **Fix quality (40%)**: cures\n- Tone - kind\n  - not this\n1. Tone: firm"
FENCED = "```\n### not this\n- nor this\n```\n\n### This one"


@pytest.mark.parametrize(
    ("rubric", "names"),
    [
        (HEADINGS, ["fix_quality", "tone"]),
        (ITEMS, ["fix_quality", "tone", "tone_2"]),
        (FENCED, ["this_one"]),
        ("Simply judge.", ["rubric"]),
        ("", ["the_numbers_are_right", "the_letter_is_kind"]),
        ("- !!!", ["criterion"]),
        ("- " + "very " * 30 + "long", ["_".join(["very"] * 8)]),
    ],
    ids=["headings", "items", "fenced", "prose", "none", "nameless", "long"],
)
def test_criteria_are_found_and_named(tmp_path, rubric, names):
    from pytest_evoclaw.grading.rubric import list_criteria

    criteria = list_criteria(replace(make_task(tmp_path), rubric=rubric))
    assert [each.name for each in criteria] == names
    assert [each.id for each in criteria] == [f"c{n}" for n in range(1, len(names) + 1)]
