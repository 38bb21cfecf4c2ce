"""Shapes of pods by number, each once."""

import msgspec

from reconciler.cluster.pods.pod import PodShape


class ShapeNumbers:
    """Gives numbers in the order of first use. Bytes identify a shape, because hashing the shape itself visits all of its
    parts."""

    def __init__(self) -> None:
        self.shapes: list[PodShape] = []
        self._known: dict[bytes, int] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    def of(self, shape: PodShape) -> int:
        """The number of a shape, which is the next one where it is new."""
        number = self._known.setdefault(self._encode(shape), len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(shape)
        return number
