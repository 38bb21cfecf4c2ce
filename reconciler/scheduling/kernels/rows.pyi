from array import array

def rows_on(
    pod_node: array[int],
    pod_traits: array[int],
    pod_phase: array[int],
    marked: bytearray,
    ends: bytearray,
    succeeded: int,
    failed: int,
    ending: bool,
    found: array[int],
) -> int: ...
def seats(
    nodes: array[int], shapes: array[int], counts: array[int], stays: bytearray, starts: array[int], found: array[int]
) -> int: ...
def seat(
    rows: array[int],
    nodes: array[int],
    running: int,
    ready: int,
    pod_node: array[int],
    pod_phase: array[int],
    pod_flags: array[int],
    pod_unschedulable: array[int],
) -> None: ...
def renumber(pod_node: array[int], numbers: array[int]) -> None: ...
