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
    worth: array[int],
    gains: array[int],
) -> int: ...
def fill_by_value(
    values: array[int],
    counts: array[int],
    needs: array[int],
    width: int,
    free: array[int],
    may: bytearray,
    first: int,
    end: int,
    turns: int,
    weights: array[float],
    keys: array[float],
    order: array[int],
    left: array[int],
    loads: array[int],
    worths: array[int],
) -> int: ...
def worths_of(values: array[int], loads: array[int], rows: int, worths: array[int]) -> None: ...
