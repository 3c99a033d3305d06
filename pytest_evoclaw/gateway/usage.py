"""One convention for the usage that providers report: input excludes cached tokens."""

from __future__ import annotations

from typing import Any

from pytest_evoclaw.results import Usage

_OPENAI = {
    "chat": ("prompt_tokens", "completion_tokens"),
    "responses": ("input_tokens", "output_tokens"),
}


def read_usage(api: str, found: Any) -> Usage | None:
    """Return the usage object of an answer, None if it reports no numbers of tokens."""
    if not isinstance(found, dict):
        return None
    usage = _read_anthropic(found) if api == "messages" else _read_openai(api, found)
    return None if usage.input_tokens is None or usage.output_tokens is None else usage


def _read_openai(api: str, found: dict[str, Any]) -> Usage:
    names = _OPENAI["responses" if api == "responses" else "chat"]
    asked, answered = names
    details, outputs = _find(found, f"{asked}_details"), _find(found, f"{answered}_details")
    cached = _count(details, "cached_tokens")
    if cached is None:
        cached = _count(found, "prompt_cache_hit_tokens")  # DeepSeek
    written = _count(details, "cache_write_tokens")  # OpenRouter
    total = _count(found, asked)
    return Usage(
        input_tokens=None if total is None else max(0, total - (cached or 0) - (written or 0)),
        output_tokens=_count(found, answered),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=_count(outputs, "reasoning_tokens"),
        request_count=1,
        cost_usd=_read_cost(found),
        source="provider",
    )


def _read_anthropic(found: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=_count(found, "input_tokens"),
        output_tokens=_count(found, "output_tokens"),
        cache_read_tokens=_count(found, "cache_read_input_tokens"),
        cache_write_tokens=_count(found, "cache_creation_input_tokens"),
        request_count=1,
        cost_usd=_read_cost(found),
        source="provider",
    )


def _find(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _count(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    return value if type(value) is int and value >= 0 else None


def _read_cost(found: dict[str, Any]) -> float | None:
    value = found.get("cost")
    return float(value) if isinstance(value, int | float) and value >= 0 else None
