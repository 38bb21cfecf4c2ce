"""`reconciler run --fleet`: a management cluster with Cluster API, and two workload clusters on API servers of their own."""

import datetime
import itertools
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.live.command_line import SCHEMAS, CommandLine
from tests.live.fleet_audit import FleetAudit
from tests.live.fleet_plane import POLICY, Workload, fleet_leases, statuses, workloads, write_kubeconfig_secret
from tests.live.reconciler_process import Reconciler, user
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, namespace
from tests.testbed.stub_clusters import Faults, StubCluster, StubClusters, captured
from tests.testbed.work_cluster import NAME, WorkCluster

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def pair(cluster_api: ClusterApi) -> Iterator[list[Workload]]:
    with workloads(cluster_api, ("fleet-east", "fleet-west")) as made:
        yield made


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    directory = tmp_path / "policies"
    directory.mkdir()
    (directory / "fleet.yaml").write_text(POLICY)
    return directory


@pytest.fixture
def home(cluster_api: ClusterApi) -> str:
    """The namespace of Leases and states."""
    name = f"fleet-home-{next(_numbers)}"
    cluster_api.api.create(namespace(name))
    return name


PAIR = ("fleet-east", "fleet-west")


def instance(cluster_api: ClusterApi, policies: Path, home: str, name: str, namespaces: Sequence[str] = PAIR) -> Reconciler:
    scope = [f"--target-namespace={one}" for one in namespaces]
    return Reconciler(
        user(cluster_api.plane, name), policies, "--fleet", f"--namespace={home}", "--period=2", *scope,
        environment={"POD_NAME": name},
    )  # fmt: skip


def test_one_instance_runs_the_loops_of_all_clusters(
    cluster_api: ClusterApi, pair: list[Workload], policies: Path, home: str
) -> None:
    """Pods of each cluster get nodes of that cluster, and of no other."""
    east, west = pair
    with instance(cluster_api, policies, home, "fleet-alone") as running:
        running.said("LoopTaken", 2)
        east.pods("a", 4, "3")
        east.until_bound(4)
        assert (east.replicas(), west.replicas()) == (4, 0)
        west.pods("b", 2, "3")
        west.until_bound(2)
        assert (east.replicas(), west.replicas()) == (4, 2)
        assert len(set(fleet_leases(cluster_api, home).values())) == 1
        asked = CommandLine(cluster_api.plane.kubeconfig)
        scope = [f"--target-namespace={one}" for one in PAIR]
        told = json.loads(asked.done("status", "--fleet", f"--namespace={home}", *scope, "-o", "json").stdout)
        validator = Draft202012Validator(json.loads((SCHEMAS / "fleet-status.schema.json").read_text()))
        assert list(validator.iter_errors(told)) == []
        assert [(one["cluster"], one["policy"], one["problem"]) for one in told["clusters"]] == [
            (east.title, "fleet", ""), (west.title, "fleet", ""),
        ]  # fmt: skip
        of_west = asked.done("status", "--cluster", west.title, f"--namespace={home}", *scope).stdout
        assert "fleet-west/general" in of_west
        assert "fleet-east" not in of_west
        held = asked.done("hold", "--all", "--cluster", west.title, "--reason", "racks", f"--policy={policies}", *scope).stdout
        assert "general" in held
        west.pods("c", 1, "3")
        running.until_page("/fleet", lambda _, body: statuses(body)[west.title]["held"] == 1)
        assert west.replicas() == 2
        asked.done("hold", "--all", "--cluster", west.title, "--release", f"--policy={policies}", *scope)
        west.until_bound(3)
        assert east.replicas() == 4


# Twenty take six minutes on a busy machine: `FLEET_STUBS=20 FLEET_DEATHS=2` is the measured case.
STUBS = tuple(f"fleet-stub-{number:02d}" for number in range(int(os.environ.get("FLEET_STUBS", "6"))))
DEATHS = int(os.environ.get("FLEET_DEATHS", "1"))
SNAPSHOT = Path(__file__).parents[2] / "examples" / "quickstart"
LEASE_SECONDS = 15


