"""The gateway of one process: a thread with an event loop, started when it is first needed."""

from __future__ import annotations

import asyncio
import atexit
import random
import secrets
import threading
from collections.abc import Callable
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import TypeVar

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.gateway import TrafficReport
from pytest_evoclaw.gateway.retries import RetryPolicy

if TYPE_CHECKING:
    from pytest_evoclaw.gateway.proxy import Proxy

DUMMY_KEY = "sk-evoclaw-dummy"
_SECONDS = 30.0  # for what takes milliseconds, in a loop that nothing may block
_T = TypeVar("_T")


class Gateway:
    """Opens ways to models for phases, from any thread."""

    def __init__(self, settings: GatewaySettings, randomness: random.Random) -> None:
        self.settings = settings
        self._randomness = randomness
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def open(self, traffic: PhaseTraffic, stop: Callable[[str], None]) -> Traffic:
        """Return a way to the endpoint for one phase; start the server if needed.

        ``stop`` gets the name of a limit when an agent goes on after it: ``turns`` or ``tokens``.
        It is called in the gateway's thread and must return at once.
        """
        return self._find_server().open(traffic, stop)

    def listen_at(self, path: Path) -> None:
        """Listen on a Unix socket too."""
        server = self._find_server()
        server.call(server.proxy.listen_at(str(path)))

    def close(self) -> None:
        """End the server; may be called again, also when it was never started."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            atexit.unregister(self.close)
            server.close()

    def _find_server(self) -> _Server:
        with self._lock:
            if self._server is None:
                policy = RetryPolicy(
                    retries=self.settings.retries,
                    seconds=self.settings.retry_seconds,
                    randomness=self._randomness,
                )
                self._server = _Server(self.settings, policy)
                atexit.register(self.close)
            return self._server


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """A way to a model for one phase. ``endpoint`` is what the agent gets, with a dummy key.

    Its base URL ends with ``/v1``; :attr:`root_url` is the same for SDKs that add that themselves.
    """

    endpoint: Endpoint
    _server: _Server
    _token: str

    @property
    def root_url(self) -> str:
        """The base URL without ``/v1``."""
        return self.endpoint.base_url.removesuffix("/v1")

    def close(self) -> TrafficReport:
        """End what is under way, refuse what comes, and say what it was."""
        return self._server.call(self._server.end(self._token))


class _Server:
    """The thread, its loop and the proxy in it."""

    def __init__(self, settings: GatewaySettings, policy: RetryPolicy) -> None:
        # Not at the top: collection must not pay for an HTTP library.
        from pytest_evoclaw.gateway.proxy import Proxy

        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="evo-gateway", daemon=True)
        self._thread.start()
        self.proxy: Proxy = self.call(self._create(Proxy, policy))
        try:
            self._port = self.call(self.proxy.start())
        except BaseException:
            self.close()
            raise

    def call(self, coroutine: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine in the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_SECONDS)

    def open(self, traffic: PhaseTraffic, stop: Callable[[str], None]) -> Traffic:
        token = secrets.token_urlsafe(16)
        self.call(self._add(token, traffic, stop))
        endpoint = Endpoint(
            model=traffic.endpoint.model,
            base_url=f"http://127.0.0.1:{self._port}/{token}/v1",
            api_key=DUMMY_KEY,
        )
        return Traffic(endpoint=endpoint, _server=self, _token=token)

    async def end(self, token: str) -> TrafficReport:
        from pytest_evoclaw.gateway.proxy import PATIENCE

        return await self.proxy.ledgers.pop(token).close(PATIENCE)

    def close(self) -> None:
        if hasattr(self, "proxy"):
            self.call(self.proxy.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)

    async def _create(
        self, proxy: Callable[[GatewaySettings, RetryPolicy], Proxy], policy: RetryPolicy
    ) -> Proxy:
        return proxy(self._settings, policy)

    async def _add(self, token: str, traffic: PhaseTraffic, stop: Callable[[str], None]) -> None:
        from pytest_evoclaw.gateway.ledger import Ledger

        self.proxy.ledgers[token] = Ledger(traffic, self._settings, stop)

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
