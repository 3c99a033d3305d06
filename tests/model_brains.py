"""Ready brains: faults, replies by number, and one that solves tasks with the agent's own tools."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shlex
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any

from pytest_evoclaw import preambles
from tests.model_talk import Brain
from tests.model_talk import Call
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.model_talk import Tokens
from tests.model_talk import fail

Tools = Mapping[str, Mapping[str, Any]]
Files = Mapping[str, str | bytes]

WRITE_TOOLS = ("write_file", "write", "Write", "create_file")
READ_TOOLS = ("read_file", "read", "Read")
SHELL_TOOLS = (
    "exec",
    "bash",
    "Bash",
    "shell",
    "shell_command",
    "exec_command",
    "run_command",
)
PATH_KEYS = ("path", "file_path", "filePath", "filename")
TEXT_KEYS = ("content", "contents", "text")
COMMAND_KEYS = ("command", "cmd")
# mini-swe-agent ends with this command and in no other way; its instructions say so.
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
# Claude Code's tools want absolute paths; its instructions name the folder.
FOLDER = re.compile(r"working directory:\s*(/[^\n]*\S)", re.IGNORECASE)
PIECE = 48_000  # bytes by one command: Linux takes arguments of less than 128 KiB


def always(reply: Reply) -> Brain:
    return lambda request: reply


def faulty(status: int, retry_after: int | None = None, *, message: str = "") -> Brain:
    return always(fail(status, retry_after, message=message))


def play(*replies: Reply) -> Brain:
    """Answer with one reply after the other, by the number of answers that a request shows."""
    return lambda request: replies[min(request.turn, len(replies) - 1)]


def sequence(*steps: Reply | Brain) -> Brain:
    """Answer the first request by the first step and so on, whoever asks; the last one for ever."""
    count = itertools.count()  # one ``next`` is atomic

    def answer(request: ModelRequest) -> Reply:
        step = steps[min(next(count), len(steps) - 1)]
        return step if isinstance(step, Reply) else step(request)

    return answer


def break_arguments(request: ModelRequest) -> Reply:
    """Call a tool of the agent with arguments that are no JSON."""
    tool = write_file(request.tools, "outputs/broken.txt", "broken")
    return Reply(calls=(replace(tool, arguments=tool.text[:-2]),))


def call_unknown_tool(request: ModelRequest) -> Reply:
    """Call a tool that the agent does not have."""
    return Reply(calls=(Call(name="no_such_tool", arguments={"x": 1}),))


def never(prompt: str) -> bool:
    return False


def wants_skill(prompt: str) -> bool:
    """Return whether the prompt is that of an authoring phase."""
    return any(_begin(each) in prompt for each in (preambles.AUTHOR, preambles.SUMMARY))


def offers_skill(prompt: str) -> bool:
    """Return whether the prompt is that of a phase with skills at hand."""
    return _begin(preambles.REUSE) in prompt


def _begin(preamble: str) -> str:
    return preamble.splitlines()[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """Writes the files of a task, one an answer, then says that it is done.

    ``files`` returns them by the prompt, or maps words to them: then the first whose words are in
    the prompt count. A prompt that ``authoring`` accepts gets the files of ``skills`` instead;
    where ``reading`` accepts it, their SKILL.md are read first. ``parallel`` makes all calls in one
    answer. What is next follows from the calls in the request alone.
    """

    files: Mapping[str, Files] | Callable[[str], Files]
    skills: Files | Callable[[str], Files] = field(default_factory=dict)
    authoring: Callable[[str], bool] = never
    reading: Callable[[str], bool] = never
    parallel: bool = False
    tokens: Tokens | None = field(default_factory=Tokens)

    def __call__(self, request: ModelRequest) -> Reply:
        if not request.tools:
            return Reply(text="Done.", tokens=self.tokens)
        calls = tuple(self._list_calls(request))[count_sound_calls(request) :]
        if not calls and SUBMIT in request.text:
            calls = (run_shell(request.tools, f"echo {SUBMIT}"),)
        if not calls:
            return Reply(text="Done.", tokens=self.tokens)
        return Reply(calls=calls if self.parallel else calls[:1], tokens=self.tokens)

    def _list_calls(self, request: ModelRequest) -> Iterator[Call]:
        tools, prompt = request.tools, request.prompt
        if self.authoring(prompt):
            files = self._find_skills(prompt)
        else:
            files = self._find_files(prompt)
            if self.reading(prompt):
                names = [path for path in self._find_skills(prompt) if path.endswith("/SKILL.md")]
                yield from (read_file(tools, locate(request, path)) for path in names)
        for path, data in files.items():
            yield from write_bytes(tools, locate(request, path), data)

    def _find_skills(self, prompt: str) -> Files:
        return self.skills(prompt) if callable(self.skills) else self.skills

    def _find_files(self, prompt: str) -> Files:
        if callable(self.files):
            return self.files(prompt)
        return next((files for words, files in self.files.items() if words in prompt), {})


def solver(files: Mapping[str, Files] | Callable[[str], Files], **options: Any) -> Brain:
    """Return a brain that solves tasks; see :class:`Solver`."""
    return Solver(files=files, **options)


def write_skill(name: str, body: str = "Read, then write.") -> dict[str, str]:
    """Return the file of a valid skill by its path."""
    text = f"---\nname: {name}\ndescription: Solves tasks like this one.\n---\n\n{body}\n"
    return {f"skills/{name}/SKILL.md": text}


def count_sound_calls(request: ModelRequest) -> int:
    """Return how many calls were of tools that the agent has, with arguments that it can read."""
    return sum(each.name in request.tools and _is_sound(each) for each in request.calls)


def _is_sound(call: Call) -> bool:
    try:
        arguments = json.loads(call.text)
    except ValueError:
        return False
    return isinstance(arguments, dict) and bool(arguments)


def locate(request: ModelRequest, path: str) -> str:
    """Return the path as the agent's tools want it."""
    found = FOLDER.search(request.text) if "Write" in request.tools else None
    return f"{found[1].rstrip('/')}/{path}" if found else path


