"""Sets of indices as the bits of one number: thousands of sets over thousands of pod shapes take little room and few steps."""

from collections.abc import Collection, Iterable, Iterator

import msgspec


class IndexSet(msgspec.Struct, frozen=True, gc=False):
    """The indices `first + i` for every bit i of `bits`. Equal sets are equal values: the lowest bit is set, or there is none."""

    first: int = 0
    bits: int = 0

    @staticmethod
    def of(indices: Collection[int]) -> "IndexSet":
        """A set of these; one may come more than once."""
        if not indices:
            return EMPTY
        first, last = min(indices), max(indices)
        packed = bytearray((last - first) // 8 + 1)
        for index in indices:
            packed[(index - first) >> 3] |= 1 << ((index - first) & 7)
        return IndexSet(first, int.from_bytes(packed, "little"))

    @staticmethod
    def unpacked(first: int, packed: bytes | bytearray) -> "IndexSet":
        """The set of which `packed` is made."""
        return _canonical(first, int.from_bytes(packed, "little"))

    @staticmethod
    def union_of(sets: "Iterable[IndexSet]") -> "IndexSet":
        """What is in any of these."""
        kept = [one for one in sets if one.bits]
        if len(kept) < 2:
            return kept[0] if kept else EMPTY
        first, bits = min(one.first for one in kept), 0
        for one in kept:
            bits |= one.bits << (one.first - first)
        return IndexSet(first, bits)

    def __contains__(self, index: int) -> bool:
        return index >= self.first and self.bits >> (index - self.first) & 1 == 1

    def __bool__(self) -> bool:
        return self.bits != 0

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __iter__(self) -> Iterator[int]:
        digits = bin(self.bits)[:1:-1]
        at = digits.find("1")
        while at >= 0:
            yield self.first + at
            at = digits.find("1", at + 1)

    def __and__(self, other: "IndexSet") -> "IndexSet":
        first = max(self.first, other.first)
        return _canonical(first, self.bits >> (first - self.first) & other.bits >> (first - other.first))

    def __sub__(self, other: "IndexSet") -> "IndexSet":
        shared = self & other
        return _canonical(self.first, self.bits ^ shared.bits << (shared.first - self.first)) if shared.bits else self

    @property
    def last(self) -> int:
        """The largest index; one below `first` when there is none."""
        return self.first + self.bits.bit_length() - 1

    def packed(self, first: int | None = None, width: int | None = None) -> bytearray:
        """Eight indices per byte, the lowest bit first, as the kernels read them. Bit 0 is `first`, which is at most the smallest
        index; `width` is the number of bytes. Without `first`, bit 0 is the smallest index. Without `width`, there are as few
        bytes as possible."""
        bits = self.bits if first is None or not self.bits else self.bits << (self.first - first)
        return bytearray(bits.to_bytes((bits.bit_length() + 7) // 8 if width is None else width, "little"))


EMPTY = IndexSet()


def _canonical(first: int, bits: int) -> IndexSet:
    if not bits:
        return EMPTY
    low = (bits & -bits).bit_length() - 1
    return IndexSet(first + low, bits >> low)
