"""A scheduler on a simulated clock."""

from sched_sim.clock import Clock
from sched_sim.jobs import Job
from sched_sim.scheduler import Scheduler

__all__ = ["Clock", "Job", "Scheduler"]
