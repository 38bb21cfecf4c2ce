"""The nodes of a state by the value of one label: the domains of a topology key."""

from array import array
from collections.abc import Callable
from itertools import compress
from typing import Protocol

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.scheduling.nodes import NodeTable

NO_DOMAIN = -1
_UNKNOWN = -2


class DomainListener(Protocol):
    """Something that minds which domains there are."""

    def opened(self, domain: int) -> None:
        """The domain has its first node that counts."""

    def shut(self, domain: int) -> None:
        """The domain has lost its last node that counts."""

    def moved(self, node: int, sign: int) -> None:
        """The pods on a node begin (1) or cease (-1) to count."""


class DomainMap:
    """Domains by index, in order of first sight. Follows the node table: `sync` before reading, `drop_to` after an undo.

    `of` is the domain of each node (`NO_DOMAIN` without the label), `missing` has 1 there, `counts` has 1 for nodes whose
    pods count. `members` are all nodes of a domain, `counting` how many of them count.
    """

    def __init__(self, nodes: NodeTable, key: str, counts: Callable[[int], bool] | None) -> None:
        """`counts` None: every node counts."""
        self._nodes = nodes
        self.key = key
        self._counts_node = counts
        self._index: dict[str, int] = {}
        self._of_shape: dict[int, int] = {}
        self._shared = 0
        self.values: list[str] = []
        self.members: list[list[int]] = []
        self.counting: list[int] = []
        self.of = array("i")
        self.missing = bytearray()
        self.counts = bytearray()
        self._listeners: list[DomainListener] = []

    def listen(self, listener: DomainListener) -> None:
        """Tell the listener of changes from now on."""
        self._listeners.append(listener)

    @property
    def singular(self) -> bool:
        """Is every node in a domain, and in one of its own?"""
        return not self._shared and 1 not in self.missing

    def sync(self) -> int:
        """Take in nodes that were added to the table; how many."""
        nodes, known, first = self._nodes, self._of_shape, len(self.of)
        if first == len(nodes.names):
            return 0
        by_host = self.key == HOSTNAME_LABEL
        if by_host and self._took_new_hosts(first):
            return len(nodes) - first
        for node in range(first, len(nodes)):
            if node in nodes.gone:
                self.of.append(NO_DOMAIN)
                self.missing.append(0)
                self.counts.append(0)
                continue
            counts = self._counts_node is None or self._counts_node(node)
            self.counts.append(counts)
            if by_host:
                domain = self._domain_of(nodes.hostname(node))
            else:
                index = nodes.shape[node]
                domain = known.get(index, _UNKNOWN)
                if domain == _UNKNOWN:
                    domain = known[index] = self._domain_of(nodes.shapes[index].label(self.key))
            self.of.append(domain)
            if domain == NO_DOMAIN:
                self.missing.append(1)
                continue
            self.missing.append(0)
            self.members[domain].append(node)
            self._shared += len(self.members[domain]) == 2
            if counts:
                self._count(domain)
        return len(nodes) - first

    def _took_new_hosts(self, first: int) -> bool:
        """Take in several nodes at once, each a host that was not there before; False, with nothing done, if one is not."""
        names = self._nodes.hosts_by_name(first)
        if names is None or len(names) < 2 or self._nodes.gone:
            return False
        if len({*names}) < len(names) or not self._index.keys().isdisjoint(names):
            return False
        nodes, domain = range(first, first + len(names)), len(self.values)
        domains = range(domain, domain + len(names))
        counts = bytes(map(self._counts_node, nodes)) if self._counts_node is not None else b"\1" * len(names)
        self._index.update(zip(names, domains, strict=True))
        self.values += names
        self.members += [[node] for node in nodes]
        self.counting += [0] * len(names)
        self.of.extend(domains)
        self.missing.extend(bytes(len(names)))
        self.counts.extend(counts)
        for one in compress(domains, counts):
            self._count(one)
        return True

    def counts_otherwise(self, node: int) -> bool:
        """Would the node, as it is now, count where it does not, or not where it does?"""
        if node >= len(self.of) or self.of[node] == NO_DOMAIN or self._counts_node is None:
            return False
        return self._counts_node(node) is not bool(self.counts[node])

    def recount(self, node: int) -> None:
        """Take in other taints of a node to which nothing is bound."""
        if self.counts_otherwise(node):
            self.counts[node] ^= 1
            if self.counts[node]:
                self._count(self.of[node])
            else:
                self._discount(self.of[node])

    def recount_bound(self, node: int) -> None:
        """As `recount`, of a node with pods on it."""
        if not self.counts_otherwise(node):
            return
        if self.counts[node]:
            for listener in self._listeners:
                listener.moved(node, -1)
        self.recount(node)
        if self.counts[node]:
            for listener in self._listeners:
                listener.moved(node, 1)

    def forget(self, node: int) -> None:
        """A node to which nothing is bound is gone from the table."""
        if node >= len(self.of):
            return
        domain = self.of[node]
        self.of[node] = NO_DOMAIN
        # It is no node that lacks the label.
        self.missing[node] = 0
        if domain != NO_DOMAIN:
            self.members[domain].remove(node)
            self._shared -= len(self.members[domain]) == 1
            if self.counts[node]:
                self._discount(domain)

    def _count(self, domain: int) -> None:
        self.counting[domain] += 1
        if self.counting[domain] == 1:
            for listener in self._listeners:
                listener.opened(domain)

    def _discount(self, domain: int) -> None:
        self.counting[domain] -= 1
        if not self.counting[domain]:
            for listener in self._listeners:
                listener.shut(domain)

    def drop_to(self, count: int) -> None:
        """Forget nodes from index `count` on; domains keep their index even when they are empty."""
        for node in range(len(self.of) - 1, count - 1, -1):
            domain = self.of[node]
            if domain != NO_DOMAIN:
                self.members[domain].pop()
                self._shared -= len(self.members[domain]) == 1
                if self.counts[node]:
                    self._discount(domain)
        del self.of[count:]
        del self.missing[count:]
        del self.counts[count:]

    def _domain_of(self, value: str | None) -> int:
        if value is None:
            return NO_DOMAIN
        domain = self._index.setdefault(value, len(self.values))
        if domain == len(self.values):
            self.values.append(value)
            self.members.append([])
            self.counting.append(0)
        return domain
