"""A cluster with only the groups of a policy, on which a curve is replayed without a snapshot."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.groups.discovered_groups import target_ref
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.policy.documents import PolicySet
from reconciler.simulation.embedded.field_owner import OUR_MANAGER
from reconciler.simulation.scenarios.scenario import Start
from reconciler.simulation.scenarios.start_world import start_world


def policy_world(policies: Sequence[PolicySet], now_seconds: int) -> World:
    """The targets of all NodeGroup documents, ours and at the least size that the first policy gives them, without a node."""
    refs = sorted({target_ref(group.target) for policy in policies for group in policy.groups})
    targets = tuple(_target(ref, now_seconds) for ref in refs)
    bare = msgspec.structs.replace(start_world(Start()), name="", captured_seconds=now_seconds, targets=targets)
    least: dict[TargetRef, int] = {}
    for policy in reversed(policies):
        least |= {group.target: group.min_size for group in effective_groups(bare, policy, now_seconds)}
    return msgspec.structs.replace(
        bare, targets=tuple(msgspec.structs.replace(facts, replicas=least.get(facts.ref, 0)) for facts in bare.targets)
    )


def without_pods(world: World) -> World:
    """The same cluster with nothing on it but the pods of DaemonSets and mirror pods."""
    kept = [traits.daemonset or traits.mirror for traits in world.pod_traits]
    rows = [pod for pod in world.pods if kept[pod.traits]]
    return msgspec.structs.replace(world, pods=type(world.pods)(rows))


def _target(ref: TargetRef, now_seconds: int) -> TargetFacts:
    owner = FieldOwner(manager=OUR_MANAGER, operation="Apply", time_seconds=now_seconds)
    return TargetFacts(
        ref=ref,
        uid=f"uid-{ref.name}",
        resource_version="1",
        generation=1,
        replicas=0,
        owner=OwnerEvidence(owners=(owner,)),
    )
