"""First fit of equal pods under limits a domain: as if placed one by one, at the cost of domains, not of all nodes."""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from reconciler.scheduling.topology.domains import NO_DOMAIN
from reconciler.scheduling.topology.limits import DomainLimit

# A limit with more domains than this is looked up node by node instead of group by group (a hostname, a rack).
_COARSE = 64


def ration(
    nodes: Sequence[int],
    rooms: Sequence[int],
    limits: Sequence[DomainLimit],
    count: int,
    bind: Callable[[int, int], None],
) -> dict[int, int]:
    """Bind up to `count` pods; pods by node in the order in which nodes were first used.

    `nodes` are the candidates in the order of preference, each once, and `rooms` for how many pods each has room; `bind(node,
    pods)` must let the limits' counters see the pods. Between two moves of a floor a domain only ever closes, so that a node
    turned away by a limit is parked until that limit's floor moves; nodes without room never come back. Candidates are looked
    at as far as pods get: few pods among thousands of nodes mostly find their place in the first few.
    """
    coarse, fine = list[DomainLimit](), list[DomainLimit]()
    for limit in limits:
        (fine if len(limit.counter.domains.values) > _COARSE else coarse).append(limit)
    groups = _Groups(nodes, coarse, fine)
    left: dict[int, int] = {}
    placed: dict[int, int] = {}
    floors = [limit.floor for limit in fine]
    while count > 0:
        best: _Group | None = None
        for group in groups.met:
            if group.heap and group.open() and group.settle() and (best is None or group.heap[0] < best.heap[0]):
                best = group
        # A candidate not looked at yet comes after all that were.
        best = best or groups.next_open()
        if best is None:
            break
        position = best.heap[0]
        node = nodes[position]
        room = left.get(node, rooms[position])
        many = min(count, room)
        for limit in limits:
            domain = limit.counter.domains.of[node]
            if domain != NO_DOMAIN:
                many = min(many, 1 if limit.moves_floor(domain) else limit.slack(domain))
        bind(node, many)
        count -= many
        placed[node] = placed.get(node, 0) + many
        left[node] = room - many
        if many == room:
            heappop(best.heap)
        for index, limit in enumerate(fine):
            if limit.floor != floors[index]:
                floors[index] = limit.floor
                for group in groups.met:
                    group.wake(index)
    return placed


class _Group:
    """Candidates that are in the same domain of every coarse limit; `heap` holds their positions."""

    __slots__ = ("_domains", "_fine", "_nodes", "_parked", "heap")

    def __init__(
        self,
        nodes: Sequence[int],
        domains: Sequence[tuple[DomainLimit, int]],
        fine: Sequence[DomainLimit],
    ) -> None:
        self._nodes = nodes
        self._domains = domains
        self._fine = fine
        self._parked: list[list[int]] = [[] for _ in fine]
        self.heap: list[int] = []

    def open(self) -> bool:
        """Do all coarse limits take one more pod here?"""
        return all(limit.slack(domain) for limit, domain in self._domains)

    def settle(self) -> bool:
        """Park candidates until the first one is taken by every fine limit; False when none is left."""
        heap = self.heap
        while heap:
            node = self._nodes[heap[0]]
            for index, limit in enumerate(self._fine):
                domain = limit.counter.domains.of[node]
                if domain != NO_DOMAIN and not limit.slack(domain):
                    self._parked[index].append(heappop(heap))
                    break
            else:
                return True
        return False

    def wake(self, index: int) -> None:
        """Ask again for candidates that a fine limit had turned away."""
        for position in self._parked[index]:
            heappush(self.heap, position)
        self._parked[index].clear()


class _Groups:
    """The groups of the candidates looked at so far, in order of first sight."""

    __slots__ = ("_by_key", "_coarse", "_columns", "_fine", "_nodes", "_position", "met")

    def __init__(self, nodes: Sequence[int], coarse: Sequence[DomainLimit], fine: Sequence[DomainLimit]) -> None:
        self._nodes = nodes
        self._coarse = coarse
        self._fine = fine
        self._columns = [limit.counter.domains.of for limit in coarse]
        self._by_key: dict[tuple[int, ...], _Group] = {}
        self._position = 0
        self.met: list[_Group] = []

    def next_open(self) -> _Group | None:
        """Look at further candidates until one can be used, and say whose it is; None: there is none. Only for when no group that
        was met is open."""
        nodes, columns, by_key = self._nodes, self._columns, self._by_key
        shut = {id(group) for group in self.met if not group.open()}
        for position in range(self._position, len(nodes)):
            node = nodes[position]
            key = tuple([column[node] for column in columns])
            group = by_key.get(key)
            if group is None:
                domains = [(limit, domain) for limit, domain in zip(self._coarse, key, strict=True) if domain != NO_DOMAIN]
                group = by_key[key] = _Group(nodes, domains, self._fine)
                self.met.append(group)
                if not group.open():
                    shut.add(id(group))
            # Positions come in ascending order: one more at the end leaves a heap a heap.
            group.heap.append(position)
            if id(group) not in shut and group.settle():
                self._position = position + 1
                return group
        self._position = len(nodes)
        return None
