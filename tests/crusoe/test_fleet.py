"""Node pools in the loops of a fleet: a process has the credentials of one Crusoe cluster. Only its nodes show which it is."""

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.platforms.crusoe.writing.polling import CrusoePoll
from reconciler.values.cluster_identity import ClusterIdentity, FleetPlace
from tests.aws.policies import policy_set
from tests.cluster.objects import node
from tests.crusoe.documents import cluster, machine_id, pool, world
from tests.crusoe.loops import HEAD, group_text
from tests.crusoe.service.server import Service
from tests.crusoe.writes import Writer

EU, US = (ClusterIdentity(namespace="infra", name=name) for name in ("eu", "us"))
POLICY = policy_set(HEAD + group_text())
HERE = node("n1", spec={"providerID": f"crusoe://{machine_id(1)}"})


def held(seen: World) -> list[tuple[str, bool, set[str]]]:
    plan: Plan = decide(
        msgspec.structs.replace(seen, fleet=FleetPlace(cluster=EU, others=(US,))), POLICY, Memory(), 1_800_000_000
    )[0]
    codes = {"ClusterUnknown", "OtherCluster"}
    return [(one.name, one.held, {reason.code for reason in one.reasons} & codes) for one in plan.groups]


def test_pools_count_where_their_machines_are_nodes() -> None:
    """An empty pool of the same Crusoe cluster then counts as well; without any node here, nothing is written."""
    assert held(world(pool(count=1, machines=(machine_id(1),)), objects=(HERE,))) == [("h100", False, set())]
    assert held(world(pool(), pool("other", 1, (machine_id(1),)), objects=(HERE,))) == [("h100", False, set())]
    assert held(world(pool(count=1, machines=(machine_id(2),)), objects=(HERE,))) == [("h100", True, {"ClusterUnknown"})]
    id_ = "c0000000-0000-4000-8000-000000000009"
    both = {"crusoeClusters": [cluster(), cluster(id=id_)]}
    seen = world(pool(cluster_id=id_), pool("other", 1, (machine_id(1),)), objects=(HERE,), **both)
    assert held(seen) == [("h100", True, {"OtherCluster"})]


def test_loops_of_one_process_ask_once(service: Service) -> None:
    """Each has its own poll, and all get the same answer; a write ends it for all."""
    pool, writer = service.account.add(count=1), Writer(service)
    polls = [CrusoePoll(writer.account, writer.keeper, lambda: POLICY, shares=True) for _ in range(5)]
    assert all(one.ask() for one in polls)
    asked = len(service.account.calls)
    alone = CrusoePoll(Writer(service).account, writer.keeper, lambda: POLICY)
    alone.ask()
    assert asked == len(service.account.calls) - asked
    writer.account.set_count(pool.id, 1, 1)
    writer.account.wrote()
    before = len(service.account.calls)
    for one in polls:
        one.ask()
    fresh = len(service.account.calls) - before
    assert 0 < fresh < asked + 1
    for one in polls:
        one.stop()
    assert writer.account._written == []
