"""Fixtures around trials, and for tests that people write themselves."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_evoclaw.options import evo_config_key


@pytest.fixture(scope="session")
def evo_workspaces(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder in which agents work: never inside the project.

    ``--evo-workspaces``, else pytest's basetemp, else, if that lies in the project, a temporary
    folder of the system.
    """
    asked = pytestconfig.stash[evo_config_key].workspaces
    if asked is not None:
        asked.mkdir(parents=True, exist_ok=True)
        yield Path(tempfile.mkdtemp(prefix="evo-", dir=asked))
        return
    base = tmp_path_factory.getbasetemp()
    if not base.is_relative_to(pytestconfig.rootpath):
        yield tmp_path_factory.mktemp("evo")
        return
    outside = Path(tempfile.mkdtemp(prefix="pytest-evoclaw-"))
    yield outside
    shutil.rmtree(outside, ignore_errors=True)
