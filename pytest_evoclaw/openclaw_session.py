"""What one session of OpenClaw came to: its messages, usage, and the faults of the model's API."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

from pytest_evoclaw.results import UNKNOWN_USAGE
from pytest_evoclaw.results import Usage
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import ToolCallItem
from pytest_evoclaw.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What OpenClaw left: the events of its store, and the ``envelope`` that it printed at its end.

    ``failures`` are the faults of the model's API since its last answer.
    """

    transcript: Transcript
    usage: Usage
    turns: int
    failures: tuple[str, ...]
    envelope: Mapping[str, Any] | None

    @classmethod
    def of(cls, events: Sequence[dict[str, Any]], envelope: Mapping[str, Any] | None) -> Session:
        """Read what is there, whatever it is."""
        kept: list[Any] = []
        failures: list[str] = []
        for event in events:
            message = event.get("message")
            if not isinstance(message, dict):
                continue
            if (fault := _read_fault(message)) is not None:
                failures.append(fault)
                continue
            if message.get("role") == "assistant":
                failures.clear()
                message = {**message, "usage": _without_guesses(message.get("usage"))}
            kept.append({"message": message})
        messages = tuple(_add_lost_calls(Transcript.from_events(kept).messages))
        answers = [each for each in messages if each.role == "assistant"]
        told = envelope and _read_usage(envelope, len(answers))
        turns = envelope.get("assistantTurns") if envelope else None
        usages = [each.usage or Usage(request_count=1) for each in answers]
        return cls(
            transcript=Transcript(messages),
            usage=told or (Usage.total(usages) if usages else UNKNOWN_USAGE),
            turns=turns if isinstance(turns, int) else len(answers),
            failures=tuple(failures),
            envelope=envelope,
        )


def _add_lost_calls(messages: Iterable[Message]) -> Iterator[Message]:
    """Put a call before each result without one: OpenClaw drops calls of tools it does not have."""
    known: set[str] = set()
    for message in messages:
        known.update(call.id for call in message.tool_calls)
        identifier = message.tool_call_id
        if message.role == "toolResult" and identifier and identifier not in known:
            known.add(identifier)
            call = ToolCallItem(id=identifier, name=message.tool_name or "")
            yield Message(role="assistant", items=(call,))
        yield message


def _read_fault(message: Mapping[str, Any]) -> str | None:
    """Return the words of an answer that is the fault of the model's API, and None else.

    A call that cannot be read is called an error too, but it is an answer, with usage.
    """
    if message.get("role") != "assistant" or message.get("stopReason") != "error":
        return None
    if _without_guesses(message.get("usage")) is not None:
        return None
    return str(message.get("errorMessage") or "error")


def _without_guesses(usage: Any) -> Any:
    """Leave out what OpenClaw puts where nobody told it anything: no tokens, no cost."""
    if not isinstance(usage, dict) or not any(usage.get(key) for key in ("input", "output")):
        return None
    return {key: value for key, value in usage.items() if key != "cost"}


def _read_usage(envelope: Mapping[str, Any], answers: int) -> Usage | None:
    """Return the usage of all answers, those too that the store leaves out."""
    usage, turns = _without_guesses(envelope.get("usage")), envelope.get("assistantTurns")
    event = {"message": {"role": "assistant", "usage": usage}}
    messages = Transcript.from_events([event]).messages
    if not messages or messages[0].usage is None:
        return None
    return replace(messages[0].usage, request_count=turns if isinstance(turns, int) else answers)
