"""Remembering what functions returned."""

from memo.cache import LRUCache, Stats
from memo.decorator import Memoized, memoize
from memo.keys import KeyMaker, freeze

__all__ = ["KeyMaker", "LRUCache", "Memoized", "Stats", "freeze", "memoize"]
