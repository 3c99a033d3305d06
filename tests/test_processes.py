from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pytest_evoclaw import processes
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.logs import open_log
from pytest_evoclaw.processes import TreeEnd
from tests.made_processes import DEAF
from tests.made_processes import SLEEPER
from tests.made_processes import command
from tests.made_processes import living
from tests.made_processes import read
from tests.made_processes import run
from tests.made_processes import run_python
from tests.made_processes import wait_until

linux_only = pytest.mark.skipif(
    not processes.ENDS_WHOLE_TREES, reason="elsewhere only process groups are ended"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pids").mkdir()
    return tmp_path


# How a command ends


@pytest.mark.parametrize("code", [0, 1, 3, 127, 255])
def test_exit_code_is_the_commands_own(folder, code):
    end = run(folder, "sh", "-c", f"exit {code}")
    assert (end.exit_code, end.limit, end.survivors) == (code, None, 0)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGPIPE", "SIGSEGV"])
def test_death_by_a_signal_is_a_negative_exit_code(folder, name):
    number = getattr(signal, name)
    assert run(folder, "sh", "-c", f"kill -{int(number)} $$").exit_code == -number


def test_streams_go_to_their_files(folder):
    run(folder, "sh", "-c", "echo out; echo err >&2")
    assert (read(folder), read(folder, "stderr.txt")) == ("out\n", "err\n")


def test_both_streams_may_go_to_one_file(folder):
    both = folder / "both.txt"
    run(folder, "sh", "-c", "echo 1; echo 2 >&2; echo 3", stdout=both, stderr=both)
    assert read(folder, "both.txt") == "1\n2\n3\n"


def test_files_of_an_earlier_command_are_written_anew(folder):
    run(folder, "echo", "a long first line")
    run(folder, "echo", "short")
    assert read(folder) == "short\n"


def test_stdin_is_empty(folder):
    assert run(folder, "sh", "-c", "cat; readlink /proc/self/fd/0").exit_code == 0
    assert read(folder) == "/dev/null\n"


def test_command_starts_in_its_folder(folder):
    (folder / "a b").mkdir()
    run(folder, "pwd", cwd=folder / "a b")
    assert read(folder) == f"{folder}/a b\n"


def test_environment_is_what_was_given_and_nothing_else(folder):
    variables = {"PATH": os.environ["PATH"], "EMPTY": "", "TEXT": "ä = $HOME\n'\"", "_x": "1"}
    run(folder, "env", "-0", variables=variables)
    assert sorted(read(folder).split("\0")[:-1]) == sorted(f"{k}={v}" for k, v in variables.items())


@linux_only
def test_parent_shows_the_command_neither_environment_nor_folder(folder, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    run(folder, "sh", "-c", "tr '\\0' '\\n' </proc/$PPID/environ; readlink /proc/$PPID/cwd")
    assert [line for line in read(folder).splitlines() if not line.startswith("LD_")] == ["/"]


@linux_only
def test_command_gets_no_open_file_but_its_streams(folder):
    with (folder / "open.txt").open("w", encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)  # noqa: FBT003
        run(folder, "sh", "-c", "ls /proc/$$/fd")
    assert read(folder).split() == ["0", "1", "2"]


@linux_only
def test_signals_have_their_default_meaning_again(folder):
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        run(folder, "grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
    finally:
        signal.signal(signal.SIGHUP, previous)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    assert [int(line.split()[1], 16) for line in read(folder).splitlines()] == [0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "'",
        '"',
        "$(touch hit)",
        "`touch hit`",
        "a\nb\r\n",
        "-- -x",
        "*",
        "\\",
        "é🦀",
        "\udcff",
    ],
    ids=ascii,
)
def test_arguments_arrive_byte_for_byte(folder, text):
    code = "import os, sys\nos.write(1, os.fsencode(sys.argv[1]))"
    run_python(folder, code, text)
    assert (folder / "stdout.txt").read_bytes() == os.fsencode(text)
    assert not (folder / "hit").exists()


# What cannot be started


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("no-such-program",), "'no-such-program': not found in PATH"),
        (("./missing",), "'./missing': No such file"),
        (("./plain.txt",), "'./plain.txt': Permission denied"),
        (("./text.sh",), "'./text.sh': Exec format error"),
        (("./pids",), "'./pids': Permission denied"),
        (("./lost.sh",), "'./lost.sh': No such file"),
        (("true", "a\0b"), "argument 1 of 'true' has a NUL character at 1"),
        (("true", "\ud800"), "argument 1 of 'true' cannot be encoded"),
        (("true", "x" * 140_000), "'true': Argument list too long.* 140000 in the longest"),
        (("true", *["x" * 100_000] * 100), "10000004 bytes in 101 arguments"),
        ((), "without a program"),
        (("",), "without a program"),
    ],
    ids=lambda value: value if isinstance(value, str) else ascii(value)[:30],
)
def test_what_cannot_start_is_not_scored_and_named(folder, argv, words):
    for name, text, mode in (
        ("plain.txt", "#!/bin/sh\n", 0o644),
        ("text.sh", "echo\n", 0o755),
        ("lost.sh", "#!/no/such/interpreter\n", 0o755),
    ):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(mode)
    with pytest.raises(NotScored, match=words) as caught:
        run(folder, *argv)
    assert caught.value.reason is Reason.ENVIRONMENT


