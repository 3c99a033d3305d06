"""Hooks that pytest-evoclaw calls."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_evoclaw.environments import Environment
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.task import Task


@pytest.hookspec(firstresult=True)
def pytest_evo_make_runtime(
    config: pytest.Config, name: str, settings: RuntimeSettings
) -> Runtime | None:
    """Return the runtime called ``name``, or None to let another plugin answer.

    Called on the controller and on each xdist worker. Stops at the first non-None result.

    :param config: The pytest config object.
    :param name: A value given to ``--evo-runtime``.
    :param settings: What the command line says to this runtime.
    """


@pytest.hookspec(firstresult=True)
def pytest_evo_make_environment(config: pytest.Config, name: str) -> Environment | None:
    """Return the environment called ``name``. Stops at the first non-None result.

    :param config: The pytest config object.
    :param name: The value of ``--evo-environment``; ``auto`` is resolved before.
    """


@pytest.hookspec(firstresult=True)
def pytest_evo_make_mode(config: pytest.Config, name: str, settings: ModeSettings) -> Mode | None:
    """Return the mode called ``name``. Stops at the first non-None result.

    :param config: The pytest config object.
    :param name: A value given to ``--evo-mode``; ``all`` is expanded before.
    :param settings: What recipes share.
    """


@pytest.hookspec(firstresult=True)
def pytest_evo_make_grader(config: pytest.Config, task: Task) -> Grader | None:
    """Return who grades ``task``. Stops at the first non-None result.

    :param config: The pytest config object.
    :param task: The task of the trial.
    """


@pytest.hookspec()
def pytest_evo_trial_finished(config: pytest.Config, result: TrialResult) -> None:
    """Called once for each finished trial, scored or not, on the xdist controller.

    The journal has the trial already.

    :param config: The pytest config object.
    :param result: The trial's result.
    """


@pytest.hookspec()
def pytest_evo_metrics(config: pytest.Config, metrics: dict[str, Any]) -> None:
    """Called on the controller before ``metrics.json`` is written; may add keys of its own.

    :param config: The pytest config object.
    :param metrics: The content of the file.
    """
