"""What executions and judges used: tokens, requests and money, as values that add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from typing import Literal

UsageSource = Literal["provider", "estimated", "unknown"]


def _add(left: float | None, right: float | None) -> Any:
    return None if left is None or right is None else left + right


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, requests and money of one or more executions.

    A number that nobody reported is ``None``, and a sum with it is ``None`` too.
    ``input_tokens`` excludes cached tokens, for every runtime. ``cost_usd`` is in US dollars.
    ``partial`` says that the agent was cut off, so that the true numbers may be higher.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    request_count: int | None = None
    cost_usd: float | None = None
    source: UsageSource = "unknown"
    partial: bool = False

    @property
    def total_tokens(self) -> int | None:
        """Input, cached and output tokens; caches that nobody reported count as none."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        cached = (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)
        return self.input_tokens + self.output_tokens + cached

    def __add__(self, other: Usage) -> Usage:
        order: tuple[UsageSource, ...] = ("provider", "estimated", "unknown")
        return Usage(
            input_tokens=_add(self.input_tokens, other.input_tokens),
            output_tokens=_add(self.output_tokens, other.output_tokens),
            cache_read_tokens=_add(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_add(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens=_add(self.reasoning_tokens, other.reasoning_tokens),
            request_count=_add(self.request_count, other.request_count),
            cost_usd=_add(self.cost_usd, other.cost_usd),
            source=max(self.source, other.source, key=order.index),
            partial=self.partial or other.partial,
        )

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        """Add up; the total of nothing is unknown."""
        first, *rest = list(usages) or [cls()]
        return sum(rest, first)


UNKNOWN_USAGE = Usage()
