import pytest

from gauges import Counter, Registry


def test_counter() -> None:
    registry = Registry()
    registry.counter("requests").add()
    registry.counter("requests").add(2.5)
    assert registry.counter("requests").value == 3.5


def test_counter_cannot_go_down() -> None:
    with pytest.raises(ValueError, match="down by 2"):
        Counter().add(-2)


def test_gauge() -> None:
    registry = Registry()
    registry.gauge("load").set(4)
    registry.gauge("load").set(-1)
    assert registry.gauge("load").value == -1


def test_lines_by_name() -> None:
    registry = Registry()
    registry.gauge("b").set(0.5)
    registry.counter("a").add(2)
    assert registry.lines() == ["a 2", "b 0.5"]


def test_reset() -> None:
    registry = Registry()
    registry.counter("a").add(2)
    registry.gauge("b").set(2)
    registry.reset()
    assert registry.collect() == {"a": 0, "b": 0}


def test_two_kinds() -> None:
    registry = Registry()
    registry.counter("a")
    with pytest.raises(ValueError, match="a is a counter, not a gauge"):
        registry.gauge("a")


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", "a-b"])
def test_bad_names(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        Registry().counter(name)
