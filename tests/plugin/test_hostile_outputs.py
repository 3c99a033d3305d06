"""Outputs that are traps: none may hang the session, or earn a point."""

from __future__ import annotations

import time

import pytest

TRAPS = {
    "fifo": "os.mkfifo('outputs/sum.json')",
    "link to the grader": "os.symlink({grader!r}, 'outputs/sum.json')",
    "link to a device": "os.symlink('/dev/zero', 'outputs/sum.json')",
    "dangling link": "os.symlink('nowhere', 'outputs/sum.json')",
    "folder": "os.mkdir('outputs/sum.json')",
    "outputs is a link": "os.rmdir('outputs'); os.symlink({graders!r}, 'outputs')",
    "2 GiB sparse file": "open('outputs/sum.json', 'wb').truncate(2 << 30)",
    "no UTF-8": "open('outputs/sum.json', 'wb').write(b'\\xff\\xfe6')",
    "deep JSON": "open('outputs/sum.json', 'w').write('[' * 100_000)",
    "NaN": "open('outputs/sum.json', 'w').write('NaN')",
    "null": "open('outputs/sum.json', 'w').write('null')",
    "two keys of a name": """open('outputs/sum.json', 'w').write('{{"value": 1, "value": 6}}')""",
    "socket": "import socket; socket.socket(socket.AF_UNIX).bind('outputs/sum.json')",
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_a_trap_scores_nothing_and_hangs_nothing(suite, trap):
    graders = suite.path / "graders"
    code = trap.format(grader=str(graders / "task_01_numbers.py"), graders=str(graders))
    suite.add_script(f"- steps:\n    - python: |\n        import os\n        {code}\n")
    started = time.monotonic()
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml")
    result.assert_outcomes(failed=1)
    assert time.monotonic() - started < 30
    (row,) = suite.journal
    (phase,) = row["phases"]
    assert [check["score"] for check in phase["grade"]["checks"]] == [0.0] * 4
    assert all("grade(workspace" not in check["message"] for check in phase["grade"]["checks"])
    stored = suite.session / phase["folder"] / "outputs"
    kept = [path for path in stored.rglob("*") if not path.is_dir()]
    assert all(path.is_file() and not path.is_symlink() for path in kept)
    assert sum(path.stat().st_size for path in kept) < 100_000_000


def test_an_unreadable_file_scores_nothing(suite):
    """Mode 000 stops everybody but root, for whom it is a file like any other."""
    suite.add_script(
        "- steps:\n    - python: |\n        import os\n"
        "        open('outputs/sum.json', 'w').close(); os.chmod('outputs/sum.json', 0)\n"
    )
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml")
    result.assert_outcomes(failed=1)
    (row,) = suite.journal
    assert [check["score"] for check in row["phases"][0]["grade"]["checks"]] == [0.0] * 4


def test_files_planted_by_an_agent_are_never_imported(suite):
    planted = suite.path.parent / f"{suite.path.name}-planted"
    code = f"open({str(planted)!r}, 'w').close()"
    names = ("conftest.py", "sitecustomize.py", "json.py", "pytest.ini", "outputs/conftest.py")
    steps = "".join(f'    - write: {name}\n      text: "{code}"\n' for name in names)
    suite.add_script(f"- steps:\n    - solve: true\n{steps}")
    result = suite.run("--evo-runtime=scripted", "--evo-script=script.yaml")
    result.assert_outcomes(passed=1)
    assert not planted.exists()
