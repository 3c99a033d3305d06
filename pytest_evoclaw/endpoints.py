"""Where a model lives: ``provider/model`` names, base URLs and the variables that hold the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from urllib.parse import urlsplit

from pytest_evoclaw.errors import SettingsError

# Base URL of the OpenAI-compatible API, and the environment variable of its key.
PROVIDERS: Mapping[str, tuple[str, str]] = {
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible base URL (with its ``/v1``), the model's name there, and the key."""

    model: str
    base_url: str
    api_key: str = field(repr=False)


def find_endpoint(model: str, base_url: str | None, variables: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of ``model``.

    ``base_url`` wins, then ``OPENAI_BASE_URL``; there the name is used as it is and the key is
    ``OPENAI_API_KEY``, which a server on loopback may do without. Otherwise ``model`` must be
    ``provider/model`` with a provider of the table. Raises SettingsError.
    """
    if url := base_url or variables.get("OPENAI_BASE_URL"):
        return _find_given(model, url, variables)
    provider, _, name = model.partition("/")
    if not name or provider not in PROVIDERS:
        allowed = ", ".join(f"{each}/…" for each in PROVIDERS)
        raise SettingsError(f"found {model!r}, allowed {allowed}, or any name with a base URL")
    url, variable = PROVIDERS[provider]
    if not (key := variables.get(variable)):
        raise SettingsError(f"{model}: the environment variable {variable} is not set")
    return Endpoint(model=name, base_url=url, api_key=key)


def _find_given(model: str, url: str, variables: Mapping[str, str]) -> Endpoint:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"base URL: found {url!r}, allowed http://… or https://…")
    key = variables.get("OPENAI_API_KEY", "")
    if not key and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise SettingsError(f"{url}: the environment variable OPENAI_API_KEY is not set")
    return Endpoint(model=model, base_url=url.rstrip("/"), api_key=key or "none")
