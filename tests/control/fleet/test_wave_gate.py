"""Rollouts by waves with real Leases and several instances: what a loop takes, keeps on its Lease, and says about it."""

import io
import threading
import time

import pytest

from reconciler.control.fleet.shown_fleet import FleetShown
from reconciler.control.fleet.wave_gate import Contents, WaveGate
from reconciler.control.live.fleet_report import fleet_report
from reconciler.control.turn.turn_report import Decided, LoopReport
from reconciler.decisions.memory import Memory
from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.sources.gated_source import GatedSource, tree_content
from reconciler.gitops.sources.source import Fetched
from reconciler.kube.leading.lease import LeaderLease
from reconciler.kube.leading.loop_name import LoopName
from reconciler.plan.plan import Plan, PodLine, PodOutcome
from reconciler.policy.documents import PolicySet
from reconciler.values.cluster_identity import WAVE_LABEL, ClusterIdentity
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.control.fleet_doubles import HOME, TIMING, Fleet, Instance, Process, cluster_object, cluster_path, fleet
from tests.kube.cluster import eventually

SECONDS = 30.0
WORLD = ClusterBuilder().world()
POLICY = policy(node_group("workers"))


def report(at_seconds: int, revision: str, unplaced: int = 0) -> LoopReport:
    """A turn by a tree in which every revision is another policy."""
    pods = tuple(PodLine(pod=f"default/p{number}", outcome=PodOutcome.UNPLACEABLE) for number in range(unplaced))
    plan = Plan(now="", mode="Observe", summary="", pods=pods)
    by = PolicySet(policy=POLICY.policy, groups=(), digest=f"digest {revision}", revision=revision)
    return LoopReport(
        at_seconds=at_seconds, plan=plan, decided=Decided(world=WORLD, policy=by, memory=Memory(), now_seconds=at_seconds)
    )


class Rollout:
    """Loops that look at the tree in every turn, and get worse by some of its revisions in some clusters."""

    def __init__(self, made: Fleet) -> None:
        self.fleet = made
        self.bad: set[tuple[str, str]] = set()
        self.taken: list[tuple[str, str]] = []
        """Each cluster and revision, in the order in which they were taken."""
        self.state: dict[str, str] = {}
        """The last good revision of each cluster, which outlasts the instance."""
        self.faults: dict[str, FaultCode] = {}
        self.lock = threading.Lock()
        made.soak_seconds = 1
        made.process = self._make

    def _make(self, instance: Instance, name: LoopName, cluster: ClusterIdentity, lease: LeaderLease) -> Process:
        return Looking(self, instance, name, cluster, lease)

    def order(self, revision: str) -> list[str]:
        with self.lock:
            return [cluster for cluster, taken in self.taken if taken == revision]


class Looking(Process):
    def __init__(
        self, rollout: Rollout, instance: Instance, name: LoopName, cluster: ClusterIdentity, lease: LeaderLease
    ) -> None:
        super().__init__(instance.api, name, cluster, lease)
        self.rollout = rollout
        process = instance.process
        self.gate = WaveGate(
            lease, Contents(), lambda content, decides: process.closed(name, content, decides), 1, process.former(name)
        )
        self.policy = GatedSource(instance.source, self.gate.fault)

    def _turn(self) -> None:
        before = self.turns
        super()._turn()
        rollout, cluster = self.rollout, self.cluster.name
        if self.turns == before:
            return
        try:
            fetched = self.policy.fetch(rollout.state.get(cluster))
            rollout.faults.pop(cluster, None)
        except SourceError as error:
            rollout.faults[cluster] = error.fault.code
        else:
            with rollout.lock:
                if rollout.state.get(cluster) != fetched.revision:
                    rollout.taken.append((cluster, fetched.revision))
                rollout.state[cluster] = fetched.revision
        revision = rollout.state.get(cluster)
        if revision is not None:
            self.gate.turned(report(int(time.time()), revision, 3 if (cluster, revision) in rollout.bad else 0))


