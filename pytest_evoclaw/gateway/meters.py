"""What an answer holds: content, usage, an error, its end; one meter for each API."""

from __future__ import annotations

from typing import Any
from typing import Protocol

from pytest_evoclaw.gateway.dialects import Api
from pytest_evoclaw.gateway.usage import read_usage
from pytest_evoclaw.results import Usage

_CHAT_CONTENT = (
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning",
    "reasoning_content",
)
_BLOCK_TEXT = ("text", "thinking", "data", "partial_json")


class Meter(Protocol):
    """Reads one answer.

    ``finished`` is true from the model's last word on, ``ended`` from the API's last event on.
    ``error`` is what the answer says instead of an answer.
    """

    content: bool
    finished: bool
    ended: bool
    error: str

    @property
    def usage(self) -> Usage | None:
        """What the provider reported, None if it has not."""

    def read_whole(self, body: dict[str, Any]) -> None:
        """Read an answer that is no stream."""

    def read_event(self, data: dict[str, Any] | str) -> None:
        """Read one event of a stream."""


class _Plain:
    api: Api = "other"

    def __init__(self) -> None:
        self.content = False
        self.finished = False
        self.ended = False
        self.error = ""
        self._usage: dict[str, Any] = {}

    @property
    def usage(self) -> Usage | None:
        return read_usage(self.api, self._usage)

    def read_whole(self, body: dict[str, Any]) -> None:
        self.finished = self.ended = True
        self._take_error(body.get("error"))
        self._take_usage(body.get("usage"))

    def read_event(self, data: dict[str, Any] | str) -> None:
        self.content = True

    def _take_usage(self, found: Any) -> None:
        if isinstance(found, dict):
            self._usage.update({k: v for k, v in found.items() if v is not None})

    def _take_error(self, found: Any) -> None:
        if found:
            message = found.get("message") if isinstance(found, dict) else None
            self.error = str(message or found)


class _Chat(_Plain):
    api: Api = "chat"

    def read_whole(self, body: dict[str, Any]) -> None:
        super().read_whole(body)
        self._read_choices(body, "message")

    def read_event(self, data: dict[str, Any] | str) -> None:
        if isinstance(data, str):
            self.ended = self.ended or data == "[DONE]"
            return
        self._take_error(data.get("error"))
        self._take_usage(data.get("usage"))
        self._read_choices(data, "delta")

    def _read_choices(self, data: dict[str, Any], part: str) -> None:
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            said = choice.get(part) if isinstance(choice, dict) else None
            if isinstance(said, dict) and any(said.get(name) for name in _CHAT_CONTENT):
                self.content = True
            if isinstance(choice, dict) and choice.get("finish_reason"):
                self.finished = True


class _Responses(_Plain):
    api: Api = "responses"

    def read_whole(self, body: dict[str, Any]) -> None:
        super().read_whole(body)
        self._read_output(body)

    def read_event(self, data: dict[str, Any] | str) -> None:
        if isinstance(data, str):
            return
        kind = str(data.get("type"))
        if kind.endswith(".delta"):
            self.content = self.content or bool(data.get("delta"))
        elif kind == "error":
            self._take_error(data.get("error") or data.get("message") or kind)
        elif kind == "response.output_item.done":
            self._read_output({"output": [data.get("item")]})
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            response = data.get("response")
            self.read_whole(response if isinstance(response, dict) else {})
            if kind == "response.failed":
                self.error = self.error or kind

    def _read_output(self, body: dict[str, Any]) -> None:
        output = body.get("output")
        for item in output if isinstance(output, list) else ():
            if not isinstance(item, dict):
                continue
            if item.get("type") != "message":
                self.content = True
            parts = item.get("content")
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict) and (part.get("text") or part.get("refusal")):
                    self.content = True


class _Messages(_Plain):
    api: Api = "messages"

    def read_whole(self, body: dict[str, Any]) -> None:
        super().read_whole(body)
        blocks = body.get("content")
        for block in blocks if isinstance(blocks, list) else ():
            self._read_block(block)

    def read_event(self, data: dict[str, Any] | str) -> None:
        if isinstance(data, str):
            return
        kind = data.get("type")
        if kind == "error":
            self._take_error(data.get("error") or kind)
        elif kind == "message_start" and isinstance(data.get("message"), dict):
            self._take_usage(data["message"].get("usage"))
        elif kind == "content_block_start":
            self._read_block(data.get("content_block"))
        elif kind == "content_block_delta":
            self._read_block(data.get("delta"))
        elif kind == "message_delta":
            self._take_usage(data.get("usage"))
            self.finished = True
        elif kind == "message_stop":
            self.ended = True

    def _read_block(self, block: Any) -> None:
        if isinstance(block, dict):
            named = str(block.get("type")).endswith("tool_use")
            if named or any(block.get(name) for name in _BLOCK_TEXT):
                self.content = True


_METERS = {"chat": _Chat, "responses": _Responses, "messages": _Messages, "other": _Plain}


def create_meter(api: Api) -> Meter:
    """Return a fresh meter."""
    return _METERS[api]()
