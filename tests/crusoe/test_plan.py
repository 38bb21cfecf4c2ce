"""Plans over a snapshot with pools: shared rooms, next tiers, and three platforms in one plan."""

import json
from pathlib import Path

from click.testing import CliRunner

from reconciler.cli.commands.plan import command
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import OwnerState, Plan
from tests.aws.documents import REGION
from tests.aws.documents import group as scaling_group
from tests.aws.policies import policy_set
from tests.cluster.objects import CREATED, Object, container, node, obj, pod, scalable
from tests.crusoe.documents import LOCATION, TYPE, files, instance, machine_id, pool
from tests.decisions.deciding import codes, group
from tests.decisions.deciding import pod as pod_line

A, B = machine_id(1), machine_id(2)
HEAD = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  tiers: [{name: reserved}, {name: rest}]
  pods: {newPodDelay: 0s, burstPause: 0s}
  defaults: {size: {min: 0, max: 9}, template: {capacity: {cpu: 8, memory: 32Gi}}}
"""


def group_text(name: str, target: str, tier: str = "rest") -> str:
    return f"""---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec: {{policyRef: {{name: prod}}, tier: {tier}, target: {{{target}}}, template: {{labels: {{pool: {name}}}}}}}
"""


def crusoe_group(name: str, tier: str = "rest") -> str:
    return group_text(name, f"crusoe: {{nodePool: {name}, location: {LOCATION}}}", tier)


def plan_of(policy: str, documents: dict[str, bytes], *objects: Object) -> Plan:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()
    whole = read_snapshot({**documents, "objects.json": listed})
    return decide(whole, policy_set(policy), Memory(), whole.captured_seconds + 600)[0]


def waiting(name: str, pool_name: str = "") -> Object:
    chosen = {"nodeSelector": {"pool": pool_name}} if pool_name else {}
    return pod(name, containers=[container("6", "1Gi")], **chosen)


def test_three_platforms_in_one_plan() -> None:
    """A MachineDeployment, an Auto Scaling group and a node pool: each grows for the pod that asks for it."""
    policy = (
        HEAD
        + group_text("pool", "clusterAPI: {kind: MachineDeployment, namespace: capi, name: pool}")
        + group_text("workers", f"aws: {{autoScalingGroup: workers, region: {REGION}}}")
        + crusoe_group("h100")
    )
    documents = {
        **files(pool("h100", count=1, machines=(A,))),
        "asg.json": json.dumps({"AutoScalingGroups": [scaling_group("workers")]}).encode(),
        "policies.json": b'{"ScalingPolicies": []}',
        "schedules.json": b'{"ScheduledUpdateGroupActions": []}',
        "refreshes.json": b'{"InstanceRefreshes": []}',
    }
    joined = node("n1", cpu="8", labels={"pool": "h100"}, spec={"providerID": f"crusoe://{A}"})
    pods = [waiting(f"on-{name}", name) for name in ("pool", "workers", "h100")]
    running = pod("there", containers=[container("6", "1Gi")], nodeName="n1", status={"phase": "Running"})
    plan = plan_of(policy, documents, scalable(spec={"replicas": 0}), joined, running, *pods)
    assert [(line.name, line.target, line.current, line.desired) for line in plan.groups] == [
        ("h100", f"NodePool {LOCATION}/h100", 1, 2),
        ("pool", "MachineDeployment capi/pool", 0, 1),
        ("workers", f"AutoScalingGroup {REGION}/workers", 0, 1),
    ]
    assert {line.owner.state for line in plan.groups} == {OwnerState.OURS}
    assert [(line.node, line.group) for line in plan.nodes] == [("n1", "h100")]


def test_pools_that_share_a_reservation() -> None:
    """Two reserved machines for two pools that ask for two each: two in all; who gets none is told by whom."""
    documents = files(
        *(pool(name, reservation_id="r1") for name in ("a", "b")),
        crusoeReservations=[{"id": "r1", "quantity": 3, "used_quantity": 1}],
    )
    pods = [waiting(f"{name}-{number}", name) for name in ("a", "b") for number in range(2)]
    plan = plan_of(HEAD + crusoe_group("a") + crusoe_group("b"), documents, *pods)
    assert group(plan, "a").desired + group(plan, "b").desired == 2
    refused = [line for line in plan.pods if line.outcome.value == "Unplaceable"]
    assert len(refused) == 2
    assert all("RoomTaken" in codes(line) for line in refused)
    told = next(reason.message for reason in refused[0].reasons if reason.code == "RoomTaken")
    assert "reservation r1" in told
    assert "1 of 3 machines run" in told


def test_the_next_tier_takes_over() -> None:
    """The reservation has room for one, so that the second pod goes to the tier below; without stock there nobody takes it."""
    policy = HEAD + crusoe_group("reserved", "reserved") + crusoe_group("open")
    reservation = [{"id": "r1", "quantity": 1, "used_quantity": 0}]
    for quantity, bought in ((5, 1), (0, 0)):
        documents = files(
            pool("reserved", reservation_id="r1"),
            pool("open"),
            crusoeReservations=reservation,
            crusoeCapacities=[{"type": TYPE, "location": LOCATION, "quantity": quantity}],
        )
        plan = plan_of(policy, documents, waiting("one"), waiting("two"))
        assert (group(plan, "reserved").desired, group(plan, "open").desired) == (1, bought)


def test_s011_no_third_machine() -> None:
    """S11: desired 2, one of two reserved machines is stopped: nothing is asked for, and the plan says what the count does."""
    documents = files(
        pool("h100", count=2, machines=(A, B), reservation_id="r1"),
        nodePoolInstances=[instance(A), instance(B, "STATE_SHUTOFF")],
        crusoeReservations=[{"id": "r1", "quantity": 2, "used_quantity": 1}],
    )
    down = {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": CREATED}]}
    nodes = [
        node("n1", cpu="8", labels={"pool": "h100"}, spec={"providerID": f"crusoe://{A}"}),
        node("n2", cpu="8", labels={"pool": "h100"}, spec={"providerID": f"crusoe://{B}"}, status=down),
    ]
    running = pod("there", containers=[container("6", "1Gi")], nodeName="n1", status={"phase": "Running"})
    plan = plan_of(HEAD + crusoe_group("h100"), documents, *nodes, running, waiting("one", "h100"), waiting("two", "h100"))
    assert not plan.actions
    assert group(plan, "h100").desired == 2
    # The platform's own replacement takes one of them, and the reservation has none for the other.
    assert [line.outcome.value for line in plan.pods] == ["FitsUpcoming", "Unplaceable"]
    assert "RoomTaken" in codes(pod_line(plan, "shop/two"))
    assert any("count 2 asks for its replacement" in problem.message for problem in plan.problems)


def test_the_autoscaler_of_the_platform_in_a_snapshot() -> None:
    """Held as by a live process: its Deployment is known by what it runs, and one without replicas holds nothing."""
    for replicas, state in ((1, OwnerState.HELD), (0, OwnerState.OURS)):
        containers = [{"name": "c", "image": "ghcr.io/crusoecloud/cluster-autoscaler-crusoecloud:v1.30.3"}]
        spec = {"replicas": replicas, "template": {"spec": {"containers": containers}}}
        there = obj("Deployment", "apps/v1", "cluster-autoscaler", "crusoe-system", spec=spec)
        plan = plan_of(HEAD + crusoe_group("h100"), files(pool("h100")), there, waiting("one", "h100"))
        assert (group(plan, "h100").owner.state, group(plan, "h100").desired) == (state, 0 if replicas else 1)
        if replicas:
            assert "Deployment crusoe-system/cluster-autoscaler has 1 replica" in group(plan, "h100").owner.evidence


def test_no_removal_before_somebody_has_tried() -> None:
    """An empty node goes only where it is known what lowering a count does."""
    policy = HEAD.replace("defaults: {", "defaults: {scaleDown: {unneededTime: 0s}, ")
    empty = node("n1", cpu="8", labels={"pool": "h100"}, spec={"providerID": f"crusoe://{A}"})
    for lowering, desired in (("Keeps", 0), ("Trims", 1), ("", 1)):
        documents = files(pool("h100", count=1, machines=(A,)), behaviour={"lowering": lowering})
        kinds = "".join(f"  - {kind}\n" for kind in KINDS)
        documents["snapshot.yaml"] = f'formatVersion: "1.0"\ncapturedAt: "2026-11-21T02:00:00Z"\nkinds:\n{kinds}'.encode()
        plan = plan_of(policy + crusoe_group("h100"), documents, empty)
        assert group(plan, "h100").desired == desired, plan
        blockers = [blocker.code for line in plan.nodes for blocker in line.blockers]
        assert ("TargetKeepsNodes" in blockers) is (desired == 1)


KINDS = (
    "Node", "Pod", "PodDisruptionBudget", "PriorityClass", "Namespace", "ReplicaSet", "StatefulSet", "Job", "DaemonSet",
    "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode",
)  # fmt: skip


def test_the_commands_read_it(tmp_path: Path) -> None:
    """Nothing beside the folder of the platform and its line is needed for a plan by the command."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "p.yaml").write_text(HEAD + crusoe_group("h100"))
    (tmp_path / "cluster").mkdir()
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [waiting("one", "h100")]}).encode()
    for name, body in {**files(pool("h100")), "objects.json": listed}.items():
        (tmp_path / "cluster" / name).write_bytes(body)
    done = CliRunner().invoke(
        command, ["--policy", str(tmp_path / "policies"), "--cluster", str(tmp_path / "cluster"), "-o", "json"]
    )
    assert done.exit_code == 0, done.output
    assert [(line["target"], line["desired"]) for line in json.loads(done.stdout)["groups"]] == [(f"NodePool {LOCATION}/h100", 1)]
