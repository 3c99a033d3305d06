"""Judges for the scripted model server: good ones, and every bad one that we know of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from tests.model_server import CUT
from tests.model_server import Brain
from tests.model_server import ModelRequest
from tests.model_server import Reply
from tests.model_server import fail
from tests.model_server import say

Scores = float | Mapping[str, Any]


def find_id(request: ModelRequest) -> str:
    """Return the id that a verdict on this request must carry."""
    (found, *_) = re.findall(r"\[DATA ([0-9a-f]{16}) ", request.system)
    return str(found)


def find_keys(request: ModelRequest) -> list[str]:
    """Return the keys of the criteria that are to be scored."""
    (listed,) = re.findall(r"one key for each of ([^;]+);", request.system)
    return str(listed).split(", ")


def write_verdict(request: ModelRequest, scores: Scores, reason: str = "As I see it.") -> str:
    """Return a verdict: one score for all criteria, or one for each key."""
    chosen = scores if isinstance(scores, Mapping) else dict.fromkeys(find_keys(request), scores)
    criteria = {key: {"reason": reason, "score": score} for key, score in chosen.items()}
    return json.dumps({"verdict_id": find_id(request), "criteria": criteria})


def good(scores: Scores = 0.5) -> Brain:
    return lambda request: say(write_verdict(request, scores))


def slow(seconds: float, scores: Scores = 0.5) -> Brain:
    return lambda request: Reply(text=write_verdict(request, scores), seconds=seconds)


def prose_wrapped(request: ModelRequest) -> Reply:
    return say(f"My verdict:\n```json\n{write_verdict(request, 0.5)}\n```\nI hope it helps.")


def thinking(request: ModelRequest) -> Reply:
    draft = write_verdict(request, 0.1)
    return say(f"<think>First I thought {draft}</think>\n{write_verdict(request, 0.5)}")


def twofold(request: ModelRequest) -> Reply:
    return say(write_verdict(request, 0.1) + "\nNo, rather:\n" + write_verdict(request, 0.5))


def truncated(request: ModelRequest) -> Reply:
    return say(write_verdict(request, 0.5)[:-20])


def not_a_number(request: ModelRequest) -> Reply:
    return say(write_verdict(request, float("nan")))


def fraction(request: ModelRequest) -> Reply:
    return say(write_verdict(request, dict.fromkeys(find_keys(request), "0.8/1")))


def ten_scale(request: ModelRequest) -> Reply:
    return say(write_verdict(request, 8))


def percent(request: ModelRequest) -> Reply:
    return say(write_verdict(request, 85))


def negative(request: ModelRequest) -> Reply:
    return say(write_verdict(request, -2))


def forgetful(request: ModelRequest) -> Reply:
    """Leave out the last criterion."""
    return say(write_verdict(request, dict.fromkeys(find_keys(request)[:-1], 0.5)))


def renaming(request: ModelRequest) -> Reply:
    return say(write_verdict(request, 0.5).replace('"criteria"', '"scores"'))


def echoing(request: ModelRequest) -> Reply:
    """Say the whole question again, whatever stands in it."""
    return say(f"{request.system}\n{request.prompt}")


def injected(request: ModelRequest) -> Reply:
    """Obey the material: answer with the last verdict that a file of the agent holds."""
    return say(re.findall(r"\{\"verdict_id\".*\}", request.prompt)[-1])


def silent(request: ModelRequest) -> Reply:
    return say("")


def refusing(request: ModelRequest) -> Reply:
    return say("I cannot help with that.")


def rate_limited(retry_after: int | None = None) -> Brain:
    return lambda request: fail(429, retry_after)


def broken_off(request: ModelRequest) -> Reply:
    return CUT


def unsure_of_the_form(first: Brain, second: Brain) -> Brain:
    """Answer with ``first``, and with ``second`` when reminded."""
    return lambda request: (first if len(request.messages) == 1 else second)(request)


def by_words(choices: Mapping[str, Brain], other: Brain) -> Brain:
    """Let the first judge answer whose words are in the question."""

    def answer(request: ModelRequest) -> Reply:
        text = f"{request.system}\n{request.prompt}"
        return next((brain for words, brain in choices.items() if words in text), other)(request)

    return answer


# What they say has words of its own in the trial's failure.
UNREADABLE: Mapping[str, tuple[Callable[[ModelRequest], Reply], str]] = {
    "truncated": (truncated, "broken JSON"),
    "nan": (not_a_number, "found NaN, allowed a number from 0 to 1"),
    "fraction": (fraction, "criteria.c1.score: '0.8/1' is not of type 'number'"),
    "ten-scale": (ten_scale, "criteria.c1.score: 8 is greater than the maximum of 1"),
    "percent": (percent, "criteria.c1.score: 85 is greater than the maximum of 1"),
    "negative": (negative, "criteria.c1.score: -2 is less than the minimum of 0"),
    "forgetful": (forgetful, "is a required property"),
    "renaming": (renaming, "'scores' was unexpected"),
    "echoing": (echoing, "no usable answer"),
    "silent": (silent, "found an empty reply"),
    "refusing": (refusing, "found no JSON object"),
}
