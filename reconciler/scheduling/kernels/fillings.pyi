from array import array

def fill_each(
    orders: array[int],
    ways: int,
    counts: array[int],
    needs: array[int],
    width: int,
    free: array[int],
    may: bytearray,
    usable: bytearray,
    left: array[int],
    loads: array[int],
    known: bytearray,
    renewed: array[int],
) -> int: ...
def fill_by_value(
    values: array[int],
    counts: array[int],
    needs: array[int],
    width: int,
    free: array[int],
    may: bytearray,
    offer: int,
    turns: int,
    weights: array[float],
    keys: array[float],
    order: array[int],
    left: array[int],
    loads: array[int],
    worths: array[int],
) -> int: ...
