"""How large packed data may become, so that a small file cannot fill the memory."""

_LEAST_BYTES = 64 << 20
_RATIO = 200  # objects of one kind pack to a tenth or a fiftieth of their size; a bomb to a thousandth


def most_unpacked(packed_bytes: int, most_bytes: int) -> int:
    """Bytes that `packed_bytes` of gzip may unpack to, at most `most_bytes`."""
    return min(most_bytes, max(_LEAST_BYTES, _RATIO * packed_bytes))
