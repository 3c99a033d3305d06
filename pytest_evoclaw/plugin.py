"""Table of contents: the modules that implement pytest's hooks, and the hooks we call."""

from __future__ import annotations

import pytest

pytest_plugins = (
    "pytest_evoclaw.options",
    "pytest_evoclaw.session",
    "pytest_evoclaw.collector",
    "pytest_evoclaw.judging",
    "pytest_evoclaw.gating",
    "pytest_evoclaw.fixtures",
    "pytest_evoclaw.reporting",
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that this plugin calls."""
    from pytest_evoclaw import hookspecs

    pluginmanager.add_hookspecs(hookspecs)
