"""``simenvs fake-server``: an OpenAI-compatible server without a model."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from simenvs.cli.common import Commands, add_command, positive
from simenvs.errors import InvalidInputError


def add(commands: Commands) -> None:
    """Add the command."""
    from simenvs.models.fake_server import FAULTS

    parser = add_command(
        commands,
        "fake-server",
        run,
        help="serve an OpenAI-compatible API without a model, with faults on demand",
        description="Serve an OpenAI-compatible API without a model, for tests and dry runs: canned "
        "sentences, JSON schemas, tool calls, streaming, log-probabilities, token ids, latency and "
        "faults. Ctrl-C stops it. Faults: "
        + "; ".join(f"{name} ({what})" for name, what in FAULTS.items())
        + ".",
        example="simenvs fake-server --port 8000 --latency 2 --spread 0.2 --fault rate_limit=0.1",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port, 0 for any free one (8000)")
    parser.add_argument("--model", default="fake", help="name of the model served (fake)")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per answer (0)")
    parser.add_argument(
        "--spread", type=float, default=0.0, help="the latency varies by this share (0)"
    )
    parser.add_argument("--capacity", type=positive, default=None, help="answers worked on at once")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME=RATE",
        help="how often a fault strikes",
    )
    parser.add_argument(
        "--call-rate", type=float, default=0.0, help="how often it calls a tool (0)"
    )
    parser.add_argument(
        "--retry-after", type=float, default=1.0, help="seconds a 429 asks to wait (1)"
    )
    parser.add_argument("--api-key", default=None, help="key that requests must carry")
    parser.add_argument("--context", type=positive, default=None, help="longest prompt, in bytes")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (0)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from simenvs.models.fake_server import FakeServer

    faults = {}
    for given in arguments.fault:
        name, _, rate = given.partition("=")
        try:
            faults[name] = float(rate)
        except ValueError:
            raise InvalidInputError(
                f"--fault takes NAME=RATE, such as rate_limit=0.1, not {given!r}"
            ) from None
    server = FakeServer(
        host=arguments.host,
        port=arguments.port,
        latency=arguments.latency,
        spread=arguments.spread,
        capacity=arguments.capacity,
        faults=faults,
        call_rate=arguments.call_rate,
        retry_after=arguments.retry_after,
        api_key=arguments.api_key,
        model=arguments.model,
        context=arguments.context,
        seed=arguments.seed,
    )

    async def serve() -> None:
        async with server.serving():
            print(f"serving model {server.model!r} at {server.base_url}", flush=True)
            await asyncio.Event().wait()

    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve())
    except OSError as error:
        raise InvalidInputError(
            f"can't listen on {arguments.host}:{arguments.port}: {error.strerror or error}"
        ) from None
    counts = ", ".join(f"{name} {count}" for name, count in sorted(server.counts.items()))
    print(f"stopped; {counts or 'no requests'}")
    return 0
