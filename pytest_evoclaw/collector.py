"""Turn each task file into one item per mode, runtime, model and repeat."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_evoclaw.errors import TaskFormatError
from pytest_evoclaw.options import GATE
from pytest_evoclaw.options import EvoConfig
from pytest_evoclaw.options import evo_config_key
from pytest_evoclaw.results import Trial
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.session import evo_session_key
from pytest_evoclaw.session import make_runner
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import find_root
from pytest_evoclaw.task import read_task
from pytest_evoclaw.trials import TrialRunner
from pytest_evoclaw.variants import FIRST_SEED
from pytest_evoclaw.variants import has_generator
from pytest_evoclaw.verdict import describe_outcome
from pytest_evoclaw.verdict import find_faults

runner_key = pytest.StashKey[TrialRunner]()
result_key = pytest.StashKey[TrialResult]()
_task_paths_key = pytest.StashKey[dict[str, Path]]()

MARKER = (
    "evo_task(path=None, *, id, category, family, grading, mode, runtime): a trial's facts, "
    "for -m; in your own tests, the task file that the evo_task fixture reads"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that trials carry."""
    config.addinivalue_line("markers", MARKER)
    config.stash[_task_paths_key] = {}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Never look for anything in the results: agents wrote into them."""
    if collection_path == config.stash[evo_config_key].results:
        return True
    return True if (collection_path / "trials.jsonl").is_file() else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TaskFile | None:
    """Collect task files once a mode is chosen: a trial costs money."""
    if evo_session_key not in parent.config.stash or not file_path.match("task_*.md"):
        return None
    return TaskFile.from_parent(parent, path=file_path)


class TaskFile(pytest.Module):
    """Collects the trials of one task file."""

    obj = None  # A Module for its fixture scope; there is no Python module behind it.

    def collect(self) -> Iterator[TrialItem]:
        """Yield the trials in the order of the options' values."""
        task = self._read()
        for name, trial in plan_trials(self.config, task):
            yield TrialItem.from_parent(self, name=name, trial=trial, task=task)

    def _read(self) -> Task:
        try:
            root = find_root(self.path, self.config.stash[evo_config_key].root)
            task = read_task(self.path, root)
        except TaskFormatError as error:
            raise self.CollectError(str(error)) from error
        known = self.config.stash[_task_paths_key].setdefault(task.id, self.path)
        if known != self.path:
            raise self.CollectError(
                f"{self.path}:1: id: found {task.id!r}, which {known} has already"
            )
        return task


class TrialItem(pytest.Function):
    """One trial; a Function, so that pytest resolves the fixtures around it."""

    def __init__(self, *, trial: Trial, task: Task, **kwargs: Any) -> None:
        super().__init__(callobj=run_trial, **kwargs)
        self.trial = trial
        self.task = task
        self.add_marker(
            pytest.mark.evo_task(
                id=task.id,
                category=task.category,
                family=task.family,
                grading=task.grading_type,
                mode=trial.mode,
                runtime=trial.runtime,
            )
        )
        if trial.variant is not None and not has_generator(task):
            reason = f"no generator: there are no fresh fixtures of {task.id}"
            self.add_marker(pytest.mark.skip(reason=reason))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Locate the trial at its task's prompt."""
        return self.path, self.task.prompt_line - 1, f"{self.task.id}: {self.name}"


def plan_trials(config: pytest.Config, task: Task) -> Iterator[tuple[str, Trial]]:
    """Yield a task's trials with the names of their items."""
    evo, session = config.stash[evo_config_key], config.stash[evo_session_key]
    for mode, runtime in product(evo.modes, evo.runtimes):
        models = session.list_models(runtime)
        repeats = range(1, evo.repeat + 1)
        for model, variant, repeat in product(models, _list_variants(config, mode), repeats):
            trial = Trial(
                task_id=task.id,
                task_path=task.path.relative_to(task.root).as_posix(),
                mode=mode,
                runtime=runtime,
                model=model,
                repeat=repeat,
                category=task.category,
                family=task.family,
                grading_type=task.grading_type,
                variant=variant,
            )
            name = name_trial(trial, several_models=len(models) > 1, repeats=evo.repeat)
            yield _mark_unjudged(name, trial, evo), trial


def _list_variants(config: pytest.Config, mode: str) -> tuple[int | None, ...]:
    asked = config.stash[evo_config_key].variants
    if not asked and getattr(config.stash[evo_session_key].modes[mode], "transfers", False):
        return (FIRST_SEED,)
    return asked or (None,)


def name_trial(trial: Trial, *, several_models: bool, repeats: int) -> str:
    """Return the item's name: ``preskill[nanobot]``, or ``preskill[nanobot-gpt-5-2]``."""
    parts = [trial.runtime]
    if several_models and trial.model:
        parts.append(trial.model)
    if trial.variant is not None:
        parts.append(f"v{trial.variant}")
    if repeats > 1:
        parts.append(str(trial.repeat))
    # xdist's loadgroup splits node ids on "@", and "::" separates their parts.
    return f"{trial.mode}[{'-'.join(parts)}]".replace("@", "-").replace("::", "-")


def _mark_unjudged(name: str, trial: Trial, evo: EvoConfig) -> str:
    """Say ``baseline[oracle-nojudge]`` where a hybrid task is graded by one of its parts."""
    if evo.judge.on or trial.grading_type != "hybrid":
        return name
    return f"{name.removesuffix(']')}-nojudge]"


def is_trial(nodeid: str) -> bool:
    """Whether a node id is a trial's."""
    file, _, name = nodeid.partition("::")
    return file.endswith(".md") and not name.startswith(f"{GATE}[")


def find_trial(config: pytest.Config, nodeid: str) -> Trial:
    """Return the trial of a node id; for an xdist controller, which collects nothing."""
    return dict(plan_trials(config, find_task(config, nodeid)))[nodeid.partition("::")[2]]


def find_task(config: pytest.Config, nodeid: str) -> Task:
    """Return the task of a node id; for an xdist controller, which collects nothing."""
    path = config.rootpath / nodeid.partition("::")[0]
    return read_task(path, find_root(path, config.stash[evo_config_key].root))


def run_trial(request: pytest.FixtureRequest, evo_workspaces: Path) -> None:
    """Run one trial and tell its outcome; what ``TrialItem`` calls."""
    item: TrialItem = request.node
    runner = make_runner(item.config, item.trial, item.task, evo_workspaces)
    runner.nodeid = item.nodeid
    item.stash[runner_key] = runner
    result = runner.run_trial()
    item.stash[result_key] = result
    pass_score = item.config.stash[evo_config_key].pass_score
    if find_faults(result, pass_score):
        folder = item.config.stash[evo_session_key].folder
        pytest.fail(describe_outcome(result, pass_score, folder), pytrace=False)
