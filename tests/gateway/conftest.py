from __future__ import annotations

import http.client
import json
import random
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.gateway import TrafficLimits
from pytest_evoclaw.gateway.service import Gateway
from pytest_evoclaw.gateway.service import Traffic
from tests.gateway.provider import Provider

KEY = "sk-the-real-one-1234"


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes
    cut: bool


def ask(base_url: str, path: str = "chat/completions", body: Any = None, **options: Any) -> Got:
    """Send one request and read all of the answer, also if it is cut."""
    parts = urlsplit(base_url)
    raw = body if isinstance(body, bytes) else json.dumps(body or {"model": "m"}).encode()
    headers = {"authorization": "Bearer dummy", "content-type": "application/json"}
    headers = options.get("headers", headers)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request(options.get("method", "POST"), f"{parts.path}/{path}", raw, headers)
        response = connection.getresponse()
        try:
            data, cut = response.read(), False
        except http.client.IncompleteRead as error:
            data, cut = error.partial, True
        found = {name.lower(): value for name, value in response.getheaders()}
        return Got(response.status, found, data, cut)
    finally:
        connection.close()


@dataclass
class Desk:
    """A gateway, and ways through it to the provider."""

    provider: Provider
    folder: Path
    gateway: Gateway
    stops: list[str]

    def open(self, name: str = "phase", **options: Any) -> Traffic:
        limits = TrafficLimits(**options)
        endpoint = Endpoint(model="m", base_url=self.provider.url, api_key=KEY)
        traffic = PhaseTraffic(
            endpoint=endpoint,
            log=self.log(name),
            limits=limits,
            key=f"trials/{name}",
            root=self.folder / name,
        )
        return self.gateway.open(traffic, self.stops.append)

    def log(self, name: str = "phase") -> Path:
        return self.folder / f"{name}.jsonl"

    def lines(self, name: str = "phase") -> list[dict[str, Any]]:
        lines = self.log(name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def make_desk(provider, tmp_path) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(**settings: Any) -> Desk:
        gateway = Gateway(GatewaySettings(**settings), random.Random(1))
        made.append(Desk(provider, tmp_path, gateway, []))
        return made[-1]

    yield make
    for desk in made:
        desk.gateway.close()


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    """A gateway that gives up soon."""
    return make_desk(retry_seconds=5)
