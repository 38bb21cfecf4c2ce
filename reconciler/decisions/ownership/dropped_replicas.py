"""Warns before a merge what a change of manifests does to replicas that it leaves out."""

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.ownership.handover import when_unset
from reconciler.decisions.ownership.owner import OUR_MANAGER, TOPOLOGY_MANAGER
from reconciler.policy.manifests.dropped_sizes import DroppedSize
from reconciler.policy.problems.problem import Problem, Severity


def drop_warnings(dropped: tuple[DroppedSize, ...], world: World) -> tuple[Problem, ...]:
    """One for every object that declared replicas and no longer does; what the cluster does not have counts as declared."""
    return tuple(_warning(entry, _facts(entry, world)) for entry in dropped)


def _warning(entry: DroppedSize, facts: TargetFacts | None) -> Problem:
    low, high = entry.bounds
    known = facts or TargetFacts(ref=_ref(entry), replicas=entry.before)
    change = when_unset(
        msgspec.structs.replace(known, min_size=low, max_size=high), _manager(entry, facts), keeping=bool(entry.keys)
    )
    where = f"{entry.namespace}/{entry.name}" if entry.namespace else entry.name
    what = f"the topology of Cluster {where} for {entry.entry}" if entry.entry else f"{entry.kind} {where}"
    hint = f"write {' and '.join(entry.keys)} in the same change: they keep the size"
    if not entry.keys:
        hint = "let the loop own them first (adoptFrom names who applies this): a field stays that has another owner"
    return Problem(
        place=entry.place,
        code="ReplicasDropped",
        message=f"this change takes replicas {entry.before} out of {what}: {change.sentence()}",
        hint=hint if change.after != change.before and not change.annotated else "",
        severity=Severity.WARNING,
    )


def _manager(entry: DroppedSize, facts: TargetFacts | None) -> str:
    """Who declares the field now, so that only others count as those who keep it."""
    if entry.entry:
        return TOPOLOGY_MANAGER
    owners = facts.owner.owners if facts is not None else ()
    return next((owner.manager for owner in owners if owner.manager != OUR_MANAGER), "its applier")


def _ref(entry: DroppedSize) -> TargetRef:
    return TargetRef(kind=entry.target_kind, namespace=entry.namespace, name=entry.name)


def _facts(entry: DroppedSize, world: World) -> TargetFacts | None:
    """The target in the cluster; that of a topology by its Cluster and entry. A manifest without a namespace finds the only
    target of that name."""
    matches = [facts for facts in world.targets if entry.namespace in ("", facts.ref.namespace) and _is(entry, facts)]
    return matches[0] if len(matches) == 1 else None


def _is(entry: DroppedSize, facts: TargetFacts) -> bool:
    if entry.entry:
        worker = facts.ref.kind == entry.target_kind and facts.owner.topology_owned
        return worker and (facts.cluster_name, facts.owner.topology_deployment) == (entry.name, entry.entry)
    return (facts.ref.kind, facts.ref.name) == (entry.target_kind, entry.name)
