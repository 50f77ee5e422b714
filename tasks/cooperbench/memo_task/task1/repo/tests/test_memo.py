import pytest
from memo import KeyMaker, LRUCache, freeze, memoize


def test_least_recently_used_goes_first() -> None:
    cache: LRUCache[str, int] = LRUCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]
    assert "b" not in cache
    assert cache.get("b", "none") == "none"


def test_replace_discard_and_resize() -> None:
    cache: LRUCache[str, int] = LRUCache(3)
    for key in "abc":
        cache.put(key, 0)
    cache.put("a", 1)
    assert cache.keys() == ["b", "c", "a"]
    assert cache.discard("c")
    assert not cache.discard("c")
    cache.resize(1)
    assert cache.keys() == ["a"]
    assert cache.get("a") == 1


def test_statistics() -> None:
    cache: LRUCache[str, int] = LRUCache()
    assert cache.stats().ratio == 0.0
    cache.put("a", 1)
    for key in ("a", "b", "a", "a"):
        cache.get(key)
    stats = cache.stats()
    assert (stats.hits, stats.misses, stats.size, stats.ratio) == (3, 1, 1, 0.75)
    cache.clear()
    assert (cache.stats().hits, cache.stats().misses, len(cache)) == (0, 0, 0)


@pytest.mark.parametrize("capacity", [0, -1])
def test_capacity_too_small(capacity: int) -> None:
    with pytest.raises(ValueError):
        LRUCache(capacity)
    with pytest.raises(ValueError):
        LRUCache(3).resize(capacity)


def test_freeze() -> None:
    assert freeze({"a": [1, {2}]}) == freeze({"a": [1, {2}]})
    assert freeze([1]) != freeze((1,))
    assert freeze(1) == freeze(1.0)
    assert freeze([1], typed=True) != freeze([1.0], typed=True)
    with pytest.raises(TypeError):
        freeze([bytearray()])


def test_keys_of_calls() -> None:
    def add(a: int, b: int = 2, *rest: int, verbose: bool = False) -> int:
        return a + b + sum(rest)

    key = KeyMaker(add, ignore=["verbose"])
    assert key(1) == key(a=1, b=2) == key(1, 2, verbose=True)
    assert key(1, 2, 3) != key(1, 2)
    with pytest.raises(ValueError, match="loud"):
        KeyMaker(add, ignore=["loud"])


def test_memoize() -> None:
    calls = []

    @memoize(capacity=2)
    def find(name: str, where: list[str]) -> str | None:
        """Find a name."""
        calls.append(name)
        return name if name in where else None

    assert find("a", ["b"]) is None
    assert find("a", where=["b"]) is None
    assert calls == ["a"]
    assert find.__doc__ == "Find a name."
    assert find.stats().hits == 1
    assert find.forget("a", ["b"])
    find("a", ["b"])
    assert calls == ["a", "a"]


def test_exceptions_are_not_remembered() -> None:
    @memoize()
    def invert(x: float) -> float:
        return 1 / x

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            invert(0)
    assert invert(4) == 0.25
    assert invert.stats().size == 1
