"""What a plan says of a node, word for word and number for number: its state, its use, and everything that keeps it.

Nodes have 4 cores and 16 GiB unless told, the threshold is 50 %, times are the built-in ones; NOW is 2027-01-15T08:00:00Z.
"""

from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.pods.pod import ClaimUse, PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import NodeLine, NodeState
from reconciler.policy.documents import Budget, DrainRules, Headroom, Limit, PolicySet, ScaleDown
from reconciler.policy.pace import Pace
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import node, plan_of

OPEN = (Budget(nodes=100),)
BOUND = {"safe_to_evict": "false"}
KEPT = ("NotSafeToEvict", 'annotation cluster-autoscaler.kubernetes.io/safe-to-evict is "false"')
Said = tuple[NodeState, int | None, list[tuple[str, str]]]
Case = tuple[World, PolicySet, Memory]


def _cluster(nodes: int = 1, **group: object) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, **group)
    return cluster


def _case(
    cluster: ClusterBuilder | World, memory: Memory | None = None, policy_fields: dict | None = None, **group: object
) -> Case:
    world = cluster.world() if isinstance(cluster, ClusterBuilder) else cluster
    return world, policy(node_group("general", **group), **{"budgets": OPEN, **(policy_fields or {})}), memory or Memory()


def _with_facts(cluster: ClusterBuilder, **facts: object) -> World:
    world = cluster.world()
    return msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], **facts),))


def _with_first(cluster: ClusterBuilder, **fields: object) -> World:
    world = cluster.world()
    first, *others = world.nodes
    return msgspec.structs.replace(world, nodes=(msgspec.structs.replace(first, **fields), *others))


def _with_pods(cluster: ClusterBuilder, **fields: object) -> World:
    """With these fields of every pod whose name begins with `odd`."""
    world = cluster.world()
    rows = (msgspec.structs.replace(pod, **fields) if pod.name.startswith("odd") else pod for pod in world.pods)
    return msgspec.structs.replace(world, pods=PodTable(rows))


def used(cpu: str = "3", **group: object) -> Case:
    cluster = _cluster()
    cluster.pods("web", 1, cpu=cpu, on="general-1")
    return _case(cluster, **group)


def nobodys() -> Case:
    cluster = _cluster(0)
    cluster.node("general-1")
    cluster.pods("web", 1, cpu="1", on="general-1")
    return _case(cluster)


def leaving() -> Case:
    return _case(_cluster(), Memory(leaving={"general-1": NOW - 9}))


def starting() -> Case:
    return _case(_with_first(_cluster(), ready=False, created_seconds=NOW - 60))


def unready(cpu: str, **group: object) -> Case:
    cluster = _cluster()
    cluster.pods("web", 1, cpu=cpu, on="general-1")
    return _case(_with_first(cluster, ready=False, ready_seconds=NOW - 600), **group)


def offering_nothing() -> Case:
    cluster = _cluster(cpu="0", memory="0")
    cluster.pods("web", 1, on="general-1")
    return _case(cluster)


def without_target() -> Case:
    """The group's target is gone, its nodes are known by their labels."""
    cluster = ClusterBuilder()
    cluster.node("general-1", labels={"pool": "general"})
    return _case(cluster, nodes=Selector(match_labels=(("pool", "general"),)))


def of_target(**facts: object) -> Case:
    return _case(_with_facts(_cluster(), **facts))


def annotated(**annotations: str) -> Case:
    return _case(_with_first(_cluster(), annotations=tuple(annotations.items())))


def with_gpus(threshold: int) -> Case:
    cluster = _cluster(gpu=4)
    cluster.pods("train", 1, cpu="4", gpu=1, on="general-1")
    return _case(cluster, scale_down=ScaleDown(gpu_utilization_threshold_percent=threshold))


def at_maximum() -> Case:
    cluster = _cluster(2)
    cluster.pods("web", 2, cpu="3", on=["general-1", "general-2"])
    return _case(cluster, max=2)


def above_maximum() -> Case:
    """Two nodes, one may be; neither pod has another place."""
    cluster = _cluster(2)
    cluster.pods("web", 2, cpu="3", on=["general-1", "general-2"])
    return _case(cluster, max=1)


def back_within_maximum() -> Case:
    """The first goes for being above it; with one less the second is within again and too much in use to go."""
    cluster = _cluster(2)
    cluster.pods("web", 1, cpu="3", on="general-2")
    return _case(cluster, max=1)


