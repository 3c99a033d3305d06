"""Compute a study of a stored session, and write it beside the session's results.

Writes study-NAME.md and study-NAME.json into the session's folder, and prints the former.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from argparse import Namespace
from pathlib import Path

from pytest_evoclaw.registry import list_parts


def add_arguments(parser: ArgumentParser) -> None:
    """Take the study's name and the session."""
    parser.add_argument("study", choices=list_parts("studies"), metavar="NAME")
    parser.add_argument("session", type=Path, help="Folder of a session: evo-results/…")
    parser.epilog = f"Studies: {', '.join(list_parts('studies'))}."


def run(arguments: Namespace) -> int:
    """Compute, write and print."""
    from pytest_evoclaw.metrics import write_json
    from pytest_evoclaw.registry import make_part
    from pytest_evoclaw.stored import read_session
    from pytest_evoclaw.studies import Study

    session = read_session(arguments.session)
    study: Study = make_part("studies", arguments.study)
    data = {
        "schema_version": 1,
        "study": arguments.study,
        "run_id": session.facts.run_id,
        **study.compute(session),
    }
    words = f"# {study.title}: session {session.facts.run_id}\n\n{study.describe(data)}"
    text = words.rstrip("\n") + "\n"
    path = session.folder / f"study-{arguments.study}.md"
    write_json(path.with_suffix(".json"), data)
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    sys.stdout.write(f"\nwritten: {path} and {path.with_suffix('.json').name}\n")
    return 0
