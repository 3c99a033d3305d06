"""From a judge's reply to scores: one verdict in the form asked for, or a clear fault."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evoclaw.grading.rubric import Criterion

REPLY_CHARACTERS = 100_000
_OBJECTS = 2_000  # that are looked at
_THOUGHTS = re.compile(r"\A\s*(?:<(think|thinking)>.*?</\1>\s*)+", re.DOTALL | re.IGNORECASE)


class UnreadableReply(ValueError):
    """The reply is no verdict; the text says what was found and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A criterion's score, within 0..1, and the reason for it."""

    score: float
    reason: str


def make_schema(verdict_id: str, criteria: Sequence[Criterion]) -> dict[str, Any]:
    """Return the JSON Schema of a verdict, in the subset that providers enforce."""
    one = {
        "type": "object",
        "additionalProperties": False,
        "required": ["reason", "score"],
        "properties": {
            "reason": {"type": "string"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
        },
    }
    keys = [each.id for each in criteria]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["verdict_id", "criteria"],
        "properties": {
            "verdict_id": {"type": "string", "enum": [verdict_id]},
            "criteria": {
                "type": "object",
                "additionalProperties": False,
                "required": keys,
                "properties": dict.fromkeys(keys, one),
            },
        },
    }


def read_reply(text: str, verdict_id: str, criteria: Sequence[Criterion]) -> dict[str, Scored]:
    """Return the scores by criterion's id; UnreadableReply for anything but a valid verdict.

    Of several verdicts the last counts. Nothing is clamped, rescaled or guessed.
    """
    from jsonschema import Draft202012Validator

    verdict = _find_verdict(text, verdict_id)
    validator = Draft202012Validator(make_schema(verdict_id, criteria))
    faults = sorted(validator.iter_errors(verdict), key=lambda error: list(error.path))
    if faults:
        place = ".".join(str(part) for part in faults[0].path) or "the verdict"
        raise UnreadableReply(f"{place}: {faults[0].message[:200]}")
    return {
        key: Scored(score=float(one["score"]), reason=one["reason"])
        for key, one in verdict["criteria"].items()
    }


def _find_verdict(text: str, verdict_id: str) -> Any:
    said = _drop_thoughts(text[-REPLY_CHARACTERS:], verdict_id)
    verdict, after = None, 0
    faults: list[str] = []
    for item, end in _list_objects(said):
        if isinstance(item, UnreadableReply):
            faults.append(str(item))
        elif item.get("verdict_id") == verdict_id:
            verdict, after = item, end
        else:
            faults.append(f"found a JSON object without the verdict_id {verdict_id}")
    if verdict is None:
        raise UnreadableReply(faults[0] if faults else "found no JSON object")
    if verdict_id in said[after:]:
        raise UnreadableReply("found a verdict, and after it one that is broken")
    return verdict


def _drop_thoughts(text: str, verdict_id: str) -> str:
    said = _THOUGHTS.sub("", text)
    _, mark, after = said.partition("</think>")
    if mark and verdict_id in after:  # some servers send no beginning
        said = after
    if said.lstrip().casefold().startswith("<think"):
        raise UnreadableReply("found a thought that does not end")
    if not said.strip():
        raise UnreadableReply("found an empty reply, allowed one JSON object")
    return said


def _list_objects(text: str) -> Iterator[tuple[dict[str, Any] | UnreadableReply, int]]:
    """Yield the outermost objects and where they end; for one that is none, what is wrong."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_twins)
    start = text.find("{")
    for _ in range(_OBJECTS):
        if start < 0:
            return
        end = start + 1
        item: dict[str, Any] | UnreadableReply
        try:
            item, end = decoder.raw_decode(text, start)
        except UnreadableReply as error:
            item = error
        except json.JSONDecodeError as error:
            item = UnreadableReply(f"found broken JSON ({error.msg})")
        except RecursionError:
            item = UnreadableReply("found JSON that is nested too deeply")
        yield item, end
        start = text.find("{", end)


def _refuse_constant(name: str) -> Any:
    raise UnreadableReply(f"found {name}, allowed a number from 0 to 1")


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadableReply("found an object with the same key twice")
    return found