def write_bytes(tools: Tools, path: str, data: str | bytes) -> Iterator[Call]:
    """Yield the calls that write a file byte for byte, by the shell where no tool can be trusted.

    Tools take text alone, and some of them change the ends of its lines.
    """
    raw = data.encode() if isinstance(data, str) else data
    text = _read_text(raw)
    if text is not None and _find_writer(tools) is not None:
        yield write_file(tools, path, text)
        return
    for start in range(0, max(len(raw), 1), PIECE):
        yield run_shell(tools, _write_by_shell(path, raw[start : start + PIECE], start))


def _read_text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\r" in text or "\0" in text or text.startswith("\ufeff") else text


def write_file(tools: Tools, path: str, text: str) -> Call:
    """Return a call that writes a file with what the agent has for it: a tool, or a shell."""
    if (found := _find_writer(tools)) is not None:
        name, path_key, text_key = found
        return Call(name=name, arguments={path_key: path, text_key: text})
    return run_shell(tools, _write_by_shell(path, text.encode(), 0))


def read_file(tools: Tools, path: str) -> Call:
    """Return a call that reads a file: by a tool, or by a shell."""
    for name in READ_TOOLS:
        if key := _find_key(tools, name, PATH_KEYS):
            return Call(name=name, arguments={key: path})
    return run_shell(tools, f"cat {shlex.quote(path)}")


def run_shell(tools: Tools, command: str) -> Call:
    """Return a call of the agent's shell."""
    for name in SHELL_TOOLS:
        if key := _find_key(tools, name, COMMAND_KEYS):
            listed = tools[name]["properties"][key].get("type") == "array"
            words = ["bash", "-c", command] if listed else command
            return Call(name=name, arguments={key: words})
    raise LookupError(f"no tool that writes, and no shell: {sorted(tools)}")


def _find_writer(tools: Tools) -> tuple[str, str, str] | None:
    for name in WRITE_TOOLS:
        path_key = _find_key(tools, name, PATH_KEYS)
        text_key = _find_key(tools, name, TEXT_KEYS)
        if path_key and text_key:
            return name, path_key, text_key
    return None


def _find_key(tools: Tools, name: str, keys: tuple[str, ...]) -> str | None:
    known = tools.get(name, {}).get("properties", {})
    return next((key for key in keys if key in known), None)


def _write_by_shell(path: str, data: bytes, start: int) -> str:
    words = base64.b64encode(data).decode()
    target = shlex.quote(path)
    sign = ">>" if start else ">"
    return f'mkdir -p "$(dirname {target})" && printf %s "{words}" | base64 -d {sign} {target}'
