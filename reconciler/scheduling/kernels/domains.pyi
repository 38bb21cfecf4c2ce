from array import array

def mark_above(domain_of: array[int], counts: array[int], most: int, mask: bytearray) -> None: ...
def mark_empty(domain_of: array[int], counts: array[int], mask: bytearray) -> None: ...
def split(nodes: array[int], domain_of: array[int], width: int, groups: array[int]) -> None: ...
def count_cells(
    shapes: bytearray,
    first: int,
    cell_shape: array[int],
    cell_node: array[int],
    cell_count: array[int],
    size: int,
    domain_of: array[int],
    counts_node: bytearray,
    counts: array[int],
) -> None: ...
def turned(rows: bytearray, many: int, width: int, columns: bytearray, height: int) -> None: ...