def test_a_tree_goes_ring_by_ring_and_stops_at_the_first_that_got_worse() -> None:
    """While an instance dies. Then a repaired tree goes everywhere, in order."""
    text = io.StringIO()
    with fleet(text) as made:
        rollout = Rollout(made)
        for name, wave in (("a", "0"), ("b", "0"), ("c", "1"), ("d", "")):
            made.add(name, **({WAVE_LABEL: wave} if wave else {}))
        for name in ("one", "two"):
            made.start(name)
        eventually(lambda: len(rollout.order("0")) == 4, "the first tree everywhere", SECONDS)
        assert set(rollout.order("0")[:2]) == {"a", "b"}
        assert rollout.order("0")[2:] == ["c", "d"]
        eventually(lambda: not rollout.faults, "no waiting", SECONDS)

        rollout.bad.add(("a", "1"))
        made.tree.revision = 1
        eventually(lambda: rollout.faults == dict.fromkeys("cd", FaultCode.ROLLOUT_STOPPED), "the stop", SECONDS)
        made.instances[0].kill()
        killed = made.instances[0].identity
        eventually(lambda: killed not in made.holders().values(), "others have all", SECONDS)
        time.sleep(2 * TIMING.duration_seconds)
        assert set(rollout.order("1")) == {"a", "b"}

        clusters = [
            ClusterIdentity(name=name, namespace="infra", labels=((WAVE_LABEL, wave),))
            for name, wave in zip("abc", "001", strict=True)
        ]
        eventually(lambda: bool(_told(made, clusters)), "the reason on the Leases", SECONDS)
        shown = FleetShown(made.instances[1].process, lambda _: (), lambda: NOW).status()
        assert [(one.wave, one.clusters, one.stopped) for one in shown.waves] == [(0, 2, False), (1, 1, True), (None, 1, True)]
        assert "wave 0 stopped: since infra/a took it, it has 3 unplaced pods (0 before)" in shown.waves[1].why

        made.tree.revision = 2
        eventually(lambda: len(rollout.order("2")) == 4, "the repaired tree everywhere", SECONDS)
        assert rollout.order("2")[2:] == ["c", "d"]
        assert made.wrong == []


def _told(made: Fleet, clusters: list[ClusterIdentity]) -> str:
    found = fleet_report(made.server, HOME, clusters, int(time.time()))  # type: ignore[arg-type]
    return next((one.why for one in found.waves if one.wave == 1 and one.stopped), "")


def test_a_cluster_that_gets_the_label_of_the_wave_goes_on() -> None:
    """What the output tells people to do."""
    with fleet(io.StringIO()) as made:
        rollout = Rollout(made)
        made.add("a", **{WAVE_LABEL: "0"})
        made.add("c", **{WAVE_LABEL: "1"})
        rollout.bad.add(("a", "1"))
        made.start("one")
        eventually(lambda: len(rollout.order("0")) == 2, "the first tree", SECONDS)
        made.tree.revision = 1
        eventually(lambda: rollout.faults == {"c": FaultCode.ROLLOUT_STOPPED}, "the stop", SECONDS)
        made.server.put(cluster_path("c"), cluster_object("c", **{WAVE_LABEL: "0"}))
        eventually(lambda: rollout.order("1") == ["a", "c"], "the other one", SECONDS)


def test_another_name_of_the_policy_goes_ring_by_ring_too() -> None:
    """The loop by the old name goes on where the tree is not taken yet: without it, nothing would be decided there."""
    with fleet(io.StringIO()) as made:
        rollout = Rollout(made)
        made.add("a", **{WAVE_LABEL: "0"})
        made.add("c", **{WAVE_LABEL: "1"})
        rollout.bad.add(("a", "1"))
        made.start("one")
        eventually(lambda: len(rollout.order("0")) == 2, "the first tree", SECONDS)
        eventually(lambda: not rollout.faults, "no waiting", SECONDS)
        made.tree.counts, made.tree.revision = (lambda _: ("new",)), 1
        made.instances[0].process.notify()
        eventually(lambda: made.holders().get("infra.a new") == "one_1", "the new name in wave 0", SECONDS)
        time.sleep(2 * TIMING.duration_seconds)
        assert made.holders().get("infra.c fleet") == "one_1", made.holders()
        made.tree.revision = 2
        eventually(lambda: made.holders().get("infra.c new") == "one_1", "the new name in wave 1", SECONDS)
        assert made.wrong == []


@pytest.mark.parametrize(("one", "other"), [({"a": b"1"}, {"a": b"2"}), ({"a": b"1"}, {"b": b"1"}), ({}, {"a": b""})])
def test_trees_with_other_files_have_other_names(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    first, second, again = (Fetched(revision=str(at), root="", files=files) for at, files in enumerate((one, other, one)))
    assert tree_content(first) == tree_content(again)
    assert tree_content(first) != tree_content(second)
