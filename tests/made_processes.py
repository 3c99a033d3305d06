"""Commands for the tests of processes, and a look at what is left of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from pytest_evoclaw.processes import TreeCommand
from pytest_evoclaw.processes import TreeEnd
from pytest_evoclaw.processes import run_tree

# Each writes its pid into the folder `pids` and would live for a minute.
SLEEPER = (
    "import os, pathlib, time\npathlib.Path('pids', str(os.getpid())).touch()\ntime.sleep(60)\n"
)
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPER
NEW_SESSION = "import os\nos.setsid()\n" + SLEEPER
NEW_GROUP = "import os\nos.setpgid(0, 0)\n" + SLEEPER
DAEMON = (
    "import os\nif os.fork():\n    os._exit(0)\nos.setsid()\nif os.fork():\n    os._exit(0)\n"
    "for number in range(3):\n    os.close(number)\n" + SLEEPER
)
STOPPED = SLEEPER.replace("time.sleep(60)", "os.kill(os.getpid(), 19)")
# Each process forks a successor and exits: its pid is old by the time that it is seen.
HOPPER = (
    "import os, pathlib\npathlib.Path('pids', str(os.getpid())).touch()\n"
    "while True:\n    if os.fork():\n        os._exit(0)\n"
)
# At most 2 ** 6 processes, which all go on replacing themselves by grandchildren in new sessions.
STORM = (
    "import os, pathlib, time\nfor _ in range(6):\n    os.fork()\n"
    "pathlib.Path('pids', str(os.getpid())).touch()\n"
    "while True:\n    if os.fork():\n        os._exit(0)\n    os.setsid()\n    time.sleep(0.002)\n"
)
# Starts sys.argv[1] in the background, waits until it has written its pid, and exits with 5.
PARENT = (
    "import pathlib, subprocess, sys, time\n"
    "subprocess.Popen([sys.executable, '-S', '-c', sys.argv[1]])\n"
    "while not any(pathlib.Path('pids').iterdir()):\n    time.sleep(0.01)\n"
)


def run(folder: Path, *argv: str, **options) -> TreeEnd:
    return run_tree(command(folder, *argv, **options))


def command(folder: Path, *argv: str, **options) -> TreeCommand:
    defaults: dict[str, Any] = {
        "variables": {"PATH": os.environ["PATH"]},
        "cwd": folder,
        "stdout": folder / "stdout.txt",
        "stderr": folder / "stderr.txt",
        "seconds": 30,
    }
    return TreeCommand(argv=argv, **(defaults | options))


def run_python(folder: Path, code: str, *arguments: str, **options) -> TreeEnd:
    return run(folder, sys.executable, "-S", "-c", code, *arguments, **options)


def living(folder: Path) -> list[int]:
    """Return what lives of ``folder``: by the pids that were written, and by working directory."""
    found = {int(path.name) for path in (folder / "pids").iterdir()}
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder):
                found.add(process.pid)
        except psutil.Error:
            continue
    return [pid for pid in found if is_living(pid)]


def is_living(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def read(folder: Path, name: str = "stdout.txt") -> str:
    return (folder / name).read_text(encoding="utf-8")
