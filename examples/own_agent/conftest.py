"""An agent of your own: a shell script that is given the prompt as a file."""

from __future__ import annotations

from pathlib import Path

from pytest_evoclaw.environments import Ended
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.transcript import EMPTY

AGENT = Path(__file__).with_name("agent.sh")


class Shell:
    name = "shell"
    uses_model = False
    own_files: tuple[str, ...] = ()
    skill_folders: tuple[str, ...] = ()

    def check(self) -> str:
        return "1"

    def prepare(self, assignment: Assignment) -> Launch:
        prompt = assignment.folders.state / "prompt.txt"
        prompt.write_text(assignment.prompt, encoding="utf-8")
        return Launch(argv=("sh", str(AGENT), assignment.seen(prompt)), read_only=(AGENT,))

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        return Account(transcript=EMPTY)


def pytest_evo_make_runtime(name: str) -> Runtime | None:
    return Shell() if name == "shell" else None
