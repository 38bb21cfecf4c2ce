"""Tracks who holds something that two cannot share. Holders are nodes or pod shapes, by index."""

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


class Holders(Generic[_Key]):
    """Holders of each thing, each with how often it has it. A question about one thing is a step, however many there are."""

    __slots__ = ("_alone", "_together")

    def __init__(self) -> None:
        # Most things have one holder, which has it once.
        self._alone: dict[_Key, int] = {}
        self._together: dict[_Key, dict[int, int]] = {}

    def add(self, key: _Key, holder: int, count: int) -> None:
        """The holder has it `count` times more; fewer when negative."""
        together = self._together.get(key)
        if together is None:
            alone = self._alone.get(key)
            if alone is None and count == 1:
                self._alone[key] = holder
                return
            if alone == holder and count == -1:
                del self._alone[key]
                return
            together = self._together[key] = {} if alone is None else {self._alone.pop(key): 1}
        total = together.get(holder, 0) + count
        if total:
            together[holder] = total
        else:
            del together[holder]
        if not together:
            del self._together[key]

    def of(self, key: _Key) -> Collection[int]:
        """Who holds it."""
        alone = self._alone.get(key)
        if alone is not None:
            return (alone,)
        together = self._together.get(key)
        return () if together is None else together.keys()

    def has(self, key: _Key, holder: int) -> bool:
        """Does the holder have it?"""
        alone = self._alone.get(key)
        if alone is not None:
            return alone == holder
        together = self._together.get(key)
        return together is not None and holder in together
