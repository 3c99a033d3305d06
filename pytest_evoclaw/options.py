"""The ``evo`` options and ini values, read once into an EvoConfig."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import get_args

import pytest

from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway import TrafficLimits
from pytest_evoclaw.judge_settings import JudgeSettings
from pytest_evoclaw.modes import Feedback

ALL_MODES = ("baseline", "preskill", "postskill")
GATE = "gate"  # no recipe: it tries tasks instead of agents


@dataclass(frozen=True, slots=True, kw_only=True)
class EvoConfig:
    """The settings of one session, as asked for."""

    modes: tuple[str, ...]  # recipes only
    gate: bool
    variants: tuple[int, ...]
    runtimes: tuple[str, ...]
    models: tuple[str, ...]
    base_url: str | None
    environment: str
    repeat: int
    timeout_factor: float
    pass_score: float
    tie_band: float
    feedback: Feedback
    judge: JudgeSettings
    results: Path
    workspaces: Path | None
    keep_workspaces: bool
    passed_variables: tuple[str, ...]
    skill_creator: Path | None
    script: Path | None
    binaries: Mapping[str, Path]
    root: Path | None
    start_limit: int | None
    limits: TrafficLimits
    gateway: GatewaySettings

    @classmethod
    def from_pytest(cls, config: pytest.Config) -> EvoConfig:
        """Read and validate; the only reader of ``evo_*`` options."""
        option = _Options(config)
        modes = _expand_modes(option.names("evo_mode"))
        return cls(
            modes=tuple(mode for mode in modes if mode != GATE),
            gate=GATE in modes,
            variants=option.counts("evo_variant"),
            runtimes=option.names("evo_runtime"),
            models=option.names("evo_model"),
            base_url=option.text("evo_base_url") or None,
            environment=option.text("evo_environment"),
            repeat=option.count("evo_repeat"),
            timeout_factor=option.number("evo_timeout_factor", above=0, at_most=1000),
            pass_score=option.number("evo_pass_score", above=-1, at_least=0, at_most=1),
            tie_band=option.number("evo_tie_band", above=-1, at_least=0, at_most=1),
            feedback=option.choice("evo_feedback", get_args(Feedback)),
            judge=_read_judge(option),
            results=option.path("evo_results") or config.rootpath / "evo-results",
            workspaces=option.path("evo_workspaces"),
            keep_workspaces=config.getoption("evo_keep_workspaces"),
            passed_variables=option.names("evo_pass_env"),
            skill_creator=option.path("evo_skill_creator"),
            script=option.path("evo_script"),
            binaries=_read_binaries(option),
            root=option.path("evo_root"),
            start_limit=option.bound("evo_start_limit"),
            limits=TrafficLimits(
                max_turns=option.bound("evo_max_turns"),
                max_tokens=option.bound("evo_max_tokens_per_phase"),
            ),
            gateway=_read_gateway(option),
        )


evo_config_key = pytest.StashKey[EvoConfig]()

# name, how often and what (metavar), default, help; the ini value of the same name has the dest's
# name. A list default means a comma list that can be repeated.
OPTIONS: tuple[tuple[str, str, str | list[str], str], ...] = (
    ("mode", "MODE", [], "Modes: baseline, preskill, postskill or all of these, transfer, gate"),
    ("runtime", "RUNTIME", ["oracle"], "Agent programs to run"),
    ("model", "MODEL", [], "Models the agents use, as provider/model or the name at a base URL"),
    ("base-url", "URL", "", "OpenAI-compatible API for the agents; also from OPENAI_BASE_URL"),
    ("environment", "NAME", "auto", "Where agents run; auto picks the safest that works here"),
    ("repeat", "N", "1", "Trials for each task, mode, runtime and model"),
    ("variant", "SEED", [], "Seeds of fresh fixtures for generated tasks"),
    ("timeout-factor", "FACTOR", "1", "Multiplies the time limit of every task"),
    ("pass-score", "SCORE", "1.0", "Score from which a trial passes, within 0..1"),
    ("tie-band", "SCORE", "1e-9", "Greatest difference of a task's score that is a tie"),
    (
        "feedback",
        "LEVEL",
        "checks",
        "What of the first grade the summary sees: score, checks or none",
    ),
    ("judge", "on|off", "on", "off grades hybrid tasks by their automated part alone"),
    ("judge-model", "MODEL", "", "Model that judges hybrid and llm_judge tasks"),
    ("judge-base-url", "URL", "", "OpenAI-compatible API of the judge; also from OPENAI_BASE_URL"),
    ("judge-repeat", "N", "1", "Judgements of each phase; their spread is the judge's own noise"),
    ("judge-concurrency", "N", "4", "Requests to the judge at a time, over all xdist workers"),
    (
        "judge-timeout",
        "SECONDS",
        "120",
        "Time limit of one request to the judge; all tries together have five times as much",
    ),
    ("results", "DIR", "", "Folder of the sessions' results (default: evo-results)"),
    (
        "workspaces",
        "DIR",
        "",
        "Folder in which agents work, outside the project (default: pytest's basetemp)",
    ),
    ("pass-env", "NAME", [], "Environment variables that agents get besides their minimum"),
    ("skill-creator", "DIR", "", "Skill that authoring phases are seeded with instead of ours"),
    ("script", "FILE", "", "What the scripted runtime plays"),
    ("max-turns", "N", "", "Answers of the model in one phase (default: no limit)"),
    ("max-tokens-per-phase", "N", "", "Tokens of all kinds in one phase (default: no limit)"),
    ("record", "DIR", "", "Folder in which all answers of models are stored"),
    ("replay", "DIR", "", "Folder of stored answers to use instead of asking a model"),
    ("model-concurrency", "N", "32", "Requests to a model at a time, for each pytest process"),
    ("model-retries", "N", "3", "Further attempts after a passing fault of a model's provider"),
    ("start-limit", "N", "", "Slow agent programs that start at a time (default: one a core)"),
    ("runtime-bin", "NAME=PATH", [], "Program of a runtime, where PATH does not find it"),
    ("openclaw-bin", "PATH", "", "Short for --evo-runtime-bin openclaw=PATH"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ``evo`` options, and an ini value for each."""
    group = parser.getgroup("evo", "agents that write skills (pytest-evoclaw)")
    for name, metavar, default, text in OPTIONS:
        dest = "evo_" + name.replace("-", "_")
        many = isinstance(default, list)
        group.addoption(
            f"--evo-{name}",
            dest=dest,
            action="append" if many else "store",
            default=None,
            metavar=metavar,
            help=f"{text} (comma list, repeatable)" if many else text,
        )
        help_text = f"Default for --evo-{name}"
        if many:
            parser.addini(dest, help_text, type="args", default=default)
        else:
            parser.addini(dest, help_text, type="string", default=default)
    group.addoption(
        "--evo-keep-workspaces",
        action="store_true",
        default=False,
        help="Keep the folders in which agents worked",
    )
    parser.addini("evo_root", "Folder that holds tasks/ and assets/", type="string", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Fail on wrong settings before anything is collected."""
    config.stash[evo_config_key] = EvoConfig.from_pytest(config)


class _Options:
    """Reads values; the command line wins over the ini file. Raises UsageError."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def _get(self, dest: str) -> Any:
        value = self._config.getoption(dest, None)
        return self._config.getini(dest) if value is None else value

    def names(self, dest: str) -> tuple[str, ...]:
        """Return a comma list without blanks and repetitions, in the order given."""
        words = [word.strip() for value in self._get(dest) for word in value.split(",")]
        return tuple(dict.fromkeys(word for word in words if word))

    def text(self, dest: str) -> str:
        return str(self._get(dest)).strip()

    def choice(self, dest: str, allowed: tuple[str, ...]) -> Any:
        if (value := self.text(dest)) not in allowed:
            raise _usage(dest, value, ", ".join(allowed))
        return value

    def count(self, dest: str, *, least: int = 1) -> int:
        value = self.text(dest)
        if not value.isdecimal() or int(value) < least:
            raise _usage(dest, value, f"a whole number from {least}")
        return int(value)

    def counts(self, dest: str) -> tuple[int, ...]:
        """Return a comma list of whole numbers."""
        for word in (words := self.names(dest)):
            if not word.isdecimal():
                raise _usage(dest, word, "whole numbers from 0")
        return tuple(dict.fromkeys(int(word) for word in words))

    def bound(self, dest: str) -> int | None:
        """Return a count, None for no bound."""
        return self.count(dest) if self.text(dest) else None

    def number(
        self, dest: str, *, above: float, at_least: float = -math.inf, at_most: float
    ) -> float:
        value = self.text(dest)
        lowest = f"from {at_least:g}" if at_least > above else f"above {above:g}"
        allowed = f"a number {lowest} up to {at_most:g}"
        try:
            number = float(value)
        except ValueError as error:
            raise _usage(dest, value, allowed) from error
        if not max(above, at_least) <= number <= at_most or number == above:
            raise _usage(dest, value, allowed)
        return number

    def path(self, dest: str) -> Path | None:
        """Return an absolute path: relative to where pytest was called, or to the ini file."""
        from_line = self._config.getoption(dest, None)
        base = self._config.invocation_params.dir if from_line else self._config.rootpath
        value = from_line or self._config.getini(dest)
        return Path(os.path.normpath(base / Path(value).expanduser())) if value else None


def _read_judge(option: _Options) -> JudgeSettings:
    state = option.choice("evo_judge", ("on", "off"))
    model = option.text("evo_judge_model")
    if state == "off" and model:
        raise _usage("evo_judge_model", model, "none with --evo-judge=off")
    return JudgeSettings(
        on=state == "on",
        model=model or None,
        base_url=option.text("evo_judge_base_url") or None,
        samples=option.count("evo_judge_repeat"),
        concurrency=option.count("evo_judge_concurrency"),
        seconds=option.number("evo_judge_timeout", above=0, at_most=3600),
    )


def _usage(dest: str, found: str, allowed: str) -> pytest.UsageError:
    name = dest.replace("evo_", "--evo-", 1).replace("_", "-")
    return pytest.UsageError(f"{name}: found {found!r}, allowed {allowed}")


def _expand_modes(names: tuple[str, ...]) -> tuple[str, ...]:
    expanded = [mode for name in names for mode in (ALL_MODES if name == "all" else (name,))]
    return tuple(dict.fromkeys(expanded))


def _read_gateway(option: _Options) -> GatewaySettings:
    record, replay = option.path("evo_record"), option.path("evo_replay")
    if record is not None and replay is not None:
        raise pytest.UsageError("--evo-record, --evo-replay: found both, allowed one of them")
    if replay is not None and not replay.is_dir():
        raise _usage("evo_replay", str(replay), "a folder that --evo-record has filled")
    return GatewaySettings(
        retries=option.count("evo_model_retries", least=0),
        concurrency=option.count("evo_model_concurrency"),
        record=record,
        replay=replay,
    )


def _read_binaries(option: _Options) -> dict[str, Path]:
    binaries = {}
    for pair in option.names("evo_runtime_bin"):
        name, equals, path = pair.partition("=")
        if not equals or not Path(path).is_file():
            raise _usage("evo_runtime_bin", pair, "NAME=PATH with the path of a file")
        binaries[name] = Path(path).resolve()
    if (program := option.path("evo_openclaw_bin")) is not None:
        if not program.exists():
            allowed = "the path of openclaw, or npm's prefix"
            raise _usage("evo_openclaw_bin", str(program), allowed)
        binaries["openclaw"] = program.resolve()
    return binaries
