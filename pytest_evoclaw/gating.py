"""``--evo-mode=gate``: one item per task and gate. They are tests of tasks, never trials."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import TaskFormatError
from pytest_evoclaw.gates import Finding
from pytest_evoclaw.gates import Gate
from pytest_evoclaw.options import evo_config_key
from pytest_evoclaw.registry import list_parts
from pytest_evoclaw.registry import make_part
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import find_root
from pytest_evoclaw.task import read_task
from pytest_evoclaw.workbench import Workbench

# The order in which a person would ask; gates of others come after these.
ORDER = ("lint", "oracle", "nop", "garbage", "mutants", "leak")
PROPERTY = "evo_gate"
bench_key = pytest.StashKey[Workbench]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Gather what the gates say, but not on xdist workers."""
    if config.stash[evo_config_key].gate and not hasattr(config, "workerinput"):
        config.pluginmanager.register(GateReporter(), "evo-gates")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> GateFile | None:
    """Collect task files for their gates, if these are asked for."""
    if not parent.config.stash[evo_config_key].gate or not file_path.match("task_*.md"):
        return None
    return GateFile.from_parent(parent, path=file_path)


class GateFile(pytest.Module):
    """Collects the gates of one task file."""

    obj = None  # A Module for its fixture scope; there is no Python module behind it.

    def collect(self) -> Iterator[GateItem]:
        """Yield one item a gate."""
        try:
            root = find_root(self.path, self.config.stash[evo_config_key].root)
            task = read_task(self.path, root)
        except TaskFormatError as error:
            raise self.CollectError(str(error)) from error
        for name in list_gates():
            gate: Gate = make_part("gates", name)
            yield GateItem.from_parent(self, name=f"gate[{name}]", gate=gate, task=task)


class GateItem(pytest.Function):
    """One gate of one task."""

    def __init__(self, *, gate: Gate, task: Task, **kwargs: Any) -> None:
        super().__init__(callobj=run_gate, **kwargs)
        self.gate = gate
        self.task = task
        facts = {"id": task.id, "category": task.category, "family": task.family}
        self.add_marker(
            pytest.mark.evo_task(**facts, grading=task.grading_type, mode="gate", runtime="")
        )
        if task.grading_type == "llm_judge":
            self.add_marker(pytest.mark.skip(reason="graded by a judge alone: no gate can tell"))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Locate the gate at its task's prompt."""
        return self.path, self.task.prompt_line - 1, f"{self.task.id}: {self.name}"


def list_gates() -> list[str]:
    """Return the names of all gates, ours in the order of a review."""
    names = list_parts("gates")
    return sorted(
        names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)
    )


def run_gate(request: pytest.FixtureRequest, evo_workspaces: Path) -> None:
    """Put the task through one gate; what ``GateItem`` calls."""
    item: GateItem = request.node
    try:
        finding = item.gate.inspect(_find_bench(item, evo_workspaces))
    except NotScored as error:
        if error.reason not in (Reason.GRADER, Reason.RUNTIME):
            raise
        finding = Finding(faults=(error.detail,))
    share = "" if not finding.tried else f"{finding.caught}/{finding.tried}"
    item.user_properties.append((PROPERTY, f"{item.task.id} {item.gate.name} {share}".strip()))
    if share:
        item.user_properties.append(("evo_mutants_caught", share))
    item.add_report_section("call", "gate", "\n".join(finding.remarks))
    if finding.faults:
        pytest.fail("\n".join(finding.faults), pytrace=False)


def _find_bench(item: GateItem, workspaces: Path) -> Workbench:
    """Return the bench that all gates of a task share in this process."""
    file = item.parent
    if file is None:
        raise LookupError(f"{item.nodeid}: no file above the item")
    if bench_key not in file.stash:
        # A judge costs money and may differ from time to time: the gates use the other part.
        task = replace(item.task, grading_type="automated", grading_weights=None)
        file.stash[bench_key] = Workbench(
            task=task,
            grader=item.config.hook.pytest_evo_make_grader(config=item.config, task=task),
            environment=make_part("environments", "local"),
            folder=Path(tempfile.mkdtemp(prefix="gate-", dir=workspaces)),
        )
    return file.stash[bench_key]


class GateReporter:
    """Shows all gates of a session in one table."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a gate's outcome from its report."""
        for name, value in report.user_properties:
            if name == PROPERTY and report.when == "call":
                task, gate, *share = str(value).split()
                words = "ok" if report.passed else "FAIL"
                self._rows.setdefault(task, {})[gate] = " ".join([*share, words])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a row per task; the column of the mutants says how many were caught."""
        from tabulate import tabulate

        if not self._rows:
            return
        terminalreporter.section("evo gates")
        gates = list_gates()
        rows = [
            [task, *(self._rows[task].get(gate, "-") for gate in gates)]
            for task in sorted(self._rows)
        ]
        for line in tabulate(rows, headers=["task", *gates], disable_numparse=True).splitlines():
            terminalreporter.write_line(line)
        words = (row.get("mutants", "") for row in self._rows.values())
        shares = [_read_share(each) for each in words if "/" in each]
        if shares:
            caught, tried = (sum(numbers) for numbers in zip(*shares, strict=True))
            found = f"{caught} of {tried} caught ({caught / tried:.4f})"
            terminalreporter.write_line(f"mutants: {found}, in {len(shares)} tasks")


def _read_share(words: str) -> tuple[int, int]:
    caught, _, tried = words.split()[0].partition("/")
    return int(caught), int(tried)
