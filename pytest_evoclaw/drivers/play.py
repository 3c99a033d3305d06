"""Play the steps of the ``scripted`` runtime in the current directory: ``play.py STEPS.json``."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def play(step: dict[str, Any]) -> None:
    """Play one step; its keys are described in ``runtimes/scripted.py``."""
    match step:
        case {"write": path}:
            data = base64.b64decode(step["base64"]) if "base64" in step else step["text"].encode()
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data)
        case {"sleep": seconds}:
            time.sleep(seconds)
        case {"spawn": argv}:
            subprocess.Popen(argv, start_new_session=step.get("detached", False))
        case {"call": argv}:
            subprocess.run(argv, check=True)
        case {"print": text}:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        case {"error": text}:
            sys.stderr.write(f"{text}\n")
        case {"python": code}:
            exec(code, {"__name__": "__main__"})  # noqa: S102 a script's code, in its own process
        case {"exit": code}:
            raise SystemExit(code)


if __name__ == "__main__":
    for each in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        play(each)
