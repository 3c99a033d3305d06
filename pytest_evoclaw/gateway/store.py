"""Answers of models as files, to have a session again without asking anyone.

``<folder>/<phase's key>/<digest>-<k>.json`` is the answer to the k-th request of a phase that has
this digest. A phase finds its own answers only, so that neither parallel trials nor repeats of
one trial can get each other's; there is no second place to look.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.gateway.answers import AnswerCut
from pytest_evoclaw.gateway.answers import ProviderFailed
from pytest_evoclaw.gateway.answers import ReplayMissed
from pytest_evoclaw.gateway.dialects import Headers
from pytest_evoclaw.gateway.digests import compute_digest
from pytest_evoclaw.gateway.digests import describe_difference
from pytest_evoclaw.gateway.digests import normalise
from pytest_evoclaw.gateway.events import Splitter
from pytest_evoclaw.gateway.exchanges import Exchange

_UNSAID = ("limit", "closed", None)


class Shelf:
    """The stored answers of one phase, to be filled or to be read."""

    def __init__(self, folder: Path, root: Path | None, *, replays: bool) -> None:
        self.replays = replays
        self._folder = folder
        self._root = root
        self._seen: Counter[str] = Counter()

    @classmethod
    def open(cls, traffic: PhaseTraffic, settings: GatewaySettings) -> Shelf | None:
        """Return the phase's shelf, emptied if it is to be filled; None without a store."""
        store = settings.replay or settings.record
        if store is None:
            return None
        folder = store / traffic.key
        shelf = cls(folder, traffic.root, replays=settings.replay is not None)
        if not shelf.replays:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return shelf

    def name(self, exchange: Exchange) -> None:
        """Give a request its name in the store, in the order of arrival."""
        digest = compute_digest(normalise(exchange.asked, self._root))
        self._seen[digest] += 1
        exchange.stored_as = f"{digest}-{self._seen[digest]}"

    def keep(self, exchange: Exchange) -> None:
        """Store an answer, if it came from a provider."""
        if self.replays or not exchange.stored_as or exchange.outcome in _UNSAID:
            return
        stored = {
            "request": normalise(exchange.asked, self._root),
            "end": _find_end(exchange),
            "streamed": exchange.streamed,
            "status": exchange.status,
            "error": exchange.error,
            "headers": [list(pair) for pair in exchange.headers],
            **_encode(bytes(exchange.body)),
        }
        text = json.dumps(stored, ensure_ascii=False, indent=1)
        path = self._folder / f"{exchange.stored_as}.json"
        path.write_text(text, encoding="utf-8", errors="replace", newline="\n")

    def find(self, exchange: Exchange) -> StoredAnswer:
        """Return the stored answer. Raises ReplayMissed, or the ProviderFailed that was."""
        path = self._folder / f"{exchange.stored_as}.json"
        stored = _read(path)
        if stored is None:
            raise ReplayMissed(self._describe_miss(exchange))
        if stored["end"] == "failed" and not stored["headers"]:
            raise ProviderFailed(stored["status"], stored["error"])
        return StoredAnswer(stored)

    def _describe_miss(self, exchange: Exchange) -> str:
        found = normalise(exchange.asked, self._root)
        known = [_read(path) for path in sorted(self._folder.glob("*.json"))]
        stored = [each["request"] for each in known if each is not None]
        if found in stored:
            why = "asked more often than it was when the answers were stored"
        else:
            why = describe_difference(found, stored)
        return (
            f"replay: no stored answer for request {exchange.number} ({exchange.asked.rest}), "
            f"digest {exchange.stored_as}, in {self._folder}: {why}"
        )


class StoredAnswer:
    """One stored answer, in the pieces that a stream is made of."""

    def __init__(self, stored: dict[str, Any]) -> None:
        headers: Headers = tuple((name, value) for name, value in stored["headers"])
        self.headers = headers
        self.status: int = stored["status"] or 200
        self.streamed: bool = stored["streamed"]
        self._never: bool = stored["end"] == "never"
        self._cut: bool = stored["end"] == "cut"
        data = _decode(stored)
        splitter = Splitter()
        pieces = [*splitter.feed(data), splitter.flush()] if self.streamed else [data]
        self._pieces = [piece for piece in pieces if piece]
        self.body = b""

    async def begin(self) -> StoredAnswer:
        """Wait for the first piece, for ever if there never was one."""
        if not self._pieces and self._never:
            await asyncio.Event().wait()
        self.body = self._pieces.pop(0) if self._pieces else b""
        return self

    async def read(self) -> bytes:
        """Return the next piece."""
        if self._pieces:
            return self._pieces.pop(0)
        if self._never:
            await asyncio.Event().wait()
        if self._cut:
            raise AnswerCut("cut as it was stored")
        return b""

    async def close(self) -> None:
        """Hold nothing."""


def _find_end(exchange: Exchange) -> str:
    """Say how it ended; ``never`` means that the agent or the phase ended first."""
    if exchange.outcome == "cut":
        return "cut" if exchange.broken else "complete"
    return {"failed": "failed", "abandoned": "never"}.get(exchange.outcome or "", "complete")


def _encode(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def _decode(stored: dict[str, Any]) -> bytes:
    if "body" in stored:
        return str(stored["body"]).encode()
    return base64.b64decode(stored["body_base64"])


def _read(path: Path) -> dict[str, Any] | None:
    try:
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return stored
