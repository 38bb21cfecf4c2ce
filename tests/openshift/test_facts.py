"""MachineSets and Machines from wire JSON. Expected values: the API's reference and OpenShift's Cluster Autoscaler's rules."""

import json

import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState
from tests.openshift.objects import GROUP, NAMESPACE, Object, machine, machine_autoscaler, machine_set, only, owners, world

UPSTREAM = "capacity.cluster-autoscaler.kubernetes.io/"
MIN, MAX = f"{GROUP}/cluster-api-autoscaler-node-group-min-size", f"{GROUP}/cluster-api-autoscaler-node-group-max-size"
GIB = 1 << 30


def state(*items: Object, adopt_from: tuple[str, ...] = ()) -> tuple[OwnerState, str]:
    terms = Terms(adopt_from=adopt_from, human_hold_seconds=0, now_seconds=1_900_000_000, first_seen_seconds=0)
    ownership = judge(only(*items), terms).ownership
    return ownership.state, ownership.by


def test_the_target_of_two_apis_is_told_apart() -> None:
    """Cluster API has MachineSets, too: the group stands in the kind."""
    found = only(machine_set("worker-a", 3))
    assert str(found.ref) == f"MachineSet.machine.openshift.io {NAMESPACE}/worker-a"
    assert (found.replicas, found.generation, found.resource_version) == (3, 3, "7")
    capi = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": {"name": "worker-a", "namespace": NAMESPACE},
        "spec": {"clusterName": "c", "replicas": 2},
    }
    both = world(machine_set("worker-a", 3), capi)
    assert [facts.ref.kind for facts in both.targets] == ["MachineSet", "MachineSet.machine.openshift.io"]


@pytest.mark.parametrize(
    ("annotations", "cpu_milli", "memory_bytes", "gpus", "pods"),
    [
        ({f"{GROUP}/vCPU": "4", f"{GROUP}/memoryMb": "16384"}, 4000, 16 * GIB, 0, 110),
        ({f"{UPSTREAM}cpu": "8", f"{UPSTREAM}memory": "32Gi", f"{UPSTREAM}maxPods": "250"}, 8000, 32 * GIB, 0, 250),
        # The upstream spelling wins, one by one; zero counts as unset in both.
        ({f"{GROUP}/vCPU": "4", f"{GROUP}/memoryMb": "16384", f"{UPSTREAM}cpu": "6"}, 6000, 16 * GIB, 0, 110),
        ({f"{GROUP}/vCPU": "4", f"{GROUP}/memoryMb": "16384", f"{UPSTREAM}cpu": "0"}, 4000, 16 * GIB, 0, 110),
        ({f"{GROUP}/vCPU": "4", f"{GROUP}/memoryMb": "16384", f"{GROUP}/GPU": "0"}, 4000, 16 * GIB, 0, 110),
        # The type of GPUs is NVIDIA's whatever is written.
        ({f"{GROUP}/vCPU": "4", f"{GROUP}/memoryMb": "16384", f"{GROUP}/GPU": "2"}, 4000, 16 * GIB, 2, 110),
    ],
)
def test_annotations_in_both_spellings(
    annotations: dict[str, str], cpu_milli: int, memory_bytes: int, gpus: int, pods: int
) -> None:
    """Origin: the annotations; a providerSpec that says something else is not looked at."""
    found = only(machine_set("a", annotations=annotations, value={"numCPUs": 2, "memoryMiB": 2048}))
    capacity = found.template.capacity
    assert capacity is not None
    assert (capacity.cpu_milli, capacity.memory_bytes, capacity.pods) == (cpu_milli, memory_bytes, pods)
    assert capacity.get("nvidia.com/gpu") == gpus
    assert (found.template.origins, found.problems) == (("capacity annotations",), ())


def test_a_broken_annotation_is_told() -> None:
    """It is neither used nor passed over in silence."""
    found = only(machine_set("a", annotations={f"{GROUP}/vCPU": "four", f"{GROUP}/memoryMb": "16384"}))
    assert found.template.capacity is None
    assert any("cpu" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("value", "cpu_milli", "memory_bytes"),
    [
        ({"numCPUs": 4, "numCoresPerSocket": 2, "memoryMiB": 16384}, 4000, 16 * GIB),
        ({"vcpuSockets": 2, "vcpusPerSocket": 3, "memorySize": "24Gi"}, 6000, 24 * GIB),
    ],
)
def test_a_provider_spec_that_says_its_size(value: Object, cpu_milli: int, memory_bytes: int) -> None:
    """vSphere and Nutanix; the origin is shown."""
    template = only(machine_set("a", value=value)).template
    assert template.capacity is not None
    assert (template.capacity.cpu_milli, template.capacity.memory_bytes) == (cpu_milli, memory_bytes)
    assert template.origins == ("providerSpec",)


