from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.environments.local import create
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.stops import Stop


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    names = ("workspace", "home", "state", "tmp", "logs")
    for name in names:
        (tmp_path / name).mkdir()
    return Folders(**{name: tmp_path / name for name in names})


def start(folders: Folders, *argv: str, **options) -> Command:
    defaults: dict[str, Any] = {"variables": {}, "seconds": 20}
    return Command(argv=argv, folders=folders, **(defaults | options))


def read_variables(folders: Folders) -> dict[str, str]:
    text = (folders.logs / "stdout.txt").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.split("\0") if line)


def test_name_is_the_files():
    assert create().name == "local"


def test_check_says_that_the_file_system_is_not_hidden():
    assert "does not hide the file system" in create().check()


def test_paths_are_seen_as_they_are(folders):
    path = folders.workspace / "outputs" / "a.txt"
    assert create().seen(path, folders) == str(path)


def test_agent_works_in_the_workspace_and_its_streams_become_logs(folders):
    end = create().run(start(folders, "sh", "-c", "pwd; echo trouble >&2; echo 1 >made; exit 7"))
    assert (end.exit_code, end.limit, end.survivors) == (7, None, 0)
    stdout, stderr = (folders.logs / name for name in ("stdout.txt", "stderr.txt"))
    assert stdout.read_text(encoding="utf-8") == f"{folders.workspace}\n"
    assert stderr.read_text(encoding="utf-8") == "trouble\n"
    assert (folders.workspace / "made").is_file()


def test_agent_gets_a_minimum_of_variables_and_nothing_of_the_callers_but_path(
    folders, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    create().run(start(folders, "env", "-0"))
    home = str(folders.home)
    assert read_variables(folders) == {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "TMPDIR": str(folders.tmp),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
    }


def test_variables_of_the_command_come_on_top(folders):
    create().run(start(folders, "env", "-0", variables={"TZ": "Asia/Tokyo", "EXTRA": "1"}))
    variables = read_variables(folders)
    assert (variables["TZ"], variables["EXTRA"]) == ("Asia/Tokyo", "1")
    assert variables["HOME"] == str(folders.home)


def test_prompt_reaches_the_agent_byte_for_byte(folders):
    prompt = 'Say "it\'s" $(id) `id` $HOME\n\n\ttwice — ä\\'
    create().run(start(folders, "printf", "%s", prompt))
    assert (folders.logs / "stdout.txt").read_bytes() == prompt.encode()


def test_time_limit_is_named(folders):
    end = create().run(start(folders, "sleep", "60", seconds=0.3))
    assert (end.exit_code, end.limit) == (None, "timeout")
    assert 0.3 <= end.seconds < 3


def test_output_limit_is_named(folders):
    end = create().run(start(folders, "yes", output_bytes=2000))
    assert (end.exit_code, end.limit) == (None, "output")
    assert (folders.logs / "stdout.txt").stat().st_size == 2000


def test_what_the_agent_leaves_behind_is_counted_and_ended(folders):
    late = folders.workspace / "late"
    end = create().run(start(folders, "sh", "-c", "setsid sh -c 'sleep 0.8; echo >late' & exit 0"))
    assert (end.exit_code, end.survivors) == (0, 1)
    end = create().run(start(folders, "sleep", "1"))
    assert not late.exists()


def test_missing_program_is_not_scored(folders):
    with pytest.raises(NotScored, match="no-such-agent") as caught:
        create().run(start(folders, "no-such-agent"))
    assert caught.value.reason is Reason.ENVIRONMENT


def test_a_stop_from_another_thread_ends_everything_and_names_its_limit(folders):
    stop = Stop()
    threading.Timer(0.5, stop.set, args=("turns",)).start()
    end = create().run(start(folders, "sh", "-c", "setsid sleep 61 & sleep 60", stop=stop))
    assert (end.exit_code, end.limit) == (None, "turns")
    assert 0.3 < end.seconds < 5


def test_a_stopped_agent_has_time_to_write_what_it_knows(folders):
    stop = Stop()
    threading.Timer(0.5, stop.set, args=("tokens",)).start()
    last = "trap 'sleep 0.6; echo >written; exit 0' TERM; sleep 60 & wait"
    end = create().run(start(folders, "sh", "-c", last, stop=stop))
    assert end.limit == "tokens"
    assert (folders.workspace / "written").is_file()


def test_an_agent_that_ends_by_itself_is_not_stopped(folders):
    end = create().run(start(folders, "true", stop=Stop()))
    assert (end.exit_code, end.limit) == (0, None)


def test_a_stop_before_the_start_ends_the_agent_too(folders):
    stop = Stop()
    stop.set("turns")
    end = create().run(start(folders, "sleep", "60", stop=stop))
    assert (end.exit_code, end.limit) == (None, "turns")
    assert end.seconds < 3
