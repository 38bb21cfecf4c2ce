"""Another autoscaler at work on the cluster, and marks that a platform copies."""

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.plan.plan import ActionKind, OwnerState
from reconciler.platforms.clusterapi.kinds import MACHINE_SET
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, of_kind, plan_of

SENTENCE = "Lease kube-system/cluster-autoscaler is renewed by ca-0"


def test_a_live_cluster_autoscaler_holds_what_would_be_ours() -> None:
    """Nothing is written, the evidence is told, and what would be done is still worked out: of two pods of 4 CPUs one fits on the
    node that is there, the other one wants a second node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 2, cpu="4")
    world = msgspec.structs.replace(cluster.world(), rivals=(SENTENCE,))
    plan = plan_of(world, policy(node_group("general"), adopt_from=("cluster-autoscaler",)))
    line = group(plan, "general")
    assert (line.owner.state, line.owner.by, line.owner.evidence) == (OwnerState.HELD, "cluster-autoscaler", (SENTENCE,))
    assert (line.held, line.wanted, plan.actions) == (True, 2, ())


def test_marks_that_a_machine_deployment_copied_are_not_ours_to_take_off() -> None:
    """Cluster API copies a MachineDeployment's annotations to its MachineSets: a release there would be undone at once, and
    come again in every plan. A MachineSet of its own is released."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    (facts,) = world.targets
    copied = msgspec.structs.replace(
        facts,
        ref=TargetRef(kind=MACHINE_SET, namespace="prod", name="general-x1"),
        annotations=(("reconciler.dev/policy", "test"), ("reconciler.dev/revision", "abc")),
        owner=msgspec.structs.replace(facts.owner, controller="MachineDeployment prod/general"),
    )
    alone = msgspec.structs.replace(copied, owner=facts.owner)
    rules = policy(node_group("general", min=1))
    for target, released in ((copied, []), (alone, ["general-x1"])):
        plan = plan_of(msgspec.structs.replace(world, targets=(facts, target)), rules)
        assert [action.group for action in of_kind(plan, ActionKind.RELEASE)] == released
