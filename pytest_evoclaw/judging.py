"""Graders for trials, judges among them; refuses tasks that nobody is there to judge."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING
from typing import Any

import pytest

from pytest_evoclaw.collector import TrialItem
from pytest_evoclaw.collector import find_task
from pytest_evoclaw.collector import is_trial
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.grading import choose_automated
from pytest_evoclaw.grading import choose_grader
from pytest_evoclaw.judge_settings import WARN_OFF
from pytest_evoclaw.judge_settings import warn_own_model
from pytest_evoclaw.options import evo_config_key
from pytest_evoclaw.registry import make_part
from pytest_evoclaw.session import evo_session_key
from pytest_evoclaw.session import find_session
from pytest_evoclaw.slots import SlotPool
from pytest_evoclaw.task import Task

if TYPE_CHECKING:
    from pytest_evoclaw.grading.judge import Judge

POOL = ".judge-places"  # in the session's folder
_judge_key: pytest.StashKey[Judge | None] = pytest.StashKey()
_seen_key = pytest.StashKey[bool]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse a judge that cannot be asked, before anything is collected."""
    if config.stash[evo_config_key].modes:
        find_judge(config)


@pytest.hookimpl(trylast=True)
def pytest_evo_make_grader(config: pytest.Config, task: Task) -> Grader:
    """Fall back to the file in ``grading/`` that fits the task."""
    grader: Grader
    judge = find_judge(config)
    if task.grading_type == "automated":
        grader = make_part("grading", choose_grader(task))
        return grader
    if words := _describe_unjudged(config, [task]):
        raise pytest.UsageError(words)
    if task.grading_type == "hybrid":
        automated = make_part("grading", choose_automated(task))
        grader = make_part("grading", choose_grader(task), automated, judge)
    else:
        grader = make_part("grading", choose_grader(task), judge)
    return grader


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop before the first trial if a task that was selected has no judge."""
    if hasattr(session.config, "workerinput"):
        return  # the controller does it: a worker that stops is a crash there
    tasks = {item.task.id: item.task for item in session.items if isinstance(item, TrialItem)}
    _refuse_unjudged(session.config, tasks.values())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Stop before the first trial under xdist; all workers have collected the same."""
    config: pytest.Config = node.config
    if evo_session_key not in config.stash or config.stash.get(_seen_key, False):
        return
    config.stash[_seen_key] = True
    if config.stash[evo_config_key].judge.model is None:
        files = {nodeid.partition("::")[0]: nodeid for nodeid in ids if is_trial(nodeid)}
        _refuse_unjudged(config, [find_task(config, nodeid) for nodeid in files.values()])


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say who judges."""
    evo = config.stash[evo_config_key]
    if not evo.modes:
        return []
    lines = [f"evo: warning: {words}" for words in find_warnings(config)]
    if (judge := find_judge(config)) is not None:
        lines.insert(0, f"evo: judge={judge.model} at {judge.completer.endpoint.base_url}")
    return lines


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove the places that requests to the judge have shared."""
    judge = session.config.stash.get(_judge_key, None)
    if judge is not None and judge.completer.pool and not hasattr(session.config, "workerinput"):
        shutil.rmtree(judge.completer.pool.folder, ignore_errors=True)


def find_judge(config: pytest.Config) -> Judge | None:
    """Return the session's judge, None without a model for it; UsageError if it cannot be had."""
    if _judge_key not in config.stash:
        config.stash[_judge_key] = _build_judge(config)
    return config.stash[_judge_key]


def find_warnings(config: pytest.Config) -> tuple[str, ...]:
    """Return what a reader of the scores has to know about their judge."""
    evo, judge = config.stash[evo_config_key], find_judge(config)
    if not evo.judge.on:
        return (WARN_OFF,)
    if judge is None:
        return ()
    own, agents = judge.completer.endpoint, find_session(config).endpoints
    if any(
        name == judge.model or (point.base_url, point.model) == (own.base_url, own.model)
        for name, point in agents.items()
    ):
        return (warn_own_model(judge.model),)
    return ()


def _build_judge(config: pytest.Config) -> Judge | None:
    settings = config.stash[evo_config_key].judge
    if settings.model is None:
        return None
    from pytest_evoclaw.grading.judge import make_judge

    pool = SlotPool(folder=find_session(config).folder / POOL, size=settings.concurrency)
    try:
        return make_judge(settings, os.environ, pool)
    except SettingsError as error:
        raise pytest.UsageError(f"--evo-judge-model: {error}") from error


def _refuse_unjudged(config: pytest.Config, tasks: Iterable[Task]) -> None:
    words = _describe_unjudged(config, tasks)
    if words and not config.getoption("collectonly"):
        raise pytest.UsageError(words)


def _describe_unjudged(config: pytest.Config, tasks: Iterable[Task]) -> str:
    """Return what is wrong and what to do, empty if every task can be graded."""
    judge = config.stash[evo_config_key].judge
    if judge.model is not None:
        return ""
    needy = [task for task in tasks if task.grading_type == "llm_judge" or judge.on]
    needy = [task for task in needy if task.grading_type != "automated"]
    if not needy:
        return ""
    listed = ", ".join(f"{task.id} ({task.grading_type})" for task in needy)
    if not judge.on:
        return (
            f"--evo-judge=off: found tasks without an automated part: {listed}; deselect them, or "
            "name a judge with --evo-judge-model"
        )
    return (
        f"--evo-judge-model: found no judge for {len(needy)} selected tasks: {listed}; name one, "
        "or give --evo-judge=off, which grades hybrid tasks by their automated part alone"
    )
