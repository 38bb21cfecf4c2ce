from array import array

def running_pods(pod_node: array[int], pod_phase: array[int], succeeded: int, failed: int, found: array[int]) -> int: ...
def by_node(pod_node: array[int], starts: array[int], order: array[int]) -> int: ...
def waiting_pods(
    pod_node: array[int],
    pod_deletion: array[int],
    pod_phase: array[int],
    pod_flags: array[int],
    pod_shape: array[int],
    succeeded: int,
    failed: int,
    gated: int,
    starts: array[int],
    order: array[int],
) -> int: ...
def ending_pods(pod_deletion: array[int], pod_phase: array[int], succeeded: int, failed: int, found: array[int]) -> int: ...
def kinds_of(
    pods: array[int], many: int, pod_shape: array[int], pod_traits: array[int], traits: int, kinds: array[int]
) -> None: ...
def bind_each(
    pods: array[int],
    many: int,
    pod_node: array[int],
    pod_shape: array[int],
    requests: array[int],
    free: array[int],
    width: int,
    head: array[int],
    cell_node: array[int],
    cell_shape: array[int],
    cell_count: array[int],
    cell_below: array[int],
    size: int,
) -> int: ...
def first_fit(
    columns: array[int],
    amounts: array[int],
    free: array[int],
    width: int,
    node_shape: array[int],
    allowed: bytearray,
    blocked: bytearray,
    order: array[int],
    stop: int,
    most_each: int,
    count: int,
    shape: int,
    head: array[int],
    cell_node: array[int],
    cell_shape: array[int],
    cell_count: array[int],
    cell_below: array[int],
    size: int,
) -> int: ...
def pop_cells(
    size: int,
    target: int,
    requests: array[int],
    free: array[int],
    width: int,
    head: array[int],
    cell_node: array[int],
    cell_shape: array[int],
    cell_count: array[int],
    cell_below: array[int],
) -> None: ...
def cells_of(wanted: bytearray, cell_shape: array[int], size: int, found: array[int]) -> int: ...
def with_room(
    columns: array[int],
    amounts: array[int],
    free: array[int],
    width: int,
    node_shape: array[int],
    allowed: bytearray,
    blocked: bytearray,
    order: array[int],
    stop: int,
    most_each: int,
    found: array[int],
    room_found: array[int],
) -> int: ...
def take(column: memoryview, width: int, order: array[int], found: memoryview) -> None: ...
def short_of(columns: array[int], amounts: array[int], free: array[int], width: int, found: bytearray) -> None: ...
