"""Coroutines from synchronous code."""

import asyncio
import threading

import pytest

from simenvs.running import run, run_inline


def test_run_works_inside_a_running_loop_and_in_threads():
    async def inner():
        await asyncio.sleep(0)
        return 7

    async def outer():
        return run(inner())

    assert asyncio.run(outer()) == 7
    results = []
    threads = [threading.Thread(target=lambda: results.append(run(inner()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [7] * 4


def test_run_inline_refuses_what_waits():
    async def waits():
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waits = False"):
        run_inline(waits())
