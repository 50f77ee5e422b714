"""Amounts of money in what people write: which are named, and which the writer commits to."""

from __future__ import annotations

import math
import re
from functools import lru_cache

LIMIT = 2.0
"""The persuadee's payment in dollars, of which it may give any part (Wang et al., 2019)."""

_ONES = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}
_WORD = "|".join(sorted([*_ONES, *_TENS], key=len, reverse=True))
_NUMBER = rf"(?:\d{{1,9}}(?:\.\d{{1,6}})?|\.\d{{1,6}}|(?:{_WORD})(?:[ -](?:{_WORD}))?)"
_AMOUNT = re.compile(
    rf"""
      \$\s*(?P<sign>\d{{1,9}}(?:\.\d{{1,6}})?|\.\d{{1,6}})(?!\w)
    | (?<![\w.])(?P<half>half\ a\ (?:dollar|buck))\b
    | (?<![\w.])(?P<quarter>a\ quarter(?!\s+of\ an?\ hour))\b
    | (?<![\w.])(?P<dollars>{_NUMBER}|a)(?:\s*|-)(?:dollars?|bucks?|usd)\b
      (?:\s+(?:and\s+)?(?P<cents_after>{_NUMBER})\s*cents?\b)?
    | (?<![\w.$])(?P<cents>{_NUMBER})(?:\s*|-)(?:cents?|¢)(?!\w)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SHARE = re.compile(
    r"\b(?P<all>(?:all|the (?:whole|full|entire)(?: thing| amount| payment)?|everything|entire)"
    r"(?: of)?(?: (?:it|my|the|this))?(?: (?:payment|money|task money|reward|earnings|two dollars))?)\b"
    r"|\b(?P<half>half(?: of)?(?: (?:it|my|the|this))?(?: (?:payment|money|reward|earnings))?)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"\[\s*(?:DONATE|GIVE)\b([^\[\]]{0,40})\]", re.IGNORECASE)
_BARE = re.compile(
    rf"\b(?:donat\w*|giv\w*|contribut\w*|pledg\w*)\s+(?P<bare>{_NUMBER})\s*(?=$|[.!,;)\n])",
    re.IGNORECASE,
)
_GIVING = re.compile(
    r"\b(?:donat\w*|giv(?:e|ing)|contribut\w*|pledg\w*|chip(?:ping)? in|spare|send(?:ing)?"
    r"|put(?:ting)? (?:in|down|towards?)|part with|go with|make it|let's (?:do|say|make)"
    r"|(?:can|could|will|'ll|i'd|would) (?:do|say)|happy (?:to|with)|count me in)\b",
    re.IGNORECASE,
)
_REFUSING = re.compile(
    r"n't\b|n’t\b|\b(?:not|no|nope|never|cannot|cant|wont|dont|refus\w*|declin\w*|unable|rather keep"
    r"|too much|instead of|without|neither|nor|hardly|if i (?:had|were|could)|wish i|would have)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"n['’]t\b|\b(?:not|cannot|cant|wont|dont|never|refus\w*|declin\w*|unable|rather keep|no money)\b",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\b(?:no problem|not sure|don[’']?t know|don[’']?t mind|no doubt|can[’']?t wait|not at all"
    r"|why not|not only|no matter|don[’']?t see why not|never (?:heard|donated|given))\b",
    re.IGNORECASE,
)
"""Negations beside giving that refuse nothing."""
_ELSEWHERE = re.compile(
    r"\b(?:you|they|he|she|people|children|kids|families|already|last (?:year|month|week)|yesterday"
    r"|a day|per day|a week|per|each|every|costs?|worth|earn\w*|paid|pays?|gave|donated|spent)\b",
    re.IGNORECASE,
)
_HINT = re.compile(
    rf"[0-9$¢]|\b(?:dollar|buck|usd|cent|half|quarter|all|everything|entire|whole|full|{_WORD})",
    re.IGNORECASE,
)
"""Matches every text that names an amount, so that the others are done with quickly."""
_CLAUSE = re.compile(r"(?<!\d)[.](?!\d)|(?<=\d)\.(?=\s|$)|[!;\n]+|\bbut\b|,(?!\d)|(?<=\?)")
_ZERO = re.compile(
    r"\s*(?:\$?0+(?:\.0+)?(?:\s*(?:dollars?|cents?))?|nothing|none|zero|no|nope|no donation)\s*[.!]*\s*",
    re.IGNORECASE,
)


def _value(number: str) -> float:
    number = number.lower()
    if number == "a":
        return 1.0
    if number[0].isdigit() or number[0] == ".":
        return float(number)
    return float(sum(_TENS.get(w, _ONES.get(w, 0)) for w in re.split("[ -]", number)))


def _amount(match: re.Match[str]) -> float:
    if match["sign"]:
        return float(match["sign"])
    if match["half"]:
        return 0.5
    if match["quarter"]:
        return 0.25
    if match["cents"]:
        return _value(match["cents"]) / 100
    extra = _value(match["cents_after"]) / 100 if match["cents_after"] else 0.0
    return _value(match["dollars"]) + extra


def amounts(text: str) -> list[float]:
    """All amounts of money that a text names, in dollars, in order.

    Dollars and cents in digits or words (up to ninety-nine); minutes, people and bare numbers are
    not money.
    """
    return [round(_amount(match), 2) for match in _AMOUNT.finditer(text)]


def committed_amount(text: str) -> float | None:
    """The amount that the writer offers to give, in dollars; the last one if there are several.

    ``None`` if there is none: amounts in refusals ("I won't give $2"), questions, conditions, and
    about other people or other times are not offers. Not capped.
    """
    if len(text) > 20_000:
        return None
    return _short_commitment(text) if len(text) < 400 else _commitment(text)


def _commitment(text: str) -> float | None:
    if not _HINT.search(text):
        return None
    found: float | None = None
    for clause in _CLAUSE.split(text):
        clause = clause.strip()
        if not clause or clause.endswith("?") or _REFUSING.search(clause):
            continue
        giving = _GIVING.search(clause)
        named = amounts(clause)
        if not named and giving:
            bare = _BARE.search(clause)
            if bare:
                named = [round(_value(bare["bare"]), 2)]
            else:
                share = _SHARE.search(clause, giving.start())
                if share:
                    named = [LIMIT if share["all"] else LIMIT / 2]
        if not named:
            continue
        if (giving and not _other_time(clause, giving)) or (
            len(clause.split()) <= 6 and not _ELSEWHERE.search(clause)
        ):
            found = named[-1]
    return found


def refuses(text: str) -> bool:
    """Whether the writer says that it won't give, in a statement about giving.

    A later offer in the same text takes it back; questions don't refuse.
    """
    if len(text) > 20_000 or committed_amount(text) is not None:
        return False
    clauses = (clause.strip() for clause in _CLAUSE.split(text))
    return any(
        _NEGATED.search(clause) and _GIVING.search(clause) and not _HARMLESS.search(clause)
        for clause in clauses
        if not clause.endswith("?")
    )


_short_commitment = lru_cache(maxsize=8192)(_commitment)


def _other_time(clause: str, giving: re.Match[str]) -> bool:
    about = _ELSEWHERE.search(clause[: giving.start()])
    return bool(about) or bool(re.search(r"\b(?:gave|donated)\b", clause, re.IGNORECASE))


def tagged_donation(text: str) -> float | None:
    """The donation that a message makes under the tag protocol, in dollars, at most the payment.

    The last well-formed ``[DONATE $N]`` or ``[GIVE $N]`` counts. Without a tag, what the writer
    plainly offers counts (:func:`committed_amount`). ``None`` is no donation; 0 is a stated refusal.
    """
    tagged = None
    for match in _TAG.finditer(text):
        body = match[1].strip()
        named = amounts(body)
        if not named and re.fullmatch(_NUMBER, body, re.IGNORECASE):
            named = [_value(body)]
        if named:
            tagged = named[-1]
    if tagged is None and not _TAG.search(text):
        tagged = committed_amount(text)
    return None if tagged is None else round(min(tagged, LIMIT), 2)


def parse_donation(value: object) -> float | str:
    """The private answer in dollars, 0 to 2 in cents, or why it can't be read.

    Accepts numbers, strings with one amount ("$1.50", "50 cents", "1.5", "nothing").
    """
    if isinstance(value, str):
        text = value.strip()
        if _ZERO.fullmatch(text):
            return 0.0
        if re.fullmatch(r"\d{1,9}(?:\.\d*)?|\.\d+", text):
            value = float(text)
        else:
            named = sorted(set(amounts(text[:2000])))
            if len(named) != 1:
                return "expected one amount in dollars, such as 0.50"
            if _REFUSING.search(text):
                return "expected a plain amount in dollars, such as 0.50"
            value = named[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"expected an amount in dollars, not {type(value).__name__}"
    if not 0 <= value <= LIMIT or math.isnan(value):
        return f"expected an amount from 0 to {LIMIT:g} dollars, not {value:g}"
    return round(float(value), 2)
