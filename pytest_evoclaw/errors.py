"""Everything that can go wrong, by who has to act.

EvoclawError
├── SettingsError       the user asked for something that cannot be had: a usage error
├── TaskFormatError     a task file breaks the format: a collection error
└── NotScored           the harness, a provider or a grader broke: ERROR, never a score

CheckFailed is an AssertionError: the agent's output is wrong, which is a score.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path


class EvoclawError(Exception):
    """Base of this package's errors."""


class SettingsError(EvoclawError):
    """What was asked for cannot be used; names the option, what was found and what is allowed."""


class TaskFormatError(EvoclawError):
    """A fault in a task file; its text is ``file:line: field: found X, allowed Y``."""

    def __init__(self, path: Path, line: int, field: str, message: str) -> None:
        super().__init__(f"{path}:{line}: {field}: {message}")
        self.path = path
        self.line = line
        self.field = field
        self.message = message


class Reason(StrEnum):
    """Why a trial has no score (the keys of ``not_scored`` in ``metrics.json``)."""

    RUNTIME = "runtime_failed"  # the agent program broke, or could not be started
    PROVIDER = "provider_error"  # the model API refused, failed or was not there
    NO_TURNS = "no_model_turns"  # the agent ended without asking the model once
    ENVIRONMENT = "environment_error"  # the place where the agent runs broke
    GRADER = "grader_error"  # the grader raised, hung, or answered nonsense
    JUDGE = "judge_error"  # no usable answer from the judge
    WORKER = "worker_died"  # the pytest process that ran the trial is gone
    HARNESS = "harness_error"  # a fault of this package, of a plugin or of a fixture


class NotScored(EvoclawError):
    """The trial ended without a score; ``detail`` is for people and may have many lines."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail


class CheckFailed(AssertionError):
    """An output is missing, unreadable or out of bounds; raised by the graders' readers."""
