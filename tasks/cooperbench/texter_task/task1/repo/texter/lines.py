"""Text that is broken into lines."""

from __future__ import annotations


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of up to `width` characters, between words.

    A word that is longer has a line of its own.

    Raises:
        ValueError: if the width is below 1.
    """
    if width < 1:
        raise ValueError(f"a width of {width}")
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text; empty lines are between them."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            blocks[-1].append(line.strip())
        elif blocks[-1]:
            blocks.append([])
    return [" ".join(block) for block in blocks if block]
