"""What Cluster API's defaulting webhook will make of replicas that a commit omits.

SOURCE: the defaulting of MachineDeployments and MachineSets, measured on Cluster API 1.14 with its webhooks. It acts only on a
write without `spec.replicas`. With both size annotations, it sets the minimum on a new object, else the old value within the
range. With fewer, it sets 1, whatever ran before. If a manager applies a value and then drops it, the API server removes the
field, unless another manager owns it too. Then the webhook fills it again. The topology controller does so within a second after
the Cluster's topology drops it.

This module is with the ownership and not with its platform, because plans, lints and the first policy name a topology as an owner
(`OwnerEvidence`). The handover from another autoscaler is in each platform (`platform_handover`).
"""

import msgspec

from reconciler.cluster.platform_reading import group_of_targets
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.size_annotations import MAX_SIZE, MIN_SIZE
from reconciler.plan.reason import Because
from reconciler.policy.manifests.defaulted_replicas import defaulted
from reconciler.policy.platform.manifests import workers_field


class ReplicasUnset(Because, frozen=True, kw_only=True):
    """The effect of dropping replicas. `manager` declares `before` now, and `after` is the result. `kept_by` names another owner
    of the field, with which it stays. `annotated`: both size annotations are present. `keeping`: they would keep the size."""

    code = "ReplicasUnset"
    manager: str
    before: int
    after: int
    annotated: bool
    kept_by: str
    keeping: bool

    def sentence(self) -> str:
        """The outcome and what makes it."""
        if self.kept_by:
            why = f"stay {self.after}, since {self.kept_by} owns them as well"
        elif self.annotated:
            stay = "stay" if self.before == self.after else "become"
            why = f"{stay} {self.after}: with both size annotations the old value is brought into the range"
        elif not self.keeping:
            why = f"become {self.after}, the default of its definition, whatever runs"
        else:
            why = f"become {self.after}: without both size annotations that is Cluster API's default, whatever runs"
        return f"when {self.manager} leaves replicas out, they {why}"


def when_unset(facts: TargetFacts, manager: str, *, keeping: bool = True) -> ReplicasUnset:
    """What happens to the target when `manager` leaves replicas out from now on; `keeping`: both annotations keep them."""
    before = facts.replicas or 0
    kept = next((owner.manager for owner in facts.owner.owners if owner.manager != manager), "")
    annotated = keeping and facts.min_size is not None and facts.max_size is not None
    bounds = (facts.min_size, facts.max_size) if keeping else (None, None)
    after = before if kept else defaulted(facts.replicas, *bounds)
    return ReplicasUnset(manager=manager, before=before, after=after, annotated=annotated, kept_by=kept, keeping=keeping)


class HandOver(msgspec.Struct, frozen=True, kw_only=True):
    """How the owner of replicas changes. `steps` are sentences in order. `lines` are what to write at `where`. `replicas` are the
    final ones. `risk` is what the obvious way would do instead (empty: the same)."""

    steps: tuple[str, ...]
    where: str
    lines: tuple[str, ...]
    replicas: int
    risk: str = ""

    def sentence(self) -> str:
        """The advice in one sentence."""
        return ", then ".join(self.steps) + (f" ({self.risk})" if self.risk else "")


def to_us(facts: TargetFacts, min_size: int, max_size: int) -> HandOver:
    """How we take over a target whose replicas its topology or another applier declares.

    Annotations and the removal of replicas belong in one change of one document. The annotations keep the value, and Cluster API
    rejects a topology with both replicas and an annotation. What a topology owns is changed only on the Cluster.
    """
    replicas, group = facts.replicas or 0, facts.api_group or group_of_targets(facts.ref.kind)
    after = defaulted(facts.replicas, min_size, max_size)
    alone = defaulted(facts.replicas, None, None)
    risk = f"removing replicas alone sets {alone}" if alone != replicas else ""
    if after != replicas:
        risk = f"{replicas} is outside {min_size} to {max_size} and becomes {after}"
    return HandOver(
        steps=(
            f"in one change of {place(facts)}, remove replicas and add both size annotations",
            "the next loop owns the field",
        ),
        where=place(facts),
        lines=("metadata:", "  annotations:", f'    {group}/{MIN_SIZE}: "{min_size}"', f'    {group}/{MAX_SIZE}: "{max_size}"'),
        replicas=after,
        risk=risk,
    )


