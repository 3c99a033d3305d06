"""What a scripted model is asked and answers, without a wire format."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any
from typing import Literal

Api = Literal["chat", "responses", "messages"]
Role = Literal["user", "assistant", "tool"]
Event = tuple[str | None, dict[str, Any]]  # the name of a server-sent event, if it has one; data
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool; ``arguments`` as text are sent as they are, broken or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Usage of one answer: ``prompt`` includes ``cached``, ``completion`` ``reasoning``."""

    prompt: int = 1000
    cached: int = 400
    completion: int = 50
    reasoning: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            prompt=self.prompt + other.prompt,
            cached=self.cached + other.cached,
            completion=self.completion + other.completion,
            reasoning=self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model.

    ``status`` other than 200 is an error of the API, with ``text`` in place of its usual words;
    ``too_long`` makes it the one for prompts that exceed the model's context. ``cut`` ends the
    connection in the middle of the answer, ``seconds`` is waited before it. ``tokens`` None leaves
    usage out.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens: Tokens | None = field(default_factory=Tokens)
    status: int = 200
    retry_after: int | None = None
    too_long: bool = False
    seconds: float = 0.0
    cut: bool = False


HANG = Reply(seconds=600)
CUT = Reply(text="a beginning of something", cut=True)
EMPTY = Reply()
TOO_LONG = Reply(status=400, too_long=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of the conversation that an agent sends; system texts are kept apart."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request, in one form for all APIs. ``tools`` maps names to schemas of parameters.

    ``headers`` have lower-case names; ``raw`` is the body as it was sent, but not compressed.
    """

    api: Api
    model: str
    system: str
    messages: tuple[Said, ...]
    tools: Mapping[str, Mapping[str, Any]]
    stream: bool
    body: Mapping[str, Any] = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    path: str = ""
    raw: bytes = field(default=b"", repr=False)

    @property
    def prompt(self) -> str:
        """All texts of the user."""
        return "\n".join(said.text for said in self.messages if said.role == "user")

    @property
    def text(self) -> str:
        """All texts of system and user."""
        return f"{self.system}\n{self.prompt}"

    @property
    def wants_usage(self) -> bool:
        """Whether the answer is to tell what it used: in all cases but one."""
        if self.api != "chat" or not self.stream:
            return True
        return bool((self.body.get("stream_options") or {}).get("include_usage"))

    @property
    def turn(self) -> int:
        """How many answers the model has given, whatever number of items each is sent back as."""
        roles = itertools.groupby(self.messages, key=lambda said: said.role)
        return sum(role == "assistant" for role, _ in roles)

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls of tools until now."""
        return tuple(call for said in self.messages for call in said.calls)

    @property
    def results(self) -> tuple[str, ...]:
        """What the tools returned until now."""
        return tuple(said.text for said in self.messages if said.role == "tool")


Brain = Callable[[ModelRequest], Reply]


def say(text: str) -> Reply:
    return Reply(text=text)


def call(name: str, arguments: Mapping[str, Any] | str) -> Reply:
    return Reply(calls=(Call(name=name, arguments=arguments),))


def fail(status: int, retry_after: int | None = None, *, message: str = "") -> Reply:
    return Reply(status=status, retry_after=retry_after, text=message)


def hang(seconds: float) -> Reply:
    return Reply(seconds=seconds)


def cut(text: str) -> Reply:
    return Reply(text=text, cut=True)


def number_calls(reply: Reply, start: int) -> Reply:
    """Give each call an id of its own."""
    calls = (replace(each, id=each.id or f"call_{start}_{n}") for n, each in enumerate(reply.calls))
    return replace(reply, calls=tuple(calls))


def join_text(content: Any) -> str:
    """Return the text of a string or of a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if part.get("text") is not None)


def split_text(text: str) -> list[str]:
    """Return a text in two pieces, or none if it is empty."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
