"""The form in which a language model writes candidates, and reading it back.

Only the model's own answer is read, never what the other seat wrote. A model may quote the other seat,
though, and that may have written a perfect list of candidates. So each list is asked for with a mark
that is drawn anew for every call and that nobody else knows. A list without the mark is taken as well,
as models forget it, unless the other seat has written anything like a list: then only the mark counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Form = Literal["schema", "json", "xml"]

_FENCE = re.compile(r"\A\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_LIST = re.compile(
    r"probabilit|candidate|<\s*/?\s*respons|[\"'](?:text|responses?)[\"']\s*:", re.IGNORECASE
)
_TRIES = 20
_TEXT_TOO = ("response", "message", "content", "reply", "utterance", "answer", "candidate")
_PROBABILITY_TOO = ("prob", "p", "likelihood", "weight", "confidence")
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(%?)", re.IGNORECASE)


class Listed(NamedTuple):
    """What was read from an answer.

    Attributes:
        entries: fields of each candidate, ``probability`` aside.
        probabilities: one per entry, in [0, 1] each.
        reasoning: what the model thought before, where it was asked to.
        repaired: whether anything had to be mended or made up.
    """

    entries: list[Mapping[str, Any]]
    probabilities: list[float]
    reasoning: str
    repaired: bool


def schema_of(
    fields: Mapping[str, Any], mark: str, k: int, *, probabilities: bool, reasoning: bool
) -> dict[str, Any]:
    """The JSON schema of a list of candidates with these fields."""
    item = dict(fields)
    if probabilities:
        item["probability"] = {"type": "number", "minimum": 0, "maximum": 1}
    entry = {
        "type": "object",
        "properties": item,
        "required": list(item),
        "additionalProperties": False,
    }
    properties: dict[str, Any] = {"reasoning": {"type": "string"}} if reasoning else {}
    properties[_key(mark)] = {"type": "array", "items": entry, "minItems": k, "maxItems": k}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def example_of(
    fields: Mapping[str, Any], mark: str, form: Form, *, probabilities: bool, reasoning: bool
) -> str:
    """The form as the prompt shows it."""
    if form == "xml":
        inner = "".join(
            f"<{name}>{value if isinstance(value, str) else json.dumps(value)}</{name}>"
            for name, value in fields.items()
        )
        if probabilities:
            inner += "<probability>0.2</probability>"
        block = f"<response-{mark}>{inner}</response-{mark}>"
        return f"<reasoning>your thoughts, once</reasoning>\n{block}" if reasoning else block
    item: dict[str, Any] = dict(fields)
    shown = json.dumps(item)[1:-1]
    if probabilities:
        shown += ', "probability": 0.2'
    head = '"reasoning": "your thoughts", ' if reasoning else ""
    return f'{{{head}"{_key(mark)}": [{{{shown}}}, ...]}}'


def may_be_a_list(text: str) -> bool:
    """Whether a text could be meant to pass for a list of candidates, or for a part of one."""
    return bool(_LIST.search(text))


def read_candidates(
    text: str,
    mark: str,
    names: Sequence[str],
    *,
    probabilities: bool = True,
    cut: bool = False,
    marked_only: bool = False,
) -> Listed | None:
    """The candidates in an answer, whichever form they are in; ``None`` if there are none.

    Args:
        text: the model's answer.
        mark: the mark that was asked for.
        names: fields of a candidate; the first must be there.
        probabilities: whether probabilities were asked for; otherwise all count alike.
        cut: whether the answer was cut off, so that its last candidate may be incomplete.
        marked_only: refuse a list without the mark, see :func:`may_be_a_list`.
    """
    found = _marked_json(text, mark) or _xml(text, f"response-{mark}", names)
    if found is None and not marked_only:
        found = _any_json(text, names) or _xml(text, "response", names)
    if found is None:
        return None
    listed, reasoning, repaired = found
    entries: list[Mapping[str, Any]] = []
    stated: list[object] = []
    for item in listed:
        entry, probability, mended = _entry(item, names)
        repaired |= mended
        if entry is not None:
            entries.append(entry)
            stated.append(probability)
    if cut and len(entries) > 1:
        entries, stated, repaired = entries[:-1], stated[:-1], True
    if not entries:
        return None
    if not probabilities:
        return Listed(entries, [1 / len(entries)] * len(entries), reasoning, repaired)
    read, mended = read_probabilities(stated)
    return Listed(entries, read, reasoning, repaired or mended)


def _entry(item: object, names: Sequence[str]) -> tuple[Mapping[str, Any] | None, object, bool]:
    """(fields, stated probability, whether something was mended) of one item of a list."""
    first = names[0]
    if isinstance(item, (str, int, float)) and not isinstance(item, bool):
        return {first: item}, None, True
    if not isinstance(item, Mapping):
        return None, None, True
    entry = {name: item[name] for name in names if name in item}
    mended = False
    if entry.get(first) is None:
        other = next((name for name in _TEXT_TOO if isinstance(item.get(name), str)), None)
        if first != "text" or other is None:
            return None, None, True
        entry[first], mended = item[other], True
    key = "probability"
    if key not in item:
        key = next((name for name in _PROBABILITY_TOO if name in item), key)
        mended |= key in item
    return entry, item.get(key), mended


def read_probabilities(stated: Sequence[object]) -> tuple[list[float], bool]:
    """Probabilities in [0, 1] from what a model stated for each candidate, and whether any was mended.

    Numbers, numerals and percentages are understood; above 1 a number is one of hundred. What is missing
    or unreadable gets an equal share of what the others leave of 1, or the least of theirs if they leave
    nothing.
    """
    values = [_probability(value) for value in stated]
    known = [value for value, _ in values if value is not None]
    mended = any(odd for _, odd in values) or len(known) < len(values)
    if len(known) < len(values):
        missing = len(values) - len(known)
        rest = (1 - sum(known)) / missing
        least = min((value for value in known if value > 0), default=1 / len(values))
        filler = rest if rest > 0 else least
        return [filler if value is None else value for value, _ in values], True
    return known, mended


def _probability(value: object) -> tuple[float | None, bool]:
    """(probability, whether it was not simply a number in [0, 1])."""
    percent = False
    odd = not isinstance(value, (int, float)) or isinstance(value, bool)
    if isinstance(value, str):
        match = _NUMBER.match(value)
        if not match:
            return None, True
        value, percent = float(match[1]), match[2] == "%"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None, True
    number = float(value)
    if not math.isfinite(number) or number < 0:
        return None, True
    if percent or number > 1:
        number, odd = number / 100, True
    return min(1.0, number), odd


def _key(mark: str) -> str:
    return f"candidates_{mark}"


def _marked_json(text: str, mark: str) -> tuple[list[Any], str, bool] | None:
    """(list, reasoning, whether it was mended) of the object that holds the marked key."""
    key = _key(mark)
    at = text.find(f'"{key}"')
    if at < 0:
        at = text.find(f"'{key}'")
    if at < 0:
        return None
    whole = _strict(text)
    if isinstance(whole, Mapping) and isinstance(whole.get(key), list):
        return whole[key], _reasoning(whole), False
    for match in list(re.finditer(r"\{", text[:at]))[-_TRIES:]:
        value = _mended(_balanced(text, match.start()))
        if isinstance(value, Mapping) and isinstance(value.get(key), list):
            return value[key], _reasoning(value), True
    return None


def _any_json(text: str, names: Sequence[str]) -> tuple[list[Any], str, bool] | None:
    """The first list of candidates in a text, under whatever key; always mended."""
    fenced = _FENCE.match(text)
    whole = (fenced[1] if fenced else text).strip()
    starts = [match.start() for match in re.finditer(r"[\[{]", whole)][:_TRIES]
    for start in starts:
        value = _mended(_balanced(whole, start))
        if isinstance(value, Mapping) and not any(isinstance(v, list) for v in value.values()):
            # Objects one after the other, as lines of JSON.
            value = list(_objects(whole, start))
        for listed in _lists_in(value):
            if any(_entry(item, names)[0] for item in listed if isinstance(item, Mapping)) or (
                isinstance(value, Mapping) and listed and all(isinstance(i, str) for i in listed)
            ):
                return listed, _reasoning(value), True
    return None


def _objects(text: str, start: int) -> Iterator[Any]:
    while start >= 0:
        piece = _balanced(text, start)
        yield _mended(piece)
        start = text.find("{", start + len(piece))


def _lists_in(value: Any) -> list[list[Any]]:
    if isinstance(value, list):
        return [value]
    if not isinstance(value, Mapping):
        return []
    return [inner for inner in value.values() if isinstance(inner, list)]


def _reasoning(value: Any) -> str:
    thought = value.get("reasoning") if isinstance(value, Mapping) else None
    return thought if isinstance(thought, str) else ""


def _balanced(text: str, start: int) -> str:
    """The text from an opening brace to the one that closes it, or to the end; strings are skipped."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        char = text[at]
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return text[start : at + 1]
    return text[start:]


