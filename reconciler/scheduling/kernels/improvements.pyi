from array import array

def exchange(
    values: array[int],
    counts: array[int],
    needs: array[int],
    width: int,
    free: array[int],
    offer: int,
    order: array[int],
    least: array[int],
    left: array[int],
    base: array[int],
    trial: array[int],
    best: array[int],
    steps: int,
) -> int: ...
def search(
    values: array[int],
    counts: array[int],
    needs: array[int],
    width: int,
    free: array[int],
    offer: int,
    order: array[int],
    keys: array[float],
    weights: array[float],
    left: array[int],
    trial: array[int],
    best: array[int],
    steps: int,
) -> int: ...
