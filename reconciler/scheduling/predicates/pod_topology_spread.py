"""PodTopologySpread: hard constraints on how unevenly pods may be spread over domains."""

from reconciler.scheduling.index_sets.marked_bytes import union
from reconciler.scheduling.topology.counter import LevelCounter
from reconciler.scheduling.topology.domains import NO_DOMAIN
from reconciler.scheduling.verdict import Rejection
from reconciler.values.clauses import clauses

UNLIMITED = 1 << 31
BY_DEFAULT = " (by scheduler.defaultConstraints)"
"""What a sentence adds if the scheduler gave the pod the constraint."""


class SpreadRule:
    """One constraint of one pod shape over the current counts.

    Source: plugin PodTopologySpread, Filter and calPreFilterState, 1.36. The skew of a node is the number of matching pods in its
    domain minus the smallest count of all domains. If the pod matches its own selector, it counts too. The skew must be at most
    maxSkew. Domains are those of nodes with the keys of all constraints. By default, the nodes must match the pod's node selector
    and affinity (nodeAffinityPolicy). If nodeTaintsPolicy says so, they must have no untolerated taint. With fewer domains than
    minDomains, the smallest count is 0. Terminating pods, pods on other nodes and pods of other namespaces do not count. An empty
    selector counts nothing, but matches the pod itself.
    """

    __slots__ = ("adds", "by_default", "counter", "key", "matches_itself", "max_skew", "min_domains")

    def __init__(
        self,
        counter: LevelCounter,
        *,
        key: str,
        max_skew: int,
        min_domains: int,
        matches_itself: bool,
        adds: bool,
        by_default: bool = False,
    ) -> None:
        """`adds` says that a pod of the shape raises the count of its domain once it is bound. `by_default`: the constraint is
        one of the scheduler's default constraints, not the pod's own."""
        self.by_default = by_default
        self.counter = counter
        self.key = key
        self.max_skew = max_skew
        self.min_domains = min_domains
        self.matches_itself = matches_itself
        self.adds = adds

    @property
    def floor(self) -> int:
        """What skew is measured from; it moves up as the emptiest domains fill."""
        counter = self.counter
        return 0 if counter.open_domains < self.min_domains else counter.lowest

    def slack(self, domain: int) -> int:
        """How many more pods may go to a domain while no other domain changes; 0: none."""
        left = self.max_skew + self.floor - self.counter.counts[domain]
        if self.adds:
            return max(0, left)
        return UNLIMITED if left >= self.matches_itself else 0

    def room(self, node: int) -> int:
        """How many more pods may go to the domain of a node, one after the other: they may be what raises the floor."""
        domains = self.counter.domains
        domain = domains.of[node]
        if domain == NO_DOMAIN or not (self.adds and domains.counts[node]):
            return UNLIMITED if self.allows(node) else 0
        beside = 0 if self.floor_is_forced else self.counter.lowest_beside(domain)
        return UNLIMITED if beside is None else max(0, self.max_skew + beside - self.counter.counts[domain])

    def moves_floor(self, domain: int) -> bool:
        """Would one more pod in the domain move the floor, where the rule counts it?"""
        return not self.floor_is_forced and self.counter.alone_at_lowest(domain)

    def refused(self, mask: bytearray) -> bytearray:
        """The mask with 1 for nodes that take no pod now."""
        mask = union(mask, self.counter.domains.missing)
        self.counter.mark_above(self.max_skew + self.floor - self.matches_itself, mask)
        return mask

    def is_crowded(self, node: int, promised: int) -> bool:
        """Would `promised` pods, counted on this node and nowhere else, be too many? For selectors that count no bound pod."""
        counter = self.counter
        if not counter.domains.counts[node]:
            return False
        floor = promised if counter.open_domains == 1 and not self.floor_is_forced else 0
        return promised + self.matches_itself - floor > self.max_skew

    def allows(self, node: int) -> bool:
        """Does the node take the pod?"""
        domain = self.counter.domains.of[node]
        return domain != NO_DOMAIN and self.slack(domain) > 0

    def objection(self, node: int) -> str:
        """Why the node does not take the pod; empty when it does."""
        if self.allows(node):
            return ""
        domains = self.counter.domains
        domain = domains.of[node]
        if domain == NO_DOMAIN:
            return f"the node has no label {self.key}{self._origin}"
        count = self.counter.counts[domain]
        few = f" (only {self.counter.open_domains} of {self.min_domains} domains)"
        where = few if self.floor_is_forced else f" (in {self.counter.lowest_domain})" if self.counter.open_domains else ""
        return (
            f"{self.key}={domains.values[domain]} has {count} matching {'pod' if count == 1 else 'pods'}, "
            f"the least is {self.floor}{where}, so one more would exceed maxSkew {self.max_skew}{self._origin}"
        )

    @property
    def _origin(self) -> str:
        return BY_DEFAULT if self.by_default else ""

    @property
    def floor_is_forced(self) -> bool:
        """Are there fewer domains than minDomains?"""
        return self.counter.open_domains < self.min_domains


def spread_rejection(rules: tuple[SpreadRule, ...], node: int) -> Rejection | None:
    """What PodTopologySpread says of one node."""
    objections = [text for rule in rules if (text := rule.objection(node))]
    return Rejection("PodTopologySpread", clauses(objections)) if objections else None
