"""What crosses to the process that grades, and back: JSON on a socket, values on both sides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_evoclaw.grading import GradingJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One grading. ``form`` is the file in this package whose ``perform(order, folder)`` does it.

    Paths are absolute. ``source`` is the grader's file; ``code`` with the ``line`` where it begins
    there is set for a grader that is only a part of it. ``fixtures`` leads from each input's place
    in the workspace to its original, ``contents`` to its text if the task file holds it.
    """

    form: str
    source: str
    code: str = ""
    line: int = 1
    root: str
    workspace: str
    task_id: str
    sub_problems: int
    fixtures: Mapping[str, str]
    contents: Mapping[str, str]
    transcript: Sequence[dict[str, Any]]
    seconds: float
    memory_bytes: int
    output_bytes: int

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes | bytearray) -> Order:
        """Read what :meth:`to_json` wrote."""
        return cls(**json.loads(text))

    @property
    def place(self) -> str:
        """The grader's file as people know it: relative to the suite's root if it is in there."""
        path = Path(self.source)
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How a grading ended: the checks' fields, or the fault in words, or neither if it was cut off.

    ``exit_code`` is negative for a signal, None after a ``limit``: ``timeout``, ``answer`` or
    ``output`` (too large), ``stop`` (from our side). ``output`` is the end of what was printed.
    """

    checks: Sequence[dict[str, Any]] | None = None
    fault: str = ""
    exit_code: int | None = None
    limit: str | None = None
    output: str = ""

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes | bytearray) -> Reply:
        """Read what :meth:`to_json` wrote."""
        return cls(**json.loads(text))


def write_order(job: GradingJob, form: str, source: Path, code: str = "", line: int = 1) -> Order:
    """Return the order for a job."""
    task = job.task
    files = task.workspace_files
    return Order(
        form=form,
        source=str(source.absolute()),
        code=code,
        line=line,
        root=str(task.root.absolute()),
        workspace=str(job.workspace.absolute()),
        task_id=task.id,
        sub_problems=len(task.sub_problems),
        fixtures={f.dest: str(f.source.absolute()) for f in files if f.source is not None},
        contents={f.dest: f.content for f in files if f.content is not None},
        transcript=list(job.transcript.to_events()),
        seconds=job.seconds,
        memory_bytes=job.memory_bytes,
        output_bytes=job.output_bytes,
    )
