"""What a topology holds is not written, and how replicas pass from a topology to us and back, on real webhooks."""

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.handover import to_us, when_unset
from reconciler.kube.connection.transport import connect
from reconciler.plan.plan import Bound, OwnerState
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.provider import ClusterApiTargets
from reconciler.platforms.clusterapi.writing.target_readings import read_target
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.ownership_guard import judged_now
from tests.testbed.api import Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import MASTERS
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster, replicas_owners

OURS = ("nodegroup-reconciler", "Apply", "")


class Held:
    """One group of a topology and our writes on it."""

    def __init__(self, cluster_api: ClusterApi, cluster: WorkCluster, group: str, version: str = "v1beta2") -> None:
        self.cluster = cluster
        self.object = cluster.topology_deployment(group)
        self.target = TargetRef(kind=MACHINE_DEPLOYMENT, namespace=cluster.namespace, name=self.object["metadata"]["name"])
        self.version = ClusterApiVersion(version=version)
        self.api = connect(cluster_api.plane.kubeconfig_of("reconciler", MASTERS))
        self.targets = ClusterApiTargets(self.api, self.version)

    def now(self) -> Object:
        return self.cluster.api.read(self.object)

    def facts(self):
        return read_target(self.api, self.version, self.target).facts

    def bound(self) -> Bound:
        facts = self.facts()
        return Bound(
            resource_version=facts.resource_version,
            replicas=facts.replicas or 0,
            owner_digest=judged_now(facts).digest,
            policy_digest="",
        )

    def resize(self, replicas: int, annotations: dict[str, str] | None = None) -> WriteResult:
        for _ in range(50):
            result = self.targets.resize(self.target, replicas, self.bound(), annotations)
            if result.code != WriteCode.STALE:
                break
        return result

    def until(self, replicas: int) -> None:
        self.cluster.until(self.object, lambda item: item["spec"]["replicas"] == replicas, f"{replicas} replicas")

    def until_owned(self, owners: list[tuple[str, str, str]]) -> None:
        self.cluster.until(self.object, lambda item: replicas_owners(item) == owners, f"owners {owners}")


@pytest.fixture
def held(cluster_api: ClusterApi, new_cluster: NewCluster) -> Held:
    """A group whose topology declares two replicas."""
    return Held(cluster_api, new_cluster(topology=[Group("fixed", replicas=2)]), "fixed")


def test_replicas_that_a_topology_declares_are_never_written(held: Held) -> None:
    """Resize and adopt are refused with the evidence; the object is untouched."""
    before = held.now()["metadata"]["generation"]
    result = held.resize(3)
    assert result.code == WriteCode.CONFLICT
    assert "capi-topology (Apply) owns spec.replicas" in result.message
    assert "machineDeployments[fixed] declares replicas 2" in result.message
    assert held.targets.adopt(held.target, 2, held.bound()).code == WriteCode.CONFLICT
    assert held.now()["metadata"]["generation"] == before
    assert replicas_owners(held.now()) == [("capi-topology", "Apply", "")]


def test_the_hand_over_that_is_advised_keeps_the_value(held: Held) -> None:
    """Unset with both annotations in one change: said to stay 2, stays 2, is ours, and set again it is held, without a fight."""
    said = to_us(held.facts(), 1, 9)
    held.cluster.set_topology(Group("fixed", min_size=1, max_size=9))
    held.until_owned([])
    assert held.now()["spec"]["replicas"] == said.replicas == 2
    assert judged_now(held.facts()).ownership.state is OwnerState.OURS
    marks = {"reconciler.dev/reason": "PendingPods"}
    assert held.resize(3, marks).done
    assert replicas_owners(held.now()) == [OURS]
    assert "reconciler.dev/reason" not in held.now()["metadata"].get("annotations", {})
    held.cluster.set_topology(Group("fixed", replicas=2))
    held.until(2)
    generation = held.now()["metadata"]["generation"]
    assert [held.resize(4).code for _ in range(3)] == [WriteCode.CONFLICT] * 3
    assert (held.now()["spec"]["replicas"], held.now()["metadata"]["generation"]) == (2, generation)


def test_unset_without_annotations_falls_to_what_was_said(held: Held) -> None:
    """Two become one, as the reason said beforehand."""
    said = when_unset(held.facts(), "capi-topology")
    held.cluster.set_topology(Group("fixed"))
    held.until(1)
    assert (said.before, said.after) == (2, 1)


def test_a_paused_cluster_is_not_written(cluster_api: ClusterApi, new_cluster: NewCluster) -> None:
    """The pause of the Cluster counts for its groups, and is named."""
    cluster = new_cluster(topology=[Group("auto", min_size=1, max_size=9)])
    held = Held(cluster_api, cluster, "auto")
    cluster.api.merge(cluster.cluster, {"spec": {"paused": True}})
    result = held.resize(2)
    cluster.api.merge(cluster.cluster, {"spec": {"paused": None}})
    assert result.code == WriteCode.REFUSED
    assert f"spec.paused of the Cluster {cluster.namespace}/work" in result.message


def test_both_versions_write_as_one_owner(cluster_api: ClusterApi, new_cluster: NewCluster) -> None:
    """Applied by v1beta1, then by v1beta2: we do not meet ourselves."""
    cluster = new_cluster(topology=[Group("auto", min_size=0, max_size=9)])
    for version, replicas in (("v1beta1", 1), ("v1beta2", 2), ("v1beta1", 0)):
        held = Held(cluster_api, cluster, "auto", version)
        assert held.resize(replicas).done
        assert (held.now()["spec"]["replicas"], replicas_owners(held.now())) == (replicas, [OURS])
