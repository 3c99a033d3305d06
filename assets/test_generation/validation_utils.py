"""Small functions that judge texts."""

from __future__ import annotations

import re


def validate_sku(text: str) -> bool:
    """Return whether ``text`` is two or three capitals A-Z, a hyphen, and four digits 0-9.

    Nothing may stand before or after them.
    """
    return re.fullmatch(r"[A-Z]{2,3}-[0-9]{4}", text) is not None


def validate_port(text: str) -> bool:
    """Return whether ``text`` is a number from 1 to 65535 in digits 0-9, without leading zeros."""
    if re.fullmatch(r"[1-9][0-9]*", text) is None:
        return False
    return int(text) <= 65535


def validate_password(text: str, shortest: int = 10) -> list[str]:
    """Return what is wrong, in this order: ``length``, ``digit``, ``case``, ``blank``.

    ``length``: fewer than ``shortest`` signs. ``digit``: no digit 0-9. ``case``: not both a
    lower-case and an upper-case letter. ``blank``: a blank at the beginning or at the end. The
    list is empty if nothing is wrong.
    """
    faults = []
    if len(text) < shortest:
        faults.append("length")
    if not re.search(r"[0-9]", text):
        faults.append("digit")
    if text == text.lower() or text == text.upper():
        faults.append("case")
    if text != text.strip(" "):
        faults.append("blank")
    return faults
