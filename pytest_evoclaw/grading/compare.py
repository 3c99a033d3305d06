"""Compare what an agent wrote with what is right: by value and by type, with words for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_evoclaw.errors import CheckFailed

SHOWN = 8
_SHORT = 200
_NAMES = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}


def same(actual: Any, expected: Any) -> bool:
    """Return whether both are equal, types included: True is not 1, and 30.0 is not 30."""
    return next(_walk(actual, expected, ""), None) is None


def find_differences(actual: Any, expected: Any, where: str = "value") -> list[str]:
    """Return one line for each place where ``actual`` is not :func:`same` as ``expected``."""
    return list(_walk(actual, expected, where))


def require_same(actual: Any, expected: Any, where: str = "value") -> None:
    """Raise CheckFailed with the first differences, unless both are :func:`same`."""
    lines = find_differences(actual, expected, where)
    if lines:
        rest = [f"… and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
        raise CheckFailed("\n".join([*lines[:SHOWN], *rest]))


def require_object(value: Any, where: str = "value") -> dict[str, Any]:
    """Return ``value``; CheckFailed unless it is an object."""
    if type(value) is not dict:
        raise CheckFailed(f"{where}: found {describe(value)}, expected an object")
    return value


def require_list(value: Any, where: str = "value", *, length: int | None = None) -> list[Any]:
    """Return ``value``; CheckFailed unless it is a list, of ``length`` elements if given."""
    if type(value) is not list:
        raise CheckFailed(f"{where}: found {describe(value)}, expected a list")
    if length is not None and len(value) != length:
        raise CheckFailed(f"{where}: found {len(value)} elements, expected {length}")
    return value


def pick(document: Any, *steps: str | int, where: str = "value") -> Any:
    """Follow keys (str) and positions (int) into ``document``; CheckFailed where one is missing."""
    for step in steps:
        if isinstance(step, str):
            if step not in require_object(document, where):
                raise CheckFailed(f"{where}: has no key {step!r}")
            document, where = document[step], _inside(where, step)
        else:
            if not -1 < step < len(require_list(document, where)):
                raise CheckFailed(f"{where}: found {len(document)} elements, no [{step}]")
            document, where = document[step], _at(where, step)
    return document


def describe(value: Any) -> str:
    """Return a value with its type, short enough for a line of a message."""
    if isinstance(value, dict | list):
        return f"{_name(value)} of {len(value)}"
    text = "null" if value is None else repr(value)
    if len(text) > _SHORT:
        text = f"{text[:_SHORT]}… ({len(text)} characters)"
    return text if value is None else f"{text} ({_name(value)})"


def _walk(actual: Any, expected: Any, where: str) -> Iterator[str]:
    if type(actual) is not type(expected):
        yield f"{where}: found {describe(actual)}, expected {describe(expected)}"
    elif isinstance(expected, dict):
        yield from _walk_keys(actual, expected, where)
    elif isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            yield f"{where}: found {len(actual)} elements, expected {len(expected)}"
        for index, (left, right) in enumerate(zip(actual, expected, strict=False)):
            yield from _walk(left, right, _at(where, index))
    elif actual != expected:
        yield f"{where}: found {describe(actual)}, expected {describe(expected)}"


def _walk_keys(actual: dict[Any, Any], expected: dict[Any, Any], where: str) -> Iterator[str]:
    for key, value in expected.items():
        if key in actual:
            yield from _walk(actual[key], value, _inside(where, key))
        else:
            yield f"{_inside(where, key)}: missing, expected {describe(value)}"
    for key in (key for key in actual if key not in expected):
        yield f"{_inside(where, key)}: found {describe(actual[key])}, expected no such key"


def _inside(where: str, key: Any) -> str:
    return f"{where}.{key}" if isinstance(key, str) and key.isidentifier() else f"{where}[{key!r}]"


def _at(where: str, index: int) -> str:
    return f"{where}[{index}]"


def _name(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)
