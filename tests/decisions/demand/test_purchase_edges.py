"""What a purchase remembers and when its demand is over, to the second."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.demand import pod_counts
from reconciler.decisions.demand.pod_counts import PodCounts
from reconciler.decisions.demand.purchase import NOTHING, Bought, Demand, came_late
from reconciler.decisions.draft import Draft
from reconciler.decisions.memory import Memory, Purchase
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import Hold, PolicySet
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = str(machine_deployment("general"))
LATER = NOW + 3600


def cluster(**second: object) -> ClusterBuilder:
    """Two nodes of ours with a pod on the first; `second` is how the other one is."""
    builder = ClusterBuilder()
    builder.group("general", nodes=2, cpu="4")
    builder.node("general-2", labels={"pool": "general"}, **second)
    builder.pods("web", 2, cpu="1", on="general-1")
    return builder


def draft_of(world: World, purchase: Purchase | None, documents: PolicySet | None = None) -> Draft:
    """The view an hour after the purchase."""
    return View.of(world, documents or policy(node_group("general")), Memory(purchase=purchase), LATER, Work(10**6)).draft()


def bought(world: World, **fields: object) -> Bought:
    """What a memory says was bought for the pods that are there now, at NOW."""
    pods = PodCounts.of(draft_of(world, None)).least
    known = Purchase(policy="sha256:test", since={GENERAL: NOW}, pods=pods, last_seconds=NOW)
    purchase = msgspec.structs.replace(known, **fields)
    return Demand(draft_of(world, purchase), "sha256:test").bought()


@pytest.mark.parametrize(("created", "nodes"), [(NOW - 1, {}), (NOW, {1}), (NOW + 60, {1})])
def test_nodes_that_came_since_a_purchase_were_bought(created: int, nodes: set[int]) -> None:
    """From its very second on."""
    assert bought(cluster(created=created).world()) == Bought(frozenset(nodes), {0: NOW})


def test_another_policy_ends_a_demand() -> None:
    """What was bought under other rules may not be what these would buy."""
    assert bought(cluster().world(), policy="sha256:other") is NOTHING


def test_of_nothing_nobody_can_say_that_it_still_is() -> None:
    """A purchase without pods keeps nothing."""
    assert bought(cluster().world(), pods={}) is NOTHING


@pytest.mark.parametrize(("created", "over"), [(NOW - 1, False), (NOW, False), (NOW + 1, True)])
@pytest.mark.parametrize("whose", ["nobody's", "held"])
def test_room_that_others_ask_for_ends_a_demand(whose: str, created: int, over: bool) -> None:
    """A node that nobody manages, or of a group that is held and was not bought for: asked for after the purchase."""
    builder = cluster()
    if whose == "held":
        builder.group("other", nodes=1, created=created)
    else:
        builder.node("lonely", created=created)
    held = node_group("other", hold=Hold(reason="repair"))
    pods = PodCounts.of(draft_of(builder.world(), None)).least
    purchase = Purchase(policy="sha256:test", since={GENERAL: NOW}, pods=pods, last_seconds=NOW)
    documents = policy(node_group("general"), held)
    assert (Demand(draft_of(builder.world(), purchase, documents), "sha256:test").bought() is NOTHING) is over
    mine = msgspec.structs.replace(purchase, since={GENERAL: NOW, str(machine_deployment("other")): NOW})
    still = Demand(draft_of(builder.world(), mine, documents), "sha256:test").bought()
    assert (still is NOTHING) is (over and whose != "held")
    ours = policy(node_group("general"), node_group("other"))
    free = Demand(draft_of(builder.world(), purchase, ours), "sha256:test").bought()
    assert (free is NOTHING) is (over and whose != "held")


@pytest.mark.parametrize(
    ("second", "over"),
    [
        ({}, True),
        ({"cordoned": True}, False),
        ({"ready": False}, False),
        ({"ready": False, "created": LATER - 5}, False),
        ({"taints": ("ToBeDeletedByClusterAutoscaler=1:NoSchedule",)}, False),
    ],
)
def test_a_node_that_opens_ends_a_demand(second: dict[str, object], over: bool) -> None:
    """It took no pods at the purchase and takes some now; one that still takes none, starts or leaves frees nothing."""
    world = cluster(**second).world()
    assert (bought(world, closed=("general-2",)) is NOTHING) is over
    assert bought(world, closed=("gone",)) is not NOTHING


def test_nodes_that_take_no_pods_are_remembered() -> None:
    """Cordoned or unready ones, of ours or of nobody; not those that leave."""
    builder = cluster(cordoned=True)
    builder.group("more", nodes=3)
    builder.node("more-1", labels={"pool": "more"}, ready=False)
    builder.node("more-2", labels={"pool": "more"}, cordoned=True, taints=("ToBeDeletedByClusterAutoscaler=1:NoSchedule",))
    builder.node("lonely", ready=False)
    builder.node("open")
    builder.pods("big", 1, cpu="4", node_selector={"pool": "general"})
    _, memory = decide(builder.world(), policy(node_group("general"), node_group("more")), Memory(), NOW)
    assert memory.purchase is not None
    assert memory.purchase.closed == ("general-2", "lonely", "more-1")


@pytest.mark.parametrize(("waited", "late"), [(899, False), (900, True)])
def test_a_node_that_joins_after_its_machine_was_given_up_came_late(waited: int, late: bool) -> None:
    """Fifteen minutes by default. Of a node without machine, or whose machine does not say its age, nobody knows."""
    builder = cluster(created=NOW + waited)
    world = builder.world()
    machines = tuple(msgspec.structs.replace(machine, created_seconds=NOW) for machine in world.machines)
    asked = msgspec.structs.replace(world, machines=machines)
    assert came_late(draft_of(asked, None), 1) is late
    silent = tuple(msgspec.structs.replace(machine, created_seconds=0) for machine in machines)
    assert not came_late(draft_of(msgspec.structs.replace(world, machines=silent), None), 1)
    assert not came_late(draft_of(msgspec.structs.replace(world, machines=()), None), 1)
    assert not came_late(draft_of(asked, None, policy()), 1)
    assert not came_late(draft_of(asked, None, policy(node_group("stranger"))), 1)


@pytest.mark.parametrize(("kinds", "digits"), [(3, 8), (4, 3)])
def test_kinds_are_told_apart_up_to_a_bound(kinds: int, digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more of them, fewer digits: as many as there are counts."""
    monkeypatch.setattr(pod_counts, "MOST_KINDS", 3)
    builder = ClusterBuilder()
    builder.group("general", nodes=1)
    for number in range(kinds):
        builder.pods(f"job-{number}", 1, cpu=f"{number + 1}m")
    counts = PodCounts.of(draft_of(builder.world(), None))
    assert {len(kind) for kind in (*counts.least, *counts.most)} == {digits}
    assert list(counts.least.values()) == [1] * kinds


