"""One request of an agent, read as far as the gateway has to know it."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from pytest_evoclaw.gateway.dialects import Api
from pytest_evoclaw.gateway.dialects import Headers
from pytest_evoclaw.gateway.dialects import build_request_headers
from pytest_evoclaw.gateway.dialects import find_api
from pytest_evoclaw.gateway.dialects import find_header

_BODY_LIMIT = 64 * 1024 * 1024  # of a decompressed request


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: ``rest`` is its path below ``v1/``, with ``query`` as it came.

    ``sent`` and ``headers`` are what the provider gets, ``plain`` is the body without compression,
    ``body`` the object in it. ``hides_usage`` says that the agent did not ask for the last event
    of a stream, the one with its usage, and must not see it.
    """

    method: str
    rest: str
    query: str
    headers: Headers
    sent: bytes
    plain: bytes
    body: dict[str, Any]
    hides_usage: bool = False

    @property
    def api(self) -> Api:
        """The API asked."""
        return find_api(self.rest, self.method)

    @property
    def model(self) -> str | None:
        """The model asked for."""
        model = self.body.get("model")
        return model if isinstance(model, str) else None


def read_request(target: tuple[str, str, str], headers: Headers, raw: bytes, key: str) -> Asked:
    """Read a request to ``target`` (method, path below ``v1/``, query)."""
    method, rest, query = target
    passed = build_request_headers(headers, rest, key)
    plain = decode(raw, find_header(headers, "content-encoding"))
    body = read_object(plain)
    sent, hides_usage = raw, False
    if find_api(rest, method) == "chat" and body.get("stream") is True:
        options = body.get("stream_options")
        asked = options if isinstance(options, dict) else {}
        if asked.get("include_usage") is not True:
            sent, hides_usage = _ask_for_usage(plain, body), True
            passed = tuple(each for each in passed if each[0].lower() != "content-encoding")
    return Asked(
        method=method,
        rest=rest,
        query=query,
        headers=passed,
        sent=sent,
        plain=plain,
        body=body,
        hides_usage=hides_usage,
    )


def decode(raw: bytes, encoding: str) -> bytes:
    """Return a body without its compression; as it is where that is not known."""
    encoding = encoding.strip().lower()
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return raw
    try:
        reader = zlib.decompressobj(wbits=47 if encoding != "deflate" else zlib.MAX_WBITS)
        return reader.decompress(raw, _BODY_LIMIT)
    except zlib.error:
        return raw


def read_object(plain: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; an empty one if there is none."""
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _ask_for_usage(plain: bytes, body: dict[str, Any]) -> bytes:
    if "stream_options" in body:
        options = body["stream_options"]
        given = options if isinstance(options, dict) else {}
        whole = {**body, "stream_options": {**given, "include_usage": True}}
        return json.dumps(whole, ensure_ascii=False).encode("utf-8", "surrogatepass")
    # Not built anew: every other byte stays.
    start = plain.index(b"{") + 1
    return plain[:start] + b'"stream_options":{"include_usage":true},' + plain[start:]
