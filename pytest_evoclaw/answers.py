"""The values of a solution that are worth hiding, and where they stand in a text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pytest_evoclaw.mutations.values import show_steps
from pytest_evoclaw.mutations.values import walk_value
from pytest_evoclaw.task import Task

TEXT_CHARACTERS = 6
NUMBER_DIGITS = 4
COMMON = 3  # a value that is right in so many places is a word of the format, not an answer
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,_]*(?:\.\d+)?(?![\w])")


@dataclass(frozen=True, slots=True)
class Answers:
    """Values by their text, each with one place where it is right."""

    places: Mapping[str, str]

    @classmethod
    def of(cls, outputs: Mapping[str, bytes], task: Task) -> Answers:
        """Take them from the outputs of the solution.

        Short values, values of many places, keys of the outputs, and names of files are left out:
        a prompt has to speak of them.
        """
        places: dict[str, str] = {}
        counts: Counter[str] = Counter()
        keys: set[str] = set()
        for name, data in outputs.items():
            for steps, value in _list_leaves(name, data):
                keys.update(str(step) for step in steps)
                if text := _show_answer(value):
                    counts[text] += 1
                    places.setdefault(text, f"{name}: {show_steps(steps)}")
        known = keys | _list_names([*outputs, *(file.dest for file in task.workspace_files)])
        return cls({t: p for t, p in places.items() if counts[t] < COMMON and t not in known})

    def find_in(self, text: str) -> Iterator[str]:
        """Yield each answer that the text holds as words or as a number of its own."""
        numbers = {_normalise(match[0]) for match in _NUMBER.finditer(text)}
        lower = text.casefold()
        for answer in self.places:
            if _NUMBER.fullmatch(answer):
                if answer.lstrip("-") in {number.lstrip("-") for number in numbers}:
                    yield answer
            elif answer.casefold() in lower and _stands_alone(answer, text):
                yield answer


def _stands_alone(answer: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.I) is not None


def _show_answer(value: Any) -> str:
    """Return the text of a value that is worth hiding, else none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        words = value.strip()
        # One word such as "failed" is language: a prompt may need it, as a label or by chance.
        is_word = words.isalpha() and words.islower()
        return words if len(words) >= TEXT_CHARACTERS and not is_word else ""
    text = _normalise(str(value).strip())
    return text if sum(sign.isdigit() for sign in text) >= NUMBER_DIGITS else ""


def _normalise(number: str) -> str:
    plain = number.replace(",", "").replace("_", "")
    whole, _, part = plain.partition(".")
    return f"{whole}.{part.rstrip('0')}".rstrip(".")


def _list_leaves(name: str, data: bytes) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    for steps, value in walk_value(_read(name, data), ()):
        if not isinstance(value, list | dict):
            yield steps, value


def _read(name: str, data: bytes) -> Any:
    """Return the value of an output; of what has no fields, nothing."""
    suffix = PurePosixPath(name).suffix.lower()
    try:
        text = data.decode("utf-8-sig")
        if suffix == ".json":
            return json.loads(text)
        if suffix in (".jsonl", ".ndjson"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        if suffix in (".csv", ".tsv"):
            delimiter = "\t" if suffix == ".tsv" else ","
            return list(csv.DictReader(io.StringIO(text), delimiter=delimiter, restval=""))
        if suffix in (".yaml", ".yml"):
            return _load_yaml(text)
    except (ValueError, csv.Error):
        return []
    return []


def _load_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _list_names(paths: list[str]) -> set[str]:
    """Return paths, names and stems, which prompts and outputs may both use."""
    made = [PurePosixPath(path) for path in paths]
    return {text for path in made for text in (str(path), path.name, path.stem)}
