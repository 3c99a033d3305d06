from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.runtimes.contract")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark before files are collected, which ``--strict-markers`` wants."""
    words = "slow_install: needs an agent whose installation takes long"
    config.addinivalue_line("markers", words)
