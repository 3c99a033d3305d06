"""Tell how far the judges of two sessions agree on the same outputs.

A and B are folders of sessions, such as a session and the one that evoclaw regrade made of it with
another judge. The report is Markdown on standard output.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("a", type=Path, metavar="A", help="Folder of a session")
    parser.add_argument("b", type=Path, metavar="B", help="Folder of another session")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write the numbers as JSON, too")


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print the report."""
    from pytest_evoclaw.agreement import compare_judges
    from pytest_evoclaw.agreement_report import format_comparison
    from pytest_evoclaw.errors import SettingsError
    from pytest_evoclaw.metrics import write_json
    from pytest_evoclaw.stored_sessions import read_session

    found = compare_judges(read_session(arguments.a), read_session(arguments.b))
    if not found.scores.pairs:
        raise SettingsError("found no trial that a judge had a part in and both sessions scored")
    if arguments.json is not None:
        write_json(arguments.json, found.to_dict())
    sys.stdout.write(format_comparison(found))
    return 0
