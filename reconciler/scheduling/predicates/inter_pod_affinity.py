"""InterPodAffinity: required affinity and anti-affinity between pods, in both directions."""

import msgspec

from reconciler.scheduling.index_sets.marked_bytes import union
from reconciler.scheduling.topology.counter import DomainCounter
from reconciler.scheduling.topology.domains import NO_DOMAIN
from reconciler.scheduling.verdict import Rejection
from reconciler.values.clauses import clauses


class AffinityRules(msgspec.Struct, frozen=True):
    """All terms that concern one pod shape, over the current counts.

    `near`: one counter per topology key of its affinity terms, each counting pods that match *all* of them. `starts`: the shape
    matches its own terms. `away`: one counter per anti-affinity term of its own. `kept_away`: counters of pods whose
    anti-affinity terms select the shape.

    Source: plugin InterPodAffinity, Filter, 1.36. Affinity: the node has every key, and each of its domains has a pod that
    matches all terms. If no such pod exists and the pod matches its own terms, any node with the keys will do (the first pod of a
    group). Anti-affinity: no matching pod is in the node's domain; a node without the key is free. Terminating pods count like
    others.
    """

    near: tuple[DomainCounter, ...] = ()
    starts: bool = False
    away: tuple[DomainCounter, ...] = ()
    kept_away: tuple[DomainCounter, ...] = ()

    @property
    def first_of_group(self) -> bool:
        """Is there no pod yet that the affinity terms could mean?"""
        return not any(counter.total for counter in self.near)

    def allows(self, node: int) -> bool:
        """Do all terms let the pod on the node?"""
        return not self._far(node) and not any(_occupied(counter, node) for counter in (*self.away, *self.kept_away))

    def refused(self, mask: bytearray) -> bytearray:
        """The mask with 1 for nodes on which some term does not let the pod."""
        mask = bytearray(mask)
        for counter in dict.fromkeys((*self.away, *self.kept_away)):
            counter.mark_above(0, mask)
        starts = self.starts and self.first_of_group
        for counter in self.near:
            if starts:
                mask = union(mask, counter.domains.missing)
            else:
                counter.mark_empty(mask)
        return mask

    def rejection(self, node: int) -> Rejection | None:
        """What the plugin says of one node, all of it."""
        objections = []
        far = self._far(node)
        if far:
            objections.append(far)
        objections.extend(f"anti-affinity: a matching pod is in {_place(counter, node)}" for counter in _taken(self.away, node))
        objections.extend(
            f"a pod in {_place(counter, node)} has anti-affinity to this one" for counter in _taken(self.kept_away, node)
        )
        return Rejection("InterPodAffinity", clauses(objections)) if objections else None

    def _far(self, node: int) -> str:
        for counter in self.near:
            if counter.domains.of[node] == NO_DOMAIN:
                return f"affinity: the node has no label {counter.domains.key}"
        empty = [counter for counter in self.near if not _occupied(counter, node)]
        if not empty or (self.starts and self.first_of_group):
            return ""
        return f"affinity: no matching pod in {', '.join(_place(counter, node) for counter in empty)}"


def _taken(counters: tuple[DomainCounter, ...], node: int) -> list[DomainCounter]:
    return [counter for counter in counters if _occupied(counter, node)]


def _occupied(counter: DomainCounter, node: int) -> bool:
    domain = counter.domains.of[node]
    return domain != NO_DOMAIN and counter.counts[domain] > 0


def _place(counter: DomainCounter, node: int) -> str:
    domains = counter.domains
    return f"{domains.key}={domains.values[domains.of[node]]}"
