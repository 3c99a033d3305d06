"""The program ``evoclaw``: each of its commands is a file in ``commands/``.

``commands/judge_agreement.py`` is ``evoclaw judge-agreement``. Such a file has a docstring, which
is the command's help, ``add_arguments(parser)`` and ``run(arguments) -> int``, the exit code. What
is slow to import is imported in ``run``: all files are read for ``evoclaw --help``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from pytest_evoclaw import __version__
from pytest_evoclaw import commands
from pytest_evoclaw.errors import EvoclawError

USAGE_ERROR = 2  # as argparse does


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line, ``sys.argv`` by default; return the exit code."""
    chosen = build_parser().parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except (EvoclawError, OSError) as error:
        sys.stderr.write(f"evoclaw {chosen.command}: {error}\n")
        return USAGE_ERROR
    return code


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="evoclaw", description="Work with the results of pytest-evoclaw's sessions."
    )
    parser.add_argument("--version", action="version", version=f"evoclaw {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in list_commands():
        module = import_module(f"pytest_evoclaw.commands.{name}")
        words = (module.__doc__ or "").strip()
        command = subparsers.add_parser(
            name.replace("_", "-"),
            help=words.partition("\n")[0],
            description=words,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def list_commands() -> list[str]:
    """Return the names of the files in ``commands/``, sorted."""
    return sorted(module.name for module in iter_modules(commands.__path__))
