"""Which requests of two sessions are the same one: what changes from day to day is masked."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_evoclaw.gateway.requests import Asked

# Sampling settings, metadata, cache keys and user names are left out.
FIELDS = (
    *("model", "stream", "system", "instructions", "messages", "input"),
    *("tools", "tool_choice", "response_format", "text"),
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"(?:Mon|Tue|Tues|Wed|Wednes|Thu|Thur|Thurs|Fri|Sat|Satur|Sun)(?:day)?"
# In this order. Masking too much does no harm within a phase: the order of requests tells
# those apart that look the same.
_MASKS = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", "<uuid>"),
        (r"\b(?:127\.0\.0\.1|localhost|\[::1\]):\d+(?:/[\w-]{20,})?", "<local>"),
        (r"\b20\d{6}[-T]\d{6}(?:Z|-[0-9a-f]{4}\b)?", "<date>"),
        (
            r"\b\d{4}-\d\d-\d\d(?:[T ,]+\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?"
            r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?",
            "<date>",
        ),
        (rf"\b{_DAY}\b,? *(?=\d|{_MONTH}|<date>|\()", ""),
        (r"\([A-Z][a-z]+day\)", "<day>"),
        (rf"\b{_MONTH} +\d{{1,2}}(?:st|nd|rd|th)?\b(?:,? +\d{{4}}\b)?", "<date>"),
        (rf"\b\d{{1,2}} {_MONTH} \d{{4}}\b", "<date>"),
        (r"\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]M\b)?", "<time>"),
        (r"\b(?:call|toolu|msg|resp|fc|rs|chatcmpl)[_-]?[A-Za-z0-9_-]*\d[A-Za-z0-9_-]*", "<id>"),
        (r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b", "<hex>"),
        (r"\btmp[._]?(?=\w*[\d_])\w{6,}", "<tmp>"),
        (r"(?i)\b(pid|chunk id)\b[ :=]*[0-9a-f]+\b", r"\1 <number>"),
        (r"\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?)\b", "<duration>"),
        (r"\d{9,}", "<number>"),
    )
)


def normalise(asked: Asked, root: Path | None) -> dict[str, Any]:
    """Return what of a request counts, masked; ``root`` is the phase's folder."""
    places = _list_spellings(root)
    masked = {name: _mask(asked.body[name], places) for name in FIELDS if name in asked.body}
    return {"path": f"{asked.method} {asked.rest}", **masked}


def compute_digest(normalised: dict[str, Any]) -> str:
    """Return 16 hex digits."""
    text = json.dumps(normalised, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe_difference(found: dict[str, Any], stored: Iterable[dict[str, Any]]) -> str:
    """Say where the closest stored request differs; texts are cut to what is around."""
    text = _spell(found)
    best, common = "", -1
    for each in map(_spell, stored):
        length = _count_common(text, each)
        if length > common:
            best, common = each, length
    if common < 0:
        return "nothing is stored for this phase"
    start = max(0, common - 60)
    return f"found …{text[start : common + 80]!r}…, stored …{best[start : common + 80]!r}…"


def _spell(normalised: dict[str, Any]) -> str:
    return json.dumps(normalised, ensure_ascii=False)


def _count_common(left: str, right: str) -> int:
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _list_spellings(root: Path | None) -> tuple[str, ...]:
    if root is None:
        return ()
    spellings = {str(root), str(root.resolve())}
    # Claude Code names a folder after the path it works in.
    spellings |= {re.sub(r"[^A-Za-z0-9]", "-", each) for each in tuple(spellings)}
    return tuple(sorted(spellings, key=len, reverse=True))


def _mask(value: Any, places: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        for place in places:
            value = value.replace(place, "<root>")
        for pattern, mask in _MASKS:
            value = pattern.sub(mask, value)
        return value
    if isinstance(value, list):
        return [_mask(each, places) for each in value]
    if isinstance(value, dict):
        return {name: _mask(each, places) for name, each in value.items()}
    return value
