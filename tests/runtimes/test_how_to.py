"""The adapter in docs/how-to/add-a-runtime.md drives a program of the kind that it describes."""

from __future__ import annotations

import random
import re
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway.service import Gateway
from pytest_evoclaw.runtimes import RuntimeSettings
from tests.model_brains import faulty
from tests.model_brains import never
from tests.model_server import ModelServer
from tests.plugin.calling_agent import AGENT
from tests.reference_files import ROOT
from tests.runtimes.bench import SOLVE
from tests.runtimes.bench import Bench
from tests.runtimes.bench import Wish
from tests.runtimes.bench import tell_usage

PAGE = ROOT / "docs/how-to/add-a-runtime.md"
READ_WORDS = "url, key, model, prompt = sys.argv[1:]\n"
READ_VARIABLES = """\
if sys.argv[1] == "--version":
    sys.exit(print("scribe 1.2.3"))
prompt, log = sys.argv[1:]
url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
model = os.environ["SCRIBE_MODEL"]
"""
LOG = """\
    Path(log).write_text("".join(json.dumps(each) + "\\n" for each in messages[1:]), "utf-8")
"""


@pytest.fixture
def page() -> types.ModuleType:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    module = types.ModuleType("scribe")
    code = next(block for block in blocks if "class Scribe" in block)
    exec(compile(code, str(PAGE), "exec"), module.__dict__)  # noqa: S102 - our own page
    return module


@pytest.fixture
def scribe(tmp_path: Path) -> Path:
    """A program that keeps a log after each answer and at its end."""
    text = AGENT.replace(READ_WORDS, READ_VARIABLES)
    text = text.replace(
        '    for call in said.get("tool_calls") or ():',
        LOG + "    for call in said.get('tool_calls') or ():",
    )
    text = text.replace("    if not said.get(", LOG + "    if not said.get(")
    program = tmp_path / "scribe"
    program.write_text(f"#!{sys.executable} -I\n{text}", encoding="utf-8")
    program.chmod(0o755)
    return program


@pytest.fixture
def bench(page, scribe, tmp_path):
    gateway = Gateway(GatewaySettings(retries=0), random.Random(1))
    yield Bench(tmp_path, page.create(RuntimeSettings(binary=scribe)), gateway)
    gateway.close()


def test_the_adapter_of_the_page_solves_a_task_with_a_skill_of_its_own(bench):
    assert bench.runtime.check() == "1.2.3"
    # It has no tool to read with.
    with ModelServer(replace(SOLVE, reading=never)) as server:
        outcome = bench.run(server.base_url, "solve", Wish(mode="preskill"))
    assert (outcome.result.failure, outcome.result.score) == (None, 1.0)
    author, execute = outcome.result.phases
    assert [each.name for each in author.created_skills] == ["adding"]
    assert tell_usage(outcome.result.usage) == tell_usage(server.sent_usage)
    calls = [call.name for call in outcome.read_transcript().tool_calls]
    assert calls == ["write_file"] * len(calls)
    assert execute.execution.turns == len(calls) + 1


def test_the_adapter_of_the_page_leaves_faults_of_the_provider_to_the_gateway(bench):
    with ModelServer(faulty(401)) as server:
        outcome = bench.run(server.base_url, "fault")
    assert outcome.result.failure is not None
    assert "HTTP 401" in outcome.result.failure.detail


def test_a_program_that_is_missing_is_told_before_the_session(page, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="scribe"):
        page.create(RuntimeSettings()).check()