class FromTopology(Because, frozen=True, kw_only=True):
    """A topology declares the replicas of a group. This reason says what to write so that the group becomes ours, and what the
    webhook then does. `lines` are YAML to add at `where`. `block` is the part of the Cluster with these lines, ready to copy.
    `alone` is the value that the webhook sets if somebody removes replicas without adding the lines."""

    code = "FromTopology"
    where: str
    lines: tuple[str, ...]
    block: tuple[str, ...]
    before: int
    after: int
    alone: int
    min: int
    max: int

    def sentence(self) -> str:
        """The change in one sentence, and the replicas that come of it."""
        added = " and ".join(line.strip() for line in self.lines[2:])
        text = f"to hand it over, in one change of {self.where}: remove replicas and add to metadata.annotations {added}"
        if self.after != self.before:
            text += f". The webhook then sets {self.before} replicas {self.after}, to be in {self.min} to {self.max}"
        else:
            text += f". The webhook then keeps {self.after}"
        return text if self.alone == self.after else f"{text}, and without both annotations sets {self.alone}"


def from_topology(facts: TargetFacts, min_size: int, max_size: int) -> FromTopology | None:
    """The reason for a target whose topology declares its replicas; None for any other. Bounds in nodes."""
    if not facts.owner.topology_owned or facts.owner.topology_replicas is None or facts.owner.controller:
        return None
    way = to_us(facts, min_size, max_size)
    return FromTopology(
        where=way.where,
        lines=way.lines,
        block=_block(facts, way.lines),
        before=facts.replicas or 0,
        after=way.replicas,
        alone=defaulted(facts.replicas, None, None),
        min=min_size,
        max=max_size,
    )


def _block(facts: TargetFacts, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The entry of the Cluster with these lines and without replicas. Names are quoted: `on` and `1` are text here."""
    cluster = f"Cluster {facts.ref.namespace}/{facts.cluster_name}" if facts.cluster_name else "The Cluster"
    return (
        f"# {cluster}: in the same change, take replicas out of this entry",
        "spec:",
        "  topology:",
        "    workers:",
        f"      {workers_field(facts.ref.kind)}:",
        f"        - name: {msgspec.json.encode(facts.owner.topology_deployment).decode()}",
        *(f"          {line}" for line in lines),
    )


def back(facts: TargetFacts) -> HandOver:
    """How replicas go from us to a manifest or a topology: it declares exactly the value that is there, after we let go."""
    replicas = facts.replicas or 0
    forced = "is overwritten by the topology controller" if facts.owner.topology_owned else "is a conflict, or forced"
    return HandOver(
        steps=(
            "remove the NodeGroup from the policy: the target is released and keeps its size",
            f"in one change of {place(facts)}, remove both size annotations and declare replicas: {replicas}",
        ),
        where=place(facts),
        lines=(f"replicas: {replicas}",),
        replicas=replicas,
        risk=f"another value {forced}",
    )


def place(facts: TargetFacts) -> str:
    """Where the target's replicas and annotations are written."""
    if not facts.owner.topology_owned:
        return f"{facts.ref}"
    entry = f"spec.topology.workers.{workers_field(facts.ref.kind)}[name={facts.owner.topology_deployment}]"
    cluster = f"Cluster {facts.ref.namespace}/{facts.cluster_name}" if facts.cluster_name else "its Cluster"
    return f"{cluster}, {entry}"