def test_a_purchase_whose_demand_fell_is_kept_as_it_is_until_the_next() -> None:
    """A hundred pods were asked for, two are now: what is bought next is for these, by those that grow now."""
    builder = cluster()
    builder.group("other", nodes=0)
    world, other = builder.world(), str(machine_deployment("other"))
    now = PodCounts.of(draft_of(world, None)).least
    (kind,) = now
    fallen = Purchase(policy="sha256:test", since={GENERAL: NOW}, pods={kind: 100}, last_seconds=NOW)
    documents = policy(node_group("general"), node_group("other"))
    demand = Demand(draft_of(world, fallen, documents), "sha256:test")
    assert demand.purchase((), ()) is fallen
    fresh = demand.purchase({"other"}, ())
    assert fresh is not None
    assert (fresh.since, fresh.pods, fresh.last_seconds, fresh.policy) == ({other: LATER}, now, LATER, "sha256:test")
    assert Demand(draft_of(world, None, documents), "sha256:test").purchase((), ()) is None


def test_while_the_demand_lasts_others_join_the_purchase() -> None:
    """Since when a group grew stays; what somebody else made of an adopted group is not bought; more pods are remembered."""
    builder = cluster()
    builder.group("other", nodes=0)
    world, other = builder.world(), str(machine_deployment("other"))
    (kind,) = PodCounts.of(draft_of(world, None)).least
    lasting = Purchase(policy="sha256:test", since={GENERAL: NOW}, pods={kind: 1}, last_seconds=NOW)
    demand = Demand(draft_of(world, lasting, policy(node_group("general"), node_group("other"))), "sha256:test")
    quiet, joined, adopted = demand.purchase((), ()), demand.purchase({"general", "other"}, ()), demand.purchase((), {"general"})
    assert quiet is not None
    assert joined is not None
    assert adopted is not None
    assert (quiet.since, quiet.pods, quiet.last_seconds) == ({GENERAL: NOW}, {kind: 2}, NOW)
    assert (joined.since, joined.last_seconds) == ({GENERAL: NOW, other: LATER}, LATER)
    assert adopted.since == {}


def test_of_very_many_closed_nodes_a_thousand_are_remembered() -> None:
    """The first by name of 1,001 that are cordoned."""
    builder = ClusterBuilder()
    names = [builder.node(f"down-{number:04}", cordoned=True) for number in range(1001)]
    builder.group("general", nodes=0)
    found = Demand(draft_of(builder.world(), None), "sha256:test").purchase({"general"}, set())
    assert found is not None
    assert list(found.closed) == names[:1000]
