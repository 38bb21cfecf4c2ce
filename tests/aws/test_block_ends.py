"""A Capacity Block ends and its pods fit nowhere else: another group grows before, and no node ends with pods."""

from reconciler.plan.plan import ActionKind
from tests.aws.documents import REGION
from tests.aws.service.state import Group, Instance, Reservation
from tests.aws.virtual_world import VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers
from tests.cluster.objects import obj, owner

HOUR = 3600
BLOCK = {
    "InstanceMarketOptions": {"MarketType": "capacity-block"},
    "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}},
}


def world_with_block(pods: int, *, owned: bool = True) -> tuple[VirtualWorld, float]:
    """As many pods in a block as it has nodes, four hours before it ends, and a group without nodes."""
    policy = policy_text(
        group_policy("block", tier="block"),
        group_policy("general"),
        tiers="block general",
        more="drain: {unreplicated: Allow}",
    )
    world = VirtualWorld(policy, workers("block", desired=0, template=BLOCK), workers("general", desired=0), interval_seconds=30)
    end = world.account.now + 4 * HOUR
    world.account.reservations["cr-1"] = Reservation("cr-1", REGION, f"{REGION}a", pods, kind="capacity-block", ends_at=end)
    world.objects.append(obj("ReplicaSet", "apps/v1", "web", "shop", meta={"uid": "uid-web"}, spec={"replicas": pods}))
    world.add_pods("web", pods)
    for item in world.pods if owned else ():
        item["metadata"]["ownerReferences"] = [owner("ReplicaSet", "web", "apps/v1")]
    world.run(600)
    assert (world.sizes(), world.waiting) == ({"block": pods, "general": 0}, []), world.told()
    return world, end


def test_another_group_grows_before_it_ends() -> None:
    world, end = world_with_block(2)
    undrained: list[str] = []

    def gone(group: Group, instance: Instance) -> None:
        node = f"n-{instance.instance_id}"
        if any(item["spec"].get("nodeName") == node for item in world.pods):
            undrained.append(f"{node} of {group.name}")

    world.account.gone.append(gone)
    # AWS is expected to begin an hour before the end, and drains begin half an hour before that.
    world.run(end - 1.5 * HOUR - 60 - world.account.now)
    assert world.sizes() == {"block": 2, "general": 0}, world.told()
    world.reports.clear()
    world.run(HOUR)
    assert (world.sizes(), world.waiting, undrained) == ({"block": 0, "general": 2}, [], []), world.told()
    assert world.account.cut_off == []
    grown = [one.action for report in world.reports for one in report.results if one.action.kind is ActionKind.RESIZE]
    assert [(one.group, one.to, one.reason.code) for one in grown] == [("general", 2, "RoomBeforeEnd")]
    assert "cr-1" in grown[0].reason.message
    world.run(HOUR)
    assert (world.sizes(), world.waiting, undrained) == ({"block": 0, "general": 2}, [], []), world.told()


def test_room_that_is_there_is_enough() -> None:
    """One node elsewhere has room for one of the two pods: one node is added."""
    world, end = world_with_block(2)
    world.groups["general"].min_size = world.groups["general"].desired = 1
    most = [0]
    world.events.append(lambda: most.append(world.groups["general"].desired))
    world.run(end - world.account.now)
    assert (max(most), world.waiting, world.account.cut_off) == (2, [], [])


def test_pods_that_nobody_makes_again_need_no_room() -> None:
    """They are gone when their node is drained."""
    world, end = world_with_block(1, owned=False)
    world.run(end - HOUR - 60 - world.account.now)
    assert world.sizes()["general"] == 0
