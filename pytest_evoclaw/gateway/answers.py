"""What a provider, or the store, has to say to one request."""

from __future__ import annotations

from typing import Protocol

from pytest_evoclaw.gateway.dialects import Headers


class ProviderFailed(Exception):
    """No answer, after all attempts or for good; ``status`` is the provider's, if it had one."""

    def __init__(self, status: int | None, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class ReplayMissed(Exception):
    """The store has no answer; the text names the digest and what differs."""


class AnswerCut(Exception):
    """The provider broke off within an answer that has begun."""


class Answer(Protocol):
    """An answer that has begun. ``body`` is all of it, or if ``streamed`` what came first."""

    status: int
    headers: Headers
    streamed: bool
    body: bytes

    async def read(self) -> bytes:
        """Return the next bytes of a stream, none at its end. Raises AnswerCut."""

    async def close(self) -> None:
        """Give back what the answer holds."""
