"""Small functions on dates and durations."""

from __future__ import annotations

import re
from datetime import date
from datetime import timedelta


def parse_relative_date(text: str, today: date) -> date:
    """Return the day that a text means, seen from ``today``.

    Known are ``today``, ``tomorrow``, ``yesterday``, ``in N days`` and ``N days ago``, with ``day``
    for ``days`` as well. Upper case and blanks around the text do not matter. ValueError for any
    other text.
    """
    words = text.strip().lower()
    known = {"today": 0, "tomorrow": 1, "yesterday": -1}
    if words in known:
        return today + timedelta(days=known[words])
    if match := re.fullmatch(r"in (\d+) days?", words):
        return today + timedelta(days=int(match[1]))
    if match := re.fullmatch(r"(\d+) days? ago", words):
        return today - timedelta(days=int(match[1]))
    raise ValueError(f"not a relative date: {text!r}")


def business_days_between(start: date, end: date) -> int:
    """Count Monday to Friday from ``start`` (included) to ``end`` (not included).

    If ``end`` is before ``start``, the result is that of the exchanged days with a minus sign.
    """
    if end < start:
        return -business_days_between(end, start)
    days = (start + timedelta(days=n) for n in range((end - start).days))
    return sum(day.weekday() < 5 for day in days)


def format_duration(seconds: int) -> str:
    """Return hours, minutes and seconds as ``2h 5m 9s``; parts that are zero are left out.

    0 gives ``0s``. ValueError if ``seconds`` is negative.
    """
    if seconds < 0:
        raise ValueError("seconds is negative")
    minutes, rest = divmod(seconds, 60)
    parts = ((minutes // 60, "h"), (minutes % 60, "m"), (rest, "s"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count) or "0s"
