"""Running coroutines from synchronous code."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_inline(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, without an event loop.

    Raises:
        RuntimeError: if it does wait.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(
        "a player declares waits = False but waited for something; remove that declaration"
    )


_loops: dict[int, asyncio.AbstractEventLoop] = {}
_loops_lock = threading.Lock()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, run on this process's background event loop.

    It works inside a running loop too (notebooks) and in forked workers, each of which gets a loop
    of its own. Ctrl-C cancels the coroutine and waits until it has cleaned up.
    """
    with _loops_lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="simenvs-loop", daemon=True).start()
            atexit.register(_at_exit, loop)
    ended = threading.Event()

    async def watched() -> tuple[T | None, BaseException | None]:
        try:
            return await coroutine, None
        except (KeyboardInterrupt, SystemExit) as error:
            # Raised here, these would end the loop and its thread.
            return None, error
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(watched(), loop)
    try:
        result, error = future.result()
        if error is not None:
            raise error
        return result  # type: ignore[return-value]
    except BaseException:
        if not future.done():
            future.cancel()
            ended.wait()
        raise


async def close_connections() -> None:
    """Close what language models keep open in this event loop, if any were used; it opens again."""
    serving = sys.modules.get("simenvs.models.serving")
    if serving is not None:
        await serving.close_models()


def _at_exit(loop: asyncio.AbstractEventLoop) -> None:
    if loop is _loops.get(os.getpid()):
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(close_connections(), loop).result(timeout=2)
