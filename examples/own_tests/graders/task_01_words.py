"""Grade and solve the word count."""

from __future__ import annotations


def grade(workspace, check):
    words = workspace.fixture("inputs/words.txt").read_text(encoding="utf-8").split()
    with check("count"):
        assert workspace.text("outputs/count.txt") == str(len(words))


def solve(workspace):
    words = (workspace / "inputs/words.txt").read_text(encoding="utf-8").split()
    (workspace / "outputs/count.txt").write_text(str(len(words)), encoding="utf-8")
