"""The generated families: their facts, words and prompts, read from ``families/*.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pytest_evoclaw.errors import SettingsError

FOLDER = Path(__file__).with_name("families")
# The same values from C, ten times as fast, where libyaml is there.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the tasks of a family share. ``prompt`` and ``case`` are texts with ``{places}``."""

    name: str
    category: str
    skill_category: str
    extension: str
    packet_prefix: str
    sources: Sequence[str]
    prompt: str
    expected: str
    case: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """One generated task.

    ``fields`` maps a channel to the field of the report, ``meanings`` a field to its description.
    ``values`` maps a channel to its vocabulary: words, one pattern with ``#`` for digits, or for
    a number the smallest and largest size in whole units.
    """

    task_id: str
    name: str
    intro: str
    titles: Sequence[str]
    fields: Mapping[str, str]
    meanings: Mapping[str, str]
    values: Mapping[str, Sequence[str | int]]
    family: Family

    @property
    def fixtures(self) -> tuple[str, ...]:
        """The paths of the case files, relative to the root of the suite."""
        extension = self.family.extension
        return tuple(f"assets/{self.task_id}/case_{n:02}.{extension}" for n in range(1, 6))


@cache
def load_spec(task_id: str) -> TaskSpec:
    """Return the spec of a generated task; SettingsError if there is none.

    Reads its family alone: graders start in a fresh process each time.
    """
    for path in sorted(FOLDER.glob("*.yaml")):
        if f"\n  {task_id}:\n" in path.read_text(encoding="utf-8"):
            return next(spec for spec in _read_family(path) if spec.task_id == task_id)
    count = len(load_specs())
    raise SettingsError(f"task: found {task_id!r}, allowed one of {count} generated tasks")


@cache
def load_specs() -> Mapping[str, TaskSpec]:
    """Return all generated tasks by id, in the order of their numbers."""
    specs = [spec for path in sorted(FOLDER.glob("*.yaml")) for spec in _read_family(path)]
    return {
        spec.task_id: spec for spec in sorted(specs, key=lambda s: int(s.task_id.split("_")[1]))
    }


def _read_family(path: Path) -> list[TaskSpec]:
    data: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    tasks = data.pop("tasks")
    fields = {channel: field for field, channel in data.pop("fields").items()}
    family = Family(**data)
    return [
        TaskSpec(task_id=task_id, fields=fields, family=family, **_read_task(task))
        for task_id, task in tasks.items()
    ]


def _read_task(task: dict[str, Any]) -> dict[str, Any]:
    values = {
        channel: tuple(words) if isinstance(words, list) else (words,)
        for channel, words in task["values"].items()
    }
    return {
        "name": task["name"],
        "intro": task["intro"].strip(),
        "titles": tuple(task["cases"]),
        "meanings": task["fields"],
        "values": values,
    }
