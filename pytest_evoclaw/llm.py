"""One completion of an OpenAI-compatible API: tried again within limits, and paid for aloud."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any
from urllib.parse import urlsplit

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.errors import EvoclawError
from pytest_evoclaw.gateway.retries import RetryPolicy
from pytest_evoclaw.gateway.retries import is_transient
from pytest_evoclaw.gateway.retries import read_retry_after
from pytest_evoclaw.gateway.usage import read_usage
from pytest_evoclaw.slots import SlotPool
from pytest_evoclaw.usage import Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.resources.chat import AsyncCompletions

FAULT_CHARACTERS = 500
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# What a provider may refuse by name, and what is sent instead.
OPTIONAL: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": None,
    "response_format": None,
    "temperature": None,
}
Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionLimits:
    """``call_seconds`` bound one request, ``total_seconds`` all tries with the waits between them.

    Waiting for a place in the pool is in neither. An answer above ``reply_bytes`` is a fault.
    """

    call_seconds: float = 120.0
    total_seconds: float = 600.0
    retries: int = 6
    reply_bytes: int = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """An answer. ``parameters`` are those that the provider accepted; ``requests`` counts tries."""

    text: str
    finish_reason: str
    usage: Usage
    seconds: float
    requests: int
    parameters: Mapping[str, Any]


class CompletionFailed(EvoclawError):
    """There is no answer; the text says what the provider said, and how often it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completer:
    """Asks one model; may be used from several threads at a time.

    ``pool`` bounds the requests in flight. What a provider refuses of the parameters that not all
    know is left out from then on.
    """

    endpoint: Endpoint
    limits: CompletionLimits = CompletionLimits()
    pool: SlotPool | None = None
    randomness: random.Random = field(default_factory=random.Random)
    _refused: set[str] = field(default_factory=set)

    def complete(self, messages: Messages, parameters: Mapping[str, Any]) -> Completion:
        """Return the answer; CompletionFailed within the limits if there is none."""
        policy = RetryPolicy(
            retries=self.limits.retries,
            seconds=self.limits.total_seconds,
            randomness=self.randomness,
        )
        spent, tries, requests = 0.0, 0, 0
        while True:
            used = self._choose(parameters)
            seconds = min(self.limits.call_seconds, self.limits.total_seconds - spent)
            answer = self._ask(messages, used, seconds)
            spent += answer.seconds
            requests += 1
            if answer.fault is None:
                return _read_answer(answer, used, spent, requests)
            if answer.status in (400, 422) and self._refuse(used, answer.fault):
                continue
            tries += 1
            wait = policy.find_wait(tries, spent, answer.wait) if answer.transient else None
            if wait is None:
                fault = self._erase(answer.fault)
                count = f"after {requests} request{'s' * (requests > 1)} in {spent:.1f} s"
                raise CompletionFailed(f"{self.endpoint.model}: {fault} ({count})")
            time.sleep(wait)
            spent += wait

    def _choose(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        chosen = {}
        for name, value in parameters.items():
            known: str | None = name
            while known in self._refused:
                known = OPTIONAL[known]
            if known is not None:
                chosen[known] = value
        return chosen

    def _refuse(self, used: Mapping[str, Any], fault: str) -> bool:
        """Leave out from now on what the fault names; tell whether that changes anything."""
        named = {name for name in OPTIONAL if name in used and name in fault}
        self._refused.update(named)
        return bool(named)

    def _ask(self, messages: Messages, parameters: Mapping[str, Any], seconds: float) -> _Answer:
        with self.pool.hold() if self.pool is not None else contextlib.nullcontext():
            return asyncio.run(_request(self, messages, parameters, seconds))

    def _erase(self, text: str) -> str:
        key = self.endpoint.api_key
        return text.replace(key, "***") if len(key) > 8 else text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    seconds: float = 0.0
    data: Any = None
    fault: str | None = None
    status: int | None = None
    transient: bool = False
    wait: float | None = None


async def _request(
    completer: Completer, messages: Messages, parameters: Mapping[str, Any], seconds: float
) -> _Answer:
    """Send one request."""
    fields = {"model": completer.endpoint.model, "messages": list(messages), **parameters}
    async with _open_client(completer.endpoint, seconds) as client:
        completions = client.chat.completions  # slow the first time, and no fault of the provider
        started = time.monotonic()
        answer = await _send(completions, fields, seconds, completer.limits.reply_bytes)
    return replace(answer, seconds=time.monotonic() - started)


async def _send(
    completions: AsyncCompletions, fields: dict[str, Any], seconds: float, limit: int
) -> _Answer:
    import openai

    try:
        async with asyncio.timeout(seconds):
            return _Answer(data=await _read(completions, fields, limit))
    except openai.APIStatusError as error:
        text = _cut(error.response.text or str(error))
        return _Answer(
            fault=f"HTTP {error.status_code}: {text}",
            status=error.status_code,
            transient=is_transient(error.status_code, text),
            wait=read_retry_after(error.response.headers.get("retry-after", "")),
        )
    except TimeoutError:
        return _Answer(fault=f"no answer within {seconds:.3g} s", transient=True)
    except openai.APIError as error:  # the transport's
        cause = f": {error.__cause__}" if error.__cause__ else ""
        return _Answer(fault=_cut(f"{error}{cause}"), transient=True)
    except (_BrokenAnswer, OSError) as error:
        return _Answer(fault=_cut(str(error)), transient=True)


class _BrokenAnswer(Exception):
    pass


def _open_client(endpoint: Endpoint, seconds: float) -> AsyncOpenAI:
    import openai

    # No proxy serves the machine's own servers.
    trusted = urlsplit(endpoint.base_url).hostname not in LOOPBACK
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=seconds,
        http_client=openai.DefaultAsyncHttpxClient(trust_env=trusted),
    )


async def _read(completions: AsyncCompletions, fields: dict[str, Any], limit: int) -> Any:
    transport = _transport_errors()
    data = bytearray()
    try:
        async with completions.with_streaming_response.create(**fields) as response:
            async for chunk in response.iter_bytes():
                data += chunk
                if len(data) > limit:
                    raise _BrokenAnswer(f"an answer of more than {limit} bytes")
        return json.loads(data)
    except transport as error:  # while the body is read, the SDK lets these through
        raise _BrokenAnswer(f"broken off: {error or type(error).__name__}") from error
    except ValueError as error:
        raise _BrokenAnswer(f"an answer that is no JSON: {data[:200]!r}") from error


def _transport_errors() -> type[Exception]:
    """Return the base of the transport's exceptions; the SDK's transport changes its name."""
    import openai

    client = openai.DefaultAsyncHttpxClient.__mro__[1]
    found: type[Exception] = import_module(client.__module__.partition(".")[0]).HTTPError
    return found


def _read_answer(
    answer: _Answer, parameters: Mapping[str, Any], seconds: float, requests: int
) -> Completion:
    data = answer.data if isinstance(answer.data, dict) else {}
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    message = first.get("message") if isinstance(first, dict) else None
    usage = read_usage("chat", data.get("usage")) or Usage(request_count=1)
    return Completion(
        text=_join_text(message.get("content")) if isinstance(message, dict) else "",
        finish_reason=str(first.get("finish_reason") or "") if isinstance(first, dict) else "",
        usage=usage,
        seconds=seconds,
        requests=requests,
        parameters=parameters,
    )


def _join_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(p["text"]) for p in parts if isinstance(p, dict) and p.get("text"))


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= FAULT_CHARACTERS else f"{flat[:FAULT_CHARACTERS]} …"
