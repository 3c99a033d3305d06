"""The markdown of a generated task: facts as frontmatter, the family's own prose as body."""

from __future__ import annotations

from string import Template

from pytest_evoclaw.evidence.families import TaskSpec
from pytest_evoclaw.evidence.model import SALT
from pytest_evoclaw.evidence.model import is_count

GRADER = "graders/evidence.py"
TIMEOUT_SECONDS = 600
CHECKSUM = f"`{SALT}|<task_id>|<case_id>|<packet_id>|<nonce>`"
KINDS = {
    "N": "number with two decimals",
    "L": "array of strings",
    "D": "object of whole numbers",
    "B": "true or false",
    "T": "string",
}
LAYOUTS = {
    "csv": (
        "Each file is CSV with tagged rows. The first cell of a row names its section: `case`, "
        "`channel`, `packet` or `record`. Before the rows of a section comes a row whose first "
        "cell is `columns` and whose second cell is the section's name; its remaining cells name "
        "the columns of that section. An empty cell means that there is no value."
    ),
    "json": (
        "Each file is one JSON object: `task_id`, `case_id`, `title`, the map `channels` from "
        "channel to report field, the array `manifest` of packets and the array `records`. "
        "`null` means that there is no value."
    ),
    "yaml": (
        "Each file is one YAML document: `task_id`, `case_id`, `title`, the map `channels` from "
        "channel to report field, the list `manifest` of packets and the list `records`. "
        "`null` means that there is no value."
    ),
    "txt": (
        "Each file is plain text that holds one JSON object per line. The key `section` says what "
        "a line is: `case` (with `task_id`, `case_id` and `title`), `channel` (which report field "
        "a channel feeds), `packet` or `record`. `null` means that there is no value."
    ),
    "html": (
        'Each file is a web page. Its data is in the `<script type="application/json">` blocks, '
        "told apart by `data-section`: `case` (`task_id`, `case_id`, `title`), `channels` (from "
        "channel to report field), `manifest` (the packets) and `records`. `null` means that there "
        "is no value."
    ),
}


def render_task(spec: TaskSpec) -> str:
    """Return the text of the task file."""
    parts = (
        _render_frontmatter(spec),
        f"## Prompt\n\n{_render_prompt(spec)}",
        f"## Expected Behavior\n\n{spec.family.expected.strip()}",
        f"## Sub-Problems\n\n{_render_sub_problems(spec)}",
        f"## Grading Criteria\n\n{_render_criteria(spec)}",
    )
    return "\n\n".join(parts) + "\n"


def _render_frontmatter(spec: TaskSpec) -> str:
    lines = [
        f"id: {spec.task_id}",
        f"name: {spec.name}",
        f"category: {spec.family.category}",
        "grading_type: automated",
        f"timeout_seconds: {TIMEOUT_SECONDS}",
        f"sub_problems: {len(spec.titles)}",
        f"skill_category: {spec.family.skill_category}",
        f"task_family: {spec.family.name}",
        "workspace_files:",
        *(f"  - {name}" for name in spec.fixtures),
        f"grader: {GRADER}",
    ]
    return "---\n" + "\n".join(lines) + "\n---"


def _render_prompt(spec: TaskSpec) -> str:
    places = {
        "intro": spec.intro,
        "task_id": spec.task_id,
        "checksum": CHECKSUM,
        "layout": LAYOUTS[spec.family.extension],
        "files": "\n".join(
            f"- `{name}`: {title}, report in `{_output(number)}`"
            for number, (name, title) in enumerate(zip(spec.fixtures, spec.titles, strict=True), 1)
        ),
        "fields": "\n".join(
            ["| field | channel | type | meaning |", "| --- | --- | --- | --- |"]
            + [
                f"| `{field}` | `{channel}` | {_kind(channel, field)} | {spec.meanings[field]} |"
                for channel, field in spec.fields.items()
            ]
        ),
    }
    return Template(spec.family.prompt.strip()).substitute(places)


def _kind(channel: str, field: str) -> str:
    return "whole number" if is_count(field) else KINDS[channel[0]]


def _output(number: int) -> str:
    return f"outputs/case_{number:02}_report.json"


def _render_sub_problems(spec: TaskSpec) -> str:
    return "\n\n".join(
        f"### Sub-Problem {number}: {title}\n\n"
        + Template(spec.family.case.strip()).substitute(
            title=title, file=f"`{name}`", output=f"`{_output(number)}`"
        )
        for number, (name, title) in enumerate(zip(spec.fixtures, spec.titles, strict=True), 1)
    )


def _render_criteria(spec: TaskSpec) -> str:
    lines = [
        "All five reports exist under `outputs/`.",
        "Each report is a JSON object with all five fields.",
        "Packets that are unapproved, superseded or carry a wrong checksum, and records that are "
        "not final, have no influence.",
        *(f"`{field}` is right in value and type." for field in spec.fields.values()),
    ]
    return "\n".join(f"- [ ] {line}" for line in lines)
