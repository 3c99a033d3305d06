from __future__ import annotations

import pytest

from pytest_evoclaw.gates.lint import states_path
from pytest_evoclaw.personal import find_private


@pytest.mark.parametrize(
    "prompt",
    [
        "Write `outputs/a/total.json`.",
        "Write it to outputs/a/total.json, then stop.",
        "All go to `outputs/a/`: `total.json` and others.",
        "Each is `outputs/a/<name>.json`.",
        "Each is `outputs/{service}/total.json`.",
        "Each is `outputs/a/*.json`.",
        "In `outputs`, each is `a/<name>.json`.",
    ],
    ids=["whole", "plain", "folder and name", "angles", "braces", "star", "below outputs"],
)
def test_a_path_is_stated(prompt):
    assert states_path(prompt, "outputs/a/total.json")


@pytest.mark.parametrize(
    "prompt",
    [
        "Write `outputs/a/total.json5`.",
        "Write `outputs/b/total.json`.",
        "Write `total.json`.",
        "Each is `outputs/a/<name>.yaml`.",
        "Write `my-outputs/a/total.json`.",
        "",
    ],
    ids=["longer", "elsewhere", "no folder", "other format", "other folder", "empty"],
)
def test_a_path_is_not_stated(prompt):
    assert not states_path(prompt, "outputs/a/total.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("key: AKIA" + "QWERTYUIOPASDFGH", "an access key"),
        ("token=gh" + "p_" + "a1B2" * 9, "a token"),
        ("-----BEGIN RSA PRIVATE" + " KEY-----", "a private key"),
        ("mail jo@gmail.com now", "'jo@gmail.com'"),
        ("mail jo@notexample.com", "'jo@notexample.com'"),
        ("call +49 30 901820", "a telephone number"),
        ("card 4539 1488 0343 6467", "a card number"),
    ],
)
def test_what_looks_private_is_found_with_its_line(text, words):
    (found,) = find_private("assets/x.txt", f"first\n{text}\n")
    assert found.startswith("assets/x.txt:2: found ")
    assert words in found


@pytest.mark.parametrize(
    "text",
    [
        "jo@example.com, JO@MAIL.EXAMPLE.ORG, jo@shop.test, jo@x.invalid, jo@team.example",
        "aws_key = AKIAIOSFODNN7EXAMPLE",
        "call +1 202 555-0143",
        "number 4539 1488 0343 6468 has a wrong check digit",
        "2024-01-02 10:00:00, +12.50, 1-800, R-1234-5678, @decorator, a+b",
    ],
    ids=["reserved", "example", "fiction", "no card", "plain"],
)
def test_what_is_plainly_invented_is_not(text):
    assert not list(find_private("x", text))


def test_an_unnamed_encoding_is_found_with_its_line(suite):
    (suite.path / "assets").mkdir()
    (suite.path / "assets/names.txt").write_bytes(b"Ann\nJos\xe9\n")
    path = suite.path / "tasks/task_01_numbers.md"
    text = path.read_text(encoding="utf-8").replace(
        "workspace_files:", "workspace_files:\n  - assets/names.txt"
    )
    path.write_text(text.replace("Read `inputs", "Read `assets/names.txt`, `inputs"), "utf-8")
    result = suite.run("-k", "lint", mode="gate")
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines(["assets/names.txt:2: found byte 0xe9, allowed UTF-8, or the*"])
    path.write_text(
        path.read_text("utf-8").replace("Read `assets", "Read (latin-1) `assets"), "utf-8"
    )
    suite.run("-k", "lint", mode="gate").assert_outcomes(passed=1, deselected=5)


def test_an_input_that_the_prompt_leaves_out_is_found(suite):
    suite.write("assets/more.txt", "more\n")
    path = suite.path / "tasks/task_01_numbers.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("workspace_files:", "workspace_files:\n  - assets/more.txt"), "utf-8"
    )
    result = suite.run("-k", "lint", mode="gate")
    result.stdout.fnmatch_lines(["*.md:16: Prompt: names neither the input assets/more.txt nor*"])
