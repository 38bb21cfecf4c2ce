"""How `spec.replicas` and its managed fields change with each kind of write.

SOURCE: measured on kube-apiserver 1.36 with Cluster API 1.14. A server-side apply without force fails with a conflict that names
the owner, unless the value is the same (then both own it). On a field without owner it succeeds and is recorded. A forced apply
and a merge patch take the field from everybody. A write through `/scale` takes it too, and its entry has no time. If nobody owned
the field, such a write leaves no entry.
"""

from enum import StrEnum

import msgspec

from reconciler.cluster.target import FieldOwner, TargetFacts

OUR_MANAGER = "nodegroup-reconciler"
TOPOLOGY_MANAGER = "capi-topology"


class Via(StrEnum):
    """The kind of a write by somebody else."""

    SCALE = "Scale"
    PATCH = "Patch"
    APPLY = "Apply"


def conflict(facts: TargetFacts, manager: str, replicas: int) -> str:
    """The manager that an apply without force by `manager` would meet, or empty."""
    others = sorted(owner.manager for owner in facts.owner.owners if owner.manager != manager)
    return others[0] if others and facts.replicas != replicas else ""


def applied(facts: TargetFacts, manager: str, replicas: int, now_seconds: int) -> TargetFacts:
    """After an apply without force that met no conflict: `manager` owns the field, next to others with the same value."""
    entry = FieldOwner(manager=manager, operation="Apply", time_seconds=now_seconds)
    kept = tuple(owner for owner in facts.owner.owners if owner.manager != manager)
    return _written(facts, replicas, (*kept, entry))


def taken(facts: TargetFacts, manager: str, operation: str, replicas: int, now_seconds: int) -> TargetFacts:
    """After a forced apply or a merge patch: `manager` is the only owner."""
    return _written(facts, replicas, (FieldOwner(manager=manager, operation=operation, time_seconds=now_seconds),))


def claimed(facts: TargetFacts, manager: str, replicas: int, now_seconds: int) -> TargetFacts:
    """After an adoption: `manager` alone applies the field, and the last-applied manifest declares it no more."""
    after = taken(facts, manager, "Apply", replicas, now_seconds)
    return msgspec.structs.replace(after, owner=msgspec.structs.replace(after.owner, last_applied_replicas=None))


def disclaimed(facts: TargetFacts, manager: str) -> TargetFacts:
    """After `manager` took its entries of the field out of managedFields: the value stays."""
    kept = tuple(owner for owner in facts.owner.owners if owner.manager != manager)
    return msgspec.structs.replace(facts, owner=msgspec.structs.replace(facts.owner, owners=kept))


def scaled(facts: TargetFacts, manager: str, replicas: int) -> TargetFacts:
    """After a write through the scale subresource."""
    if facts.replicas == replicas:
        return facts
    entry = FieldOwner(manager=manager, operation="Update", subresource="scale")
    return _written(facts, replicas, (entry,) if facts.owner.owners else ())


def written_by(facts: TargetFacts, via: Via, manager: str, replicas: int, now_seconds: int) -> TargetFacts:
    """After a write by somebody else, who asks nobody."""
    if via is Via.SCALE:
        return scaled(facts, manager, replicas)
    return taken(facts, manager, "Apply" if via is Via.APPLY else "Update", replicas, now_seconds)


def _written(facts: TargetFacts, replicas: int, owners: tuple[FieldOwner, ...]) -> TargetFacts:
    changed = facts.replicas != replicas
    return msgspec.structs.replace(
        facts,
        replicas=replicas,
        generation=facts.generation + changed,
        owner=msgspec.structs.replace(facts.owner, owners=tuple(sorted(owners))),
    )
