"""What is put before a task's prompt in each kind of phase (paper, Appendix A; own wording)."""

from __future__ import annotations

BASELINE = """\
# How to work on this task: directly

Solve the task below yourself, one sub-problem after the other, each from its own inputs.
Skills are out of bounds: create, edit or delete no SKILL.md and nothing under `skills/`.
What counts are the output files that the task asks for; write them exactly where it says.
"""

AUTHOR = """\
# How to work on this task: write a skill first, solve nothing

Do not solve the task below. Write one or more reusable skills for it instead, each in its own
folder as `skills/<skill-name>/SKILL.md`, so that an agent who meets this task later solves it
faster and with fewer mistakes. `skills/skill-creator/SKILL.md` explains how a good skill is
written: read it first, and leave that folder as it is.
Write nothing into `outputs/`: final answers are not wanted and not graded in this phase.
"""

SUMMARY = """\
# How to work on this task: turn a finished attempt into a skill

An earlier attempt at the task below is over. `.evoclawbench/first_run_context.json` tells what
it was asked, how it was graded, what it left in its workspace and what it did on the way. Read
that file and `skills/skill-creator/SKILL.md`, then write one or more reusable skills, each as
`skills/<skill-name>/SKILL.md`, so that the next agent who gets this task does it better and with
less effort. Leave the `skills/skill-creator` folder as it is.
Do not attempt the task again and write nothing into `outputs/`: answers are not graded here.
"""

REUSE = """\
# How to work on this task: with the skills at hand

Solve the task below. The folder `skills/` holds skills that were written for it: use them where
they help. They are read-only: create, edit or delete no SKILL.md and nothing under `skills/`.
What counts are the output files that the task asks for; check them before you finish.
"""


def assemble_prompt(preamble: str, task_prompt: str) -> str:
    """Return the preamble followed by the task's prompt: the only text an agent is given."""
    return f"{preamble}\n# The task\n\n{task_prompt}\n"
