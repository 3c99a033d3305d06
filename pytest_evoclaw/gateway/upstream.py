"""The provider behind one base URL: connections, a bound on requests at a time, retries."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway.answers import AnswerCut
from pytest_evoclaw.gateway.answers import ProviderFailed
from pytest_evoclaw.gateway.dialects import Headers
from pytest_evoclaw.gateway.dialects import build_answer_headers
from pytest_evoclaw.gateway.dialects import find_header
from pytest_evoclaw.gateway.erasing import Eraser
from pytest_evoclaw.gateway.exchanges import Attempt
from pytest_evoclaw.gateway.exchanges import Exchange
from pytest_evoclaw.gateway.retries import RetryPolicy
from pytest_evoclaw.gateway.retries import is_final
from pytest_evoclaw.gateway.retries import is_transient
from pytest_evoclaw.gateway.retries import read_retry_after

CONNECT_SECONDS = 15.0
_WHOLE_BYTES = 64 * 1024 * 1024
_FAULTS = (aiohttp.ClientError, TimeoutError, OSError)
_SKIPPED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class LiveAnswer:
    """An answer that has begun; holds a connection and a place until it is closed."""

    def __init__(self, response: aiohttp.ClientResponse, key: str, idle: float) -> None:
        self.status = response.status
        eraser = Eraser(key)
        self.headers: Headers = tuple(
            (name, eraser.erase(value.encode()).decode())
            for name, value in build_answer_headers(response.headers.items())
        )
        self.streamed = self.status < 300 and "event-stream" in find_header(
            self.headers, "content-type"
        )
        self.body = b""
        self._response = response
        self._held = AsyncExitStack()
        self._idle = idle
        self._eraser = eraser

    async def begin(self) -> None:
        """Read the first bytes of a stream, or everything else. Raises what aiohttp raises."""
        if self.streamed:
            self.body = self._eraser.feed(await self._response.content.readany())
            if not self.body:
                raise aiohttp.ClientPayloadError("the stream ended before it began")
            return
        data = bytearray()
        while more := await self._response.content.readany():
            data += more
            if len(data) > _WHOLE_BYTES:
                raise aiohttp.ClientPayloadError(f"an answer of more than {_WHOLE_BYTES} bytes")
        self.body = self._eraser.erase(bytes(data))

    def hold(self, held: AsyncExitStack) -> None:
        """Keep what must stay open while the stream goes on."""
        self._held = held

    async def read(self) -> bytes:
        """Return the next bytes of a stream."""
        try:
            while True:
                async with asyncio.timeout(self._idle):
                    data = await self._response.content.readany()
                if not data:
                    return self._eraser.flush()
                if passed := self._eraser.feed(data):
                    return passed
        except TimeoutError as error:
            raise AnswerCut(f"silent for {self._idle:g} s within an answer") from error
        except _FAULTS as error:
            raise AnswerCut(f"broken off: {describe_fault(error)}") from error

    async def close(self) -> None:
        """Give back connection and place; an answer that is not over is ended."""
        await self._held.aclose()


class Upstream:
    """One provider; lives in the gateway's event loop."""

    def __init__(self, base_url: str, settings: GatewaySettings, policy: RetryPolicy) -> None:
        self._base_url = base_url.rstrip("/")
        self._settings = settings
        self._policy = policy
        self._places = asyncio.Semaphore(settings.concurrency)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            auto_decompress=False,
            skip_auto_headers=_SKIPPED,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=not is_loopback(base_url),
        )

    async def fetch(self, exchange: Exchange, endpoint: Endpoint) -> LiveAnswer:
        """Ask until there is an answer that is for the agent. Raises ProviderFailed."""
        started = time.monotonic()
        while True:
            asked_to_wait, status, fault = None, None, ""
            try:
                answer = await self._attempt(exchange, endpoint)
            except _FAULTS as error:
                fault = describe_fault(error)
            else:
                text = answer.body[:2000].decode("utf-8", "replace") if answer.status >= 400 else ""
                status, fault = answer.status, f"HTTP {answer.status}: {text}"
                if answer.status < 400 or not is_transient(status, text):
                    if is_final(status, text):
                        raise ProviderFailed(status, fault)
                    return answer
                asked_to_wait = read_retry_after(find_header(answer.headers, "retry-after"))
            count, elapsed = len(exchange.attempts), time.monotonic() - started
            wait = self._policy.find_wait(count, elapsed, asked_to_wait)
            if wait is None:
                detail = f"{fault} (after {count} attempts in {elapsed:.1f} s)"
                raise ProviderFailed(status, detail)
            await asyncio.sleep(wait)

    async def _attempt(self, exchange: Exchange, endpoint: Endpoint) -> LiveAnswer:
        queued = time.monotonic()
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._places)
            started, status, error = time.monotonic(), None, ""
            try:
                async with asyncio.timeout(self._settings.first_byte_seconds):
                    response = await held.enter_async_context(self._request(exchange))
                    status = response.status
                    answer = LiveAnswer(response, endpoint.api_key, self._settings.idle_seconds)
                    await answer.begin()
            except _FAULTS as fault:
                error = describe_fault(fault)
                raise
            finally:
                exchange.attempts.append(
                    Attempt(
                        status=status,
                        error=error,
                        seconds=time.monotonic() - started,
                        queued=started - queued,
                    )
                )
            if answer.streamed:
                answer.hold(held.pop_all())
        return answer

    def _request(self, exchange: Exchange) -> aiohttp.client._RequestContextManager:
        asked = exchange.asked
        url = f"{self._base_url}/{asked.rest}" + (f"?{asked.query}" if asked.query else "")
        return self._session.request(
            asked.method,
            URL(url, encoded=True),
            headers=asked.headers,
            data=asked.sent or None,
            allow_redirects=False,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine, which no proxy serves."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def describe_fault(error: Exception) -> str:
    """Return words for a fault of the transport; some exceptions have none."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
