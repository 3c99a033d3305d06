"""Compare documents whose rounded numbers may differ by a little, and texts that quote them."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.compare import describe
from pytest_evoclaw.grading.compare import require_same

SLACK = Fraction(1, 10**9)  # what binary fractions add to a decimal tolerance
HUGE = 10**18
_QUOTE = re.compile(r"\[([\w.-]+)=([^\[\]=]+)\]")
Tolerate = Callable[[str], float]


def snap(found: Any, expected: Any, tolerance: float) -> Any:
    """Return ``found`` with each number that is near the float that is due replaced by it.

    Ints may stand for floats, never the other way round.
    """
    if isinstance(expected, float):
        return expected if is_near(found, expected, tolerance) else found
    if isinstance(expected, dict) and isinstance(found, dict):
        return {
            key: snap(value, expected[key], tolerance) if key in expected else value
            for key, value in found.items()
        }
    if isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        return [snap(*pair, tolerance) for pair in zip(found, expected, strict=True)]
    return found


def is_near(found: Any, expected: float, tolerance: float) -> bool:
    if type(found) not in (int, float) or abs(found) > HUGE:
        return False
    distance = abs(Fraction(found) - Fraction(expected))
    return bool(distance <= Fraction(tolerance) + SLACK)


def require_near(found: Any, expected: Any, where: str, tolerance: float) -> None:
    """Raise CheckFailed unless both are the same, floats up to ``tolerance``."""
    require_same(snap(found, expected, tolerance), expected, where)


def list_facts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a text may quote, by ``name`` and ``name.part``."""
    return dict(_walk(document, ""))


def _walk(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _walk(value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float):
            yield f"{prefix}{key}", value


def require_text(text: Any, where: str, least: int, most: int) -> str:
    """Return a text of one line, of ``least`` to ``most`` characters, that ends as a sentence."""
    if not isinstance(text, str) or "\n" in text or "\r" in text:
        raise CheckFailed(f"{where}: found {describe(text)}, expected a text without line breaks")
    if not least <= len(text) <= most:
        raise CheckFailed(f"{where}: found {len(text)} characters, expected {least} to {most}")
    if not text.endswith("."):
        raise CheckFailed(f"{where}: found {text[-10:]!r} at the end, expected a full stop")
    return text


def require_quotes(text: str, facts: Mapping[str, Any], tolerate: Tolerate, where: str) -> None:
    """Raise CheckFailed unless the text quotes three of the facts, and no wrong one."""
    quotes = _QUOTE.findall(text)
    if len(quotes) != text.count("[") or len(quotes) != text.count("]"):
        raise CheckFailed(f"{where}: has square brackets that hold no [name=value]")
    for name, value in quotes:
        if name not in facts:
            raise CheckFailed(f"{where}: quotes {name!r}, which is no value of the file")
        if not _says(value.strip(), facts[name], tolerate(name)):
            raise CheckFailed(f"{where}: quotes {name}={value}, expected {facts[name]}")
    if len({name for name, _ in quotes}) < 3:
        raise CheckFailed(f"{where}: quotes fewer than three values")


def _says(value: str, fact: Any, tolerance: float) -> bool:
    if isinstance(fact, str):
        return value == fact
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", value):
        return False
    return is_near(float(value), float(fact), tolerance if isinstance(fact, float) else 0.0)
