"""Token traces of a policy's turns, joined into sequences to train on."""

from __future__ import annotations

from dataclasses import dataclass

from simenvs.episode import Episode


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """What a model read and wrote in one piece.

    Attributes:
        ids: (n,) token ids.
        mask: (n,) 1 where the model wrote the token, else 0: the loss mask.
        logprobs: (n,) log-probabilities as served, 0.0 where the model did not write; ``()`` if a turn
            has none.
        turns: indices into ``Episode.turns`` of the turns in it.
        broken: whether it begins where the prefix property broke: the prompt of its first turn does not
            start with what was read and written before.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    turns: tuple[int, ...]
    broken: bool = False


def stitch(episode: Episode, seat: str) -> tuple[TokenSequence, ...]:
    """The seat's turns as token sequences.

    A turn's prompt that starts with the sequence so far continues it: what is new in the prompt gets mask
    0, the completion mask 1. Where a prompt does not (a template that drops earlier thinking, a
    tokenisation that differs), a new sequence begins, flagged ``broken``: nothing is papered over, and a
    trainer can drop such episodes or train on the pieces. Turns without a trace of prompt and completion
    are left out, and break the sequence only if what follows does not continue it.

    Args:
        episode: with traces (``Sampling(tokens=True)`` and a server that has token ids).
        seat: whose turns.
    """
    out: list[TokenSequence] = []
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] | None = []
    turns: list[int] = []

    def close(broken: bool) -> None:
        if turns:
            kept = tuple(logprobs) if logprobs is not None else ()
            out.append(TokenSequence(tuple(ids), tuple(mask), kept, tuple(turns), broken))

    broken = False
    for number, turn in enumerate(episode.turns):
        trace = turn.trace
        if turn.seat != seat or trace is None or not trace.prompt_ids:
            continue
        read, written = trace.prompt_ids, trace.completion_ids
        if turns and read[: len(ids)] != tuple(ids):
            close(broken)
            ids, mask, logprobs, turns, broken = [], [], [], [], True
        new = read[len(ids) :]
        ids += [*new, *written]
        mask += [0] * len(new) + [1] * len(written)
        if logprobs is not None and len(trace.logprobs) == len(written):
            logprobs += [0.0] * len(new) + list(trace.logprobs)
        else:
            logprobs = None
        turns.append(number)
    close(broken)
    return tuple(out)
