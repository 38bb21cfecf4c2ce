"""Counts the steps of finding a place, by the shape of the pods that ask."""

from collections.abc import Callable, Sequence

import msgspec

from reconciler.cluster.pods.pod import PodShape

BYTES_A_STEP = 16
"""So much of a pod is read in one step, which is about a hundred nanoseconds."""

_FREE_BYTES = 1024
"""So much is in the step that a question costs in any case: most pods have less written in them."""

_READ_TO_JUDGE = 4


class Effort:
    """Steps by shape until they are taken. Before an answer, `ask` names the shape. The cost of the answer counts for that shape,
    wherever it is spent.

    The measure of a shape is all of its content, as bytes. So no field of a pod is free by oversight.
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
        if steps:
            self._steps[self.asking] = self._steps.get(self.asking, 0) + steps

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
        steps = self._written.get(shape)
        if steps is None:
            size = len(self._encode(self._shapes(shape)))
            steps = self._written[shape] = max(0, size - _FREE_BYTES) // BYTES_A_STEP
        return steps

    def take(self) -> Sequence[tuple[int, int]]:
        """(shape, steps) since the last time."""
        if not self._looks and not self._steps:
            return ()
        looks, self._looks = self._looks, {}
        steps, self._steps = self._steps, {}
        taken = [(shape, times * written) for shape, times in looks.items() if shape >= 0 and (written := self.written(shape))]
        taken += [pair for pair in steps.items() if pair[0] >= 0]
        return taken
