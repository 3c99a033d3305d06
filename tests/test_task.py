from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
from jsonschema import Draft202012Validator

from pytest_evoclaw.errors import TaskFormatError
from pytest_evoclaw.schemas import read_schema
from pytest_evoclaw.task import GradingWeights
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import find_root
from pytest_evoclaw.task import read_task

ROOT = Path(__file__).parent.parent

GOOD = """\
---
id: task_01_good
name: A good task
category: arithmetic
grading_type: automated
timeout_seconds: 60
sub_problems: 2
skill_category: adding
task_family: Small
workspace_files:
  - assets/in.txt
  - source: assets/in.txt
    dest: data/copy.txt
  - path: data/made.txt
    content: "made"
---

# A good task

Text before the first section is free.

## Prompt

Add the numbers.

```markdown
## Not a section
~~~
```

Write `outputs/sum.txt`.

---

## Expected Behavior

Adds.

## Sub-Problems

### Sub-Problem 1: small

Few numbers.

### Sub-Problem 2: large

Many numbers.

## Grading Criteria ##

- [ ] The sum is right.
- [x] Nothing else is written.
"""
INLINE = """
## Automated Checks

````python
def grade(transcript, workspace_path):
    text = '''
```
## Prompt
```
'''
    return {"sub_1_sum": True}
````
"""


@pytest.fixture
def suite_root(tmp_path: Path) -> Path:
    for folder in ("tasks", "assets/folder", "graders"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "assets/in.txt").write_text("1 2", encoding="utf-8")
    (tmp_path / "assets/judge.py").touch()
    (tmp_path / "graders/task_01_good.py").touch()
    return tmp_path


def read(root: Path, text: str | bytes) -> Task:
    path = root / "tasks/task_01.md"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_task(path, find_root(path, None))


def test_a_good_task_is_read_whole(suite_root):
    task = read(suite_root, GOOD)
    assert (task.id, task.name, task.category) == ("task_01_good", "A good task", "arithmetic")
    assert (task.timeout_seconds, task.skill_category, task.family) == (60.0, "adding", "Small")
    assert task.root == suite_root
    assert task.grader == suite_root / "graders/task_01_good.py"
    assert task.prompt.startswith("Add the numbers.\n\n```markdown\n## Not a section\n~~~\n```")
    assert task.prompt.endswith("Write `outputs/sum.txt`.")
    assert GOOD.splitlines()[task.prompt_line - 1] == "## Prompt"
    assert task.criteria == ("The sum is right.", "Nothing else is written.")
    assert [(s.number, s.title, s.text) for s in task.sub_problems] == [
        (1, "small", "Few numbers."),
        (2, "large", "Many numbers."),
    ]
    assert [GOOD.splitlines()[s.line - 1] for s in task.sub_problems] == [
        "### Sub-Problem 1: small",
        "### Sub-Problem 2: large",
    ]
    files = {file.dest: file.read_bytes() for file in task.workspace_files}
    assert files == {
        "assets/in.txt": b"1 2",
        "data/copy.txt": b"1 2",
        "data/made.txt": b"made",
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("## Prompt\n", "## Prompt ##\n"),
        lambda text: text.replace("```markdown", "~~~~markdown").replace(
            "~~~\n```\n", "~~~\n~~~~\n"
        ),
        lambda text: text.replace("```", "`````"),
    ],
    ids=["BOM", "CRLF", "trailing hashes", "tilde fence", "longer fence"],
)
def test_spellings_of_one_task_are_read_alike(suite_root, change):
    task = read(suite_root, change(GOOD))
    assert "## Not a section" in task.prompt
    assert task.prompt.endswith("Write `outputs/sum.txt`.")
    assert "\r" not in task.prompt
    assert len(task.sub_problems) == 2


def test_a_rule_right_under_text_makes_no_section(suite_root):
    text = GOOD.replace("Write `outputs/sum.txt`.\n\n---", "Write `outputs/sum.txt`.\n---")
    assert read(suite_root, text).prompt.endswith("Write `outputs/sum.txt`.")


