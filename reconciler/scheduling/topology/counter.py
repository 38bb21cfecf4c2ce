"""How many pods of some shapes are in each domain, kept current."""

from array import array
from collections.abc import Mapping

import msgspec

from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.index_sets.index_set import IndexSet
from reconciler.scheduling.kernels import domains as kernels
from reconciler.scheduling.topology.domains import NO_DOMAIN, DomainMap


class Ghosts(msgspec.Struct, frozen=True):
    """Pods by (shape, node) that are bound and do not count, because they terminate; `shapes` are those of all of them."""

    counts: Mapping[tuple[int, int], int] = {}
    shapes: IndexSet = IndexSet()


class DomainCounter:
    """Pods of `shapes` by domain, those on nodes that count; `total` is their sum."""

    def __init__(self, bindings: Bindings, domains: DomainMap, shapes: IndexSet) -> None:
        domains.sync()
        self.domains = domains
        self.shapes = shapes
        self._counts = array("q", bytes(8 * len(domains.values)))
        self._start(bindings)
        bindings.watchers.watch_for_now(shapes, self)

    def _start(self, bindings: Bindings) -> None:
        bindings.count_in(self.shapes, self.domains.of, self.domains.counts, self._counts)
        self.total = sum(self._counts)

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        domains = self.domains
        if node >= len(domains.of):
            domains.sync()
        domain = domains.of[node]
        if domain != NO_DOMAIN and domains.counts[node]:
            self._add(domain, count)

    @property
    def counts(self) -> "array[int]":
        """Pods by domain."""
        # Domains come with every new node; thousands of counters follow only when they are asked.
        missing = len(self.domains.values) - len(self._counts)
        if missing:
            self._counts.frombytes(bytes(8 * missing))
        return self._counts

    def mark_above(self, most: int, mask: bytearray) -> None:
        """Write 1 to `mask` for nodes in whose domain more than `most` pods are."""
        kernels.mark_above(self.domains.of, self.counts, most, mask)

    def mark_empty(self, mask: bytearray) -> None:
        """Write 1 to `mask` for nodes in whose domain no pod is, and for those without the label."""
        kernels.mark_empty(self.domains.of, self.counts, mask)

    def _add(self, domain: int, count: int) -> None:
        self.counts[domain] += count
        self.total += count


class LevelCounter(DomainCounter):
    """A counter that also knows the smallest count of all domains that have a node that counts. `ghosts` do not count."""

    def __init__(self, bindings: Bindings, domains: DomainMap, shapes: IndexSet, ghosts: Ghosts) -> None:
        domains.sync()
        self._haunted = shapes & ghosts.shapes
        self._ghosts = ghosts.counts if self._haunted else {}
        self._seen: dict[tuple[int, int], int] = {}
        self._bindings = bindings
        self._open = 0
        self._levels: dict[int, int] = {}
        super().__init__(bindings, domains, shapes)
        domains.listen(self)

    def _start(self, bindings: Bindings) -> None:
        domains = self.domains
        bindings.count_in(self.shapes - self._haunted, domains.of, domains.counts, self._counts)
        for shape, node, count in bindings.of(self._haunted) if self._haunted else ():
            living = self._without_ghosts(shape, node, count)
            if domains.of[node] != NO_DOMAIN and domains.counts[node]:
                self._counts[domains.of[node]] += living
        self.total = sum(self._counts)
        for counting, count in zip(self.domains.counting, self._counts, strict=True):
            if counting:
                self._open += 1
                self._levels[count] = self._levels.get(count, 0) + 1
        self._low = min(self._levels, default=0)

    @property
    def open_domains(self) -> int:
        """Domains with a node that counts."""
        return self._open

    @property
    def lowest(self) -> int:
        """The smallest count of an open domain; 0 when there is none."""
        return self._low

    @property
    def lowest_domain(self) -> str:
        """The first open domain with the smallest count; empty when there is none."""
        counts, counting = self.counts, self.domains.counting
        domain = -1
        while self._open:
            domain = counts.index(self._low, domain + 1)
            if counting[domain]:
                return self.domains.values[domain]
        return ""

    def alone_at_lowest(self, domain: int) -> bool:
        """Is this the only open domain with the smallest count?"""
        return self.counts[domain] == self._low and self._levels.get(self._low) == 1

    def lowest_beside(self, domain: int) -> int | None:
        """The smallest count of the open domains except this one, which is open; None without another."""
        if not self.alone_at_lowest(domain):
            return self._low
        return min((level for level in self._levels if level != self._low), default=None)

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        super().change(shape, node, self._without_ghosts(shape, node, count) if self._ghosts else count)

    def _without_ghosts(self, shape: int, node: int, count: int) -> int:
        ghosts = self._ghosts.get((shape, node))
        if not ghosts:
            return count
        before = self._seen.get((shape, node), 0)
        self._seen[shape, node] = before + count
        return max(0, before + count - ghosts) - max(0, before - ghosts)

    def opened(self, domain: int) -> None:
        """See `DomainListener`."""
        self._open += 1
        self._enter(self.counts[domain])

    def shut(self, domain: int) -> None:
        """See `DomainListener`."""
        self._open -= 1
        self._leave(self.counts[domain])

    def moved(self, node: int, sign: int) -> None:
        """See `DomainListener`."""
        here = ((shape, count) for shape, count in self._bindings.on(node).items() if shape in self.shapes)
        living = sum(max(0, count - self._ghosts.get((shape, node), 0)) for shape, count in here)
        if living:
            self._add(self.domains.of[node], sign * living)

    def _add(self, domain: int, count: int) -> None:
        before = self.counts[domain]
        super()._add(domain, count)
        self._enter(before + count)
        self._leave(before)

    def _enter(self, level: int) -> None:
        self._levels[level] = self._levels.get(level, 0) + 1
        self._low = min(self._low, level)

    def _leave(self, level: int) -> None:
        left = self._levels[level] - 1
        if left:
            self._levels[level] = left
            return
        del self._levels[level]
        if level == self._low:
            self._low = min(self._levels, default=0)
