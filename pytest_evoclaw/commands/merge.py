"""Merge sessions that are shards of one suite into a new session.

Journals and artifacts are put together and the metrics computed anew. Sessions of different
settings are refused, unless --mixed is given: metrics.json then warns of them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from argparse import Namespace
from pathlib import Path


def add_arguments(parser: ArgumentParser) -> None:
    """Take the sessions and the new folder."""
    parser.add_argument("sessions", type=Path, nargs="+", help="Folders of the sessions")
    parser.add_argument(
        "--into", type=Path, required=True, metavar="DIR", help="Folder of the new session"
    )
    parser.add_argument(
        "--mixed", action="store_true", help="Merge though settings differ, with a warning"
    )


def run(arguments: Namespace) -> int:
    """Merge, and say where the result is."""
    from pytest_evoclaw.merging import merge_sessions
    from pytest_evoclaw.stored import read_session

    shards = [read_session(folder) for folder in arguments.sessions]
    merge_sessions(shards, arguments.into, mixed=arguments.mixed)
    count = sum(len(shard.results) for shard in shards)
    sys.stdout.write(f"merged {len(shards)} sessions, {count} trials: {arguments.into}\n")
    return 0