def test_a_fenced_grader_keeps_its_own_lines(suite_root):
    text = GOOD + INLINE
    grader = read(suite_root, text).inline_grader
    assert grader is not None
    assert text.splitlines()[grader.line - 1] == "def grade(transcript, workspace_path):"
    assert "## Prompt" in grader.source


def test_a_task_outside_a_suite_is_its_own_root(tmp_path):
    path = tmp_path / "task_01.md"
    assert find_root(path, None) == tmp_path
    assert find_root(path, tmp_path.parent) == tmp_path.parent


def swap(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


FAULTS = {
    "no frontmatter": ("hello\n", "1: frontmatter: found 'hello', allowed '---'"),
    "unclosed": ("---\nid: a\n", "1: frontmatter: found no closing line, allowed '---'"),
    "list": (
        swap(GOOD[4 : GOOD.index("\n---\n\n#")], "- a"),
        "2: frontmatter: found a list, allowed fields: key: value",
    ),
    "empty": ("---\n---\n", "2: frontmatter: found nothing, allowed fields: key: value"),
    "YAML": (
        swap("name: A good task", "name: [A"),
        "4: frontmatter: found YAML that does not parse: expected ',' or ']', but got ':'",
    ),
    "field twice": (
        swap("category: arithmetic", "name: again"),
        "4: name: found twice, allowed once",
    ),
    "misspelt field": (
        swap("timeout_seconds: 60", "timeout_secs: 60"),
        "6: timeout_secs: found an unknown field, allowed id, name, category, grading_type, "
        "timeout_seconds, sub_problems, skill_category, task_family, workspace_files, "
        "grading_weights, grader; did you mean 'timeout_seconds'?",
    ),
    "text alone": (
        "---\nhello\n---\n",
        "2: frontmatter: found a value alone, allowed fields: key: value",
    ),
    "nested field twice": (
        swap("    dest: data/copy.txt", "    source: assets/in.txt\n    dest: data/copy.txt"),
        "13: workspace_files[2].source: found twice, allowed once",
    ),
    "alias": (
        swap("name: A good task", "name: &a [*a]"),
        "3: name[1]: found an alias (*), allowed a value written out",
    ),
    "key that is no text": (
        swap("name: A good task", "? [a]\n: b"),
        "3: frontmatter: found YAML that does not parse: a key is no text",
    ),
    "unknown type": (
        swap("name: A good task", "name: !!python/tuple [a]"),
        "3: frontmatter: found YAML that does not parse: could not determine a constructor for the "
        "tag 'tag:yaml.org,2002:python/tuple'",
    ),
    "deep nesting": (
        swap("A good task", "[" * 3000 + "]" * 3000),
        "1: frontmatter: found YAML that is nested too deeply, allowed fields: key: value",
    ),
    "impossible date": (
        swap("name: A good task", "name: 2026-02-31"),
        "3: name: found a value that is none: day is out of range for month",
    ),
    "control character": (
        swap("name: A good task", "name: A\x07"),
        "3: frontmatter: found the character U+0007, allowed text",
    ),
    "lone surrogate": (
        swap('content: "made"', 'content: "\\ud800"'),
        "15: workspace_files[3].content: found '\\ud800', allowed Unicode text",
    ),
    "unknown field below a line separator": (
        swap("name: A good task", "name: 'a\u2028 b'\nbogus: 1"),
        "4: bogus: found an unknown field, allowed id, name, category, grading_type, "
        "timeout_seconds, sub_problems, skill_category, task_family, workspace_files, "
        "grading_weights, grader",
    ),
    "id with a newline": (
        swap("id: task_01_good", 'id: "task_01_good\\n"'),
        "2: id: found 'task_01_good\\n', allowed lower-case words of letters and digits, joined "
        "by _",
    ),
    "name that is a number": (
        swap("name: A good task", "name: 5"),
        "3: name: found 5, allowed a text that is not empty, of at most 200 characters",
    ),
    "blank name": (
        swap("name: A good task", "name: ' '"),
        "3: name: found ' ', allowed a text that is not empty, of at most 200 characters",
    ),
    "not a number": (
        swap("timeout_seconds: 60", "timeout_seconds: .nan"),
        "6: timeout_seconds: found nan, allowed a finite number",
    ),
    "huge number": (
        swap("timeout_seconds: 60", "timeout_seconds: 0x1" + "0" * 16),
        "6: timeout_seconds: found 0x10000000000000000, allowed a number of 64 bits",
    ),
    "half a sub-problem": (
        swap("sub_problems: 2", "sub_problems: 1.5"),
        "7: sub_problems: found 1.5, allowed a whole number from 0 to 1000",
    ),
    "inputs that are no list": (
        swap(GOOD[GOOD.index("  - assets") : GOOD.index("---\n\n#")], ""),
        "10: workspace_files: found None, allowed a list of paths, {{source, dest}} or "
        "{{path, content}}",
    ),
    "no id": (
        swap("id: task_01_good\n", ""),
        "1: id: found nothing, allowed lower-case words of letters and digits, joined by _",
    ),
    "empty id": (
        swap("id: task_01_good", 'id: ""'),
        "2: id: found '', allowed lower-case words of letters and digits, joined by _",
    ),
    "odd id": (
        swap("id: task_01_good", "id: Task 01/../x"),
        "2: id: found 'Task 01/../x', allowed lower-case words of letters and digits, joined by _",
    ),
    "text for a number": (
        swap("timeout_seconds: 60", 'timeout_seconds: "60s"'),
        "6: timeout_seconds: found '60s', allowed a number above 0 up to 86400",
    ),
    "zero": (
        swap("timeout_seconds: 60", "timeout_seconds: 0"),
        "6: timeout_seconds: found 0, allowed a number above 0 up to 86400",
    ),
    "negative": (
        swap("timeout_seconds: 60", "timeout_seconds: -1"),
        "6: timeout_seconds: found -1, allowed a number above 0 up to 86400",
    ),
    "infinite": (
        swap("timeout_seconds: 60", "timeout_seconds: .inf"),
        "6: timeout_seconds: found inf, allowed a finite number",
    ),
    "boolean": (
        swap("timeout_seconds: 60", "timeout_seconds: true"),
        "6: timeout_seconds: found True, allowed a number above 0 up to 86400",
    ),
    "grading type": (
        swap("grading_type: automated", "grading_type: automatd"),
        "5: grading_type: found 'automatd', allowed automated, llm_judge or hybrid",
    ),
    "weights of an automated task": (
        swap("task_family:", "grading_weights: {automated: 1, llm_judge: 0}\ntask_family:"),
        "9: grading_weights: found weights of a task that is automated, allowed for hybrid only",
    ),
    "negative weights": (
        swap("grading_type: automated", "grading_type: hybrid").replace(
            "task_family:", "grading_weights: {automated: -1, llm_judge: 2}\ntask_family:"
        ),
        "9: grading_weights.automated: found -1, allowed a number from 0 to 1000",
    ),
    "endless weights": (
        swap("grading_type: automated", "grading_type: hybrid").replace(
            "task_family:", "grading_weights: {automated: 1.0e+308, llm_judge: 1}\ntask_family:"
        ),
        "9: grading_weights.automated: found 1e+308, allowed a number from 0 to 1000",
    ),
    "misspelt weight": (
        swap("grading_type: automated", "grading_type: hybrid").replace(
            "task_family:", "grading_weights:\n  automated: 1\n  llm_juge: 1\ntask_family:"
        ),
        "11: grading_weights.llm_juge: found an unknown field, allowed automated, llm_judge; did "
        "you mean 'llm_judge'?",
    ),
    "missing weight": (
        swap("grading_type: automated", "grading_type: hybrid").replace(
            "task_family:", "grading_weights: {automated: 1}\ntask_family:"
        ),
        "9: grading_weights.llm_judge: found nothing, allowed a number from 0 to 1000",
    ),
    "weights of nothing": (
        swap("grading_type: automated", "grading_type: hybrid").replace(
            "task_family:", "grading_weights: {automated: 0, llm_judge: 0}\ntask_family:"
        ),
        "9: grading_weights: found weights that add up to 0, allowed a sum above 0",
    ),
    "count of sub-problems": (
        swap("sub_problems: 2", "sub_problems: 3"),
        "7: sub_problems: found 3, allowed 2: the number of Sub-Problem headings",
    ),
    "sub-problem heading": (
        swap("### Sub-Problem 2: large", "### Sub-Problem 3: large"),
        "45: Sub-Problems: found 'Sub-Problem 3: large', allowed 'Sub-Problem 2: title'",
    ),
    "sub-problem out of order": (
        swap("### Sub-Problem 1: small", "### Sub-Problem 2: small"),
        "41: Sub-Problems: found 'Sub-Problem 2: small', allowed 'Sub-Problem 1: title'",
    ),
    "sub-problem without a title": (
        swap("### Sub-Problem 1: small", "### Sub-Problem 1"),
        "41: Sub-Problems: found 'Sub-Problem 1', allowed 'Sub-Problem 1: title'",
    ),
    "sub-problems without their section": (
        GOOD.replace(GOOD[GOOD.index("## Sub-Pro") : GOOD.index("## Grading")], ""),
        "7: sub_problems: found 2, allowed 0: the number of Sub-Problem headings",
    ),
    "section of another kind": (
        GOOD + "\n## Weather\n\nFine.\n",
        "54: Weather: found an unknown section, allowed Prompt, Expected Behavior, Sub-Problems, "
        "Grading Criteria, Automated Checks, LLM Judge Rubric",
    ),
    "misspelt section": (
        swap("## Expected Behavior", "## Expected Behaviour"),
        "35: Expected Behaviour: found an unknown section, allowed Prompt, Expected Behavior, "
        "Sub-Problems, Grading Criteria, Automated Checks, LLM Judge Rubric; did you mean "
        "'Expected Behavior'?",
    ),
    "missing section": (
        swap("## Expected Behavior\n\nAdds.\n\n", ""),
        "17: Expected Behavior: found no section, allowed '## Expected Behavior'",
    ),
    "section twice": (
        GOOD + "\n## Prompt\n\nAgain.\n",
        "54: Prompt: found twice, allowed once: the first is on line 22",
    ),
    "empty prompt": (
        GOOD.replace(GOOD[GOOD.index("Add the") : GOOD.index("---\n\n## Exp")], ""),
        "22: Prompt: found an empty section, allowed text",
    ),
    "no criteria": (
        swap("- [ ] The sum is right.\n- [x] Nothing else is written.\n", "The sum.\n"),
        "49: Grading Criteria: found no item, allowed '- [ ] what is graded'",
    ),
    "criterion without a box": (
        swap("- [x] Nothing", "- Nothing"),
        "52: Grading Criteria: found 'Nothing else is written.', allowed '- [ ] what is graded'",
    ),
    "criterion without words": (
        swap("- [ ] The sum is right.", "- [ ]"),
        "51: Grading Criteria: found '[ ]', allowed '- [ ] what is graded'",
    ),
    "no fence": (
        GOOD + "\n## Automated Checks\n\nNone yet.\n",
        "54: Automated Checks: found no Python fence, allowed ```python with "
        "grade(transcript, workspace_path)",
    ),
    "missing input": (
        swap("  - assets/in.txt\n", "  - assets/none.txt\n"),
        "11: workspace_files[1]: found 'assets/none.txt', which is missing below {root}; allowed a "
        "file",
    ),
    "folder as input": (
        swap("  - assets/in.txt\n", "  - assets/folder\n"),
        "11: workspace_files[1]: found 'assets/folder', which is a folder; allowed a file",
    ),
    "absolute input": (
        swap("  - assets/in.txt\n", "  - /etc/passwd\n"),
        "11: workspace_files[1]: found '/etc/passwd', allowed a relative path with / that stays "
        "inside",
    ),
    "input outside": (
        swap("  - assets/in.txt\n", "  - ../../x\n"),
        "11: workspace_files[1]: found '../../x', allowed a relative path with / that stays inside",
    ),
    "folder that is the root": (
        swap("  - assets/in.txt\n", "  - .\n"),
        "11: workspace_files[1]: found '.', allowed the path of a file",
    ),
    "grader as input": (
        swap("  - assets/in.txt\n", "  - graders/task_01_good.py\n"),
        "11: workspace_files[1]: found 'graders/task_01_good.py', which says how a task is graded; "
        "allowed a file outside graders/ and tasks/",
    ),
    "named grader as input": (
        swap("task_family:", "grader: assets/judge.py\ntask_family:").replace(
            "  - source: assets/in.txt", "  - source: assets/judge.py"
        ),
        "13: workspace_files[2].source: found 'assets/judge.py', which says how a task is graded; "
        "allowed a file outside graders/ and tasks/",
    ),
    "task as input": (
        swap("  - assets/in.txt\n", "  - tasks/task_01.md\n"),
        "11: workspace_files[1]: found 'tasks/task_01.md', which says how a task is graded; "
        "allowed a file outside graders/ and tasks/",
    ),
    "absolute destination": (
        swap("dest: data/copy.txt", "dest: /data/copy.txt"),
        "13: workspace_files[2].dest: found '/data/copy.txt', allowed a relative path with / that "
        "stays inside",
    ),
    "destination outside": (
        swap("dest: data/copy.txt", "dest: ../copy.txt"),
        "13: workspace_files[2].dest: found '../copy.txt', allowed a relative path with / that "
        "stays inside",
    ),
    "reserved destination": (
        swap("dest: data/copy.txt", "dest: outputs/copy.txt"),
        "13: workspace_files[2].dest: found 'outputs/copy.txt', allowed a path outside outputs/, "
        "skills/, .evoclawbench/",
    ),
    "destination among the skills": (
        swap("path: data/made.txt", "path: skills/mine/SKILL.md"),
        "14: workspace_files[3].path: found 'skills/mine/SKILL.md', allowed a path outside "
        "outputs/, skills/, .evoclawbench/",
    ),
    "destination of the harness": (
        swap("path: data/made.txt", "path: ./.evoclawbench/x.json"),
        "14: workspace_files[3].path: found '.evoclawbench/x.json', allowed a path outside "
        "outputs/, skills/, .evoclawbench/",
    ),
    "destination below a file": (
        swap("path: data/made.txt", "path: assets/in.txt/more.txt"),
        "14: workspace_files[3].path: found 'assets/in.txt/more.txt', which entry 1 already uses "
        "as 'assets/in.txt'; allowed a free path",
    ),
    "destination above a file": (
        swap("path: data/made.txt", "path: data"),
        "14: workspace_files[3].path: found 'data', which entry 2 already uses as "
        "'data/copy.txt'; allowed a free path",
    ),
    "destination twice": (
        swap("path: data/made.txt", "path: data/copy.txt"),
        "14: workspace_files[3].path: found 'data/copy.txt', which entry 2 already uses as "
        "'data/copy.txt'; allowed a free path",
    ),
    "odd input": (
        swap("  - assets/in.txt\n", "  - {path: a}\n"),
        "11: workspace_files[1]: found {{'path': 'a'}}, allowed a path, {{source, dest}} or "
        "{{path, content}}",
    ),
    "grader outside": (
        swap("task_family:", "grader: ../graders/x.py\ntask_family:"),
        "9: grader: found '../graders/x.py', allowed a relative path with / that stays inside",
    ),
    "absolute grader": (
        swap("task_family:", "grader: /graders/x.py\ntask_family:"),
        "9: grader: found '/graders/x.py', allowed a relative path with / that stays inside",
    ),
    "grader of another kind": (
        swap("task_family:", "grader: graders/x.sh\ntask_family:"),
        "9: grader: found 'graders/x.sh', allowed the path of a .py file below the suite root",
    ),
    "missing grader": (
        swap("task_family:", "grader: graders/x.py\ntask_family:"),
        "9: grader: found 'graders/x.py', which is missing below {root}; allowed a file",
    ),
    "no grader of a hybrid task": (
        swap("id: task_01_good", "id: task_02").replace("type: automated", "type: hybrid"),
        "5: grading_type: found 'hybrid' without a grader, allowed with graders/task_02.py, a "
        "'grader' field, or a Python fence in 'Automated Checks'",
    ),
    "no grader": (
        swap("id: task_01_good", "id: task_02"),
        "5: grading_type: found 'automated' without a grader, allowed with graders/task_02.py, a "
        "'grader' field, or a Python fence in 'Automated Checks'",
    ),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_named_with_line_field_found_and_allowed(suite_root, text, message):
    with pytest.raises(TaskFormatError) as raised:
        read(suite_root, text)
    path = suite_root / "tasks/task_01.md"
    assert str(raised.value) == f"{path}:{message.format(root=suite_root)}"


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_a_byte_that_is_no_utf8_is_named_with_its_line(suite_root, start, newline):
    data = start + GOOD.encode().replace(b"Add the numbers.", b"Add the n\xfcmbers.")
    with pytest.raises(TaskFormatError, match=r"md:24: encoding: found byte 0xfc, allowed UTF-8"):
        read(suite_root, data.replace(b"\n", newline))


def test_a_nul_which_no_command_line_can_hold_is_named_with_its_line(suite_root):
    with pytest.raises(TaskFormatError, match=r"md:24: encoding: found a NUL character, allowed"):
        read(suite_root, swap("Add the numbers.", "Add\0 the numbers."))


def make_link_out(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def make_link_to_answers(path: Path) -> None:
    path.symlink_to("../graders/task_01_good.py")


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nothing")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (make_link_out, "which leads out of {root} to /etc/hostname; allowed a file inside"),
        (
            make_link_to_answers,
            "which says how a task is graded; allowed a file outside graders/ and tasks/",
        ),
        (make_loop, "which is missing below {root}; allowed a file"),
        (make_dangling_link, "which is missing below {root}; allowed a file"),
        (os.mkfifo, "which is no regular file; allowed a file"),
    ],
    ids=["link out", "link to answers", "loop", "dangling link", "FIFO"],
)
def test_an_input_that_is_no_file_of_the_suite_is_refused(suite_root, make, message):
    make(suite_root / "assets/odd")
    with pytest.raises(TaskFormatError) as raised:
        read(suite_root, swap("  - assets/in.txt\n", "  - assets/odd\n"))
    assert (raised.value.line, raised.value.field) == (11, "workspace_files[1]")
    assert raised.value.message == f"found 'assets/odd', {message.format(root=suite_root)}"


def test_an_input_below_a_linked_folder_that_leads_out_is_refused(suite_root, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "answers.txt").touch()
    (suite_root / "assets/door").symlink_to(elsewhere)
    with pytest.raises(TaskFormatError, match="which leads out of"):
        read(suite_root, swap("  - assets/in.txt\n", "  - assets/door/answers.txt\n"))


def test_an_input_with_a_name_no_disk_can_hold_is_refused(suite_root):
    with pytest.raises(TaskFormatError, match=r"md:11: workspace_files\[1\]: .*File name too long"):
        read(suite_root, swap("  - assets/in.txt\n", f"  - {'x' * 300}\n"))


def test_a_link_inside_the_suite_is_read_where_it_leads(suite_root):
    (suite_root / "assets/link.txt").symlink_to("in.txt")
    task = read(suite_root, swap("  - assets/in.txt\n", "  - assets/link.txt\n"))
    first = task.workspace_files[0]
    assert (first.dest, first.source) == ("assets/link.txt", suite_root / "assets/in.txt")


@pytest.mark.parametrize(
    ("field", "weights"),
    [
        ("grading_weights: {automated: 3, llm_judge: 1}", (0.75, 0.25)),
        ("grading_weights: {automated: 0, llm_judge: 0.2}", (0.0, 1.0)),
        ("skill_category: adding", (0.5, 0.5)),
    ],
    ids=["made to add up to 1", "only the judge", "default"],
)
def test_weights_of_a_hybrid_task_add_up_to_1(suite_root, field, weights):
    text = swap("grading_type: automated", "grading_type: hybrid")
    task = read(suite_root, text.replace("skill_category: adding", field))
    assert task.grading_weights == GradingWeights(automated=weights[0], llm_judge=weights[1])


def test_a_judged_task_needs_no_grader_and_has_no_weights(suite_root):
    text = swap("grading_type: automated", "grading_type: llm_judge").replace("good\n", "two\n", 1)
    task = read(suite_root, text + "\n## LLM Judge Rubric\n\nTone: 0 to 1.\n")
    assert (task.grader, task.inline_grader, task.grading_weights) == (None, None, None)
    assert task.rubric == "Tone: 0 to 1."


def test_a_named_grader_wins_over_that_of_the_id(suite_root):
    task = read(suite_root, swap("task_family:", "grader: assets/judge.py\ntask_family:"))
    assert task.grader == suite_root / "assets/judge.py"


def test_a_task_without_sub_problems_needs_no_section_for_them(suite_root):
    section = GOOD[GOOD.index("## Sub-Pro") : GOOD.index("## Grading")]
    text = swap("sub_problems: 2", "sub_problems: 0").replace(section, "")
    assert read(suite_root, text).sub_problems == ()


def test_criteria_keep_their_words_and_notes_need_no_box(suite_root):
    text = swap(
        "- [ ] The sum is right.\n",
        "Most of it:\n\n- [ ] The sum\n  is right.\n  - within 1e-9\n\n```\n- [ ] no item\n```\n\n",
    )
    assert read(suite_root, text).criteria == ("The sum is right.", "Nothing else is written.")


def test_code_that_looks_like_a_rule_belongs_to_the_prompt(suite_root):
    text = swap("Write `outputs/sum.txt`.\n\n---", "Write this:\n\n    ---")
    assert read(suite_root, text).prompt.endswith("Write this:\n\n    ---")


LINES = strategies.lists(
    strategies.one_of(
        strategies.text(
            alphabet=strategies.characters(
                exclude_categories=["Cs"], exclude_characters="\r\n\0`~<"
            ),
            max_size=20,
        ).filter(lambda line: not line.lstrip().startswith("##")),
        strategies.sampled_from(
            [
                *("", "---", "- item", "- ## in a list", "> ## quoted", "### deeper"),
                *("```\n## fenced\n```", "~~~~ py\n~~~\n## fenced\n~~~~", "\n    ## code"),
            ]
        ),
    )
)


@given(lines=LINES)
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_prompt_is_read_byte_for_byte(suite_root, lines):
    prompt = "\n".join(["First.", "", *lines, "", "Last."])
    start, end = GOOD.index("Add the numbers."), GOOD.index("\n\n---\n\n## Expected")
    task = read(suite_root, GOOD[:start] + prompt + GOOD[end:])
    assert task.prompt == prompt


def test_the_nearest_folder_with_tasks_is_the_root(tmp_path):
    inner = tmp_path / "tasks/inner/tasks"
    inner.mkdir(parents=True)
    assert find_root(inner / "more/task_01.md", None) == tmp_path / "tasks/inner"
    assert find_root(tmp_path / "tasks/task_01.md", None) == tmp_path


def test_the_published_schema_is_valid_and_says_what_each_field_may_hold():
    schema = read_schema("task")
    Draft202012Validator.check_schema(schema)
    assert all("description" in field for field in schema["properties"].values())


def test_every_field_of_the_schema_is_in_the_reference():
    text = (ROOT / "docs/reference/task-format.md").read_text(encoding="utf-8")
    assert [f for f in read_schema("task")["properties"] if f"| `{f}` |" not in text] == []


def test_the_template_is_a_good_task_once_its_files_exist(suite_root):
    for name in ("assets/short_name/first.csv", "assets/short_name/second.csv"):
        (suite_root / name).parent.mkdir(exist_ok=True)
        (suite_root / name).touch()
    (suite_root / "graders/task_123_short_name.py").touch()
    task = read(suite_root, (ROOT / "tasks/TASK_TEMPLATE.md").read_bytes())
    assert (task.id, len(task.sub_problems)) == ("task_123_short_name", 2)


def test_importing_the_reader_loads_no_parser():
    code = "import json, sys, pytest_evoclaw.task; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, timeout=60
    )
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"jsonschema", "markdown_it", "yaml", "frontmatter"}


def test_every_task_of_this_repository_is_well_formed():
    paths = sorted((ROOT / "tasks").glob("task_*.md"))
    tasks = [read_task(path, ROOT) for path in paths]
    assert [task.id for task in tasks] == [path.stem for path in paths]
