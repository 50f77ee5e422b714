"""What agents and the resolver are told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from simenvs.envs.cooperbench.dataset import Pair

_FILE = re.compile(r'^<file path="([^"\n]{1,1000})">\n(.*?)^</file>\s*$', re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)


@lru_cache(maxsize=8)
def _prompt(name: str) -> str:
    return (files("simenvs") / "prompts" / "cooperbench" / f"{name}.md").read_text("utf-8").strip()


def instructions(pair: Pair, seat: str, peer: str | None, max_steps: int) -> str:
    """What an agent is told; without a peer, both features."""
    numbers = (pair.first, pair.second)
    first = peer is None or seat < peer
    own, other = numbers if first else numbers[::-1]
    told = _prompt("solo" if peer is None else "coop").format(
        seat=seat, peer=peer, number=own, peer_number=other, max_steps=max_steps
    )
    shown = (own, other) if peer is None else (own,)
    features = "\n\n".join(
        f'<feature number="{number}">\n{pair.code_base.features[number].description.strip()}\n</feature>'
        for number in shown
    )
    return f"{told}\n\n{features}"


def question(conflicts: Mapping[str, str]) -> str:
    """What the resolver is asked: files with conflict markers, by path."""
    shown = "\n\n".join(f'<file path="{path}">\n{text}</file>' for path, text in conflicts.items())
    return _prompt("resolver").replace("{files}", shown)


def read_resolution(answer: str, paths: Mapping[str, str]) -> dict[str, str] | None:
    """The files of a resolver's answer, ``None`` if it isn't one."""
    found = dict(_FILE.findall(answer.strip() + "\n"))
    if set(found) != set(paths) or any(_MARKER.search(content) for content in found.values()):
        return None
    return found
