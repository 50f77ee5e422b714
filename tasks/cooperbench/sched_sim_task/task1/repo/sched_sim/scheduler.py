"""Jobs that run when their time has come."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from sched_sim.clock import Clock
from sched_sim.jobs import Job


class Scheduler:
    """Runs jobs in the order of their times, on a simulated clock."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._queue: list[tuple[float, int, Job]] = []
        self._added = 0

    def at(self, time: float, action: Callable[[], object], name: str = "") -> Job:
        """Run an action at a time.

        Raises:
            ValueError: if that time is over.
        """
        if time < self.clock.now:
            raise ValueError(f"{time} is before {self.clock.now}")
        job = Job(time, action, name or f"job {self._added + 1}")
        self._push(job)
        return job

    def after(self, delay: float, action: Callable[[], object], name: str = "") -> Job:
        """Run an action when some seconds have passed."""
        return self.at(self.clock.now + delay, action, name)

    def cancel(self, job: Job) -> bool:
        """Take a job off the queue; whether it was still there."""
        if job.done or job.cancelled:
            return False
        job.cancelled = True
        return True

    def pending(self) -> list[Job]:
        """The jobs that are still to run, in their order."""
        return [job for _, _, job in sorted(self._queue, key=lambda e: e[:2]) if not job.cancelled]

    def run(self, until: float | None = None) -> int:
        """Run all jobs whose time has come by `until`, or all jobs.

        A job may add other jobs. At the end the clock shows `until`, if it is given.

        Returns:
            How many jobs ran.
        """
        ran = 0
        while self._queue and (until is None or self._queue[0][0] <= until):
            job = heapq.heappop(self._queue)[2]
            if job.cancelled:
                continue
            self.clock.move_to(job.time)
            self._perform(job)
            ran += 1
        if until is not None:
            self.clock.move_to(until)
        return ran

    def _perform(self, job: Job) -> None:
        job.done = True
        job.action()

    def _push(self, job: Job) -> None:
        self._added += 1
        heapq.heappush(self._queue, (job.time, self._added, job))
