"""The contract, for each runtime of a real agent; those not installed are skipped."""

from __future__ import annotations

import pytest

from tests.runtimes.bench import ADAPTERS
from tests.runtimes.contract import Contract

NANOBOT, OPENCLAW, CLAUDE_CODE, CODEX, MINI_SWE_AGENT = ADAPTERS


class TestNanobot(Contract):
    adapter = NANOBOT


class TestOpenclaw(Contract):
    adapter = OPENCLAW


@pytest.mark.slow_install
class TestClaudeCode(Contract):
    adapter = CLAUDE_CODE


@pytest.mark.slow_install
class TestCodex(Contract):
    adapter = CODEX


@pytest.mark.slow_install
class TestMiniSweAgent(Contract):
    adapter = MINI_SWE_AGENT
