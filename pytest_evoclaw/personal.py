"""Find what looks like a secret or like somebody's data, in texts that should be invented."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterator

# Domains that belong to nobody (RFC 2606, RFC 6761), with all names below them.
_RESERVED = re.compile(
    r"(^|\.)(example\.(com|net|org|edu)|example|test|invalid|localhost)\.?$", re.I
)
_FICTITIOUS = re.compile(r"555[ .-]?01\d\d$")  # numbers that are never given out
_HARMLESS = re.compile(r"example|fake|dummy|not.?real|placeholder|redacted|changeme|x{6}", re.I)

_SECRETS = (
    ("an access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("an API key", r"\bsk-[A-Za-z0-9_-]{20,}|\bAIza[0-9A-Za-z_-]{35}\b"),
    ("a token", r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bglpat-[\w-]{20}"),
    ("a web token", r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
)
_EMAIL = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)+)")
_PHONE = re.compile(r"(?<![\w.+-])\+\d{1,3}[ ()./-]+\d[\d ()./-]{5,}\d(?![\w-])")
_CARD = re.compile(r"(?<![\w-])(?:\d{4}[ -]){3}\d{4}(?![\w-])")


def find_private(name: str, text: str) -> Iterator[str]:
    """Yield ``name:line: found …`` for each secret, address, phone or card number in a text.

    Addresses in domains reserved for examples, telephone numbers reserved for fiction, card numbers
    whose check digit is wrong, and secrets that call themselves an example are all right.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        for words in _look_at(line):
            yield f"{name}:{number}: found {words}"


def _look_at(line: str) -> Iterator[str]:
    for words, pattern in _SECRETS:
        for match in re.finditer(pattern, line):
            if not _HARMLESS.search(line):
                yield f"what looks like {words}: {match[0][:8]}…"
    for match in _EMAIL.finditer(line):
        if not _RESERVED.search(match[1]):
            yield f"{match[0]!r}, allowed are addresses at example.com and other reserved domains"
    yield from _look_for(line, _PHONE, "a telephone number", _FICTITIOUS.search)
    yield from _look_for(line, _CARD, "a card number", lambda found: not is_card(found))


def _look_for(
    line: str, pattern: re.Pattern[str], words: str, harmless: Callable[[str], object]
) -> Iterator[str]:
    for match in pattern.finditer(line):
        if not harmless(match[0]):
            yield f"{match[0]!r}, which looks like {words}"


def is_card(text: str) -> bool:
    """Whether the check digit of a card number is right (Luhn)."""
    digits = [int(sign) for sign in text if sign.isdigit()][::-1]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
