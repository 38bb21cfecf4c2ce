"""What decisions ask of a platform about its targets, and where all platforms meet."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from reconciler import registered_platforms
from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.policy.documents import Discovery
from reconciler.values.cluster_identity import ClusterIdentity


class PlatformRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one platform, all pure.

    `provider` is its key in policies, `kinds` are the kinds of its targets. `takes`: whether a discovery item of this provider
    takes a target of one of these kinds. `policy_value` is what a NodeGroup writes below `spec.target` for a target.
    `declared_in_manifests`: somebody may declare its targets in git, so a release says how replicas go back there. `size_origin`
    names the source of a target's bounds. For `read_lag_seconds` after a write, a read may show the value before it.
    `unsigned_writer` is the phrase for a writer without a name, and `writer_evidence` says where to find its name. `doubles` are
    targets, of any platform, whose machines another target sizes: they are not discovered. `strangers` are targets that nothing
    links to this cluster: only labels or tags that a policy names discover them. `machines_are_objects`: each machine of its
    targets is an object of this cluster's own API, not a name in a list of the platform. `clusters_named` are the names of
    clusters that a discovery item of this provider requests. `declares` is a phrase for where a target declares that its nodes
    have a resource (empty: nowhere). `cluster_names` are the names that its targets may give a cluster of a fleet. There are none
    if they give it an id that only its nodes show. `names_cluster` is a phrase for how a target is marked as one of this cluster.
    `lifts_mark` is the command that removes the mark for deletion from a machine of a target (empty: there is none).
    `updates_in_place` is a phrase for when a machine of a target is updated instead of replaced (empty: never).
    """

    provider: str
    kinds: tuple[str, ...]
    takes: Callable[[Discovery, TargetFacts], bool]
    policy_value: Callable[[TargetRef], Mapping[str, Any]]
    declared_in_manifests: bool = False
    size_origin: str = "its annotations"
    read_lag_seconds: int = 0
    unsigned_writer: str = "a writer that leaves no trace in managedFields"
    writer_evidence: str = "managedFields or the audit log of the API server name it"
    doubles: Callable[[tuple[TargetFacts, ...]], frozenset[TargetRef]] = lambda _: frozenset()
    strangers: Callable[[World], frozenset[TargetRef]] = lambda _: frozenset()
    machines_are_objects: bool = False
    clusters_named: Callable[[Discovery], tuple[str, ...]] = lambda _: ()
    declares: Callable[[str], str] = lambda _: ""
    cluster_names: Callable[[ClusterIdentity], tuple[str, ...]] = lambda _: ()
    names_cluster: Callable[[ClusterIdentity], str] = lambda _: ""
    lifts_mark: Callable[[TargetFacts, Machine], str] = lambda *_: ""
    updates_in_place: Callable[[TargetRef], str] = lambda _: ""


@cache
def platform_rules() -> tuple[PlatformRules, ...]:
    """Those of all platforms."""
    return registered_platforms.parts("rules", "RULES")


@cache
def rules_of(kind: str) -> PlatformRules | None:
    """The rules for targets of a kind; None for a kind that no platform has."""
    return next((rules for rules in platform_rules() if kind in rules.kinds), None)


def doubles(targets: tuple[TargetFacts, ...]) -> frozenset[TargetRef]:
    """Targets whose machines another target sizes."""
    return frozenset[TargetRef]().union(*(rules.doubles(targets) for rules in platform_rules()))


def strangers(world: World) -> frozenset[TargetRef]:
    """Targets of which nothing says that they are of this cluster."""
    return frozenset[TargetRef]().union(*(rules.strangers(world) for rules in platform_rules()))


def kind_of(provider: str, kind: str) -> str:
    """The kind that a document of this provider means, where it may leave it out."""
    return kind or next((rules.kinds[0] for rules in platform_rules() if rules.provider == provider), "")