def test_an_instance_type_of_the_table() -> None:
    """AWS's m5.xlarge has 4 CPUs and 16 GiB, g5.2xlarge 8, 32 and a card, m6g.large is arm64; the table is named. What is
    written in annotations counts first, and a type that is not listed says nothing."""
    for kind, cpu_milli, gib, cards, arch in (
        ("m5.xlarge", 4000, 16, 0, "amd64"),
        ("g5.2xlarge", 8000, 32, 1, "amd64"),
        ("m6g.large", 2000, 8, 0, "arm64"),
    ):
        template = only(machine_set("a", value={"instanceType": kind})).template
        assert template.capacity is not None
        assert (template.capacity.cpu_milli, template.capacity.memory_bytes) == (cpu_milli, gib * GIB)
        assert (template.capacity.get("nvidia.com/gpu"), template.architecture) == (cards, arch)
        assert template.origins[0].startswith("the instance table of ")
    written = only(
        machine_set("a", annotations={f"{GROUP}/vCPU": "2", f"{GROUP}/memoryMb": "4096"}, value={"instanceType": "m5.xlarge"})
    )
    assert (written.template.capacity and written.template.capacity.cpu_milli, written.template.origins) == (
        2000,
        ("capacity annotations",),
    )
    assert only(machine_set("a", value={"instanceType": "no.such"})).template.capacity is None
    assert only(machine_set("a", value={"vmSize": "m5.xlarge"})).template.capacity is None


@pytest.mark.parametrize(
    ("value", "cpu_milli", "origin"),
    [
        ({"numCPUs": 2, "memoryMiB": 2048, "instanceType": "m5.xlarge"}, 2000, "providerSpec"),
        ({"numCPUs": 4}, 0, ""),
        ({"memoryMiB": 2048}, 0, ""),
        ({"vcpuSockets": 4, "memorySize": "2Gi"}, 0, ""),
        ({"vcpusPerSocket": 4, "memorySize": "2Gi"}, 0, ""),
        ({}, 0, ""),
    ],
)
def test_a_provider_spec_says_its_size_whole_or_not_at_all(value: Object, cpu_milli: int, origin: str) -> None:
    """Half of it is none; where it is whole no table is looked at."""
    template = only(machine_set("a", value=value)).template
    assert (template.capacity.cpu_milli if template.capacity else 0, "".join(template.origins)) == (cpu_milli, origin)


@pytest.mark.parametrize(
    ("value", "interruptible"),
    [
        ({"spotMarketOptions": {}}, True),
        ({"spotVMOptions": {"maxPrice": 1}}, True),
        ({"preemptible": True}, True),
        ({"preemptible": False}, False),
        ({"preemptible": "true"}, False),
        ({"spotMarketOptions": None}, False),
        ({}, False),
    ],
)
def test_instances_that_may_be_taken_back(value: Object, *, interruptible: bool) -> None:
    """SOURCE: the providerSpecs of AWS, Azure and Google, in this order: options that are there at all, or the flag."""
    labels = dict(only(machine_set("a", value=value)).template.labels)
    assert ("machine.openshift.io/interruptible-instance" in labels) is interruptible


def test_a_set_that_says_nothing_about_itself() -> None:
    """Without annotations, labels, status and a size in its template: nobody's, of an unknown shape."""
    item = machine_set("a")
    for key in ("annotations", "labels"):
        del item["metadata"][key]  # type: ignore[attr-defined]
    del item["status"]
    item["spec"]["template"] = {"spec": {}}  # type: ignore[index]
    found = only(item)
    assert (found.template.capacity, found.problems, found.writers, found.labels) == (None, (), (), ())
    assert state(item)[0] is OwnerState.OURS


