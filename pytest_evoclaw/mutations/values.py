"""Mutants of values: JSON, JSON lines, YAML."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from collections.abc import Iterator
from functools import partial
from typing import Any

from pytest_evoclaw.mutations import Kind
from pytest_evoclaw.mutations import Mutant
from pytest_evoclaw.mutations import Mutated

Steps = tuple[str | int, ...]
Write = Callable[[Any], bytes]
SURPLUS = "surplus"
SHOWN = 40  # characters of a value


def mutate_json(data: bytes) -> Mutated:
    """Return the mutants of a JSON file; ValueError if it is none."""
    return mutate_value(json.loads(data.decode("utf-8-sig")), write_json)


def mutate_json_lines(data: bytes) -> Mutated:
    """Return the mutants of a file with one JSON value per line; ValueError if it is none."""
    lines = data.decode("utf-8-sig").splitlines()
    return mutate_value([json.loads(line) for line in lines if line.strip()], write_json_lines)


def mutate_yaml(data: bytes) -> Mutated:
    """Return the mutants of a YAML file; ValueError if it is none."""
    import yaml

    try:
        return mutate_value(yaml.safe_load(data.decode("utf-8-sig")), write_yaml)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def mutate_value(value: Any, write: Write) -> Mutated:
    """Return the mutants of a value, each written by ``write``."""
    return Mutated(mutants=tuple(list_mutants(value, write)), same=partial(write, value))


def list_mutants(value: Any, write: Write) -> Iterator[Mutant]:
    """Yield a change of value, a change of type, deletions and surplus parts for each place."""
    for steps, found in walk_value(value, ()):
        for kind, words, other in list_changes(found):
            yield Mutant(
                place=show_steps(steps),
                kind=kind,
                words=words,
                make=partial(_write_put, write, value, steps, other),
            )
        if steps:
            yield Mutant(
                place=show_steps(steps),
                kind="deletion",
                words="is gone",
                make=partial(_write_drop, write, value, steps),
            )


def walk_value(value: Any, steps: Steps) -> Iterator[tuple[Steps, Any]]:
    """Yield the value and everything in it, with the way there."""
    yield steps, value
    if isinstance(value, list | dict):
        for key in range(len(value)) if isinstance(value, list) else value:
            yield from walk_value(value[key], (*steps, key))


def list_changes(value: Any) -> Iterator[tuple[Kind, str, Any]]:
    """Yield other values in the place of this one: (kind, words, the other)."""
    changes: list[tuple[Kind, Any]] = []
    if isinstance(value, dict):
        yield "surplus key", f"has the key {SURPLUS!r} too", {**value, SURPLUS: 1}
    elif isinstance(value, list):
        surplus = vary_leaf(value[-1]) if value else SURPLUS
        yield "surplus element", "has an element too many", [*value, surplus]
    elif isinstance(value, bool):
        changes = [("value", not value), ("type", str(value).lower())]
    elif isinstance(value, int | float):
        changes = [("value", value + 1), ("type", str(value))]
    elif value is None:
        changes = [("value", "surplus"), ("type", "null")]
    elif isinstance(value, str):
        changes = [("value", vary_leaf(value)), ("type", None)]
    else:  # what YAML calls a date
        changes = [("type", f"{value} ")]
    yield from ((kind, f"{_show(value)} becomes {_show(other)}", other) for kind, other in changes)


def vary_leaf(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x" if value else SURPLUS
    return copy.deepcopy(value)


def show_steps(steps: Steps) -> str:
    """Return ``rows[2].total`` for the way to a place."""
    words = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps]
    return "".join(words).lstrip(".") or "document"


def write_json(value: Any) -> bytes:
    """Return the bytes of a JSON file."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def write_json_lines(value: Any) -> bytes:
    """Return one line per element."""
    lines = value if isinstance(value, list) else [value]
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in lines).encode()


def write_yaml(value: Any) -> bytes:
    """Return the bytes of a YAML file."""
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode()


def _write_put(write: Write, value: Any, steps: Steps, other: Any) -> bytes:
    return write(_put(value, steps, other))


def _write_drop(write: Write, value: Any, steps: Steps) -> bytes:
    return write(_drop(value, steps))


def _put(value: Any, steps: Steps, other: Any) -> Any:
    if not steps:
        return other
    changed = copy.copy(value)
    changed[steps[0]] = _put(value[steps[0]], steps[1:], other)
    return changed


def _drop(value: Any, steps: Steps) -> Any:
    changed = copy.copy(value)
    if len(steps) == 1:
        del changed[steps[0]]
    else:
        changed[steps[0]] = _drop(value[steps[0]], steps[1:])
    return changed


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
