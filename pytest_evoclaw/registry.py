"""Find a part by the value of its option: a built-in file of that name, or an entry point."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any

from pytest_evoclaw.errors import SettingsError


def list_parts(family: str) -> list[str]:
    """Return the names of a family (``runtimes``, ``environments``, ``modes``), sorted.

    Nothing is imported: the names are those of the files and of the entry points in the group
    ``pytest_evoclaw.<family>``.
    """
    package = import_module(f"pytest_evoclaw.{family}")
    built_in = {module.name for module in iter_modules(package.__path__)}
    outside = {point.name for point in entry_points(group=f"pytest_evoclaw.{family}")}
    return sorted(built_in | outside)


def make_part(family: str, name: str, *settings: Any) -> Any:
    """Call ``create(*settings)`` of the part called ``name``; raise SettingsError if unknown."""
    module_name = name.replace("-", "_")
    names = list_parts(family)
    for point in entry_points(group=f"pytest_evoclaw.{family}"):
        if point.name == name:
            return point.load()(*settings)
    if module_name not in names:
        close = get_close_matches(module_name, names, n=1)
        hint = f"; did you mean {show_name(close[0])!r}?" if close else ""
        allowed = ", ".join(show_name(each) for each in names)
        raise SettingsError(f"found {name!r}, allowed {allowed}{hint}")
    return import_module(f"pytest_evoclaw.{family}.{module_name}").create(*settings)


def show_name(module_name: str) -> str:
    """Return the option's value for a file's name: ``claude_code`` is ``claude-code``."""
    return module_name.replace("_", "-")