def test_what_a_node_will_carry() -> None:
    """Labels and taints of the template's spec go to the Node; those of its metadata are the Machine's."""
    item = machine_set(
        "a",
        value={"instanceType": "m5.large", "placement": {"availabilityZone": "eu-1a"}, "spotMarketOptions": {}},
        node_labels={"node-role.kubernetes.io/infra": ""},
        taints=[{"key": "infra", "effect": "NoSchedule"}],
        annotations={f"{UPSTREAM}labels": "kubernetes.io/arch=arm64"},
    )
    template = only(item).template
    assert dict(template.labels) == {
        "node.kubernetes.io/instance-type": "m5.large",
        "topology.kubernetes.io/zone": "eu-1a",
        "machine.openshift.io/interruptible-instance": "",
        "node-role.kubernetes.io/infra": "",
        "kubernetes.io/arch": "arm64",
    }
    assert (template.taints, template.zone, template.architecture) == ((Taint("infra", "", "NoSchedule"),), "eu-1a", "arm64")


def test_bounds_of_annotations_and_of_a_machine_autoscaler() -> None:
    """The MachineAutoscaler is what is meant; its annotations may lag behind it."""
    item = machine_set("a", annotations={MIN: "1", MAX: "5"})
    assert (only(item).min_size, only(item).max_size) == (1, 5)
    found = only(item, machine_autoscaler("ma", "a", 2, 9))
    assert (found.min_size, found.max_size, found.size_origin) == (2, 9, f"MachineAutoscaler {NAMESPACE}/ma")
    assert only(machine_set("a"), machine_autoscaler("ma", "other", 2, 9)).max_size is None


def test_a_machine_autoscaler_without_numbers() -> None:
    """What is not said is nothing: the server fills nothing in."""
    scaler = machine_autoscaler("ma", "a", 2, 9)
    del scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]
    found = only(machine_set("a"), scaler)
    assert (found.min_size, found.max_size) == (0, 0)


@pytest.mark.parametrize(
    ("parts", "by"),
    [
        ({"annotations": {"autoscaling.openshift.io/machineautoscaler": "ns/ma"}}, "MachineAutoscaler ns/ma"),
        ({"labels": {"hive.openshift.io/machine-pool": "worker"}}, "Hive"),
        ({"role": "master"}, "the control plane"),
        ({"spec": {"authoritativeAPI": "MachineAPI"}, "status": {}}, "a migration between two APIs"),
        (
            {"spec": {"authoritativeAPI": "ClusterAPI"}, "status": {"authoritativeAPI": "MachineAPI"}},
            "a migration between two APIs",
        ),
        (
            {"spec": {"authoritativeAPI": "Migrating"}, "status": {"authoritativeAPI": "Migrating"}},
            "a migration between two APIs",
        ),
        ({"spec": {"authoritativeAPI": "ClusterAPI"}, "status": {"authoritativeAPI": "ClusterAPI"}}, "its twin in Cluster API"),
        (
            {
                "spec": {"authoritativeAPI": "MachineAPI"},
                "status": {
                    "authoritativeAPI": "MachineAPI",
                    "conditions": [{"type": "Synchronized", "status": "False", "message": "no such type"}],
                },
            },
            "a migration between two APIs",
        ),
        (
            {
                "spec": {"authoritativeAPI": "MachineAPI"},
                "status": {"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 2},
            },
            "a migration between two APIs",
        ),
        ({"managed": [owners("argocd-controller", "Apply")]}, "argocd-controller"),
    ],
)
def test_held_with_the_evidence(parts: dict[str, object], by: str) -> None:
    """By whom; adopting from a manager of fields does not help against the others."""
    assert state(machine_set("a", **parts), adopt_from=("cluster-autoscaler", "kubectl")) == (OwnerState.HELD, by)


def test_ours_to_size() -> None:
    """Nobody; one API that is settled; a field that the Cluster Autoscaler wrote last, where the policy adopts from it."""
    assert state(machine_set("a"))[0] is OwnerState.OURS
    settled = {"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 3}
    spec = {"authoritativeAPI": "MachineAPI"}
    assert state(machine_set("a", spec=spec, status=settled))[0] is OwnerState.OURS
    written = machine_set("a", managed=[owners("cluster-autoscaler", "Update", "scale")])
    assert state(written)[0] is OwnerState.HELD
    assert state(written, adopt_from=("cluster-autoscaler",))[0] is OwnerState.ADOPTABLE


def test_without_replicas_nobody_can_tell() -> None:
    """Its own controller refuses such a set."""
    assert state(machine_set("a", None))[0] is OwnerState.UNKNOWN


def test_machines() -> None:
    """Of the set that controls them; both marks count; a hook says why it is still there."""
    found = world(
        machine_set("a", 4),
        machine("a-1", "a", node="n1"),
        machine("a-2", "a", phase="Provisioning", annotations={f"{GROUP}/cluster-api-delete-machine": "x"}),
        machine("a-3", "a", phase="Failed", error="quota"),
        machine("a-4", "a", phase="Deleting", deleting=True, hooks={"preTerminate": [{"name": "backup", "owner": "dba"}]}),
    ).machines
    assert [(item.name, item.node, item.delete_marked, item.deleting) for item in found] == [
        ("a-1", "n1", False, False),
        ("a-2", "", True, False),
        ("a-3", "", False, False),
        ("a-4", "", False, True),
    ]
    assert found[2].failed == "InvalidConfiguration: quota"
    assert found[3].phase == "Deleting, kept by lifecycle hook backup of dba"
    assert {str(item.target) for item in found} == {f"MachineSet.machine.openshift.io {NAMESPACE}/a"}


def test_a_machine_without_a_set_is_nobodys() -> None:
    """As those of the control plane are."""
    item = machine("master-0", "a")
    item["metadata"]["ownerReferences"] = []  # type: ignore[index]
    assert world(item).machines[0].target is None


def test_a_failed_machine_keeps_all_nodes_of_its_set() -> None:
    """It ties with a marked one; one that is going already does not."""
    (first, second) = world(
        machine_set("a"), machine_set("b"), machine("a-1", "a", error="quota"), machine("b-1", "b", error="quota", deleting=True)
    ).targets
    assert "Machine a-1 failed" in first.keeps_nodes
    assert second.keeps_nodes == ""


def test_nodes_of_failed_machines_may_go() -> None:
    """They are the ones that would go, all together; one whose node is gone is a request like any other."""
    there = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}, "status": {}} for name in ("n1", "n2", "n3")
    ]
    failed = [machine(f"{name}-1", name, error="terminated", node=node) for name, node in (("a", "n1"), ("b", "n2"), ("c", "n9"))]
    found = world(*(machine_set(name) for name in "abc"), *failed, machine("b-2", "b", error="terminated", node="n3"), *there)
    assert [(bool(one.keeps_nodes), one.keeps_nodes_but) for one in found.targets] == [
        (True, ("n1",)),
        (True, ("n2", "n3")),
        (True, ()),
    ]
    assert [(one.name, one.node) for one in found.machines] == [("a-1", "n1"), ("b-1", "n2"), ("b-2", "n3"), ("c-1", "")]