class Fleet:
    """Instances that share the pair and the stubs, and what they say of the clusters."""

    def __init__(self, cluster_api: ClusterApi, policies: Path, home: str, stack: ExitStack) -> None:
        self._make = lambda name: instance(cluster_api, policies, home, name, (*PAIR, *STUBS))
        self._stack = stack
        self.titles = {f"{one}/{NAME}" for one in (*PAIR, *STUBS)}
        self.running: dict[str, Reconciler] = {}
        self.users: set[str] = set()

    def start(self, name: str) -> None:
        self.users.add(name)
        self.running[name] = self._stack.enter_context(self._make(name))

    def kill(self, name: str) -> float:
        """Its end, without a word to anybody; when that was."""
        self.running.pop(name).signal(signal.SIGKILL)
        return time.time()

    def decided(self) -> dict[str, float]:
        """When each cluster was decided last, by whoever holds it."""
        found: dict[str, float] = {}
        for one in self.running.values():
            status, body = one.page("/fleet")
            for title, cluster in statuses(body).items() if status == 200 else ():
                if cluster["here"] and cluster["planAt"]:
                    found[title] = max(found.get(title, 0), datetime.datetime.fromisoformat(str(cluster["planAt"])).timestamp())
        return found

    def until_decided(self, since: float, seconds: float) -> float:
        """Until every cluster was decided after an instant; how long that took."""
        while True:
            late = {title for title, at in dict.fromkeys(self.titles, 0.0).items() if self.decided().get(title, at) <= since}
            if not late:
                return time.time() - since
            if time.time() - since > seconds:
                raise TimeoutError(f"not decided {seconds:.0f} s later: {sorted(late)}; {self.problems()}")
            time.sleep(0.5)

    def problems(self) -> list[str]:
        return [
            f"{name}: {title} {cluster['problem']}"
            for name, one in self.running.items()
            for title, cluster in statuses(one.page("/fleet")[1]).items()
            if cluster["here"] and cluster["problem"]
        ]


def test_three_instances_outlive_each_other_and_every_rotation(
    cluster_api: ClusterApi, pair: list[Workload], policies: Path, home: str, tmp_path: Path
) -> None:
    """Holders are killed and all Secrets rotated while pods come and go, and stubs fail at random.

    Nobody writes without the Lease of the cluster. Every cluster is decided again after a death, and none is without an owner for
    longer than a Lease lasts.
    """
    seed = int(os.environ.get("FLEET_SEED", "") or random.randrange(1 << 32))
    print(f"FLEET_SEED={seed}")
    chance = random.Random(seed)
    content = captured(SNAPSHOT)
    faults = Faults(refused=0.02, broken=0.02, latency_seconds=0.2, cut_seconds=900)
    (tmp_path / "stub").mkdir()
    over = threading.Event()
    with ExitStack() as stack:
        stub = stack.enter_context(
            StubClusters(tmp_path / "stub", [StubCluster(name=name, objects=content, faults=faults) for name in STUBS])
        )
        made = [stub_cluster(cluster_api, stub, name) for name in STUBS]
        fleet = Fleet(cluster_api, policies, home, stack)
        for number in range(3):
            fleet.start(f"fleet-i{number}")
        began = time.time()
        print(f"all decided after {fleet.until_decided(began, 180):.1f} s")
        crowd = threading.Thread(target=come_and_go, args=(pair, over, random.Random(seed + 1)))
        crowd.start()
        try:
            for turn in range(DEATHS):
                victim = chance.choice(sorted(fleet.running))
                died = fleet.kill(victim)
                print(f"decided again {fleet.until_decided(died + 1, 120):.1f} s after {victim} was killed")
                fleet.start(f"fleet-r{turn}")
                for number, name in enumerate(STUBS):
                    stub.set_token(name, f"token-{turn}-{number}")
                    write_kubeconfig_secret(cluster_api.api, name, stub.kubeconfig(name, f"token-{turn}-{number}"))
                for one in pair:
                    one.rotate()
                # What is open goes on with the old token: a cut, or the next write, needs the new one.
                print(f"decided after the rotation: {fleet.until_decided(time.time() + 5, 120):.1f} s")
        finally:
            over.set()
            crowd.join()
        audit = FleetAudit(cluster_api.plane, fleet.users, home)
        assert audit.writes
        assert audit.without_lease("fleet", NAME) == []
        gap, name = audit.longest_gap_seconds(LEASE_SECONDS)
        print(f"{len(audit.writes)} writes; longest without an owner: {gap:.1f} s ({name})")
        assert gap < LEASE_SECONDS
        for cluster in made:
            cluster.delete()


def stub_cluster(cluster_api: ClusterApi, stub: StubClusters, name: str) -> WorkCluster:
    """A Cluster whose kubeconfig leads to a stub, with one group."""
    cluster = WorkCluster(cluster_api.api, name)
    cluster.machine_deployment(Group("general", replicas=0, min_size=0, max_size=5))
    write_kubeconfig_secret(cluster_api.api, name, stub.kubeconfig(name, "first"))
    return cluster


def come_and_go(pair: list[Workload], over: threading.Event, chance: random.Random) -> None:
    """Pods that want nodes, for some seconds each."""
    for number in itertools.count():
        one = chance.choice(pair)
        one.pods(f"crowd-{number}", chance.randint(1, 3), "1500m")
        if over.wait(chance.uniform(2, 8)):
            return
        if chance.random() < 0.5:
            one.plane.api.call("DELETE", "/api/v1/namespaces/default/pods")
