"""The steps that it takes to find out where pods can run, by the shape whose pods ask, whatever is written in them."""

from collections.abc import Callable, Iterator

import msgspec

from reconciler.cluster.pods.pod import PodShape

BYTES_A_STEP = 16
"""So much of a pod is read in one step, which is about a hundred nanoseconds."""

_FREE_BYTES = 1024
"""So much is in the step that a question costs in any case: most pods have less written in them."""

_READ_TO_JUDGE = 4


class Effort:
    """Steps by shape until they are taken. Who is about to answer a question says whose it is (`ask`); what the answer takes
    is counted for that shape wherever it is spent.

    The measure of a shape is everything that is written in it, as bytes: no field of a pod is free because nobody thought of it.
    """

    __slots__ = ("_encode", "_looks", "_shapes", "_steps", "_written", "asking")

    def __init__(self, shapes: Callable[[int], PodShape]) -> None:
        """`shapes` gives a shape by index."""
        self._shapes = shapes
        self._encode = msgspec.msgpack.Encoder().encode
        self._written: dict[int, int] = {}
        self._looks: dict[int, int] = {}
        self._steps: dict[int, int] = {}
        self.asking = -1
        """The shape that asks; below zero: none does, and what is spent is for nobody."""

    def ask(self, shape: int) -> None:
        """The next steps are for this shape, and one of them is to read all of it."""
        self.asking = shape
        self._looks[shape] = self._looks.get(shape, 0) + 1

    def judge(self, times: int = 1) -> None:
        """What the shape that asks demands of a node was judged so many times. That stops at the first value that decides, so
        that a part of what is written is counted."""
        if times and self.asking >= 0:
            self.add(times * (self.written(self.asking) // _READ_TO_JUDGE))

    def add(self, steps: int) -> None:
        """So many steps more for the shape that asks."""
        self.spend(self.asking, steps)

    def spend(self, shape: int, steps: int) -> None:
        """So many steps for a shape, whoever asks."""
        if steps:
            self._steps[shape] = self._steps.get(shape, 0) + steps

    def read(self, shape: int, value: object) -> None:
        """All that is written in pods of a shape, and something else besides, is read once."""
        self.ask(shape)
        self.spend(shape, max(0, len(self._encode(value)) - _FREE_BYTES) // BYTES_A_STEP)

    def written(self, shape: int) -> int:
        """The steps that it takes to read all that is written in a shape, beyond what every question costs."""
        found = self._written.get(shape)
        if found is None:
            size = len(self._encode(self._shapes(shape)))
            found = self._written[shape] = max(0, size - _FREE_BYTES) // BYTES_A_STEP
        return found

    def take(self) -> Iterator[tuple[int, int]]:
        """(shape, steps) since the last time."""
        if not self._looks and not self._steps:
            return
        looks, self._looks = self._looks, {}
        steps, self._steps = self._steps, {}
        for shape, times in looks.items():
            if shape >= 0 and self.written(shape):
                yield shape, times * self.written(shape)
        yield from ((shape, many) for shape, many in steps.items() if shape >= 0)
