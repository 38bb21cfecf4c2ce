"""What a topology holds is not written, and what it leaves to us is ours until it says otherwise: by the live loop, on the
real topology controller."""

import itertools

import msgspec

from reconciler.decisions.ownership.handover import back
from reconciler.plan.plan import OwnerState
from reconciler.policy.documents import NodeGroup, Template
from tests.live.own_loop import OwnLoop, done, group
from tests.testbed.api import Object
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster, replicas_owners

TURNS = 200
OURS = ("nodegroup-reconciler", "Apply", "")
_numbers = itertools.count(1)


def _pending_pod(cluster: WorkCluster) -> None:
    """A pod that only the nodes of this cluster could take: one node takes one of them."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "3"}}}
    selector = {"test": cluster.namespace}
    metadata = {"name": f"hungry-{next(_numbers)}", "namespace": cluster.namespace}
    cluster.api.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeSelector": selector, "containers": [container]}}
    )


def _labelled(cluster: WorkCluster) -> None:
    """The first node bears the label that the policy's template promises: one that lacks it would refute the template."""
    for node in cluster.until_nodes(1):
        labels = {"test": cluster.namespace}
        item = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node["metadata"]["name"], "labels": labels}}
        cluster.api.apply(item, "testbed")


def _policed(cluster: WorkCluster, target: Object, *, least: int = 0) -> NodeGroup:
    """The group `g` on a MachineDeployment, whose nodes carry the label that the pods want."""
    made = group("g", cluster.namespace, least=least, most=9, target=target["metadata"]["name"])
    return msgspec.structs.replace(made, template=Template(labels=(("test", cluster.namespace),)))


def test_200_turns_ask_for_nothing_where_a_topology_holds_replicas(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """Pods that only this group could take, more of them all the time: held with the evidence, said what it would do, and no
    request of ours on targets, machines, clusters, nodes or evictions, not even one that was refused."""
    cluster = new_cluster(topology=[Group("fixed", replicas=1)])
    before = cluster.topology_deployment("fixed")
    _labelled(cluster)
    with OwnLoop(control_plane, cluster.namespace, _policed(cluster, before)) as loop:
        for turn in range(TURNS):
            if turn % 20 == 0:
                _pending_pod(cluster)
            report = loop.loop.turn()
            assert report.plan is not None, report.unavailable
        wanting = loop.line("g", lambda line: line.wanted == 9)
        writes = loop.writes()
    after = cluster.api.read(before)
    assert writes == []
    assert (wanting.owner.state, wanting.owner.by, wanting.held) == (OwnerState.HELD, "topology controller", True)
    assert (wanting.current, wanting.desired) == (1, 1)
    assert wanting.owner.evidence == (
        "label topology.cluster.x-k8s.io/owned is set",
        "managedFields: capi-topology (Apply) owns spec.replicas",
        "Cluster topology machineDeployments[fixed] declares replicas 1",
    )
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert replicas_owners(after) == [("capi-topology", "Apply", "")]


def test_unset_replicas_are_ours_until_the_topology_sets_them(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """Unset with both sizes: the group grows by our apply. Set in the topology: held at once, and nobody writes again."""
    cluster = new_cluster(topology=[Group("auto", min_size=1, max_size=9)])
    item = cluster.topology_deployment("auto")
    _labelled(cluster)
    with OwnLoop(control_plane, cluster.namespace, _policed(cluster, item, least=1)) as loop:
        assert loop.line("g").owner.state is OwnerState.OURS
        for _ in range(2):
            _pending_pod(cluster)
        loop.until(lambda report: done(report, "Resize"), "growing")
        grown = cluster.api.read(item)
        assert (grown["spec"]["replicas"] > 1, replicas_owners(grown)) == (True, [OURS])
        cluster.set_topology(Group("auto", replicas=1))
        cluster.until(item, lambda one: ("capi-topology", "Apply", "") in replicas_owners(one), "the topology taking over")
        held = loop.line("g", lambda line: line.owner.state is not OwnerState.OURS)
        wrote, generation = loop.writes(), cluster.api.read(item)["metadata"]["generation"]
        for _ in range(10):
            _pending_pod(cluster)
            loop.loop.turn()
        last = loop.line("g", lambda line: line.owner.state is OwnerState.HELD)
        assert loop.writes() == wrote
    after = cluster.api.read(item)
    assert (held.held, last.owner.by) == (True, "topology controller")
    assert (after["spec"]["replicas"], after["metadata"]["generation"]) == (1, generation)


def test_replicas_go_back_to_the_topology_with_their_value(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """The group leaves the policy and is released; the topology then declares the value, as was said: it stays, without us."""
    cluster = new_cluster(topology=[Group("auto", min_size=1, max_size=9)])
    item = cluster.topology_deployment("auto")
    with OwnLoop(control_plane, cluster.namespace, _policed(cluster, item, least=2)) as loop:
        loop.until(lambda report: done(report, "Resize"), "growing to the minimum")
        cluster.until(item, lambda one: one["spec"]["replicas"] == 2, "two replicas")
        loop.decide_by(group("other", cluster.namespace, target="other"))
        loop.until(lambda report: done(report, "Release"), "the release")
        released = cluster.api.read(item)
        assert (released["spec"]["replicas"], replicas_owners(released)) == (2, [])
        facts = next(facts for facts in loop.view.observe().targets if facts.ref.name == item["metadata"]["name"])
        said = back(facts)
        assert (said.replicas, said.lines) == (2, ("replicas: 2",))
        cluster.set_topology(Group("auto", replicas=said.replicas))
        taken = cluster.until(item, lambda one: replicas_owners(one) != [], "the topology taking over")
    assert (taken["spec"]["replicas"], replicas_owners(taken)) == (2, [("capi-topology", "Apply", "")])
