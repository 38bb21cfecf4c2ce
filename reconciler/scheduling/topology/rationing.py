"""First fit of equal pods under limits a domain: as if placed one by one, at the cost of domains, not of all nodes."""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from reconciler.scheduling.topology.domains import NO_DOMAIN
from reconciler.scheduling.topology.limits import DomainLimit

# A limit with more domains than this is looked up node by node instead of group by group (a hostname, a rack).
_COARSE = 64


def ration(
    candidates: Sequence[tuple[int, int]],
    limits: Sequence[DomainLimit],
    count: int,
    bind: Callable[[int, int], None],
) -> dict[int, int]:
    """Bind up to `count` pods; pods by node in the order in which nodes were first used.

    `candidates` are (node, room) in the order of preference, each node once; `bind(node, pods)` must let the limits'
    counters see the pods. Between two moves of a floor a domain only ever closes, so that a node turned away by a limit is parked
    until that limit's floor moves; nodes without room never come back.
    """
    coarse = [limit for limit in limits if len(limit.counter.domains.values) <= _COARSE]
    fine = [limit for limit in limits if len(limit.counter.domains.values) > _COARSE]
    groups = _groups(candidates, coarse, fine)
    room = dict(candidates)
    placed: dict[int, int] = {}
    floors = [limit.floor for limit in fine]
    while count > 0:
        best: _Group | None = None
        for group in groups:
            if group.heap and group.open() and group.settle() and (best is None or group.heap[0] < best.heap[0]):
                best = group
        if best is None:
            break
        node = candidates[best.heap[0]][0]
        many = min(count, room[node])
        for limit in limits:
            domain = limit.counter.domains.of[node]
            if domain != NO_DOMAIN:
                many = min(many, 1 if limit.moves_floor(domain) else limit.slack(domain))
        bind(node, many)
        count -= many
        placed[node] = placed.get(node, 0) + many
        room[node] -= many
        if not room[node]:
            heappop(best.heap)
        for index, limit in enumerate(fine):
            if limit.floor != floors[index]:
                floors[index] = limit.floor
                for group in groups:
                    group.wake(index)
    return placed


class _Group:
    """Candidates that are in the same domain of every coarse limit; `heap` holds their positions."""

    __slots__ = ("_candidates", "_domains", "_fine", "_parked", "heap")

    def __init__(
        self,
        candidates: Sequence[tuple[int, int]],
        domains: Sequence[tuple[DomainLimit, int]],
        fine: Sequence[DomainLimit],
    ) -> None:
        self._candidates = candidates
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
            node = self._candidates[heap[0]][0]
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


def _groups(candidates: Sequence[tuple[int, int]], coarse: Sequence[DomainLimit], fine: Sequence[DomainLimit]) -> list[_Group]:
    found: dict[tuple[int, ...], _Group] = {}
    columns = [limit.counter.domains.of for limit in coarse]
    for position, (node, _) in enumerate(candidates):
        key = tuple([column[node] for column in columns])
        group = found.get(key)
        if group is None:
            domains = [(limit, domain) for limit, domain in zip(coarse, key, strict=True) if domain != NO_DOMAIN]
            group = found[key] = _Group(candidates, domains, fine)
        # Positions come in ascending order: a sorted list is a heap.
        group.heap.append(position)
    return list(found.values())
