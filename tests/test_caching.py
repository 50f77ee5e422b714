from simenvs.caching import by_identity


def test_results_are_kept_per_object():
    calls = []

    @by_identity
    def length(value):
        """How long."""
        calls.append(value)
        return len(value)

    one, equal = {"a": 1}, {"a": 1}
    assert [length(one), length(one), length(equal)] == [1, 1, 1]
    assert len(calls) == 2
    assert length.__doc__ == "How long."
    for i in range(1000):
        assert length(dict.fromkeys(range(i % 7))) == i % 7
    assert length(one) == 1
