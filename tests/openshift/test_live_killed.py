"""kill -9 before and after every kind of write on a MachineSet: the next process comes to the same end."""

from pathlib import Path
from typing import Protocol

import msgspec
import pytest

from reconciler.policy.documents import GroupFields, PolicySet, ScaleDown
from tests.live.killed_process import Fault, Run, killed, running_until
from tests.live.own_loop import TESTBED, own_policy
from tests.live.rights import GROUP as RECONCILERS
from tests.live.rights import grant
from tests.openshift.conftest import NewSet
from tests.openshift.live_bench import SERVED, MachineSetBench, node_of, phase
from tests.testbed.work_cluster import replicas_owners

SAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
OURS = ("nodegroup-reconciler", "Apply", "")


class Life:
    """One set that several processes look after, one after the other."""

    def __init__(self, bench: MachineSetBench, directory: Path) -> None:
        grant(bench.plane)
        self.bench = bench
        self._kubeconfig = bench.plane.kubeconfig_of("killed", RECONCILERS)
        self._log = directory / "log"

    def policy(self, *, least: int) -> PolicySet:
        defaults = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0, utilization_threshold_percent=50))
        made = own_policy(self.bench.group(least=least), defaults=defaults, adopt_from=("terraform", TESTBED))
        return msgspec.structs.replace(made, revision=f"r{least}")

    def run(self, policy: PolicySet, fault: Fault | None = None) -> Run:
        namespace = self.bench.namespace
        return Run(kubeconfig=self._kubeconfig, log=self._log, namespace=namespace, policy=policy, fault=fault, served=SERVED)

    def dies(self, policy: PolicySet, *kinds: str) -> None:
        """One process after the other, each of which dies before, or after, a write of these kinds."""
        for kind in kinds:
            for after in (False, True):
                killed(self.run(policy, Fault(kind, after)))


class NewLife(Protocol):
    def __call__(self, replicas: int) -> Life: ...


@pytest.fixture
def alive(new_set: NewSet, tmp_path: Path) -> NewLife:
    """Makes a set and who looks after it."""
    return lambda replicas: Life(new_set(replicas, namespace="killed-sets"), tmp_path)


def test_growing(alive: NewLife) -> None:
    """Adoption, replicas, annotations: never more than the policy asks for, and at the end as many, ours alone."""
    life = alive(1)
    bench = life.bench
    bench.edited_by("terraform", 0)
    life.dies(life.policy(least=2), "claim", "apply")
    assert bench.replicas() == 2
    for least, after in ((3, False), (4, True)):
        killed(life.run(life.policy(least=least), Fault("annotate", after)))
        assert bench.replicas() == least
    running_until(life.run(life.policy(least=4)), lambda: len(bench.nodes()) == 4, "4 nodes")
    assert (bench.replicas(), replicas_owners(bench.testbed.read(bench.object))) == (4, [OURS])


def test_shrinking(alive: NewLife) -> None:
    """Taint, eviction, mark and replicas: exactly one node goes of three, where two must stay; nothing of ours is left."""
    life = alive(3)
    bench = life.bench
    before = bench.until_nodes(3)
    bench.pods(3, "2500m", annotations=SAFE)
    pods = f"/api/v1/namespaces/{bench.namespace}/pods"
    bench.testbed.wait(pods, lambda items: all(item["spec"].get("nodeName") for item in items), "the pods being bound")
    # One pod of a node that is little used: it is the only one that goes.
    bench.testbed.call("DELETE", f"{pods}/{bench.testbed.get(pods)['items'][0]['metadata']['name']}", {"gracePeriodSeconds": 0})
    bench.pods(1, "100m", annotations=SAFE)
    policy = life.policy(least=2)
    for kind in ("taint", "evict", "mark", "apply"):
        for after in (False, True):
            killed(life.run(policy, Fault(kind, after)))
            assert bench.replicas() == (2 if (kind, after) == ("apply", True) else 3)
    running_until(life.run(policy), lambda: len(bench.machines()) == len(bench.nodes()) == 2, "the node being gone")
    assert set(bench.until_nodes(2)) < set(before)
    assert (bench.replicas(), bench.marks(), bench.tainted()) == (2, [], [])


def test_cancelling(alive: NewLife) -> None:
    """Marks and replicas of two Machines that failed: the running ones stay."""
    life = alive(2)
    bench = life.bench
    before = bench.until_nodes(2)
    bench.launches(launch="Fail")
    assert bench.port.resize(bench.target, 4, bench.bound()).done
    bench.until(lambda items: sum(phase(item) == "Failed" for item in items) == 2, "two failed Machines")
    policy = life.policy(least=2)
    for kind, replicas in (("mark", 4), ("apply", 2)):
        for after in (False, True):
            killed(life.run(policy, Fault(kind, after)))
            assert bench.replicas() == (4 if not after else replicas)
    running_until(life.run(policy), lambda: len(bench.machines()) == 2, "the failed Machines being gone")
    assert bench.until_nodes(2) == before
    assert (bench.replicas(), bench.marks()) == (2, [])
    assert all(node_of(item) in before for item in bench.machines())
