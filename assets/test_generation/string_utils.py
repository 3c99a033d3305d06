"""Small functions on text."""

from __future__ import annotations

import re


def slugify(text: str) -> str:
    """Return ``text`` in lower case, its words joined by hyphens.

    Each stretch of signs other than a-z and 0-9 becomes one hyphen, but none stands at the
    beginning or at the end: ``"  Big, BAD wolf! "`` gives ``"big-bad-wolf"``.
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def truncate(text: str, length: int, suffix: str = "...") -> str:
    """Return ``text`` if it has at most ``length`` signs; otherwise cut it and append ``suffix``.

    What is cut has exactly ``length`` signs, the suffix included. ValueError if ``length`` is
    smaller than the length of the suffix, also if nothing had to be cut.
    """
    if length < len(suffix):
        raise ValueError("length is smaller than the suffix")
    if len(text) <= length:
        return text
    return text[: length - len(suffix)] + suffix


def extract_tags(text: str) -> list[str]:
    """Return the words after ``#``, in lower case, each once, in the order of their first use.

    A tag is made of letters, digits and underscores; a ``#`` inside a word starts none.
    """
    found = re.findall(r"(?<!\w)#(\w+)", text.lower())
    return list(dict.fromkeys(found))