@pytest.mark.parametrize(
    ("annotations", "kept"),
    [
        ({"currentConfig": "r-1", "desiredConfig": "r-1", "state": "Done"}, False),
        ({"currentConfig": "r-1", "desiredConfig": "r-2", "state": "Done"}, True),
        ({"currentConfig": "r-1", "desiredConfig": "r-1", "state": "Working"}, True),
        ({"currentConfig": "r-1", "desiredConfig": "r-1", "state": "Degraded"}, True),
        ({"currentConfig": "1", "desiredConfig": "1", "state": "Done", "desiredDrain": "d", "lastAppliedDrain": "u"}, True),
        ({}, False),
    ],
)
def test_a_node_that_the_machine_config_operator_works_on_keeps_its_role(annotations: dict[str, str], kept: bool) -> None:
    """Nodes of another set with the same role as well; those of another role not."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n1",
            "annotations": {f"machineconfiguration.openshift.io/{key}": text for key, text in annotations.items()},
        },
        "spec": {},
        "status": {},
    }
    targets = world(
        machine_set("a"), machine_set("b"), machine_set("c", role="infra"), machine("a-1", "a", node="n1"), node
    ).targets
    assert [bool(found.keeps_nodes) for found in targets] == [kept, kept, False]


def test_autoscalers_that_were_not_captured_hold_a_set() -> None:
    """What was not looked for is no evidence that nobody is there: held, and the gap is named with the command that fills it."""
    listed = {"apiVersion": "v1", "kind": "List", "items": [machine_set("w", 2)]}
    (found,) = read_snapshot({"all.json": json.dumps(listed).encode()}).targets
    judged = judge(found, Terms(now_seconds=0, first_seen_seconds=0)).ownership
    assert judged.state is OwnerState.UNKNOWN
    assert "MachineAutoscaler was not captured" in judged.evidence[0]
    assert "oc get machineautoscalers.autoscaling.openshift.io -A -o json" in judged.evidence[0]
    assert only(machine_set("w", 2)).unseen == ""
