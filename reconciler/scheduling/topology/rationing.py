"""First fit of equal pods under limits a domain: as if placed one by one, at the cost of domains, not of all nodes."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise

from reconciler.scheduling.kernels import domains as kernels
from reconciler.scheduling.kernels import loops
from reconciler.scheduling.topology.domain_limits import DomainLimit
from reconciler.scheduling.topology.domains import NO_DOMAIN

# Candidates fall into at most so many groups by their domains; limits beyond (a hostname, a rack) are looked up node by node.
_MOST_GROUPS = 256


def ration(
    nodes: "array[int]",
    rooms: Sequence[int],
    limits: Sequence[DomainLimit],
    count: int,
    bind: Callable[[int, int], None],
) -> dict[int, int]:
    """Bind up to `count` pods. Returns pods by node, in the order of the first use of nodes.

    `nodes` are the candidates in order of preference, each once. `rooms` has the number of pods that each has room for.
    `bind(node, pods)` must make the limits' counters count the pods. Until a floor moves, a domain can close but never open. So a
    node that a limit rejects is parked until that limit's floor moves. Nodes without room never return.
    """
    coarse: list[DomainLimit] = []
    fine: list[DomainLimit] = []
    most_groups = 1
    for limit in limits:
        width = len(limit.counter.domains.values) + 1
        if most_groups * width <= _MOST_GROUPS:
            coarse.append(limit)
            most_groups *= width
        else:
            fine.append(limit)
    groups = list(_groups(nodes, coarse, fine, most_groups))
    left: dict[int, int] = {}
    placed: dict[int, int] = {}
    floors = [limit.floor for limit in fine]
    while count > 0:
        best: _Group | None = None
        for group in groups:
            if group.open() and group.settle() and (best is None or group.first < best.first):
                best = group
        if best is None:
            break
        position = best.first
        node = nodes[position]
        room = left.get(node, rooms[position])
        pods = min(count, room)
        for limit in limits:
            domain = limit.counter.domains.of[node]
            if domain != NO_DOMAIN:
                pods = min(pods, 1 if limit.moves_floor(domain) else limit.slack(domain))
        bind(node, pods)
        count -= pods
        placed[node] = placed.get(node, 0) + pods
        left[node] = room - pods
        if pods == room:
            best.drop()
        for index, limit in enumerate(fine):
            if limit.floor != floors[index]:
                floors[index] = limit.floor
                for group in groups:
                    group.wake(index)
    return placed


def _groups(
    nodes: "array[int]", coarse: Sequence[DomainLimit], fine: Sequence[DomainLimit], group_count: int
) -> "Iterator[_Group]":
    """The candidates by their domains of the coarse limits, which make so many groups at most."""
    numbers, order = array("i", bytes(4 * len(nodes))), array("i", bytes(4 * len(nodes)))
    for limit in coarse:
        kernels.split(nodes, limit.counter.domains.of, len(limit.counter.domains.values) + 1, numbers)
    starts = array("i", bytes(4 * (group_count + 2)))
    loops.by_node(numbers, starts, order)
    for first, end in pairwise(starts):
        if first < end:
            node = nodes[order[first]]
            domains = [(limit, limit.counter.domains.of[node]) for limit in coarse]
            met = [(limit, domain) for limit, domain in domains if domain != NO_DOMAIN]
            yield _Group(nodes, order[first:end], met, fine)


class _Group:
    """Candidates in the same domain of every coarse limit, as positions. Those from `_next` on in `_order` were not examined yet.
    Those in `_woken` were rejected once."""

    __slots__ = ("_domains", "_fine", "_next", "_nodes", "_order", "_parked", "_woken")

    def __init__(
        self,
        nodes: Sequence[int],
        order: "array[int]",
        domains: Sequence[tuple[DomainLimit, int]],
        fine: Sequence[DomainLimit],
    ) -> None:
        self._nodes = nodes
        self._order = order
        self._next = 0
        self._domains = domains
        self._fine = fine
        self._parked: list[list[int]] = [[] for _ in fine]
        self._woken: list[int] = []

    @property
    def first(self) -> int:
        """The first position; there is one."""
        if self._next == len(self._order):
            return self._woken[0]
        return min(self._woken[0], self._order[self._next]) if self._woken else self._order[self._next]

    def drop(self) -> int:
        """Take the first position away."""
        if self._woken and self._woken[0] == self.first:
            return heappop(self._woken)
        self._next += 1
        return self._order[self._next - 1]

    def open(self) -> bool:
        """Do all coarse limits take one more pod here?"""
        return all(limit.slack(domain) for limit, domain in self._domains)

    def settle(self) -> bool:
        """Park candidates until the first one is taken by every fine limit; False when none is left."""
        while self._woken or self._next < len(self._order):
            node = self._nodes[self.first]
            for index, limit in enumerate(self._fine):
                domain = limit.counter.domains.of[node]
                if domain != NO_DOMAIN and not limit.slack(domain):
                    self._parked[index].append(self.drop())
                    break
            else:
                return True
        return False

    def wake(self, index: int) -> None:
        """Ask again for candidates that a fine limit had turned away."""
        for position in self._parked[index]:
            heappush(self._woken, position)
        self._parked[index].clear()
