"""Play the steps of the ``scripted`` runtime in the current directory: ``play.py STEPS.json``."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write(step: dict[str, Any]) -> None:
    """Write a file, from text or base64."""
    data = base64.b64decode(step["base64"]) if "base64" in step else step["text"].encode()
    path = Path(step["write"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def spawn(step: dict[str, Any]) -> None:
    """Start a child and leave it alone."""
    subprocess.Popen(step["spawn"], start_new_session=step.get("detached", False))


def say(step: dict[str, Any]) -> None:
    """Print to stdout or stderr."""
    stream = sys.stdout if "print" in step else sys.stderr
    stream.write(f"{step.get('print', step.get('error'))}\n")
    stream.flush()


PLAYERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "write": write,
    "sleep": lambda step: time.sleep(step["sleep"]),
    "spawn": spawn,
    "call": lambda step: subprocess.run(step["call"], check=True),
    "print": say,
    "error": say,
    "python": lambda step: exec(step["python"], {"__name__": "__main__"}),  # noqa: S102 as scripted
    "exit": lambda step: sys.exit(step["exit"]),
}


def play(step: dict[str, Any]) -> None:
    """Play one step; the kinds are described in ``runtimes/scripted.py``."""
    (kind,) = set(step) & set(PLAYERS)
    PLAYERS[kind](step)


if __name__ == "__main__":
    for each in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        play(each)
