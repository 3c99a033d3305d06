"""Import a suite's own modules, such as its graders, whatever else is installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def import_below(root: Path, file: Path) -> ModuleType:
    """Import ``file`` by its dotted name below ``root``: ``graders/a.py`` is ``graders.a``.

    ``root`` comes first on ``sys.path``, so that graders can import each other. For the process
    of one task only: it changes ``sys.path`` and ``sys.modules``.
    """
    parts = file.relative_to(root).with_suffix("").parts
    if str(root) not in sys.path[:1]:
        sys.path.insert(0, str(root))
    folder = root
    for number, part in enumerate(parts[:-1], start=1):
        folder /= part
        if not (folder / "__init__.py").is_file():
            # A namespace package loses to any regular package of that name on the path.
            package = ModuleType(".".join(parts[:number]))
            package.__path__ = [str(folder)]
            sys.modules[package.__name__] = package
    return import_module(".".join(parts))
