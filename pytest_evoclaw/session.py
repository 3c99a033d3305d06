"""What a session uses, found and checked before the first trial: parts, versions, folders."""

from __future__ import annotations

import os
import random
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from pytest_evoclaw.endpoints import PROVIDERS
from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.endpoints import find_endpoint
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.grading import forkserver
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.options import EvoConfig
from pytest_evoclaw.options import evo_config_key
from pytest_evoclaw.phases import PhaseSettings
from pytest_evoclaw.registry import list_parts
from pytest_evoclaw.registry import make_part
from pytest_evoclaw.results import Trial
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.skills import read_skill_creator
from pytest_evoclaw.task import Task
from pytest_evoclaw.trials import Parts
from pytest_evoclaw.trials import TrialRunner
from pytest_evoclaw.variants import make_variant

if TYPE_CHECKING:
    from pytest_evoclaw.gateway.service import Gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class EvoSession:
    """The parts in use. ``folder`` is where this session's results go.

    ``versions`` holds a version for each runtime, and ``environment_note`` says what the
    environment is and why it was chosen; both are empty when nothing will be run.
    """

    run_id: str
    folder: Path
    modes: Mapping[str, Mode]
    runtimes: Mapping[str, Runtime]
    versions: Mapping[str, str]
    environment: Environment
    environment_note: str
    endpoints: Mapping[str, Endpoint]
    gateway: Gateway | None  # None if no runtime in use asks a model

    def list_models(self, runtime: str) -> tuple[str | None, ...]:
        """Return the models a runtime is tried with: none for one that uses no model."""
        return tuple(self.endpoints) if self.runtimes[runtime].uses_model else (None,)


evo_session_key = pytest.StashKey[EvoSession]()


@pytest.hookimpl(trylast=True)
def pytest_evo_make_runtime(name: str, settings: RuntimeSettings) -> Runtime:
    """Fall back to the built-in runtimes and to entry points."""
    runtime: Runtime = make_part("runtimes", name, settings)
    return runtime


@pytest.hookimpl(trylast=True)
def pytest_evo_make_environment(name: str) -> Environment:
    """Fall back to the built-in environments and to entry points."""
    environment: Environment = make_part("environments", name)
    return environment


@pytest.hookimpl(trylast=True)
def pytest_evo_make_mode(name: str, settings: ModeSettings) -> Mode:
    """Fall back to the built-in modes and to entry points."""
    mode: Mode = make_part("modes", name, settings)
    return mode


