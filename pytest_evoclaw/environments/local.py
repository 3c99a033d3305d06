"""``local``: the agent is an ordinary process of this user, on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_evoclaw import processes
from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.environments import Folders


class Local:
    """No isolation but private folders and variables: the file system is there for the agent."""

    name = "local"

    def check(self) -> str:
        """Say what is not hidden here."""
        return f"local: ends {processes.describe()}; does not hide the file system or the network"

    def seen(self, path: Path, folders: Folders) -> str:
        """Return the path itself."""
        return str(path)

    def run(self, command: Command) -> Ended:
        """Run to the end, in the workspace."""
        folders = command.folders
        end = processes.run_tree(
            processes.TreeCommand(
                argv=command.argv,
                variables={**build_variables(folders), **command.variables},
                cwd=folders.workspace,
                stdout=folders.logs / "stdout.txt",
                stderr=folders.logs / "stderr.txt",
                seconds=command.seconds,
                output_bytes=command.output_bytes,
                stop=command.stop,
            )
        )
        return Ended(
            exit_code=end.exit_code,
            seconds=end.seconds,
            limit=end.limit,
            survivors=end.survivors,
        )


def build_variables(folders: Folders) -> dict[str, str]:
    """Return the least that programs need; nothing of the caller's but PATH.

    ``XDG_*`` would lead out of HOME where a login sets them, so they are set too.
    """
    home = folders.home
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(folders.tmp),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
    }
    if sys.platform == "win32":
        variables["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        variables["TEMP"] = variables["TMP"] = str(folders.tmp)
    return variables


def create() -> Environment:
    """Return the environment for ``--evo-environment=local``."""
    return Local()
