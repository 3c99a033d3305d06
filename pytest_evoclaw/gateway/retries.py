"""Which faults of a provider are tried again, and when; one policy for all runtimes."""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_TRANSIENT = (408, 409, 425, 429)
# What no other request of the same phase can get past.
_CLOSED = (401, 402, 403, 407)
_SPENT = ("insufficient_quota", "billing_hard_limit_reached")


def is_transient(status: int, text: str) -> bool:
    """Whether trying again may help."""
    if status == 429 and any(word in text for word in _SPENT):
        return False
    return status in _TRANSIENT or status >= 500


def is_final(status: int, text: str) -> bool:
    """Whether the provider will serve no request at all: key refused, nothing paid."""
    return status in _CLOSED or (status == 429 and not is_transient(status, text))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """``retries`` further attempts within ``seconds``; waits double from half a second."""

    retries: int
    seconds: float
    randomness: random.Random

    def find_wait(self, attempts: int, elapsed: float, asked: float | None) -> float | None:
        """Return the seconds until the next attempt, None if there is none.

        ``asked`` is the provider's own wish, which is kept if there is time for it.
        """
        if attempts > self.retries:
            return None
        wait = 0.5 * 2 ** (attempts - 1) * self.randomness.uniform(0.75, 1.25)
        if asked is not None:
            wait = asked + 0.1 * wait  # not all of the waiting ones at the same instant
        return wait if elapsed + wait <= self.seconds else None


def read_retry_after(value: str) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for: a number or a date."""
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
