"""Run a file of tests on versions of the module under test; a program of its own.

``python -I task_04_test_generation_probe.py order.json`` prints JSON as its last line: the cases
that passed on the first version, and for each version the cases that failed (at least the first).
Pytest starts once, because starting it for each version takes too long.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUIET = ("terminal", "cacheprovider", "faulthandler", "unraisableexception", "junitxml")
OPTIONS = ("--assert=plain", "-c", os.devnull, *(f"-pno:{each}" for each in QUIET))


class Versions:
    """A plugin that runs each case on each version, until one case has failed on it."""

    def __init__(self, sources: list[str]) -> None:
        self.modules = [load(source) for source in sources]
        self.passed: list[str] = []
        self.failed: list[list[str]] = [[] for _ in sources]
        self.current = 0

    def dispatch(self, name: str) -> Callable[..., Any]:
        """Return a function that calls that of the current version."""

        @functools.wraps(getattr(self.modules[0], name))
        def call(*args: Any, **options: Any) -> Any:
            return getattr(self.modules[self.current], name)(*args, **options)

        del call.__wrapped__
        return call

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        metafunc.fixturenames.append("evo_version")
        metafunc.parametrize("evo_version", range(len(self.modules)), scope="session")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        self.current = item.callspec.params["evo_version"] if hasattr(item, "callspec") else 0
        if self.failed[0] or self.failed[self.current]:
            pytest.skip("it is known already")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed[self.current].append(report.nodeid)
        elif report.when == "call" and report.passed and self.current == 0:
            self.passed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed[0].append(report.nodeid or "collection")


def load(source: str) -> types.ModuleType:
    module = types.ModuleType("version")
    exec(compile(source, "version.py", "exec"), module.__dict__)  # noqa: S102 - the task's own code
    return module


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    versions = Versions(order["versions"])
    module = types.ModuleType(order["module"])
    for name in order["functions"]:
        setattr(module, name, versions.dispatch(name))
    sys.modules[order["module"]] = module
    folder = Path(sys.argv[1]).parent / "empty"
    folder.mkdir()
    (folder / "test_it.py").write_text(order["tests"], encoding="utf-8", newline="")
    os.chdir(folder)
    pytest.main([*OPTIONS, f"--rootdir={folder}", "test_it.py"], plugins=[versions])
    print("\n" + json.dumps({"passed": versions.passed, "failed": versions.failed}))  # noqa: T201


if __name__ == "__main__":
    main()
