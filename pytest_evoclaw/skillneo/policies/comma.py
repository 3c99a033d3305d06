"""Non-elitist: children replace their parents, whatever they score (SkillNEO, equation 4)."""

from __future__ import annotations

from pytest_evoclaw.skillneo.policies import ParentChoice


class Comma:
    """The best of the current generation's children; previous parents do not compete."""

    slots: int | None = None

    def choose(self, choice: ParentChoice) -> list[str]:
        """Return the best children."""
        return list(choice.children[: choice.slots])


def create() -> Comma:
    """Return the policy."""
    return Comma()
