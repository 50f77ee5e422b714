"""Pages of text."""

from __future__ import annotations

from dataclasses import dataclass

from texter.lines import paragraphs, wrap


@dataclass(frozen=True)
class Style:
    """How a page looks."""

    width: int = 60
    margin: int = 0

    @property
    def room(self) -> int:
        """How many characters are left between the margins."""
        return self.width - 2 * self.margin


def layout(text: str, style: Style) -> list[str]:
    """The lines of a text, with an empty line between paragraphs."""
    out: list[str] = []
    for paragraph in paragraphs(text):
        if out:
            out.append("")
        out += block(paragraph, style)
    return out


def block(paragraph: str, style: Style) -> list[str]:
    """The lines of one paragraph."""
    return [place(line, style) for line in wrap(paragraph, style.room)]


def place(line: str, style: Style) -> str:
    """A line with its margin."""
    return " " * style.margin + line
