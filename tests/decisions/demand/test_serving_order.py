"""Which pods ask for a place and in which order they are served; and what limits leave, as numbers."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import ClaimUse, PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import SharedRoom
from reconciler.decisions.demand.pending import pending_demand
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.limits import PLATFORM_ROOM, LimitLedger
from reconciler.decisions.situation.waiting_pods import waiting_pods
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import Limit, PodRules
from reconciler.policy.values.label_selector import Selector
from reconciler.scheduling.state import SchedulingState
from tests.builders import NOW, ClusterBuilder, node_group, policy

GI = 1 << 30


def test_pods_are_served_by_priority_then_large_ones_first() -> None:
    """A core counts as 4 GiB: 6, 5, 4 and 4 GiB after the pod of a higher priority; equal ones in the order of their names."""
    cluster = ClusterBuilder()
    cluster.pods("a-core", 2, cpu="1")
    cluster.pods("b-memory", 1, memory="5Gi")
    cluster.pods("c-both", 1, cpu="1", memory="2Gi")
    cluster.pods("d-first", 1, cpu="10m", priority=10)
    cluster.pods("e-memory", 1, memory="4Gi")
    world = cluster.world()
    found = pending_demand(world, waiting_pods(world), SchedulingState(world), PodRules(), NOW)
    served = [[world.pods[pod].name for pod in demand.pods] for demand in found.demands]
    assert served == [["d-first-1"], ["c-both-1"], ["b-memory-1"], ["a-core-1", "a-core-2"], ["e-memory-1"]]
    assert found.apart == ()


def test_pods_that_ask_for_no_place() -> None:
    """Running, ended, ending and gated ones; of the others some are told apart."""
    cluster = ClusterBuilder()
    cluster.node("n1")
    cluster.pods("runs", 1, cpu="1", on="n1")
    cluster.pods("lost", 1, cpu="1", on="n2")
    for name in ("ended", "failed", "ending", "gated"):
        cluster.pods(name, 1, cpu="1")
    cluster.pods("cheap", 1, cpu="1", priority=-11)
    cluster.pods("least", 1, cpu="1", priority=-10)
    cluster.pods("new", 1, cpu="1", age=29)
    cluster.pods("old", 1, cpu="1", age=30)
    cluster.pods("strange", 1, cpu="1", shape={"scheduler_name": "other"})
    cluster.pods("claims", 1, cpu="1", shape={"claims": (ClaimUse(name="gpu", claim="gpu"),)})
    changed = {
        "ended-1": {"phase": PodPhase.SUCCEEDED}, "failed-1": {"phase": PodPhase.FAILED}, "ending-1": {"deletion_seconds": NOW},
        "gated-1": {"gated": True},
    }  # fmt: skip
    world = cluster.world()
    rows = PodTable(msgspec.structs.replace(pod, **changed.get(pod.name, {})) for pod in world.pods)
    world = msgspec.structs.replace(world, pods=rows)
    found = pending_demand(world, waiting_pods(world), SchedulingState(world), PodRules(new_pod_delay_seconds=30), NOW)
    assert [world.pods[pod].name for demand in found.demands for pod in demand.pods] == ["old-1", "least-1"]
    assert {
        (world.pods[pod].name, lot.served.outcome, lot.served.reasons[0].code) for lot in found.apart for pod in lot.pods
    } == {
        ("cheap-1", PodOutcome.EXPENDABLE, "Expendable"),
        ("new-1", PodOutcome.DELAYED, "Delayed"),
        ("strange-1", PodOutcome.NOT_MODELLED, "OtherScheduler"),
        ("claims-1", PodOutcome.NOT_MODELLED, "NotModelled"),
    }


def _general(*rooms: SharedRoom, **fields: object) -> EffectiveGroup:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    world = cluster.world()
    world = msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], rooms=rooms),))
    return effective_groups(world, policy(node_group("general", **fields)), NOW)[0]


CORES = Limit(name="cores", max=(("cpu", 30_000), ("nodes", 9)), min=(("cpu", 8000),))
OWN = Limit(name="own", max=(("nodes", 3),), groups=Selector(match_labels=(("team", "a"),)))
GPUS = Limit(name="gpus", max=(("nvidia.com/gpu", 4),))


def test_what_limits_leave() -> None:
    """Five nodes of 4 cores, two of them nobody's: 10 of 30 cores are left, 4 of 9 nodes; of the group's own three nodes none."""
    group = _general(labels=(("team", "a"),))
    shape = group.template
    assert shape is not None
    ledger = LimitLedger((CORES, OWN, GPUS))
    ledger.count(None, shape, 2)
    ledger.count(group, shape)
    ledger.count(group, shape)
    assert ledger.left(group, shape) == {(0, "cpu"): (14_000, 4000), (0, "nodes"): (5, 1), (1, "nodes"): (1, 1)}
    assert [ledger.room(group, shape, most)[0] for most in (0, 1, 5)] == [0, 1, 1]
    ledger.count(group, shape)
    assert ledger.left(group, shape) == {(0, "cpu"): (10_000, 4000), (0, "nodes"): (4, 1), (1, "nodes"): (0, 1)}
    room, refusal = ledger.room(group, shape, 5)
    assert refusal is not None
    assert (room, refusal.sentence()) == (0, "limit own allows 3 nodes: 3 in use, one more node of general adds 1")
    other = msgspec.structs.replace(group, name="other", labels=())
    room, refusal = ledger.room(other, shape, 5)
    assert refusal is not None
    assert (room, refusal.sentence()) == (
        2,
        "limit cores allows 30 cpu: 28 in use (8 of it unmanaged), one more node of other adds 4",
    )
    assert ledger.room(other, shape, 2) == (2, None)


@pytest.mark.parametrize(("there", "passes"), [(3, False), (2, True), (1, True)])
def test_a_minimum_that_the_removal_of_a_node_would_pass(there: int, passes: bool) -> None:
    """Eight cores have to stay."""
    group = _general()
    shape = group.template
    assert shape is not None
    ledger = LimitLedger((GPUS, CORES))
    ledger.count(group, shape, there)
    assert ledger.below_min(group, shape) == ((CORES, "cpu") if passes else None)


def test_what_the_platform_can_still_give() -> None:
    """Two more: nodes that are counted after the beginning of a plan take it, those that were there do not."""
    group = _general(SharedRoom(name="r1", left=2, why="3 of 5 taken"))
    shape = group.template
    assert shape is not None
    ledger = LimitLedger(())
    ledger.count(group, shape, 3)
    assert ledger.room(group, shape, 5)[0] == 2
    ledger.begin()
    assert ledger.left(group, shape) == {(PLATFORM_ROOM, "r1"): (2, 1)}
    ledger.count(group, shape)
    ledger.count(None, shape)
    assert ledger.left(group, shape) == {(PLATFORM_ROOM, "r1"): (1, 1)}
    room, refusal = ledger.room(group, shape, 5)
    assert refusal is not None
    assert (room, refusal.sentence()) == (
        1,
        "r1 has no room for one more node of general: 3 of 5 taken, 1 node more in this plan",
    )
    assert ledger.room(group, shape, 1) == (1, None)
    ledger.count(group, shape, 2)
    assert ledger.room(group, shape, 5)[0] == 0
