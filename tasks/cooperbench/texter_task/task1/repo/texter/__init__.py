"""Lays out plain text."""

from texter.lines import paragraphs, wrap
from texter.page import Style, layout

__all__ = ["Style", "layout", "paragraphs", "wrap"]
