from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from pytest_evoclaw import __version__
from pytest_evoclaw.cli import list_commands
from pytest_evoclaw.cli import main


def test_help_lists_every_command_with_its_first_line():
    program = [sys.executable, "-m", "pytest_evoclaw", "--help"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    for name in list_commands():
        assert name.replace("_", "-") in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", list_commands())
def test_a_command_has_help_arguments_and_a_function(name, capsys):
    module = import_module(f"pytest_evoclaw.commands.{name}")
    with pytest.raises(SystemExit) as caught:
        main([name.replace("_", "-"), "--help"])
    assert caught.value.code == 0
    assert (module.__doc__ or "").strip().partition("\n")[0] in capsys.readouterr().out


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"evoclaw {__version__}\n"


def test_an_unknown_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["sing"])
    assert caught.value.code == 2
    assert "invalid choice: 'sing'" in capsys.readouterr().err
