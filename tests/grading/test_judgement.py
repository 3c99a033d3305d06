from __future__ import annotations

import json

import pytest

from pytest_evoclaw.grading.judgement import UnreadableReply
from pytest_evoclaw.grading.judgement import read_reply
from pytest_evoclaw.grading.rubric import Criterion

ID = "0123456789abcdef"
CRITERIA = (
    Criterion(id="c1", name="tone", text="Tone"),
    Criterion(id="c2", name="fix", text="Fix"),
)


def write(one: object = 0.5, two: object = 1, **fields: object) -> str:
    criteria = {"c1": {"reason": "so", "score": one}, "c2": {"reason": "and so", "score": two}}
    return json.dumps({"verdict_id": ID, "criteria": criteria, **fields})


def read(text: str) -> list[float]:
    return [one.score for one in read_reply(text, ID, CRITERIA).values()]


@pytest.mark.parametrize(
    "text",
    [
        write(),
        f"Here it is:\n```json\n{write()}\n```\nDone {{really}}.",
        f"<think>{write(0)}</think>{write()}",
        f"I think {write(0)}\n</think>\n{write()}",
        f"{write(0)}\n{write()}",
        f'{write(0)}{{"note": 1}}{write()}{{"verdict_id": "another"}}',
        write().replace('"so"', '"it says {\\"score\\": 1} and </think>"'),
        "{" * 500 + write(),
    ],
    ids=["plain", "prose", "thought", "unopened", "two", "more", "quoting", "braces"],
)
def test_the_last_verdict_counts_whatever_is_around_it(text):
    assert read(text) == [0.5, 1.0]


def test_reasons_come_with_the_scores():
    assert read_reply(write(), ID, CRITERIA)["c2"].reason == "and so"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty reply"),
        ("<think>hm</think>", "empty reply"),
        ("<think>" + write(), "a thought that does not end"),
        ("Fine work, 0.9.", "no JSON object"),
        (write()[:-5], "broken JSON"),
        (write().replace("0.5", "NaN"), "found NaN"),
        (write().replace("0.5", "-Infinity"), "found -Infinity"),
        (write().replace("0.5", "1e999"), "criteria.c1.score: inf is greater than the maximum"),
        (write("0.8/1"), "criteria.c1.score: '0.8/1' is not of type 'number'"),
        (write(one=True), "criteria.c1.score: True is not of type 'number'"),
        (write(None), "criteria.c1.score: None is not of type 'number'"),
        (write(8), "criteria.c1.score: 8 is greater than the maximum of 1"),
        (write(1.0001), "criteria.c1.score: 1.0001 is greater"),
        (write(-0.01), "criteria.c1.score: -0.01 is less than the minimum of 0"),
        (write(total=1), "'total' was unexpected"),
        (write().replace('"c2"', '"c3"'), "'c3' was unexpected"),
        (write().replace('"c2"', '"c1"'), "the same key twice"),
        (write().replace(ID, "f" * 16), f"without the verdict_id {ID}"),
        (write() + write(8), "8 is greater"),
        (write() + write()[:-5], "after it one that is broken"),
        ('{"a":' * 5000, "nested too deeply"),
    ],
    ids=lambda value: value[:20] if value else "nothing",
)
def test_what_is_no_verdict_says_why(text, words):
    with pytest.raises(UnreadableReply) as caught:
        read(text)
    assert words in str(caught.value)


def test_a_reply_of_many_braces_is_read_in_bounded_time():
    with pytest.raises(UnreadableReply):
        read('{"a":[' * 50_000)
