"""What differs between the APIs: paths, where the key goes, how an error is said."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

Api = Literal["chat", "responses", "messages", "other"]

_PATHS: dict[str, Api] = {
    "chat/completions": "chat",
    "responses": "responses",
    "messages": "messages",
}
# Each connection has its own (RFC 9110, 7.6.1); the length is computed anew.
_HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("content-length", "host", "expect"),
    }
)
_KEY_HEADERS = ("authorization", "x-api-key", "api-key")

Headers = tuple[tuple[str, str], ...]


def find_api(rest: str, method: str) -> Api:
    """Return the API of a path below ``v1/``; only ``other`` asks for no answer of a model."""
    return _PATHS.get(rest.strip("/"), "other") if method == "POST" else "other"


def build_request_headers(headers: Iterable[tuple[str, str]], rest: str, key: str) -> Headers:
    """Return what is passed on: the real key in the style that came in, no compression."""
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() not in _HOP_BY_HOP
        and name.lower() not in _KEY_HEADERS
        and name.lower() != "accept-encoding"
    ]
    styles = [name.lower() for name, _ in headers if name.lower() in _KEY_HEADERS]
    for style in dict.fromkeys(styles) or (_guess_style(rest),):
        kept.append((style, f"Bearer {key}" if style == "authorization" else key))
    return (*kept, ("accept-encoding", "identity"))


def _guess_style(rest: str) -> str:
    return "x-api-key" if rest.startswith("messages") else "authorization"


def build_answer_headers(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return what is passed back."""
    return tuple((n, v) for n, v in headers if n.lower() not in _HOP_BY_HOP)


def find_header(headers: Headers, name: str) -> str:
    """Return the first value of a header, or an empty string."""
    return next((value for each, value in headers if each.lower() == name), "")


def build_error(rest: str, message: str) -> bytes:
    """Return an error of the API at a path, as its SDKs read it."""
    error = {"type": "invalid_request_error", "message": message}
    if rest.startswith("messages"):
        return json.dumps({"type": "error", "error": error}).encode()
    return json.dumps({"error": {**error, "param": None, "code": "evoclaw_gateway"}}).encode()
