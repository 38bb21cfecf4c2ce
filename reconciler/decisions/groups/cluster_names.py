"""Whose a target of a cloud is, where loops of several clusters may see it: by names of clusters, its mark and its nodes.

An account has groups of several clusters, and all loops of a fleet may have the same policy. So a target counts for the cluster
that it names alone, or for the cluster whose nodes its machines are. Nothing else counts.
"""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.platform_rules import PlatformRules, rules_of
from reconciler.values.cluster_identity import FleetPlace

CLUSTER_MARK = "reconciler.dev/cluster"
"""What a loop of a fleet writes on a target of a cloud: namespace and name of its Cluster object."""


def in_cloud(kind: str) -> bool:
    """Whether targets of a kind are in a cloud, where loops of other clusters may see them too."""
    rules = rules_of(kind)
    return rules is not None and not rules.machines_are_objects


def cluster_mark(facts: TargetFacts) -> str:
    """The cluster of a fleet whose loop has written the target; empty for none."""
    return dict(facts.annotations).get(CLUSTER_MARK, "") if in_cloud(facts.ref.kind) else ""


def marked_by_other(facts: TargetFacts, here: str) -> str:
    """The cluster of a fleet other than `here` (`namespace/name`; empty: unknown) that has written the target; empty for none."""
    mark = cluster_mark(facts)
    return "" if mark == here else mark


class ClusterNames(msgspec.Struct, frozen=True):
    """The names of clusters on targets of one platform. `own` are those of this cluster alone, `others` those of other clusters
    of the fleet. `shared` are names of this cluster that another one has too."""

    own: frozenset[str]
    others: frozenset[str]
    shared: frozenset[str]

    def with_seen(self, seen: Iterable[tuple[str, ...]]) -> "ClusterNames":
        """Also the names on targets whose machines are nodes here. A target that names several clusters tells nothing."""
        met = {names[0] for names in seen if len(names) == 1} - self.others
        return msgspec.structs.replace(self, own=self.own | met)

    def of_others_alone(self, named: Iterable[str]) -> bool:
        """Whether a target names clusters, and all of them are other clusters of the fleet."""
        clusters = frozenset(named)
        return bool(clusters) and clusters <= self.others - self.shared


def cluster_names(place: FleetPlace, rules: PlatformRules) -> ClusterNames:
    """Those that follow from the Cluster objects of the fleet."""
    own = frozenset(rules.cluster_names(place.cluster))
    others = frozenset(name for one in place.others for name in rules.cluster_names(one))
    return ClusterNames(own - others, others, own & others)


def passed_over(world: World, facts: TargetFacts) -> bool:
    """Whether discovery leaves the target to other clusters of the fleet: it names them alone. If discovery took it, each of a
    hundred plans would have the groups of all hundred clusters."""
    rules = rules_of(facts.ref.kind)
    if world.fleet is None or rules is None or not facts.clusters or rules.machines_are_objects:
        return False
    return cluster_names(world.fleet, rules).of_others_alone(facts.clusters)
