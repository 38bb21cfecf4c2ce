"""What a plan says of targets that it lets go, and of growth with several causes."""

import msgspec
import pytest

from reconciler.cluster.target import OwnerEvidence, TargetFacts
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Headroom
from tests.builders import ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import group, of_kind, plan_of

MARK = (("reconciler.dev/policy", "test"),)
OLD = TargetFacts(ref=machine_deployment("old"), resource_version="7", replicas=2, annotations=MARK)
MANIFEST = "in one change of MachineDeployment prod/old, remove both size annotations and declare replicas: 2"
TOPOLOGY = (
    "in one change of Cluster prod/c1, spec.topology.workers.machineDeployments[name=e], remove both size annotations and "
    "declare replicas: 2"
)


def _of_topology(replicas: int | None) -> TargetFacts:
    evidence = OwnerEvidence(topology_owned=True, topology_deployment="e", topology_replicas=replicas)
    return msgspec.structs.replace(OLD, owner=evidence, cluster_name="c1")


@pytest.mark.parametrize(
    ("target", "back"),
    [
        (OLD, ""),
        (msgspec.structs.replace(OLD, min_size=1, max_size=9), MANIFEST),
        (msgspec.structs.replace(OLD, ref=msgspec.structs.replace(OLD.ref, kind="AutoScalingGroup"), min_size=1, max_size=9), ""),
        (_of_topology(None), TOPOLOGY),
        (_of_topology(2), ""),
    ],
)
def test_how_a_manifest_takes_replicas_over_again(target: TargetFacts, back: str) -> None:
    """Said where one has left them out for us: with both size annotations, or in a topology. The size of an Auto Scaling group
    stands in no manifest."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    world = cluster.world()
    plan = plan_of(msgspec.structs.replace(world, targets=(*world.targets, target)), policy(node_group("general", min=1)))
    (release,) = plan.actions
    assert (release.kind, release.from_, release.to, release.bound.resource_version) == (ActionKind.RELEASE, 2, 2, "7")
    assert (release.reason.data["replicas"], release.reason.data["back"]) == (2, back)


def test_releases_are_told_by_name() -> None:
    """Of the groups that they were, as far as that is remembered."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    world = cluster.world()
    others = tuple(msgspec.structs.replace(OLD, ref=machine_deployment(name)) for name in ("a", "b"))
    memory = Memory(known_groups={str(machine_deployment("a")): "zoo"})
    plan = plan_of(msgspec.structs.replace(world, targets=(*others, *world.targets)), policy(node_group("general")), memory)
    assert [action.group for action in of_kind(plan, ActionKind.RELEASE)] == ["b", "zoo"]


@pytest.mark.parametrize(
    ("pods", "fields", "causes"),
    [
        (0, {"min": 2}, ["BelowMin"]),
        (3, {}, ["PendingPods"]),
        (3, {"min": 2}, ["BelowMin", "PendingPods"]),
        (1, {"headroom": Headroom(nodes=1)}, ["PendingPods", "Headroom"]),
        (3, {"min": 2, "headroom": Headroom(nodes=1)}, ["BelowMin", "PendingPods", "Headroom"]),
    ],
)
def test_everything_that_a_group_grows_for_is_told(pods: int, fields: dict[str, object], causes: list[str]) -> None:
    """In the order in which it was decided, under the code and with the numbers of the first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", pods, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general", **fields)))
    (action,) = of_kind(plan, ActionKind.RESIZE)
    said = group(plan, "general").reasons
    assert [reason.code for reason in said] == causes
    assert (action.reason.code, action.reason.data) == (said[0].code, said[0].data)
    assert action.reason.message.casefold() == ". ".join(reason.message for reason in said).casefold()


def test_a_target_that_does_not_say_its_size_is_released_at_none() -> None:
    """Its replicas are unset."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    world = cluster.world()
    unset = msgspec.structs.replace(OLD, replicas=None)
    plan = plan_of(msgspec.structs.replace(world, targets=(*world.targets, unset)), policy(node_group("general", min=1)))
    assert [(one.kind, one.from_, one.to) for one in plan.actions] == [(ActionKind.RELEASE, 0, 0)]
