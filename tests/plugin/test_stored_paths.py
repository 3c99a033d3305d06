"""Stored answers name absolute paths, so that a phase has the same folder again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Suite
from tests.model_server import ModelRequest
from tests.model_server import ModelServer
from tests.model_server import Reply
from tests.model_server import call
from tests.model_server import say
from tests.plugin.calling_agent import AGENT
from tests.plugin.calling_agent import CONFTEST

FILES = {"sum": '{"value": 6}', "max": '{"value": 3}'}


def answer(request: ModelRequest) -> Reply:
    """Write the files by the absolute paths of the folder that the agent names."""
    folder = Path(request.system.removeprefix("In ").split(" at ")[0])
    done = len(request.calls)
    if done == len(FILES):
        return say("Done.")
    name = list(FILES)[done]
    return call("write_file", {"path": f"{folder}/outputs/{name}.json", "content": FILES[name]})


def run(suite: Suite, url: str, *args: str) -> pytest.RunResult:
    words = ("--evo-runtime=caller", "--evo-model=m", f"--evo-base-url={url}")
    return suite.run_apart(*words, *args)


def test_answers_with_absolute_paths_can_be_had_again_in_the_same_workspaces(
    suite, tmp_path_factory
):
    suite.write("conftest.py", CONFTEST)
    suite.write("agent.py", AGENT)
    store, work = suite.path / "store", tmp_path_factory.mktemp("work")
    with ModelServer(answer) as server:
        first = run(suite, server.base_url, f"--evo-record={store}", f"--evo-workspaces={work}")
    first.assert_outcomes(passed=1)
    [before] = suite.journal
    again = run(suite, server.base_url, f"--evo-replay={store}", f"--evo-workspaces={work}")
    again.assert_outcomes(passed=1)
    [after] = suite.journal
    assert before["phases"][0]["execution"]["usage"] == after["phases"][0]["execution"]["usage"]
    assert not list(work.rglob("outputs"))
