"""Single-path refinement: only the deployed version is edited."""

from __future__ import annotations

from pytest_evoclaw.skillneo.policies import ParentChoice


class Single:
    """The deployment incumbent alone."""

    slots: int | None = 1

    def choose(self, choice: ParentChoice) -> list[str]:
        """Return the incumbent."""
        return [choice.incumbent]


def create() -> Single:
    """Return the policy."""
    return Single()
