"""Write generated tasks and their fixtures: the official ones, or a variant for any seed."""

from __future__ import annotations

from pathlib import Path

from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.evidence.families import load_specs
from pytest_evoclaw.evidence.formats import render_case
from pytest_evoclaw.evidence.generator import generate_cases
from pytest_evoclaw.evidence.prompts import render_task

OFFICIAL_SEED = 20260524


def list_generated_tasks() -> tuple[str, ...]:
    """Return the ids of all generated tasks, in the order of their numbers."""
    return tuple(load_specs())


def build_fixtures(task_id: str, seed: int, folder: Path) -> tuple[str, ...]:
    """Write the case files of a task below ``folder``, as ``assets/<task>/case_01.…``.

    Returns their paths relative to ``folder``; these are the task's workspace files.
    """
    spec = load_spec(task_id)
    for name, planned in zip(spec.fixtures, generate_cases(spec, seed), strict=True):
        _write(folder / name, render_case(planned.case, spec.family.extension))
    return spec.fixtures


def build_suite(root: Path) -> tuple[str, ...]:
    """Write all generated tasks and their official fixtures below ``root``; return the paths."""
    written: list[str] = []
    for task_id, spec in load_specs().items():
        written += build_fixtures(task_id, OFFICIAL_SEED, root)
        written.append(f"tasks/{task_id}.md")
        _write(root / written[-1], render_task(spec))
    return tuple(written)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
