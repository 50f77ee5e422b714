import pytest

from sched_sim import Clock, Scheduler


def test_order() -> None:
    seen: list[str] = []
    scheduler = Scheduler()
    scheduler.at(5, lambda: seen.append("late"))
    scheduler.at(1, lambda: seen.append("early"))
    scheduler.at(5, lambda: seen.append("late too"))
    assert scheduler.run() == 3
    assert seen == ["early", "late", "late too"]
    assert scheduler.clock.now == 5


def test_until() -> None:
    scheduler = Scheduler()
    scheduler.at(1, lambda: None)
    scheduler.at(9, lambda: None, name="nine")
    assert scheduler.run(until=4) == 1
    assert scheduler.clock.now == 4
    assert [job.name for job in scheduler.pending()] == ["nine"]


def test_jobs_add_jobs() -> None:
    seen: list[float] = []
    scheduler = Scheduler()

    def again() -> None:
        seen.append(scheduler.clock.now)
        if len(seen) < 3:
            scheduler.after(2, again)

    scheduler.after(2, again)
    assert scheduler.run() == 3
    assert seen == [2, 4, 6]


def test_cancel() -> None:
    seen: list[int] = []
    scheduler = Scheduler()
    job = scheduler.at(1, lambda: seen.append(1))
    assert scheduler.cancel(job)
    assert not scheduler.cancel(job)
    assert scheduler.pending() == []
    assert scheduler.run() == 0
    assert seen == []


def test_the_past() -> None:
    scheduler = Scheduler()
    scheduler.run(until=10)
    with pytest.raises(ValueError):
        scheduler.at(9, lambda: None)
    with pytest.raises(ValueError):
        Clock().move_to(-1)


def test_describe() -> None:
    scheduler = Scheduler()
    job = scheduler.at(2.5, lambda: None, name="tea")
    assert job.describe() == "tea at 2.5: waiting"
    scheduler.run()
    assert job.describe() == "tea at 2.5: done"
    assert scheduler.at(3, lambda: None).name == "job 2"