@pytest.mark.parametrize("name", ["", "A=B"])
def test_variable_without_a_proper_name_is_not_scored(folder, name):
    with pytest.raises(NotScored, match=f"variable '{name}': a name"):
        run(folder, "true", variables={name: "1"})


def test_missing_folder_is_not_scored_and_named(folder):
    with pytest.raises(NotScored, match=r"working directory .*/gone: No such file"):
        run(folder, "true", cwd=folder / "gone")


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "device"])
def test_log_that_is_no_regular_file_is_refused(folder, kind):
    target = folder / "target.txt"
    target.write_text("kept", encoding="utf-8")
    log = folder / "log"
    if kind == "fifo":
        os.mkfifo(log)
    elif kind == "link":
        log.symlink_to(target)
    elif kind == "folder":
        log.mkdir()
    else:
        log = Path(os.devnull)
    with pytest.raises(NotScored, match="cannot write"):
        run(folder, "echo", "x", stdout=log)
    assert target.read_text(encoding="utf-8") == "kept"


# Limits


def test_time_limit_ends_the_command(folder):
    end = run_python(folder, SLEEPER, seconds=0.5)
    assert (end.exit_code, end.limit) == (None, "timeout")
    assert 0.5 <= end.seconds < 2
    assert living(folder) == []


def test_grace_lets_a_command_finish_its_work(folder):
    code = "trap 'echo saved; exit 0' TERM; while :; do sleep 0.05; done"
    end = run(folder, "sh", "-c", code, seconds=0.5)
    assert (end.limit, read(folder)) == ("timeout", "saved\n")


def test_command_that_ignores_term_is_killed_after_the_grace(folder):
    started = time.monotonic()
    end = run_python(folder, DEAF, seconds=0.5, grace=0.5)
    assert end.limit == "timeout"
    assert 1 <= time.monotonic() - started < 4
    assert living(folder) == []


def test_endless_output_ends_the_command_and_is_cut_with_a_note(folder):
    end = run(folder, "yes", output_bytes=1000)
    assert (end.exit_code, end.limit) == (None, "output")
    text = read(folder)
    assert len(text) == 1000
    assert text.startswith("y\ny\n")
    assert text.splitlines()[-1].startswith("[evoclaw: cut here, ")
    assert text.splitlines()[-1].endswith(" bytes were written, 1000 are kept]")


def test_output_during_the_grace_shortens_it(folder):
    code = (
        "import signal, time\nsignal.signal(15, lambda *_: [print('x' * 99) for _ in iter(int, 1)])"
    )
    started = time.monotonic()
    end = run_python(folder, f"{code}\ntime.sleep(60)", seconds=0.5, grace=20, output_bytes=1000)
    assert end.limit == "timeout"
    assert time.monotonic() - started < 5


def test_long_output_of_a_command_that_ended_is_cut_and_its_exit_code_kept(folder):
    end = run(folder, "sh", "-c", "printf %05000d 1 >&2; exit 4", output_bytes=500)
    assert (end.exit_code, end.limit) == (4, None)
    assert len(read(folder, "stderr.txt")) == 500
    assert read(folder) == ""


@pytest.mark.parametrize("limit", [0, 3, 70, 99, 100])
def test_cut_file_never_exceeds_the_limit(tmp_path, limit):
    with open_log(tmp_path / "log", limit) as log:
        os.write(log, b"x" * 100)
    assert (tmp_path / "log").stat().st_size == limit


def test_waiting_uses_no_cpu(folder):
    pid_file = folder / "pid"
    with ThreadPoolExecutor(1) as pool:
        own = time.process_time()
        waiting = pool.submit(run, folder, "sh", "-c", "echo $PPID >pid; exec sleep 2")
        wait_until(lambda: pid_file.exists() and pid_file.read_text(encoding="utf-8"))
        above = psutil.Process(int(pid_file.read_text(encoding="utf-8")))
        before = sum(above.cpu_times()[:2])
        time.sleep(1.2)
        assert sum(above.cpu_times()[:2]) - before <= 0.02
        waiting.result()
    assert time.process_time() - own < 0.3


# Elsewhere: process groups


def run_in_group(folder: Path, *argv: str, **options) -> TreeEnd:
    order = command(folder, *argv, **options)
    with (
        open_log(order.stdout, order.output_bytes) as out,
        open_log(order.stderr, order.output_bytes) as err,
    ):
        return processes.run_group(order, out, err)


def test_group_ends_with_its_leader(folder):
    end = run_in_group(folder, "sh", "-c", "sleep 60 & echo done; exit 3")
    assert (end.exit_code, end.survivors, read(folder)) == (3, 1, "done\n")
    wait_until(lambda: living(folder) == [])


def test_group_has_a_time_limit_and_a_grace(folder):
    end = run_in_group(folder, sys.executable, "-S", "-c", DEAF, seconds=0.5, grace=0.3)
    assert (end.exit_code, end.limit) == (None, "timeout")
    wait_until(lambda: living(folder) == [])


def test_group_has_an_output_limit(folder):
    end = run_in_group(folder, "yes", output_bytes=1000)
    assert (end.exit_code, end.limit) == (None, "output")
    assert len(read(folder)) == 1000


def test_group_that_cannot_start_is_not_scored(folder):
    with pytest.raises(NotScored, match="'no-such-program': not found in PATH"):
        run_in_group(folder, "no-such-program")
