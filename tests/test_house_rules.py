"""The rules of docs/explanation/architecture.md that no linter checks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_evoclaw.options import OPTIONS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pytest_evoclaw"
MODULES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "graders").glob("*.py")])
FAMILIES = ("runtimes", "modes", "environments", "gates")
# Which of our packages and modules a layer may not import: whatever lies above it.
PYTEST_LAYER = {
    "plugin",
    "options",
    "session",
    "judging",
    "collector",
    "gating",
    "fixtures",
    "reporting",
    "hookspecs",
}


def list_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return {name for name in found if name}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_has_at_most_300_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("family", FAMILIES)
def test_members_of_a_family_do_not_import_each_other(family):
    members = {path.stem for path in (PACKAGE / family).glob("*.py")} - {"__init__"}
    for path in (PACKAGE / family).glob("*.py"):
        siblings = {f"pytest_evoclaw.{family}.{name}" for name in members}
        assert not list_imports(path) & siblings, path


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_below_imports_the_pytest_layer(path):
    if path.parent == PACKAGE and path.stem in PYTEST_LAYER:
        pytest.skip("is the pytest layer")
    assert not list_imports(path) & {f"pytest_evoclaw.{name}" for name in PYTEST_LAYER}


def test_modes_know_neither_runtimes_nor_environments_nor_paths():
    for path in (PACKAGE / "modes").glob("*.py"):
        imports = list_imports(path)
        assert not any("runtimes" in name or "environments" in name for name in imports), path
        assert "pathlib" not in imports, path


def test_every_option_is_in_the_reference():
    text = (ROOT / "docs/reference/options.md").read_text(encoding="utf-8")
    missing = [name for name, *_ in OPTIONS if f"`--evo-{name}`" not in text]
    assert not missing
