"""What a group made contradicts what was promised of it: the loop learns, and does not try the same a third time."""

from typing import Any

from tests.aws.documents import REGION
from tests.aws.virtual_world import ZONE, VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers
from tests.cluster.objects import obj

A, B = f"{REGION}a", f"{REGION}b"
HOUR = 3600


def world_of(**rest: Any) -> VirtualWorld:
    """One group in two zones."""
    fields: dict[str, Any] = {"desired": 0, "max_size": 12, "zones": 2, **rest}
    return VirtualWorld(policy_text(group_policy("general")), workers("general", **fields))


def without_stock_in_a(**rest: Any) -> VirtualWorld:
    """Zone a has no more machines."""
    world = world_of(**rest)
    world.account.stock[A, "m5.large"] = 0
    return world


def most_asked(world: VirtualWorld) -> int:
    """The largest desired capacity that an hour brings."""
    sizes = [0]
    world.events.append(lambda: sizes.append(world.groups["general"].desired))
    world.run(HOUR)
    return max(sizes)


def test_a_zone_without_stock_does_not_drive_a_group_to_its_maximum() -> None:
    """Two pods of zone a and two that run anywhere. A node for those of zone a comes in b twice, and leaves again each time."""
    world = without_stock_in_a()
    world.add_pods("pinned", 2, nodeSelector={ZONE: A})
    world.add_pods("free", 2)
    assert most_asked(world) == 3
    assert sorted(world.waiting) == ["pinned-0", "pinned-1"]
    assert world.zones("general") == ["b", "b"], world.told()
    told = "\n".join(world.told())
    assert "general: CameElsewhere new nodes for pods that need zone eu-central-1a came in eu-central-1b (2 times)" in told
    assert "shop/pinned-0 Unplaceable: CameElsewhere" in told


def test_a_second_try_is_one_node() -> None:
    """Five pods of zone a, in which the group has never had a node: one is tried at first, and one five minutes later."""
    world = without_stock_in_a(max_size=40)
    world.add_pods("pinned", 5, nodeSelector={ZONE: A})
    world.add_pods("free", 5)
    assert most_asked(world) == 6
    sizes = [plan.groups[0].desired for report in world.reports if report.at_seconds > 1_800_000_200 and (plan := report.plan)]
    assert max(sizes) == 6
    assert world.zones("general") == 5 * ["b"]


def test_a_volume_pod_whose_node_died() -> None:
    """Both zones have a node. The one in a dies, its pod has a volume there, and a has no more machines."""
    world = world_of(desired=2, max_size=10)
    world.objects += volume("data-0", A)
    world.add_pods("free", 1)
    world.add_pods("data", 1, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data-0"}}])
    world.run(120)
    assert world.waiting == []
    world.account.stock[A, "m5.large"] = 0
    world.groups["general"].counted[0].health = "Unhealthy"
    assert most_asked(world) <= 4
    assert world.waiting == ["data-0"]


def volume(claim: str, zone: str) -> list[dict[str, Any]]:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    return [
        obj(
            "PersistentVolumeClaim",
            "v1",
            claim,
            "shop",
            meta={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            spec={"volumeName": f"pv-{claim}"},
            status={"phase": "Bound"},
        ),
        obj(
            "PersistentVolume",
            "v1",
            f"pv-{claim}",
            spec={"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, "claimRef": {"namespace": "shop", "name": claim}},
            status={"phase": "Bound"},
        ),
    ]


def test_a_spread_over_zones_of_which_one_has_no_stock() -> None:
    """Five pods that may differ by one between zones: kube-scheduler counts zones that have nodes, so all run in b."""
    world = without_stock_in_a()
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "even"}},
        }
    ]
    world.add_pods("even", 5, topologySpreadConstraints=spread)
    assert most_asked(world) == 5
    assert world.waiting == []


def test_the_newest_template_version_is_smaller() -> None:
    """Two pods of three processors, and `$Latest` moves to machines with two: two nodes show it, and no third comes."""
    world = world_of(zones=1, instance_type="m5.xlarge", follows="$Latest")
    world.run(60)
    world.groups["general"].instance_type, world.groups["general"].version = "m5.large", 2
    world.add_pods("big", 2, "3")
    assert most_asked(world) == 2
    assert world.zones("general") == []
    assert world.waiting == ["big-0", "big-1"]


def test_stock_returns_before_the_second_try() -> None:
    world = without_stock_in_a()
    world.add_pods("free", 1)
    world.add_pods("pinned", 1, nodeSelector={ZONE: A})
    world.run(60)
    del world.account.stock[A, "m5.large"]
    world.run(360)
    assert world.waiting == []
    assert world.store.load().refuted == {}


def test_a_node_that_comes_to_the_zone_ends_the_doubt() -> None:
    """Two tries were in vain. Auto Scaling itself launches in a once it has machines there, for pods that run anywhere."""
    world = without_stock_in_a()
    world.add_pods("free", 1)
    world.add_pods("pinned", 1, nodeSelector={ZONE: A})
    world.run(1200)
    (doubt,) = world.store.load().refuted.values()
    assert (doubt.times, doubt.why) == (2, B)
    del world.account.stock[A, "m5.large"]
    world.add_pods("free", 1)
    world.run(600)
    assert world.store.load().refuted == {}
    assert "a" in world.zones("general")
