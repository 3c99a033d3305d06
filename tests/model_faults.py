"""Errors as the two vendors word them."""

from __future__ import annotations

import json
from typing import Any

from tests.model_talk import Api
from tests.model_talk import Reply

KINDS = {401: "key", 404: "model", 429: "rate", 529: "overloaded"}
# What is wrong: type and code of OpenAI, and its words.
OPENAI: dict[str, tuple[str, str | None, str]] = {
    "key": ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "model": ("invalid_request_error", "model_not_found", "The model does not exist."),
    "rate": ("rate_limit_error", "rate_limit_exceeded", "Rate limit reached for requests."),
    "request": ("invalid_request_error", None, "The request is not valid."),
    "overloaded": ("server_error", None, "The server is overloaded."),
    "server": ("server_error", None, "The server had an error."),
    "context": (
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 1000 tokens. Your input has 2000 tokens.",
    ),
}
# What is wrong: type of Anthropic, and its words.
ANTHROPIC: dict[str, tuple[str, str]] = {
    "key": ("authentication_error", "invalid x-api-key"),
    "model": ("not_found_error", "no such model"),
    "rate": ("rate_limit_error", "This request would exceed your rate limit."),
    "request": ("invalid_request_error", "The request is not valid."),
    "overloaded": ("overloaded_error", "Overloaded"),
    "server": ("api_error", "Internal server error"),
    "context": ("invalid_request_error", "prompt is too long: 2000 tokens > 1000 maximum"),
}


def write_fault(api: Api, reply: Reply) -> bytes:
    """Return the body of an error."""
    other = "server" if reply.status >= 500 else "request"
    kind = "context" if reply.too_long else KINDS.get(reply.status, other)
    data: dict[str, Any]
    if api == "messages":
        name, words = ANTHROPIC[kind]
        scripted = f"{words} (scripted fault {reply.status})"
        error = {"type": name, "message": reply.text or scripted}
        data = {"type": "error", "error": error, "request_id": "req_scripted"}
    else:
        name, code, words = OPENAI[kind]
        scripted = f"{words} (scripted fault {reply.status})"
        error_facts = {"message": reply.text or scripted, "type": name, "param": None, "code": code}
        data = {"error": error_facts}
    return json.dumps(data).encode()