def no_place() -> Case:
    """Of the two others one is too full and one takes no such pods."""
    cluster = _cluster(2)
    cluster.node("tainted", taints=("dedicated=x:NoSchedule",))
    cluster.pods("web", 2, cpu="1", memory="1Gi", on="general-1")
    cluster.pods("base", 1, cpu="2500m", on="general-2", traits=BOUND)
    return _case(cluster)


def kinds_of_pods(**fields: object) -> Case:
    """Beside 500m that count and move: `odd` pods of 1 core as told."""
    cluster = _cluster(2)
    cluster.pods("base", 1, cpu="4", on="general-2", traits=BOUND)
    cluster.pods("web", 1, cpu="500m", on="general-1")
    pods = {key: fields.pop(key) for key in ("phase", "deletion_seconds") if key in fields}
    cluster.pods("odd", 2, cpu="1", on="general-1", **fields)
    return _case(_with_pods(cluster, **pods))


def system_pods(age: int, timeout: int | None) -> Case:
    cluster = _cluster(2)
    cluster.pods("base", 1, cpu="4", on="general-2", traits=BOUND)
    cluster.pods("dns", 1, cpu="1", on="general-1", namespace="kube-system", age=age)
    return _case(cluster, policy_fields={"drain": DrainRules(system_pod_timeout_seconds=timeout)})


def unmodelled() -> Case:
    cluster = _cluster()
    cluster.pods("claims", 2, cpu="1", on="general-1", shape={"claims": (ClaimUse(name="gpu", claim="gpu"),)})
    return _case(cluster)


def two_budgets(allowed: int) -> Case:
    cluster = _cluster(2)
    cluster.pods("web", 2, cpu="500m", on="general-1")
    cluster.pods("base", 1, cpu="4", on="general-2", traits=BOUND)
    cluster.budget("web", allowed=allowed)
    (budget,) = cluster.world().budgets
    return _case(cluster.world(budgets=(budget, msgspec.structs.replace(budget, name="x"))))


def keeping_headroom() -> Case:
    return _case(_cluster(), headroom=Headroom(nodes=1))


def headroom_of_another() -> Case:
    """Its pod fits on the empty second node, which headroom keeps."""
    cluster = _cluster(2)
    cluster.pods("web", 1, cpu="1", on="general-1")
    return _case(cluster, headroom=Headroom(nodes=1))


def limited(pace: Pace | None = None, budgets: tuple[Budget, ...] = OPEN, memory: Memory | None = None) -> Case:
    """Two empty nodes that are long due."""
    due = msgspec.structs.replace(memory or Memory(), unneeded_since={"general-1": NOW - 9000, "general-2": NOW - 9000})
    return _case(_cluster(2), due, {"budgets": budgets, "pace": pace or Pace()})


COOLING = Memory(last_added_seconds=NOW - 60, last_removed_seconds=NOW - 30, last_failed_seconds=NOW - 10)
NO_PLACE = (
    "2 pods like it (1000m cpu, 1024Mi memory each) do not fit on the other 2 nodes: "
    "too little free capacity on 1, untolerated taint on 1"
)
ALONE = "1 pod like it ({0}m cpu, 0Mi memory each) does not fit on {1}"
FULL = ": too little free capacity on 1"

