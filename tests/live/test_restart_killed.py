"""kill -9 before and after every kind of write of the live loop: the next process comes to the same end.

Each test is one life of a group. At every fault point the process is killed and the next one, which knows only what lies on
the API server, goes on: so a write is tried, lost, tried again, done and not known to be done.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.transport import connect
from reconciler.kube.leading.lease import Timing
from reconciler.kube.leading.state import StateObject
from reconciler.policy.documents import GroupFields, PolicySet, ScaleDown
from tests.live.demand import HealthWatcher, budget, deployment, healthy, own_nodes
from tests.live.killed_process import Fault, Run, killed, running_until
from tests.live.own_loop import AT_ONCE, OWNER, group, own_policy
from tests.live.ownership import NO_NODES
from tests.live.rights import GROUP, grant
from tests.testbed.api import Object
from tests.testbed.cluster_documents import DELETE_MACHINE, Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster, replicas_owners

BEFORE, AFTER = False, True
OURS = ("nodegroup-reconciler", "Apply", "")
SHORT = Timing(duration_seconds=5, renew_deadline_seconds=4, retry_seconds=0.3)


class Life:
    """One group that several processes look after, one after the other."""

    def __init__(self, plane: ControlPlane, cluster: WorkCluster, item: Object, directory: Path) -> None:
        grant(plane)
        self.plane, self.cluster, self.item = plane, cluster, item
        self.name = str(item["metadata"]["name"])
        self._kubeconfig = plane.kubeconfig_of("killed", GROUP)
        self._log = directory / "log"

    def policy(
        self, *, least: int = 0, unneeded_seconds: int = 0, revision: str = "abc", approval_above: int | None = None
    ) -> PolicySet:
        fields = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=unneeded_seconds, utilization_threshold_percent=50))
        pace = msgspec.structs.replace(AT_ONCE, require_approval_above=approval_above)
        named = group(self.name, self.cluster.namespace, least=least, most=20)
        made = own_policy(named, defaults=fields, pace=pace, adopt_from=("terraform",))
        return msgspec.structs.replace(made, revision=revision)

    def run(self, policy: PolicySet, **fields: Any) -> Run:
        return Run(kubeconfig=self._kubeconfig, log=self._log, namespace=self.cluster.namespace, policy=policy, **fields)

    def turned(self, policy: PolicySet, **fields: Any) -> None:
        """One more process, until it has decided."""
        before = len(self._plans())
        running_until(self.run(policy, **fields), lambda: len(self._plans()) > before, "a plan")

    def _plans(self) -> list[str]:
        return [line for line in self._log.read_text().splitlines() if '"code": "Plan"' in line]

    def now(self) -> Object:
        return self.cluster.api.read(self.item)

    def replicas(self) -> int:
        return int(self.now()["spec"]["replicas"])

    def machines(self) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.cluster.machines(self.name))

    def marks(self) -> list[str]:
        annotations = [item["metadata"].get("annotations") or {} for item in self.cluster.machines(self.name)]
        return [found[DELETE_MACHINE] for found in annotations if DELETE_MACHINE in found]

    def tainted(self) -> list[str]:
        """Nodes with our taint."""
        return [
            str(node["metadata"]["name"])
            for node in self.cluster.nodes()
            if any(taint["key"] == "reconciler.dev/deleting" for taint in node["spec"].get("taints") or ())
        ]

    def memory(self) -> Memory:
        state = StateObject(connect(self.plane.kubeconfig), self.cluster.namespace, OWNER)
        return LiveMemoryStore(state).load()


@pytest.fixture
def grown_by_hand(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> Life:
    """A group of one machine, whose replicas a program wrote once."""
    cluster = new_cluster()
    item = cluster.machine_deployment(Group("g", min_size=0, max_size=20), NO_NODES)
    return Life(control_plane, cluster, cluster.api.merge(item, {"spec": {"replicas": 1}}, "terraform"), tmp_path)


def test_growing_survives_a_kill_at_every_write(grown_by_hand: Life) -> None:
    """Lease, state, adoption, replicas, annotation and Events: each write is lost once and done once without being known.
    At no point are there more replicas than the policy asks for, and at the end as many, ours alone."""
    life = grown_by_hand
    faults = [
        *(Fault("lease-create", after) for after in (BEFORE, AFTER)),
        *(Fault("lease-renew", after) for after in (BEFORE, AFTER)),
        *(Fault("state-create", after) for after in (BEFORE, AFTER)),
        *(Fault("claim", after) for after in (BEFORE, AFTER)),
        *(Fault("apply", after) for after in (BEFORE, AFTER)),
    ]
    policy = life.policy(least=3)
    for fault in faults:
        killed(life.run(policy, fault=fault))
        assert life.replicas() in (1, 3), fault
    # Each of the others needs a growth of its own: it comes with or after the apply.
    least = 3
    for kind, nth in (("state", 1), ("state", 2), ("annotate", 1), ("event", 1)):
        for after in (BEFORE, AFTER):
            least += 1
            fault = Fault(kind, after, nth)
            killed(life.run(life.policy(least=least, revision=f"r{least}"), fault=fault))
            assert 3 <= life.replicas() <= least, fault
    running_until(life.run(policy), lambda: len(life.machines()) == least, f"{least} machines")
    assert (life.replicas(), replicas_owners(life.now())) == (least, [OURS])
    marks = {key: text for key, text in life.now()["metadata"]["annotations"].items() if key.startswith("reconciler.dev/")}
    assert marks == {"reconciler.dev/revision": f"r{least}", "reconciler.dev/policy": policy.policy.name}


def test_a_new_instance_takes_over_from_one_that_was_killed(grown_by_hand: Life) -> None:
    """Another identity waits until the Lease of the killed one has run out, and goes on."""
    life = grown_by_hand
    policy = life.policy(least=2)
    killed(life.run(policy, fault=Fault("claim", AFTER), identity="first", lease=SHORT))
    running_until(life.run(policy, identity="second", lease=SHORT), lambda: life.replicas() == 2, "two replicas")
    lease = life.cluster.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{life.cluster.namespace}/leases/reconciler-{OWNER}")
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("second", 1)


def test_shrinking_survives_a_kill_at_every_write(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Taint, each eviction, mark and replicas: exactly one node goes of three, where two are needed; its pods move, one at a
    time as their budget says; no mark, no taint is left. It counts once for who asks for approvals."""
    cluster = new_cluster()
    life = Life(control_plane, cluster, own_nodes(cluster, "g", 3), tmp_path)
    cluster.until_nodes(3)
    deployment(cluster, "web", 6, "1")
    budget(cluster, "web", "web", max_unavailable=2)
    before = life.machines()
    policy = life.policy(approval_above=2)
    with HealthWatcher(cluster) as watcher:
        for kind in ("taint", "evict", "evict", "mark", "apply"):
            for after in (BEFORE, AFTER):
                killed(life.run(policy, fault=Fault(kind, after)))
                assert life.replicas() == (2 if (kind, after) == ("apply", AFTER) else 3)
        running_until(life.run(policy), lambda: len(life.machines()) == len(cluster.nodes()) == 2, "the node being gone")
        life.turned(policy)
        assert watcher.fewest >= 4
    after_all = life.machines()
    assert (life.replicas(), len(after_all), set(after_all) < set(before)) == (2, 2, True)
    assert (life.marks(), life.tainted()) == ([], [])
    assert [count for spans in life.memory().departures.values() for _, count in spans] == [1]
    pods = cluster.api.get(f"/api/v1/namespaces/{cluster.namespace}/pods")["items"]
    assert (len(pods), all(map(healthy, pods))) == (6, True)


