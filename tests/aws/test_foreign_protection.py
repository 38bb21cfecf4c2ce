"""Somebody else protects an instance from scale-in: requests that failed stay, and the plan says why and until when."""

from reconciler.plan.plan import ActionKind
from tests.aws.documents import REGION
from tests.aws.virtual_world import VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers


def test_requests_stay_while_it_lasts() -> None:
    """Cancelling would need a protection of ours for the other instance, which nobody could tell from theirs."""
    groups = workers("spot", desired=2, max_size=9), workers("general", desired=0, instance_type="m5.xlarge")
    world = VirtualWorld(policy_text(group_policy("spot", tier="spot"), group_policy("general"), tiers="spot general"), *groups)
    world.add_pods("web", 2)
    world.run(60)
    theirs, other = groups[0].counted
    theirs.protected = True
    world.account.stock[f"{REGION}a", "m5.large"] = 0
    world.add_pods("more", 2)
    world.run(300)
    # The other group goes on, though the first one cannot take back what it asked for.
    assert (world.sizes(), world.waiting) == ({"spot": 4, "general": 1}, []), world.told()
    world.reports.clear()
    world.run(600)
    tried = [one for report in world.reports for one in report.results if one.action.kind is ActionKind.CANCEL]
    assert tried == []
    (told,) = (line for line in world.told() if line.startswith("spot: RequestsKept"))
    assert theirs.instance_id in told
    assert other.instance_id not in told
    theirs.protected = False
    world.run(30)
    assert world.sizes() == {"spot": 2, "general": 1}, world.told()
    world.run(120)
    assert [one.protected for one in groups[0].counted] == [False, False]
