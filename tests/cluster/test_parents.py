"""Objects of other projects that declare the size of a target: captured beside it, they hold its group.

The names of what each project makes, its marks and its paths are those of its own documentation: Rancher's provisioning
controller, HyperShift's NodePool, Cluster API's AWS provider.
"""

import pytest

from reconciler.cluster.target import OtherWriter, TargetFacts
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState
from tests.builders import NOW
from tests.cluster.objects import Object, obj, scalable, world_of

POOLS = "spec.rkeConfig.machinePools[name=workers].quantity"


def rancher(*pools: Object, name: str = "c1", namespace: str = "capi") -> Object:
    return obj("Cluster", "provisioning.cattle.io/v1", name, namespace, spec={"rkeConfig": {"machinePools": list(pools)}})


def node_pool(**spec: object) -> Object:
    return obj("NodePool", "hypershift.openshift.io/v1beta1", "edge", "clusters", spec={"clusterName": "c1", **spec})


def eks_pool(**scaling: int) -> Object:
    kind = "AWSManagedMachinePool"
    return obj(kind, "infrastructure.cluster.x-k8s.io/v1beta2", "pool", "capi", spec={"scaling": scaling})


def target(kind: str = "MachineDeployment", name: str = "pool", namespace: str = "capi", **meta: object) -> Object:
    item = scalable(kind=kind, meta={"managedFields": [], **meta})
    item["metadata"] |= {"name": name, "namespace": namespace}
    return item


def written(item: Object, *others: Object) -> tuple[OtherWriter, ...]:
    return facts(item, *others).writers


def facts(item: Object, *others: Object) -> TargetFacts:
    (found,) = world_of(item, *others).targets
    return found


def test_rancher_names_the_deployment_after_cluster_and_pool() -> None:
    """The evidence is the path to the quantity; other pools, clusters and namespaces say nothing of it."""
    item = target(name="c1-workers")
    parent = rancher({"name": "control", "quantity": 3}, {"name": "workers", "quantity": 5})
    told = f"Cluster.provisioning.cattle.io capi/c1 declares {POOLS}: 5"
    assert written(item, parent) == (OtherWriter(by="Rancher", evidence=told),)
    pool = {"name": "workers", "quantity": 5}
    for other in (rancher(pool, name="c2"), rancher(pool, namespace="x"), rancher({"name": "work", "quantity": 5}), rancher()):
        assert written(item, other) == ()


def test_rancher_marks_what_it_makes() -> None:
    """A long name is cut and gets a hash behind it: the label of the pool tells as well, within its cluster."""
    item = target(name="c1-work-0f3a1", labels={"rke.cattle.io/rke-machine-pool-name": "workers"})
    pool = {"name": "workers", "quantity": 5}
    assert [one.by for one in written(item, rancher(pool))] == ["Rancher"]
    assert written(item, rancher(pool, name="c2")) == ()


@pytest.mark.parametrize(
    ("meta", "namespace", "name", "holds"),
    [
        ({}, "clusters-c1", "edge", True),
        ({}, "clusters", "edge", False),
        ({"annotations": {"hypershift.openshift.io/nodePool": "clusters/edge"}}, "hcp-7", "edge-x", True),
        ({"annotations": {"hypershift.openshift.io/nodePool": "clusters/other"}}, "hcp-7", "edge-x", False),
    ],
)
def test_hypershift(meta: Object, namespace: str, name: str, holds: bool) -> None:
    """Its NodePool sizes what it made, by name and namespace or by the annotation."""
    told = "NodePool.hypershift.openshift.io clusters/edge declares spec.replicas: 4"
    expected = (OtherWriter(by="HyperShift", evidence=told),) if holds else ()
    assert written(target(name=name, namespace=namespace, **meta), node_pool(replicas=4)) == expected


def test_hypershift_that_scales_by_itself() -> None:
    """Both ends of its range are declared."""
    item = target(name="edge", namespace="clusters-c1")
    paths = [one.evidence.partition(" declares ")[2] for one in written(item, node_pool(autoScaling={"min": 1, "max": 5}))]
    assert paths == ["spec.autoScaling.max: 5", "spec.autoScaling.min: 1"]


def test_aws_managed_pool() -> None:
    """The infrastructure of a MachinePool bounds it, and a MachineDeployment of that name is another thing."""
    told = "AWSManagedMachinePool.infrastructure.cluster.x-k8s.io capi/pool declares spec.scaling."
    assert [one.evidence for one in written(target("MachinePool"), eks_pool(minSize=1, maxSize=6))] == [
        f"{told}maxSize: 6",
        f"{told}minSize: 1",
    ]
    assert written(target(), eks_pool(minSize=1, maxSize=6)) == ()


def test_a_declared_size_holds() -> None:
    """Nobody's field says so, and the group is held all the same, by the project and with the path."""
    item = target(name="c1-workers")
    ownership = judge(
        facts(item, rancher({"name": "workers", "quantity": 5})), Terms(now_seconds=NOW, first_seen_seconds=NOW)
    ).ownership
    assert (ownership.state, ownership.by) == (OwnerState.HELD, "Rancher")
    assert ownership.evidence == (f"Cluster.provisioning.cattle.io capi/c1 declares {POOLS}: 5",)


@pytest.mark.parametrize("spec", [{}, {"rkeConfig": None}, {"rkeConfig": {"machinePools": None}}])
def test_a_parent_that_declares_nothing(spec: Object) -> None:
    """What leaves the sizes out holds nothing."""
    assert written(target(name="c1-workers"), obj("Cluster", "provisioning.cattle.io/v1", "c1", "capi", spec=spec)) == ()


def test_a_topology_names_its_machine_pool_by_its_own_path() -> None:
    """A pool is an entry of machinePools, never of machineDeployments."""
    labels = {"topology.cluster.x-k8s.io/owned": "", "topology.cluster.x-k8s.io/pool-name": "pool-a"}
    manager = {"manager": "capi-topology", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    item = target("MachinePool", name="c1-pool-a-x7k2m", labels=labels, managedFields=[manager])
    topology = {"workers": {"machinePools": [{"class": "w", "name": "pool-a", "replicas": 3}]}}
    parent = obj("Cluster", "cluster.x-k8s.io/v1beta2", "c1", "capi", spec={"topology": topology})
    ownership = judge(facts(item, parent), Terms(now_seconds=NOW, first_seen_seconds=NOW)).ownership
    assert ownership.state is OwnerState.HELD
    assert ownership.evidence[-1] == "Cluster topology machinePools[pool-a] declares replicas 3"
