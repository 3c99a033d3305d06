"""The HTTP server that agents talk to: ``/<token>/v1/…``, one token for each phase."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway.answers import Answer
from pytest_evoclaw.gateway.answers import AnswerCut
from pytest_evoclaw.gateway.answers import ProviderFailed
from pytest_evoclaw.gateway.answers import ReplayMissed
from pytest_evoclaw.gateway.dialects import build_error
from pytest_evoclaw.gateway.exchanges import Exchange
from pytest_evoclaw.gateway.ledger import Ledger
from pytest_evoclaw.gateway.requests import read_request
from pytest_evoclaw.gateway.retries import RetryPolicy
from pytest_evoclaw.gateway.upstream import Upstream

PATIENCE = 2.0  # seconds for the usage of an answer whose text the agent has read already
_REQUEST_BYTES = 256 * 1024 * 1024


class Proxy:
    """Serves requests, in the gateway's event loop."""

    def __init__(self, settings: GatewaySettings, policy: RetryPolicy) -> None:
        self.ledgers: dict[str, Ledger] = {}
        self._settings = settings
        self._policy = policy
        self._upstreams: dict[str, Upstream] = {}
        application = web.Application(client_max_size=_REQUEST_BYTES)
        application.router.add_route("*", "/{token}/v1/{rest:.*}", self._handle)
        application.router.add_route("*", "/{token}{rest:/?(?:v1/?)?}", self._greet)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            auto_decompress=False,
            handler_cancellation=True,
            shutdown_timeout=1.0,
        )

    async def start(self) -> int:
        """Listen on a free port of loopback, and return it."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port: int = self._runner.addresses[0][1]
        return port

    async def listen_at(self, path: str) -> None:
        """Listen on a Unix socket too, for agents without a network."""
        await web.UnixSite(self._runner, path).start()

    async def close(self) -> None:
        """Stop listening, end what is under way."""
        for token in list(self.ledgers):
            await self.ledgers.pop(token).close(0)
        await self._runner.cleanup()
        for upstream in self._upstreams.values():
            await upstream.close()

    async def _greet(self, request: web.Request) -> web.StreamResponse:
        # Some agents look whether anybody is there before they ask.
        known = request.match_info["token"] in self.ledgers
        return web.Response(status=200 if known else 403)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        rest = request.match_info["rest"]
        ledger = self.ledgers.get(request.match_info["token"])
        if ledger is None:
            return _refuse(rest, "This address is not, or no longer, in use.", status=403)
        path = request.rel_url.raw_path.split("/v1/", 1)[1]
        asked = read_request(
            (request.method, path, request.rel_url.raw_query_string),
            tuple(request.headers.items()),
            await request.read(),
            ledger.traffic.endpoint.api_key,
        )
        if request.match_info["token"] not in self.ledgers:
            return _refuse(rest, "This address is no longer in use.", status=403)
        exchange = ledger.begin(asked)
        try:
            return await self._serve(request, ledger, exchange)
        except asyncio.CancelledError:
            exchange.outcome = exchange.outcome or "abandoned"
            raise
        finally:
            if exchange.outcome is None:
                ledger.give_up(exchange, "a fault of the gateway", Reason.HARNESS)
            ledger.settle(exchange)

    async def _serve(
        self, request: web.Request, ledger: Ledger, exchange: Exchange
    ) -> web.StreamResponse:
        rest = exchange.asked.rest
        if (refusal := await ledger.admit(exchange)) is not None:
            return _refuse(rest, refusal)
        try:
            answer = await self._find_answer(ledger, exchange)
        except ProviderFailed as error:
            exchange.status = error.status
            return _refuse(rest, ledger.give_up(exchange, error.detail, Reason.PROVIDER))
        except ReplayMissed as error:
            return _refuse(rest, ledger.give_up(exchange, str(error), Reason.HARNESS))
        exchange.begin(answer)
        try:
            if answer.streamed:
                return await _pass_stream(request, answer, exchange, ledger.settle)
            exchange.take_whole(answer.body)
            ledger.settle(exchange)  # the agent may be gone as soon as it has read it
            response = web.Response(status=answer.status, body=answer.body)
            _set_headers(response, answer)
            return response
        finally:
            await answer.close()

    async def _find_answer(self, ledger: Ledger, exchange: Exchange) -> Answer:
        if ledger.shelf is not None:
            ledger.shelf.name(exchange)
            if ledger.shelf.replays:
                return await ledger.shelf.find(exchange).begin()
        endpoint = ledger.traffic.endpoint
        return await self._find_upstream(endpoint).fetch(exchange, endpoint)

    def _find_upstream(self, endpoint: Endpoint) -> Upstream:
        if endpoint.base_url not in self._upstreams:
            self._upstreams[endpoint.base_url] = Upstream(
                endpoint.base_url, self._settings, self._policy
            )
        return self._upstreams[endpoint.base_url]


async def _pass_stream(
    request: web.Request,
    answer: Answer,
    exchange: Exchange,
    settle: Callable[[Exchange], None],
) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status)
    _set_headers(response, answer)
    try:
        await response.prepare(request)
        data = answer.body
        while data:
            shown = exchange.take(data)
            # Unless something is hidden, bytes go on at once and not when an event is complete.
            await response.write(b"".join(shown) if exchange.asked.hides_usage else data)
            data = await answer.read()
        rest = exchange.take_end()
        if exchange.asked.hides_usage and rest:
            await response.write(b"".join(rest))
    except AnswerCut as cut:
        exchange.outcome, exchange.error, exchange.broken = "cut", str(cut), True
        if request.transport is not None:
            request.transport.close()  # the agent gets what there was, and no proper end
    except ConnectionError:
        await _drain(answer, exchange)
    except asyncio.CancelledError:
        await _drain(answer, exchange)
        raise
    else:
        exchange.conclude()
    settle(exchange)
    return response


async def _drain(answer: Answer, exchange: Exchange) -> None:
    """Read on for the usage, if the agent left with the last word of the model."""
    try:
        async with asyncio.timeout(PATIENCE):
            while exchange.nearly_done and (data := await answer.read()):
                exchange.take(data)
    except (AnswerCut, TimeoutError) as error:
        exchange.error = f"the agent left early, and then: {error or 'silence'}"
    if exchange.meter.finished or exchange.meter.ended:
        exchange.conclude()
    else:
        exchange.outcome = "abandoned"


def _set_headers(response: web.StreamResponse, answer: Answer) -> None:
    for name, value in answer.headers:
        response.headers.add(name, value)


def _refuse(rest: str, message: str, status: int = 400) -> web.Response:
    return web.Response(
        status=status, body=build_error(rest, message), content_type="application/json"
    )
