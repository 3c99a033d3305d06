"""Fixtures around trials, and for tests that people write themselves."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from pytest_evoclaw.collector import TrialItem
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.inventory import Inventory
from pytest_evoclaw.inventory import take_inventory
from pytest_evoclaw.options import evo_config_key
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import PhaseOutcome
from pytest_evoclaw.results import Trial
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.session import find_session
from pytest_evoclaw.session import make_runner
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import read_skill_creator
from pytest_evoclaw.skills import write_bundle
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import find_root
from pytest_evoclaw.task import read_task
from pytest_evoclaw.workspace import create_folders
from pytest_evoclaw.workspace import fill_workspace


@pytest.fixture(scope="session")
def evo_workspaces(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder in which agents work: never inside the project.

    ``--evo-workspaces``, else pytest's basetemp, else, if that lies in the project, a temporary
    folder of the system.
    """
    evo = pytestconfig.stash[evo_config_key]
    asked = evo.workspaces
    if asked is not None and (evo.gateway.record or evo.gateway.replay):
        # Stored answers name paths, which have to be the same again.
        (asked / "evo-stored").mkdir(parents=True, exist_ok=True)
        yield asked / "evo-stored"
        return
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


@pytest.fixture
def evo_task(request: pytest.FixtureRequest) -> Task:
    """The trial's task; in your own test that of ``@pytest.mark.evo_task("tasks/task_….md")``.

    The path is relative to the root directory.
    """
    if isinstance(request.node, TrialItem):
        return request.node.task
    marker = request.node.get_closest_marker("evo_task")
    if marker is None or not marker.args:
        raise pytest.UsageError(
            f'{request.node.nodeid}: evo_task needs @pytest.mark.evo_task("tasks/task_….md")'
        )
    path = request.config.rootpath / marker.args[0]
    return read_task(path, find_root(path, request.config.stash[evo_config_key].root))


@pytest.fixture
def evo_folders(evo_task: Task, evo_workspaces: Path) -> Folders:
    """Fresh folders of a phase, with the task's inputs in ``workspace``."""
    folders = create_folders(Path(tempfile.mkdtemp(dir=evo_workspaces)) / "phase")
    fill_workspace(evo_task, folders)
    return folders


@pytest.fixture
def evo_workspace(evo_folders: Folders) -> Path:
    """A fresh folder with the task's inputs and an empty ``outputs/``."""
    return evo_folders.workspace


class SeedSkills(Protocol):
    """What the ``evo_skills`` fixture returns."""

    def __call__(self, bundle: SkillBundle | None = None) -> SkillBundle:
        """Write a bundle below ``skills/`` of the workspace: by default the skill-creator."""


@pytest.fixture
def evo_skills(evo_workspace: Path, pytestconfig: pytest.Config) -> SeedSkills:
    """Seed the workspace with a bundle of skills."""
    creator = read_skill_creator(pytestconfig.stash[evo_config_key].skill_creator)

    def seed(bundle: SkillBundle | None = None) -> SkillBundle:
        seeded = creator if bundle is None else bundle
        write_bundle(seeded, evo_workspace / "skills")
        return seeded

    return seed


@pytest.fixture
def evo_skill_guard(evo_workspace: Path) -> Callable[[], tuple[str, ...]]:
    """List what has changed below ``skills/`` since the first call, which returns nothing."""
    before: list[Inventory] = []

    def list_changes() -> tuple[str, ...]:
        now = take_inventory(evo_workspace / "skills")
        before.append(now)
        return before[0].changes_to(now)

    return list_changes


@pytest.fixture
def evo_trial(request: pytest.FixtureRequest, evo_task: Task) -> Trial:
    """The trial that this item is; in your own test one of the first mode and runtime."""
    if isinstance(request.node, TrialItem):
        return request.node.trial
    evo = request.config.stash[evo_config_key]
    return Trial(
        task_id=evo_task.id,
        task_path=str(evo_task.path),
        mode=(evo.modes or ("baseline",))[0],
        runtime=evo.runtimes[0],
        model=(evo.models or (None,))[0],
    )


@pytest.fixture
def evo_runtime(pytestconfig: pytest.Config, evo_trial: Trial) -> Runtime:
    """The agent runtime of the trial."""
    return find_session(pytestconfig).runtimes[evo_trial.runtime]


@pytest.fixture
def evo_environment(pytestconfig: pytest.Config) -> Environment:
    """The environment in which agents run."""
    return find_session(pytestconfig).environment


@pytest.fixture
def evo_run_phase(
    request: pytest.FixtureRequest, evo_trial: Trial, evo_task: Task, evo_workspaces: Path
) -> Iterator[Callable[[Phase], PhaseOutcome]]:
    """Run one phase of your own with the trial's runtime, each in a workspace of its own."""
    work = Path(tempfile.mkdtemp(dir=evo_workspaces))
    runner = make_runner(request.config, evo_trial, evo_task, work)
    yield runner.run
    runner.clean_up()
