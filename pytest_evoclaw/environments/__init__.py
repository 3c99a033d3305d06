"""Where an agent's process runs: the file name is the value of ``--evo-environment``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_evoclaw.stops import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of one phase, all its own, outside the project; host paths."""

    workspace: Path  # the agent's working directory
    home: Path  # HOME
    state: Path  # private files of the runtime: config, sessions; never read by graders
    tmp: Path  # TMPDIR
    logs: Path  # stdout.txt, stderr.txt; not for the agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to run: no shell, nothing inherited.

    ``argv`` and ``variables`` hold paths as the agent sees them (:meth:`Environment.seen`).
    ``variables`` come on top of the environment's own minimum. ``seconds`` is the time limit,
    ``output_bytes`` the limit for each of stdout and stderr. ``read_only`` lists host paths
    (programs, configuration) that the process must be able to read besides its folders.
    ``stop`` ends it for a limit that others watch.
    """

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    folders: Folders
    seconds: float
    output_bytes: int = 10_000_000
    read_only: tuple[Path, ...] = ()
    stop: Stop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: everything that it started is gone.

    ``exit_code`` is negative for a signal, None if the process was ended by a limit. ``limit`` is
    ``timeout``, ``output`` or the one that :class:`Stop` names then. ``survivors`` counts processes
    that outlived the first one.
    """

    exit_code: int | None
    seconds: float
    limit: str | None = None
    survivors: int = 0


class Environment(Protocol):
    """Starts a command with a time limit, and ends everything that it started."""

    name: str

    def check(self) -> str:
        """Return a description for header and results; raise SettingsError if unusable here."""

    def seen(self, path: Path, folders: Folders) -> str:
        """Return ``path`` (inside ``folders``) as the agent's process sees it."""

    def run(self, command: Command) -> Ended:
        """Run to the end; stdout and stderr go to ``folders.logs``. NotScored if it cannot start.

        Blocks without using CPU; ends the process tree also when interrupted (KeyboardInterrupt).
        """
