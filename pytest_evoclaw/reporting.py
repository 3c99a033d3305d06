"""Trials onto reports; on the controller: journal, metrics, header and summary."""

from __future__ import annotations

import platform
import time
from collections.abc import Generator
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_evoclaw import __version__
from pytest_evoclaw.collector import TrialItem
from pytest_evoclaw.collector import find_trial
from pytest_evoclaw.collector import is_trial
from pytest_evoclaw.collector import result_key
from pytest_evoclaw.collector import runner_key
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.journal import append_result
from pytest_evoclaw.judging import find_warnings
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.metrics import compute_metrics
from pytest_evoclaw.metrics import name_group_files
from pytest_evoclaw.metrics import write_json
from pytest_evoclaw.options import evo_config_key
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.session import evo_session_key
from pytest_evoclaw.summary import format_counts
from pytest_evoclaw.summary import format_judges
from pytest_evoclaw.summary import format_table

SANITY_TASK = "task_00_sanity"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the trial's result on its report; a trial without a score is an error."""
    report = yield
    if isinstance(item, TrialItem) and (result := _find_result(item, call, report)):
        report.evo_result = result.to_dict()  # type: ignore[attr-defined]
        if result.failure is not None:
            # junitxml, report logs and IDEs tell an error from a failure by the phase alone.
            report.when = "setup"
    return report


def _find_result(
    item: TrialItem, call: pytest.CallInfo[None], report: pytest.TestReport
) -> TrialResult | None:
    if call.when == "call" and (result := item.stash.get(result_key, None)):
        return result
    if not report.failed or call.when == "teardown":
        return None
    failure = Failure(reason=Reason.HARNESS.value, detail=report.longreprtext)
    if runner := item.stash.get(runner_key, None):
        return runner.result(failure)
    return TrialResult(trial=item.trial, nodeid=item.nodeid, failure=failure)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport) -> None:
    """Call a trial whose xdist worker died an error; the controller sees only its node id."""
    if is_trial(crashitem):
        report.when = "setup"


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Gather results, but not on xdist workers."""
    if evo_session_key in config.stash and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ResultsReporter(config), "evo-results")


class ResultsReporter:
    """The results of a session, on the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._evo = config.stash[evo_config_key]
        self._session = config.stash[evo_session_key]
        self._results: dict[str, TrialResult] = {}
        self._planned: set[str] = set()
        self._workers = 0
        self._started = time.time()
        self._metrics: dict[str, Any] | None = None

    def pytest_report_header(self) -> list[str]:
        """Say what will be used."""
        session = self._session
        versions = [f"{name} ({version})" for name, version in session.versions.items()]
        lines = [
            f"evo: mode={','.join(session.modes)} runtime={', '.join(versions or session.runtimes)}"
            f" environment={session.environment.name}"
        ]
        if session.endpoints:
            used = [f"{name} at {point.base_url}" for name, point in session.endpoints.items()]
            lines.append(f"evo: model={', '.join(used)}")
        if session.environment_note:
            lines.append(f"evo: {session.environment_note}")
        return lines

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember what is going to run; on an xdist controller there are no items."""
        self._plan(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Remember what is going to run under xdist."""
        self._workers += 1
        self._plan(ids)

    def _plan(self, nodeids: Iterable[str]) -> None:
        self._planned.update(filter(is_trial, nodeids))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a finished trial from its report, and write it to the journal at once."""
        if data := getattr(report, "evo_result", None):
            self._record(TrialResult.from_dict(data))
        elif report.failed and is_trial(report.nodeid) and report.nodeid not in self._results:
            trial = find_trial(self._config, report.nodeid)
            failure = Failure(reason=Reason.WORKER.value, detail=report.longreprtext)
            self._record(TrialResult(trial=trial, nodeid=report.nodeid, failure=failure))

    def _record(self, result: TrialResult) -> None:
        self._results[result.nodeid] = result
        append_result(self._session.folder / "trials.jsonl", result)
        self._config.hook.pytest_evo_trial_finished(config=self._config, result=result)

    def pytest_sessionfinish(self) -> None:
        """Write the metrics, also of a session that was interrupted."""
        if not self._results:
            return
        metrics = compute_metrics(list(self._results.values()), self._describe_session())
        metrics["counts"]["not_run"] = len(self._planned - set(self._results))
        self._config.hook.pytest_evo_metrics(config=self._config, metrics=metrics)
        write_json(self._session.folder / "metrics.json", metrics)
        for name, group in name_group_files(metrics).items():
            write_json(self._session.folder / name, group)
        self._metrics = metrics

    def _describe_session(self) -> SessionFacts:
        evo, session = self._evo, self._session
        files = {nodeid.partition("::")[0] for nodeid in self._planned}
        return SessionFacts(
            run_id=session.run_id,
            timestamp=self._started,
            version=__version__,
            environment=session.environment.name,
            environment_description=session.environment_note,
            workers=max(self._workers, 1),
            runs_per_task=evo.repeat,
            modes=tuple(session.modes),
            runtimes=session.versions,
            models=tuple(session.endpoints) or (None,),
            loaded_task_count=len(files),
            official_task_count=sum(SANITY_TASK not in file for file in files),
            pass_score=evo.pass_score,
            tie_band=evo.tie_band,
            timeout_factor=evo.timeout_factor,
            feedback=evo.feedback,
            judge_model=evo.judge.model,
            warnings=find_warnings(self._config),
            workspaces=str(evo.workspaces or "pytest's basetemp"),
            python=platform.python_version(),
            platform=platform.platform(),
            options={
                "passed_variables": list(evo.passed_variables),
                "judge": "on" if evo.judge.on else "off",
                "judge_samples": evo.judge.samples,
                "variants": list(evo.variants),
            },
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, the counts and where the results are."""
        if (metrics := self._metrics) is None:
            return
        terminalreporter.section("evo")
        for line in format_table(metrics):
            terminalreporter.write_line(line)
        for line in (format_counts(metrics), *format_judges(metrics)):
            terminalreporter.write_line(line)
        folder = self._session.folder
        terminalreporter.write_line(f"metrics: {folder / 'metrics.json'}")
        terminalreporter.write_line(f"journal: {folder / 'trials.jsonl'}")
