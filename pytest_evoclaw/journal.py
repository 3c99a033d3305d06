"""``trials.jsonl``: one line for each finished trial, written the moment it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pytest_evoclaw.results import TrialResult


def append_result(path: Path, result: TrialResult) -> None:
    """Append one trial so that neither a kill nor a power cut loses it."""
    line = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def read_journal(path: Path) -> list[TrialResult]:
    """Read a journal back; a last line that a kill has torn is left out.

    Any other damage raises ValueError with the file and the line.
    """
    results = []
    lines = path.read_bytes().split(b"\n")
    *whole, torn = lines  # what follows the last newline was never finished
    del torn
    for number, line in enumerate(whole, start=1):
        try:
            results.append(TrialResult.from_dict(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: no trial result: {error}") from error
    return results
