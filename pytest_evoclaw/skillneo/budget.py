"""What a search plans to execute, what it may spend, and what it has spent."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

from pytest_evoclaw.skillneo.acceptance import Margins
from pytest_evoclaw.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """G, b, k and R of Algorithm 1, and how it decides; ValueError if one is out of range.

    ``rounds`` bounds how often a generation asks for proposals until it has ``width`` children.
    """

    generations: int = 5
    width: int = 6
    promoted: int = 3
    repeats: int = 3
    holds: int = 2
    rounds: int = 2
    archive: bool = True
    policy: str = "comma"
    margins: Margins = field(default_factory=Margins)

    def __post_init__(self) -> None:
        least = {"generations": 1, "width": 2, "promoted": 1, "repeats": 1, "holds": 1, "rounds": 1}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                found = getattr(self, name)
                raise ValueError(f"search settings: {name}: found {found}, allowed {bound} or more")

    @property
    def planned_executions(self) -> int:
        """``R + G[b + k(R - 1) + R]``: 78 with the defaults."""
        again = self.promoted * (self.repeats - 1)
        return self.repeats + self.generations * (self.width + again + self.repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a search, None for none; ``seconds`` is for one sitting, the others for all."""

    executions: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None

    def find_limit(self, spent: Spending, planned: int) -> str | None:
        """Return which limit forbids to go on with ``planned`` executions, in words."""
        if self.executions is not None and spent.executions + planned > self.executions:
            found = f"{spent.executions} executions made and {planned} planned"
            return f"{found}, allowed {self.executions}"
        measured = (
            ("tokens", spent.tokens, self.tokens),
            ("US dollars", spent.cost_usd, self.cost_usd),
            ("seconds", spent.seconds, self.seconds),
        )
        for unit, value, limit in measured:
            if limit is not None and value >= limit:
                return f"{value:g} {unit} spent, allowed {limit:g}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent; ``unreported`` counts usages without tokens or cost, which are left out."""

    executions: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    unreported: int = 0

    def add(self, usage: Usage, *, executions: int) -> Spending:
        """Return the sum with what one execution, proposal or edit has reported."""
        return replace(
            self,
            executions=self.executions + executions,
            tokens=self.tokens + (usage.total_tokens or 0),
            cost_usd=self.cost_usd + (usage.cost_usd or 0.0),
            unreported=self.unreported + (usage.total_tokens is None or usage.cost_usd is None),
        )


def describe_plan(settings: SearchSettings, expected: Usage) -> str:
    """Return the announcement: executions, and tokens and cost if one uses about ``expected``."""
    planned = settings.planned_executions
    tokens, cost = expected.total_tokens, expected.cost_usd
    estimate = [
        "tokens unknown" if tokens is None else f"about {planned * tokens:,} tokens",
        "cost unknown" if cost is None else f"about ${planned * cost:,.2f}",
    ]
    return (
        f"at most {planned} executions = {settings.repeats} + {settings.generations} x "
        f"[{settings.width} + {settings.promoted} x {settings.repeats - 1} + {settings.repeats}], "
        f"{', '.join(estimate)}; proposals and edits are extra"
    )