CASES: dict[str, tuple[Callable[[], Case], Said]] = {
    "used": (used, (NodeState.IN_USE, 750, [("NotUnderutilized", "utilization 75% is above the threshold 50%")])),
    "a permille above the threshold": (
        lambda: used("2001m"),
        (NodeState.IN_USE, 501, [("NotUnderutilized", "utilization 50.1% is above the threshold 50%")]),
    ),
    "at the threshold": (
        lambda: used("2"),
        (NodeState.UNDERUTILIZED, 500, [("NoPlaceToMove", ALONE.format(2000, "another node: there is none"))]),
    ),
    "of nobody": (nobodys, (NodeState.UNMANAGED, 250, [("NotManaged", "it belongs to no node group of this policy")])),
    "leaving": (leaving, (NodeState.LEAVING, 0, [("Leaving", "it is already being removed")])),
    "starting": (starting, (NodeState.NOT_STARTED, 0, [("NotStarted", "it has not started yet")])),
    "not ready and empty": (
        lambda: unready("0"),
        (NodeState.UNREADY, 0, [("NoPlaceToMove", ALONE.format(0, "another node: there is none"))]),
    ),
    "not ready and used": (
        lambda: unready("3"),
        (NodeState.UNREADY, 750, [("NotUnderutilized", "utilization 75% is above the threshold 50%")]),
    ),
    "with nothing to divide by": (
        offering_nothing,
        (NodeState.IN_USE, None, [("NotUnderutilized", "utilization unknown is above the threshold 50%")]),
    ),
    "of a target that is not there": (
        without_target,
        (NodeState.EMPTY, 0, [("GroupHeld", "its owner is unknown, the target does not exist")]),
    ),
    "of a target that is rolling out": (
        lambda: of_target(rolling_out=True),
        (NodeState.EMPTY, 0, [("RolloutInProgress", "general is rolling out a new revision")]),
    ),
    "of a target that keeps its nodes": (
        lambda: of_target(keeps_nodes="another would go", keeps_nodes_but=("general-2",)),
        (NodeState.EMPTY, 0, [("TargetKeepsNodes", "another would go")]),
    ),
    "of a target that keeps other nodes": (
        lambda: of_target(keeps_nodes="another would go", keeps_nodes_but=("general-1",)),
        (NodeState.EMPTY, 0, [("NotUnneededLongEnough", "Empty, removable from 2027-01-15T08:10:00Z")]),
    ),
    "annotated": (
        lambda: annotated(
            **{
                "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
                "delay-deletion.cluster-autoscaler.kubernetes.io/b": "",
                "delay-deletion.cluster-autoscaler.kubernetes.io/a": "",
            }
        ),
        (
            NodeState.EMPTY,
            0,
            [
                ("ScaleDownDisabledAnnotation", "annotation cluster-autoscaler.kubernetes.io/scale-down-disabled is true"),
                ("DelayDeletion", "annotation delay-deletion.cluster-autoscaler.kubernetes.io/a delays its deletion"),
            ],
        ),
    ),
    "annotated otherwise": (
        lambda: annotated(**{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "false"}),
        (NodeState.EMPTY, 0, [("NotUnneededLongEnough", "Empty, removable from 2027-01-15T08:10:00Z")]),
    ),
    "with GPUs above their threshold": (
        lambda: with_gpus(24),
        (NodeState.IN_USE, 250, [("NotUnderutilized", "utilization 25% is above the threshold 24%")]),
    ),
    "with GPUs at their threshold": (
        lambda: with_gpus(25),
        (NodeState.UNDERUTILIZED, 250, [("NoPlaceToMove", ALONE.format(4000, "another node: there is none"))]),
    ),
    "in a group at its maximum": (
        at_maximum,
        (NodeState.IN_USE, 750, [("NotUnderutilized", "utilization 75% is above the threshold 50%")]),
    ),
    "in a group above its maximum": (
        above_maximum,
        (NodeState.IN_USE, 750, [("NoPlaceToMove", ALONE.format(3000, "the other node") + FULL)]),
    ),
    "whose pods have no place": (no_place, (NodeState.UNDERUTILIZED, 500, [("NoPlaceToMove", NO_PLACE)])),
    "with pods that have ended": (
        lambda: kinds_of_pods(phase=PodPhase.SUCCEEDED, traits={"restart_policy": "Never"}),
        (NodeState.UNDERUTILIZED, 125, [("NoPlaceToMove", ALONE.format(500, "the other node") + FULL)]),
    ),
    "with pods that have ended and would start again": (
        lambda: kinds_of_pods(phase=PodPhase.SUCCEEDED, traits=BOUND),
        (NodeState.UNDERUTILIZED, 125, [KEPT, KEPT]),
    ),
    "with pods that failed": (
        lambda: kinds_of_pods(phase=PodPhase.FAILED, traits=BOUND),
        (NodeState.UNDERUTILIZED, 125, [("NoPlaceToMove", ALONE.format(500, "the other node") + FULL)]),
    ),
    "with pods that should be gone long ago": (
        lambda: kinds_of_pods(deletion_seconds=NOW - 61, traits={**BOUND, "grace_seconds": 30}),
        (NodeState.IN_USE, 625, [("NotUnderutilized", "utilization 62.5% is above the threshold 50%")]),
    ),
    "with pods that are to be gone by now": (
        lambda: kinds_of_pods(deletion_seconds=NOW - 60, traits={**BOUND, "grace_seconds": 30}),
        (NodeState.IN_USE, 625, [("NotUnderutilized", "utilization 62.5% is above the threshold 50%"), KEPT, KEPT]),
    ),
    "with pods below the cut-off": (
        lambda: kinds_of_pods(priority=-11, traits=BOUND),
        (NodeState.UNDERUTILIZED, 125, [("NoPlaceToMove", ALONE.format(500, "the other node") + FULL)]),
    ),
    "with pods at the cut-off": (
        lambda: kinds_of_pods(priority=-10, traits=BOUND),
        (NodeState.IN_USE, 625, [("NotUnderutilized", "utilization 62.5% is above the threshold 50%"), KEPT, KEPT]),
    ),
    "with mirror pods": (
        lambda: kinds_of_pods(traits={"mirror": True}),
        (NodeState.IN_USE, 625, [("NotUnderutilized", "utilization 62.5% is above the threshold 50%")]),
    ),
    "with pods that use what is not modelled": (
        unmodelled,
        (
            NodeState.UNDERUTILIZED,
            500,
            [
                (
                    "NotModelled",
                    "it uses DynamicResources (DeviceClass, ResourceClaim, ResourceSlice not captured), "
                    "which is not modelled, so no other node is known to fit",
                )
            ],
        ),
    ),
    "with a system pod as old as the timeout": (
        lambda: system_pods(3600, 3600),
        (
            NodeState.UNDERUTILIZED,
            250,
            [("SystemPod", "kube-system pod without a PodDisruptionBudget, younger than 1h")],
        ),
    ),
    "with a system pod older than the timeout": (
        lambda: system_pods(3601, 3600),
        (NodeState.UNDERUTILIZED, 250, [("NoPlaceToMove", ALONE.format(1000, "the other node") + FULL)]),
    ),
    "with a system pod and no timeout": (
        lambda: system_pods(360_000, None),
        (NodeState.UNDERUTILIZED, 250, [("SystemPod", "kube-system pod without a PodDisruptionBudget")]),
    ),
    "with pods under two budgets": (
        lambda: two_budgets(1),
        (
            NodeState.UNDERUTILIZED,
            250,
            [("SeveralPdbs", "several PodDisruptionBudgets cover it (web, x), and the eviction API rejects that")],
        ),
    ),
    "that headroom stands on": (keeping_headroom, (NodeState.EMPTY, 0, [("Headroom", "it is headroom of general")])),
    "whose pods would take headroom": (
        headroom_of_another,
        (
            NodeState.UNDERUTILIZED,
            250,
            [("Headroom", "its pods could take the room of general-2, which headroom keeps free")],
        ),
    ),
    "that waits for the cool-down that ends last": (
        lambda: limited(
            Pace(delay_after_add_seconds=600, delay_after_delete_seconds=240, delay_after_failure_seconds=180), OPEN, COOLING
        ),
        (NodeState.EMPTY, 0, [("CoolDown", "removals wait 10m after nodes were added, until 2027-01-15T08:09:00Z")]),
    ),
    "that waits for another cool-down that ends last": (
        lambda: limited(
            Pace(delay_after_add_seconds=60, delay_after_delete_seconds=240, delay_after_failure_seconds=180), OPEN, COOLING
        ),
        (NodeState.EMPTY, 0, [("CoolDown", "removals wait 4m after a removal, until 2027-01-15T08:03:30Z")]),
    ),
    "that waits for a budget in nodes": (
        lambda: limited(budgets=(Budget(nodes=0),)),
        (NodeState.EMPTY, 0, [("Budget", "the budget of 0 nodes at a time is used up")]),
    ),
    "that waits for a budget in percent": (
        lambda: limited(budgets=(Budget(percent=0),)),
        (NodeState.EMPTY, 0, [("Budget", "the budget of 0% at a time is used up")]),
    ),
    "that waits for the pace": (
        lambda: limited(Pace(max_removed_percent=0)),
        (NodeState.EMPTY, 0, [("Pace", "pace.maxRemovedPercent allows 0% of the managed nodes in one plan")]),
    ),
    "that a limit needs": (
        lambda: _case(_cluster(), policy_fields={"limits": (Limit(name="floor", min=(("cpu", 1000),)),)}),
        (NodeState.EMPTY, 0, [("LimitMin", "limit floor keeps a minimum of cpu")]),
    ),
    "that the group needs": (
        lambda: _case(_cluster(), min=1),
        (NodeState.EMPTY, 0, [("MinSize", "general is at its minimum size 1")]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_node(name: str) -> None:
    """The first node of the group, in each case."""
    make, expected = CASES[name]
    line = node(plan_of(*make()), "general-1")
    assert (line.state, line.utilization_permille, [(one.code, one.message) for one in line.blockers]) == expected


def test_what_goes_for_the_maximum_leaves_the_others_as_they_are() -> None:
    """Two nodes where one may be: the empty one goes, and the other one is used at 75 % and within the maximum again."""
    plan = plan_of(*back_within_maximum())
    assert node(plan, "general-1").removable
    (blocker,) = node(plan, "general-2").blockers
    assert (blocker.code, blocker.message) == ("NotUnderutilized", "its group returns to its maximum through other nodes")


@pytest.mark.parametrize(
    ("age", "since", "at", "budget", "code"),
    [
        (0, "2027-01-15T08:00:00Z", "2027-01-15T08:10:00Z", 1, "NotUnneededLongEnough"),
        (599, "2027-01-15T07:50:01Z", "2027-01-15T08:00:01Z", 1, "NotUnneededLongEnough"),
        (599, "2027-01-15T07:50:01Z", None, 0, "Budget"),
        (601, "2027-01-15T07:49:59Z", None, 0, "Budget"),
    ],
)
def test_times_of_a_node_that_waits(age: int, since: str, at: str | None, budget: int, code: str) -> None:
    """Since when it is unneeded, and when it may go; nobody knows when a budget of zero ends that has no schedule."""
    closed = (Budget(nodes=budget),)
    line = node(plan_of(*_case(_cluster(), Memory(unneeded_since={"general-1": NOW - age}), {"budgets": closed})), "general-1")
    assert (line.unneeded_since, line.removable_at, line.removable) == (since, at, True)
    assert [one.code for one in line.blockers] == [code]


def test_a_node_that_goes() -> None:
    """It is removable since its time was over, and nothing keeps it."""
    plan = plan_of(*_case(_cluster(), Memory(unneeded_since={"general-1": NOW - 601})))
    assert node(plan, "general-1") == NodeLine(
        node="general-1", group="general", state=NodeState.EMPTY, utilization_permille=0, removable=True,
        unneeded_since="2027-01-15T07:49:59Z", removable_at="2027-01-15T07:59:59Z",
    )  # fmt: skip


def test_a_removal_of_a_node_with_gpus_names_their_threshold() -> None:
    """1 of 4 is at 25 %, whatever applies to other nodes."""
    cluster = _cluster(2, gpu=4)
    cluster.pods("train", 1, gpu=1, on="general-1")
    cluster.pods("stays", 1, gpu=3, on="general-2", traits=BOUND)
    rules = ScaleDown(utilization_threshold_percent=40, gpu_utilization_threshold_percent=25, unneeded_time_seconds=0)
    (action,) = plan_of(*_case(cluster, scale_down=rules)).actions
    assert action.reason.message == (
        "general-1 has utilization 25% (threshold 25%), 1 pod fits elsewhere, unneeded since 2027-01-15T08:00:00Z"
    )


def test_rejections_are_told_for_so_many_shapes() -> None:
    """Sixty-six shapes of pods without a place: of sixty-four it is told what rejects them, of all that they have none."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=66)
    for number, name in enumerate(names):
        cluster.pods(f"web{number}", 1, cpu=f"{100 + number}m", on=name, node_selector={"disk": "gone"})
    plan = plan_of(*_case(cluster, max=99))
    said = [line.blockers[0].message for line in plan.nodes]
    assert all("does not fit on the other 65 nodes" in message for message in said)
    assert sum(message.endswith(": other labels than the pod wants on 65") for message in said) == 64


@pytest.mark.parametrize(("disks", "leaves"), [(("ssd", "ssd"), True), (("ssd", ""), False), (("", ""), False)])
def test_headroom_keeps_pods_that_it_could_take(disks: tuple[str, str], leaves: bool) -> None:
    """The second node is kept empty; the third has room and the disk that pods may ask for. Where one of the two pods of the
    first node could go to the second, it stays."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.node("general-3", labels={"pool": "general", "disk": "ssd"})
    cluster.pods("base", 1, cpu="2200m", on="general-3", traits=BOUND)
    for number, disk in enumerate(disks):
        cluster.pods(f"web{number}", 1, cpu=f"{500 + number}m", on="general-1", node_selector={"disk": disk} if disk else {})
    plan = plan_of(*_case(cluster, headroom=Headroom(nodes=1), scale_down=ScaleDown(unneeded_time_seconds=0)))
    assert [action.nodes for action in plan.actions] == ([("general-1",)] if leaves else [])
