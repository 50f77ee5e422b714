import pytest

from league import Match, Table, parse_match, parse_matches

SEASON = """
# first day
Lions 2-1 Bears
Red Foxes 0-0 Owls

# second day
Bears 3-0 Owls
Lions 1-1 Red Foxes
"""


def season() -> Table:
    table = Table()
    for match in parse_matches(SEASON):
        table.add(match)
    return table


def test_parse() -> None:
    match = parse_match(" Red Foxes 10-2 Bears ")
    assert (match.home, match.away) == ("Red Foxes", "Bears")
    assert (match.home_goals, match.away_goals) == (10, 2)


@pytest.mark.parametrize("line", ["Lions 2:1 Bears", "Lions 2-1", "2-1", "Lions Bears"])
def test_not_a_result(line: str) -> None:
    with pytest.raises(ValueError, match="not a result"):
        parse_match(line)


def test_comments_and_empty_lines() -> None:
    assert len(parse_matches(SEASON)) == 4


def test_bad_match() -> None:
    with pytest.raises(ValueError, match="itself"):
        Match("Lions", "Lions", 1, 0)
    with pytest.raises(ValueError, match="negative"):
        Match("Lions", "Bears", -1, 0)


def test_order() -> None:
    rows = season().rows()
    assert [row.team for row in rows] == ["Lions", "Bears", "Red Foxes", "Owls"]
    assert [row.points for row in rows] == [4, 3, 2, 1]


def test_row() -> None:
    bears = season().rows()[1]
    assert (bears.played, bears.won, bears.drawn, bears.lost) == (2, 1, 0, 1)
    assert bears.difference == 2


def test_lines() -> None:
    assert season().lines()[0] == " 1 Lions       2   +1    4"


def test_teams_without_a_match() -> None:
    assert [row.team for row in Table(["b", "a"]).rows()] == ["a", "b"]
