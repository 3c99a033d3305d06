from __future__ import annotations

from pathlib import Path

import pytest

from pytest_evoclaw.errors import TaskFormatError
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import find_root
from pytest_evoclaw.task import read_task

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
    "unclosed": ("---\nid: a\n", "1: frontmatter: found no closing '---'"),
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
        "9: grading_weights.automated: found -1, allowed a number from 0",
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
        "54: Prompt: found twice, the first time on line 22",
    ),
    "empty prompt": (
        GOOD.replace(GOOD[GOOD.index("Add the") : GOOD.index("---\n\n## Exp")], ""),
        "22: Prompt: found an empty section",
    ),
    "no criteria": (
        swap("- [ ] The sum is right.\n- [x] Nothing else is written.\n", "The sum.\n"),
        "49: Grading Criteria: found no item, allowed '- [ ] what is graded'",
    ),
    "no fence": (
        GOOD + "\n## Automated Checks\n\nNone yet.\n",
        "54: Automated Checks: found no Python fence, allowed ```python with "
        "grade(transcript, workspace_path)",
    ),
    "missing input": (
        swap("  - assets/in.txt\n", "  - assets/none.txt\n"),
        "11: workspace_files[1]: found 'assets/none.txt', which is missing below {root}",
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
    "destination outside": (
        swap("dest: data/copy.txt", "dest: ../copy.txt"),
        "13: workspace_files[2].dest: found '../copy.txt', allowed a relative path with / that "
        "stays inside",
    ),
    "reserved destination": (
        swap("dest: data/copy.txt", "dest: outputs/copy.txt"),
        "12: workspace_files[2]: found 'outputs/copy.txt', allowed a path outside outputs/, "
        "skills/, .evoclawbench/",
    ),
    "destination twice": (
        swap("path: data/made.txt", "path: data/copy.txt"),
        "14: workspace_files[3]: found 'data/copy.txt', which entry 2 already uses as "
        "'data/copy.txt'",
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
    "missing grader": (
        swap("task_family:", "grader: graders/x.py\ntask_family:"),
        "9: grader: found 'graders/x.py', which is missing below {root}",
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


def test_a_byte_that_is_no_utf8_is_named_with_its_line(suite_root):
    data = GOOD.encode().replace(b"Add the numbers.", b"Add the n\xfcmbers.")
    with pytest.raises(TaskFormatError, match=r"md:24: encoding: found byte 0xfc, allowed UTF-8"):
        read(suite_root, data)


def test_an_input_that_links_out_of_the_suite_is_refused(suite_root, tmp_path_factory):
    secret = tmp_path_factory.mktemp("elsewhere") / "answers.txt"
    secret.touch()
    (suite_root / "assets/link.txt").symlink_to(secret)
    message = f"11: workspace_files[1]: found 'assets/link.txt', which leads out of {suite_root}"
    with pytest.raises(TaskFormatError) as raised:
        read(suite_root, swap("  - assets/in.txt\n", "  - assets/link.txt\n"))
    assert message in str(raised.value)


def test_every_task_of_this_repository_is_well_formed():
    root = Path(__file__).parent.parent
    paths = sorted((root / "tasks").glob("task_*.md"))
    tasks = [read_task(path, root) for path in paths]
    assert [task.id for task in tasks] == [path.stem for path in paths]