def test_undoing_survives_a_kill_at_every_write(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """A hold is set when the machine is marked: mark and taint are taken off, whichever write the process is killed at."""
    cluster = new_cluster()
    life = Life(control_plane, cluster, own_nodes(cluster, "g", 1), tmp_path)
    cluster.until_nodes(1)
    policy = life.policy()
    killed(life.run(policy, fault=Fault("mark", AFTER)))
    assert (len(life.marks()), len(life.tainted())) == (1, 1)
    cluster.api.merge(life.item, {"metadata": {"annotations": {"reconciler.dev/hold": "recovering"}}})
    for kind in ("unmark", "untaint"):
        for after in (BEFORE, AFTER):
            killed(life.run(policy, fault=Fault(kind, after)))
    assert (life.marks(), life.tainted(), life.replicas()) == ([], [], 1)
    assert len(life.machines()) == 1


def test_timers_survive_a_kill(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """A node must be unneeded for an hour: the hour goes on over kills, and does not begin anew."""
    cluster = new_cluster()
    life = Life(control_plane, cluster, own_nodes(cluster, "g", 1), tmp_path)
    (node,) = [item["metadata"]["name"] for item in cluster.until_nodes(1)]
    policy = life.policy(unneeded_seconds=3600)
    running_until(life.run(policy), lambda: node in life.memory().unneeded_since, "the node being unneeded")
    since = life.memory().unneeded_since[node]
    life.turned(policy, ahead_seconds=3000)
    assert (life.memory().unneeded_since, life.tainted()) == ({node: since}, [])
    killed(life.run(policy, ahead_seconds=3700, fault=Fault("taint", BEFORE)))
    assert life.memory().unneeded_since == {node: since}
