"""Small functions on containers."""

from __future__ import annotations

from typing import Any


def flatten_dict(data: dict[str, Any], separator: str = ".") -> dict[str, Any]:
    """Return the leaves of nested dicts by their joined keys.

    ``{"a": {"b": 1}}`` gives ``{"a.b": 1}``. An empty dict inside is a leaf. Lists are leaves,
    whatever they hold.
    """
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and value:
            for inner, leaf in flatten_dict(value, separator).items():
                flat[f"{key}{separator}{inner}"] = leaf
        else:
            flat[key] = value
    return flat


def chunk_list(items: list[Any], size: int) -> list[list[Any]]:
    """Cut a list into lists of ``size`` elements; the last may be shorter, none is empty.

    ValueError if ``size`` is below 1.
    """
    if size < 1:
        raise ValueError("size is below 1")
    return [items[start : start + size] for start in range(0, len(items), size)]


def deep_merge(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a new dict with the keys of both.

    Where both have a dict, these are merged likewise. Otherwise the value of ``other`` wins, None
    included. Neither argument is changed.
    """
    merged = dict(base)
    for key, value in other.items():
        if isinstance(merged.get(key), dict) and isinstance(value, dict):
            merged[key] = deep_merge(merged[key], value)
        else:
            merged[key] = value
    return merged