def _strict(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _mended(text: str) -> Any:
    """JSON with what models get wrong: trailing commas, single quotes, a missing end."""
    from json_repair import loads

    load: Callable[[str], Any] = loads
    try:
        return load(text)
    except (ValueError, RecursionError, IndexError):
        return None


def _xml(text: str, tag: str, names: Sequence[str]) -> tuple[list[Any], str, bool] | None:
    """(blocks, reasoning, whether anything was mended) of the blocks of a tag."""
    before, *parts = text.split(f"<{tag}>")
    around = re.sub(r"<reasoning>.*?</reasoning>", "", before, count=1, flags=re.DOTALL)
    blocks, repaired = [], tag == "response" or bool(around.strip())
    for part in parts:
        inner, end, after = part.partition(f"</{tag}>")
        repaired |= not end or bool(after.strip())
        fields = {name: _element(inner, name, len(names) == 1) for name in names}
        entry = {name: value for name, value in fields.items() if value is not None}
        stated = _last_element(inner, "probability")
        if stated is not None:
            number = _strict(stated.strip())
            entry["probability"] = number if number is not None else stated
        blocks.append(entry)
    thought = _element(before, "reasoning", False) or ""
    return (blocks, thought, repaired) if blocks else None


def _element(text: str, name: str, to_last: bool) -> str | None:
    """Inside the first ``<name>``, up to its last or first end, so that quoted elements stay quoted."""
    _, start, rest = text.partition(f"<{name}>")
    if not start:
        return None
    inner, end, _ = (rest.rpartition if to_last else rest.partition)(f"</{name}>")
    return (inner if end else rest.split("<probability>")[0]).strip()


def _last_element(text: str, name: str) -> str | None:
    _, start, rest = text.rpartition(f"<{name}>")
    return rest.partition(f"</{name}>")[0] if start else None
