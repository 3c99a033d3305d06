"""Truth and reference solution of ``task_20_env_config``."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.compare import same
from pytest_evoclaw.grading.workspace import GradedWorkspace

FOLDER = "assets/env_config"
APPS = ("web-service", "worker-service", "ml-inference", "notification-service", "data-exporter")
ENVIRONMENTS = ("dev", "staging", "prod")

# The truth is kept as leaves by their paths; the solution below works on nested objects.
Leaves = dict[tuple[str, ...], Any]


def name_input(number: int) -> str:
    return f"{FOLDER}/app_{number:02}_{APPS[number - 1]}.json"


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    for number, app in enumerate(APPS, start=1):
        source = read_source(workspace.fixture(name_input(number)))
        changes = f"outputs/{app}/changes.json"
        due = {name: list_changes(source, name) for name in ENVIRONMENTS}
        for name in ENVIRONMENTS:
            output = f"outputs/{app}/config.{name}.yml"
            with check(f"config {name}", sub_problem=number):
                require_plain(workspace.text(output), output)
                require_same(workspace.yaml(output), nest(merge(source, name)), output)
        with check("changes", sub_problem=number):
            require_same(workspace.json(changes), due, changes)


def read_source(path: Path) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return source


def require_plain(text: str, name: str) -> None:
    """Raise AssertionError for anchors, aliases and tags."""
    for token in yaml.scan(text):
        kind = type(token).__name__.removesuffix("Token").lower()
        assert kind not in ("anchor", "alias", "tag"), f"{name}: has {kind}s, which are not allowed"


def merge(source: dict[str, Any], name: str) -> Leaves:
    """Return the leaves that are due for one environment."""
    leaves = flatten(source["base_config"])
    inherited = source["inherits"].get(name)
    for layer in filter(None, (inherited, name)):
        for path, value in source["environment_overrides"][layer].items():
            leaves = override(leaves, tuple(path.removesuffix("+").split(".")), value, path[-1])
    table = {k: v[name] if isinstance(v, dict) else v for k, v in source["variables"].items()}
    return {path: fill(value, table) for path, value in leaves.items()}


def flatten(value: Any, path: tuple[str, ...] = ()) -> Leaves:
    if not isinstance(value, dict):
        return {path: value}
    return {p: v for key, part in value.items() for p, v in flatten(part, (*path, key)).items()}


def override(leaves: Leaves, path: tuple[str, ...], value: Any, last: str) -> Leaves:
    if last == "+":
        present = leaves.get(path, [])
        return {**leaves, path: [*present, *(each for each in value if each not in present)]}
    others = {p: v for p, v in leaves.items() if p[: len(path)] != path and path[: len(p)] != p}
    return others if value is None else {**others, **flatten(value, path)}


def fill(value: Any, table: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [fill(each, table) for each in value]
    if isinstance(value, dict):
        return {key: fill(each, table) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    if whole := re.fullmatch(r"\$\{(\w+)\}", value):
        return table[whole[1]]
    pieces = re.split(r"(\$?\$\{\w+\})", value)
    return "".join(
        piece[1:] if piece.startswith("$$") else str(table[piece[2:-1]]) if number % 2 else piece
        for number, piece in enumerate(pieces)
    )


def nest(leaves: Leaves) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in leaves.items():
        folder = tree
        for part in path[:-1]:
            folder = folder.setdefault(part, {})
        folder[path[-1]] = value
    return tree


def list_changes(source: dict[str, Any], name: str) -> dict[str, list[str]]:
    unchanged = {**source, "environment_overrides": {each: {} for each in ENVIRONMENTS}}
    before, after = merge(unchanged, name), merge(source, name)
    both = before.keys() & after.keys()
    found = {
        "added": after.keys() - both,
        "changed": {path for path in both if not same(after[path], before[path])},
        "removed": before.keys() - both,
    }
    return {key: sorted(".".join(path) for path in paths) for key, paths in found.items()}


def solve(workspace: GradedWorkspace) -> None:
    for number, app in enumerate(APPS, start=1):
        source = json.loads((workspace / name_input(number)).read_text(encoding="utf-8"))
        folder = workspace / "outputs" / app
        folder.mkdir(parents=True, exist_ok=True)
        report = {}
        for name in ENVIRONMENTS:
            variables = {
                key: value.get(name) if isinstance(value, dict) else value
                for key, value in source["variables"].items()
            }
            base = resolve(source["base_config"], variables)
            config = copy.deepcopy(source["base_config"])
            for layer in [source["inherits"].get(name), name]:
                for path, value in source["environment_overrides"].get(layer, {}).items():
                    apply(config, path, value)
            config = resolve(config, variables)
            text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
            (folder / f"config.{name}.yml").write_text(text, encoding="utf-8")
            report[name] = compare(dict(walk(base)), dict(walk(config)))
        text = json.dumps(report, indent=2)
        (folder / "changes.json").write_text(text + "\n", encoding="utf-8")


def apply(config: dict[str, Any], path: str, value: Any) -> None:
    *above, last = path.rstrip("+").split(".")
    trail = [config]
    for part in above:
        if value is None and part not in trail[-1]:
            return
        trail.append(trail[-1].setdefault(part, {}))
    target = trail[-1]
    if path.endswith("+"):
        items = target.setdefault(last, [])
        items.extend(item for item in value if item not in list(items))
    elif value is not None:
        target[last] = value
    else:
        target.pop(last, None)
        for folder, part in zip(reversed(trail[:-1]), reversed(above), strict=True):
            if not folder[part]:
                del folder[part]


def resolve(value: Any, variables: dict[str, Any]) -> Any:
    match value:
        case dict():
            return {key: resolve(part, variables) for key, part in value.items()}
        case list():
            return [resolve(part, variables) for part in value]
        case str():
            for name, known in variables.items():
                if value == "${" + name + "}":
                    return known
                value = value.replace("$${" + name + "}", "\0" + name + "\0")
                value = value.replace("${" + name + "}", str(known))
                value = value.replace("\0" + name + "\0", "${" + name + "}")
    return value


def walk(config: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from walk(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def compare(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[str]]:
    changed = [k for k in after if k in before and repr(after[k]) != repr(before[k])]
    return {
        "added": sorted(set(after) - set(before)),
        "changed": sorted(changed),
        "removed": sorted(set(before) - set(after)),
    }