def pytest_configure(config: pytest.Config) -> None:
    """Build the session, if any mode is asked for; refuse what cannot be had."""
    evo = config.stash[evo_config_key]
    if not evo.modes:
        return
    if evo.workspaces is not None and evo.workspaces.is_relative_to(config.rootpath):
        allowed = f"a folder outside the project {config.rootpath}"
        raise pytest.UsageError(f"--evo-workspaces: found {evo.workspaces}, allowed {allowed}")
    given: dict[str, Any] | None = getattr(config, "workerinput", {}).get("evo")
    config.stash[evo_session_key] = _build_session(config, evo, given)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the process that graders are forked from, and the gateway."""
    forkserver.close()
    session = config.stash.get(evo_session_key, None)
    if session is not None and session.gateway is not None:
        session.gateway.close()


def find_session(config: pytest.Config) -> EvoSession:
    """Return the session; for people's own tests also where no mode was asked for."""
    if evo_session_key not in config.stash:
        config.stash[evo_session_key] = _build_session(config, config.stash[evo_config_key], None)
    return config.stash[evo_session_key]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker what the controller has found out already."""
    if session := node.config.stash.get(evo_session_key, None):
        node.workerinput["evo"] = {
            "run_id": session.run_id,
            "folder": str(session.folder),
            "versions": dict(session.versions),
            "environment": session.environment.name,
            "environment_note": session.environment_note,
        }


def _build_session(
    config: pytest.Config, evo: EvoConfig, given: dict[str, Any] | None
) -> EvoSession:
    runtimes = {name: _make_runtime(config, evo, name) for name in evo.runtimes}
    endpoints = _find_endpoints(evo, runtimes)
    check = given is None and not config.getoption("collectonly")
    if given is None:
        environment, note = _choose_environment(config, evo, check=check)
        run_id = _name_session()
        given = {"run_id": run_id, "folder": evo.results / run_id, "environment_note": note}
        given["versions"] = (
            {name: _check(f"--evo-runtime={name}", runtime) for name, runtime in runtimes.items()}
            if check
            else {}
        )
    else:
        environment = config.hook.pytest_evo_make_environment(
            config=config, name=given["environment"]
        )
    return EvoSession(
        run_id=given["run_id"],
        folder=Path(given["folder"]),
        modes=_make_modes(config, evo),
        runtimes=runtimes,
        versions=given["versions"],
        environment=environment,
        environment_note=given["environment_note"],
        endpoints=endpoints,
        gateway=_make_gateway(evo, given["run_id"]) if endpoints else None,
    )


def _make_gateway(evo: EvoConfig, run_id: str) -> Gateway:
    from pytest_evoclaw.gateway.service import Gateway

    return Gateway(evo.gateway, random.Random(f"{run_id} {os.getpid()}"))


def _make_runtime(config: pytest.Config, evo: EvoConfig, name: str) -> Runtime:
    settings = RuntimeSettings(binary=evo.binaries.get(name), script=evo.script)
    try:
        runtime: Runtime = config.hook.pytest_evo_make_runtime(
            config=config, name=name, settings=settings
        )
    except SettingsError as error:
        raise pytest.UsageError(f"--evo-runtime: {error}") from error
    return runtime


def _make_modes(config: pytest.Config, evo: EvoConfig) -> dict[str, Mode]:
    try:
        creator = read_skill_creator(evo.skill_creator)
        settings = ModeSettings(skill_creator=creator, feedback=evo.feedback)
        return {
            name: config.hook.pytest_evo_make_mode(config=config, name=name, settings=settings)
            for name in evo.modes or ("baseline",)
        }
    except SettingsError as error:
        raise pytest.UsageError(f"--evo-mode: {error}") from error


def _find_endpoints(evo: EvoConfig, runtimes: Mapping[str, Runtime]) -> dict[str, Endpoint]:
    users = [name for name, runtime in runtimes.items() if runtime.uses_model]
    if users and not evo.models:
        raise pytest.UsageError(f"--evo-model: {', '.join(users)} needs a model, found none")
    if not users:
        return {}
    variables = dict(os.environ)
    if evo.gateway.replay is not None:  # nobody is asked, so nobody needs a key
        variables = {variable: "none" for _, variable in PROVIDERS.values()} | variables
    try:
        return {name: find_endpoint(name, evo.base_url, variables) for name in evo.models}
    except SettingsError as error:
        raise pytest.UsageError(f"--evo-model: {error}") from error


def _choose_environment(
    config: pytest.Config, evo: EvoConfig, *, check: bool
) -> tuple[Environment, str]:
    asked = evo.environment
    reason = ""
    if asked == "auto":
        asked = "local"
        if "sandbox" in list_parts("environments"):
            sandbox = config.hook.pytest_evo_make_environment(config=config, name="sandbox")
            try:
                return sandbox, sandbox.check() if check else ""
            except SettingsError as error:
                reason = f"; auto: {error}"
    try:
        made: Environment = config.hook.pytest_evo_make_environment(config=config, name=asked)
    except SettingsError as error:
        raise pytest.UsageError(f"--evo-environment: {error}") from error
    return made, (_check(f"--evo-environment={asked}", made) if check else "") + reason


def _check(option: str, part: Runtime | Environment) -> str:
    try:
        return part.check()
    except SettingsError as error:
        raise pytest.UsageError(f"{option}: {error}") from error


def _name_session() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def make_runner(config: pytest.Config, trial: Trial, task: Task, workspaces: Path) -> TrialRunner:
    """Put together everything that runs one trial."""
    evo, session = config.stash[evo_config_key], find_session(config)
    grader: Grader = config.hook.pytest_evo_make_grader(config=config, task=task)
    fixtures, variant = None, None
    if trial.variant is not None:
        fixtures = Path(tempfile.mkdtemp(prefix="fixtures-", dir=workspaces))
        variant = make_variant(task, trial.variant, fixtures)
    transfers = getattr(session.modes[trial.mode], "transfers", False)
    return TrialRunner(
        trial=trial,
        task=task if variant is None or transfers else variant,
        variant=variant if transfers else None,
        fixtures=fixtures,
        parts=Parts(
            mode=session.modes[trial.mode],
            runtime=session.runtimes[trial.runtime],
            environment=session.environment,
            grader=grader,
            endpoint=session.endpoints.get(trial.model or ""),
            gateway=session.gateway,
        ),
        settings=PhaseSettings(
            session=session.folder,
            workspaces=workspaces,
            keep_workspaces=evo.keep_workspaces,
            timeout_factor=evo.timeout_factor,
            variables={n: os.environ[n] for n in evo.passed_variables if n in os.environ},
            limits=evo.limits,
            start_limit=evo.start_limit,
        ),
    )
