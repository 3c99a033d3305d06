"""Run a program that an agent wrote, or one that works on it, apart from the grader."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.processes import TreeCommand
from pytest_evoclaw.processes import run_tree

OUTPUT_BYTES = 2_000_000
_KEPT = ("PATH", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program ended, and what it printed; ``exit_code`` is negative for a signal."""

    exit_code: int
    stdout: str
    stderr: str


def run_program(
    argv: tuple[str, ...],
    folder: Path,
    *,
    seconds: float,
    variables: Mapping[str, str] | None = None,
) -> Ran:
    """Run a program in ``folder`` to its end, and whatever it started with it.

    Its environment is PATH and a few variables more. CheckFailed if it takes longer than
    ``seconds`` or prints more than 2 MB.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    own = {"HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        end = run_tree(
            TreeCommand(
                argv=argv,
                variables={**kept, **own, **(variables or {})},
                cwd=folder,
                stdout=out,
                stderr=err,
                seconds=seconds,
                grace=0.5,
                output_bytes=OUTPUT_BYTES,
            )
        )
        if end.exit_code is None:
            limit = {"timeout": f"did not end within {seconds:g} s"}.get(
                str(end.limit), "printed too much"
            )
            raise CheckFailed(f"{Path(argv[-1]).name}: {limit}")
        stdout, stderr = (path.read_text(encoding="utf-8", errors="replace") for path in (out, err))
    return Ran(exit_code=end.exit_code, stdout=stdout, stderr=stderr)
