"""Room that nobody bought ends what was bought for a demand; room that was there, or that goes, does not."""

import msgspec

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, PolicySet, ScaleDown
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, of_kind

GENERAL = str(machine_deployment("general"))
LATER = NOW + 3600
ASIDE = ("aside:NoSchedule",)
HELD = OwnerEvidence(hold="repair")


def _rules() -> PolicySet:
    at_once = ScaleDown(unneeded_time_seconds=0)
    groups = (node_group(name, min=least, scale_down=at_once) for name, least in (("general", 0), ("other", 1)))
    return policy(*groups, budgets=(Budget(nodes=100),))


def _cluster(other: OwnerEvidence | None = None, general: OwnerEvidence | None = None) -> ClusterBuilder:
    """Two nodes that came for two pods which one would hold, and a node of another group that takes none of them."""
    cluster = ClusterBuilder(now=LATER)
    names = cluster.group("general", nodes=2, cpu="4", created=NOW + 60, evidence=general)
    cluster.group("other", nodes=1, cpu="4", taints=ASIDE, created=NOW - 900, evidence=other)
    cluster.pods("web", 2, cpu="1", on=names)
    return cluster


def _bought(*, other: OwnerEvidence | None = None, ready: bool = True) -> Memory:
    """The memory of the purchase, at NOW."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.group("other", nodes=1, cpu="4", taints=ASIDE, created=NOW - 900, evidence=other)
    cluster.pods("web", 2, cpu="1")
    return decide(_with_other(cluster.world(), ready=ready), _rules(), Memory(), NOW)[1]


def _with_other(world: World, *, ready: bool) -> World:
    nodes = tuple(msgspec.structs.replace(node, ready=ready) if node.name == "other-1" else node for node in world.nodes)
    return msgspec.structs.replace(world, nodes=nodes)


def _kept(world: World, memory: Memory) -> bool:
    """Whether what was bought stays for the sake of the same demand; if not, one of the two nodes leaves."""
    plan, _ = decide(world, _rules(), memory, LATER)
    leaving = of_kind(plan, ActionKind.REMOVE_NODE)
    assert bool(leaving) is (blocker_codes(plan, "general-1") != ["SameDemand"])
    return not leaving


def test_nothing_came() -> None:
    """The same demand, the same nodes."""
    assert _kept(_cluster().world(), _bought())


def test_a_node_of_nobody_that_came_later_frees_them() -> None:
    """Somebody else brought room."""
    cluster = _cluster()
    cluster.node("alien", "16", created=NOW + 600)
    assert not _kept(cluster.world(), _bought())


def test_room_that_came_frees_them_for_good() -> None:
    """Though the node is gone again, what it was for may have come with it."""
    cluster, memory = _cluster(), _bought()
    cluster.node("alien", "16", created=NOW + 600)
    _, memory = decide(cluster.world(), _rules(), memory, LATER)
    assert memory.purchase is None
    assert not _kept(_cluster().world(), memory)


def test_a_node_of_nobody_that_was_there_frees_nothing() -> None:
    """It had no room for these pods when nodes were bought for them."""
    cluster = _cluster()
    cluster.node("alien", "16", taints=ASIDE, created=NOW - 600)
    assert _kept(cluster.world(), _bought())


def test_a_held_group_that_somebody_grows_frees_them() -> None:
    """A node of it was asked for after the purchase."""
    cluster = _cluster(other=HELD)
    cluster.node("other-2", created=NOW + 700, taints=ASIDE)
    cluster.machine("other-2", machine_deployment("other"), node="other-2", created=NOW + 600)
    assert not _kept(cluster.world(), _bought(other=HELD))


def test_a_node_of_a_held_group_that_was_on_its_way_frees_nothing() -> None:
    """Its machine was there when nodes were bought, and counted on."""
    cluster = _cluster(other=HELD)
    cluster.node("other-2", created=NOW + 100, taints=ASIDE)
    cluster.machine("other-2", machine_deployment("other"), node="other-2", created=NOW - 100)
    assert _kept(cluster.world(), _bought(other=HELD))


def test_the_end_of_a_hold_frees_nothing() -> None:
    """The nodes of the group took pods before."""
    assert _kept(_cluster().world(), _bought(other=HELD))


def test_a_hold_frees_nothing() -> None:
    """Nor when it begins."""
    assert _kept(_cluster(other=HELD).world(), _bought())


def test_a_hold_of_the_group_that_was_bought_for_frees_nothing() -> None:
    """Its nodes were asked for since, but by us."""
    _, memory = decide(_cluster(general=HELD).world(), _rules(), _bought(), LATER - 600)
    assert _kept(_cluster().world(), memory)


def test_a_node_that_is_back_frees_them() -> None:
    """It took no pods when others were bought."""
    memory = _bought(ready=False)
    assert memory.purchase is not None
    assert memory.purchase.closed == ("other-1",)
    assert not _kept(_cluster().world(), memory)


def test_a_node_that_is_still_closed_frees_nothing() -> None:
    """Nothing came of it so far."""
    assert _kept(_with_other(_cluster().world(), ready=False), _bought(ready=False))


def test_a_node_that_was_away_for_a_while_frees_nothing() -> None:
    """It was there at the purchase and is there now."""
    memory = _bought()
    _, memory = decide(_with_other(_cluster().world(), ready=False), _rules(), memory, LATER - 600)
    assert _kept(_cluster().world(), memory)


def test_a_group_that_is_adopted_is_free() -> None:
    """Somebody else has scaled it since; what it has now is not what was bought."""
    edited = OwnerEvidence(owners=(FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 90_000),))
    plan, memory = decide(_cluster(general=edited).world(), _rules(), _bought(), LATER)
    assert [one.group for one in of_kind(plan, ActionKind.ADOPT)] == ["general"]
    assert not _kept(_cluster().world(), memory)


def test_a_purchase_of_an_earlier_version_says_nothing() -> None:
    """It is read, and has no pods that could be compared."""
    old = f'{{"version":1,"purchase":{{"demand":"1567a945e1339a6f","since":{{"{GENERAL}":{NOW}}}}}}}'
    assert not _kept(_cluster().world(), msgspec.json.decode(old, type=Memory))
