"""Warm pools: what waits there is taken first and is nobody's until then; what is made for it says nothing of the group."""

from typing import Any

import pytest

from reconciler.decisions.ownership.owner import OwnerState, Terms, judge
from reconciler.platforms.aws.writing.fresh import read
from reconciler.providers.contract import WriteCode
from tests.aws.documents import REGION
from tests.aws.policies import policy_set
from tests.aws.service.server import Service
from tests.aws.service.state import Group, WarmPool
from tests.aws.test_asking import POLICY, TAG, Polled
from tests.aws.test_loop import Loop, bind, pending, sizes, told
from tests.aws.writes import MARK, Writer, client, ref, workers
from tests.cluster.objects import node

ZONE = f"{REGION}a"


def pooled(service: Service, pool: WarmPool, **rest: object) -> Group:
    """A group whose pool has filled by now."""
    group = service.account.add(workers(tags={TAG: "owned"}, **rest))
    group.pool = pool
    service.advance(60)
    return group


def waiting(group: Group) -> set[str]:
    return {one.instance_id for one in group.warmed}


@pytest.mark.usefixtures("at_once")
def test_taken_first_and_filled_again(service: Service) -> None:
    """Three are wanted and two wait: those two come within seconds, the third one takes its time, and the pool fills again."""
    group, writer = pooled(service, WarmPool(least=2, prepared=0)), Writer(service)
    ready, before = waiting(group), set(group.instances) - waiting(group)
    assert (len(ready), {one.state for one in group.warmed}) == (2, {"Warmed:Stopped"})
    assert writer.provider.resize(ref(group), 5, writer.bound(group), MARK).done
    service.advance(10)
    in_service = {one.instance_id for one in group.counted if one.state == "InService"}
    assert in_service == before | ready
    service.advance(60)
    assert (len(group.counted), len(group.warmed), waiting(group) & ready) == (5, 2, set())
    (removed,) = writer.remove(group, min(ready))
    assert (removed.replicas, service.account.ended) == (4, [])
    service.advance(60)
    assert service.account.ended == [("workers", min(ready))]


@pytest.mark.usefixtures("at_once")
def test_what_waits_is_no_machine_of_the_group(service: Service) -> None:
    """S41: neither upcoming nor removable; what comes from the pool is upcoming from then on."""
    group = pooled(service, WarmPool(least=2, prepared=0))
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    first = polled.world()
    assert len(first.machines) == 2
    assert not waiting(group) & {one.name for one in first.machines}
    ready = min(waiting(group))
    writer = Writer(service)
    assert writer.provider.may_begin(ref(group), ready, f"node-{ready}", writer.bound(group)).code == WriteCode.REFUSED
    group.desired = 3
    polled.turn(0)
    polled.poll._wrote(REGION, group.name, False)
    polled.turn(0)
    assert {one.phase for one in polled.world().machines} == {"InService", "Pending"}


def test_nothing_is_bought_beside_what_comes_from_the_pool(service: Service) -> None:
    """Instances that wait running are nodes already, and no capacity of the group: pods buy as many as they need, once."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    spot.pool = WarmPool(least=2, prepared=0, state="Running")
    service.advance(60)
    nodes = loop.cluster._nodes

    def early() -> list[dict[str, Any]]:
        """Their kubelets have joined; until they are in service nothing may run there."""
        keep_off = [{"key": "example.com/warming", "effect": "NoSchedule"}]
        return nodes() + [
            node(
                f"n-{one.instance_id}",
                cpu="2",
                memory="7Gi",
                spec={"providerID": f"aws:///{ZONE}/{one.instance_id}", "taints": keep_off},
            )
            for one in spot.warmed
            if one.state == "Warmed:Running"
        ]

    loop.cluster._nodes = early  # type: ignore[method-assign]
    ready = waiting(spot)
    report = loop.turn()
    assert (sizes(loop), report.results) == ((0, 0), ()), told(report)
    loop.cluster.pods = pending(2)
    report = loop.turns(8)
    assert sizes(loop) == (2, 0), told(report)
    assert {one.instance_id for one in spot.counted} == ready
    bind(loop, spot)
    report = loop.turns(3)
    loop.cluster.pods = []
    report = loop.turns(12)
    assert (sizes(loop), {name for _, name in service.account.ended}) == ((0, 0), ready), told(report)


def test_a_pool_without_stock_is_no_failure_of_the_group(service: Service) -> None:
    """Its own launches alone say whether what is missing will come."""
    group = pooled(service, WarmPool(least=2, prepared=0))
    polled = Polled(service, policy_set(POLICY))
    service.account.stock[ZONE, "m5.large"] = 0
    group.desired = 3
    polled.turn(20)
    assert len([one for one in group.counted if one.state == "InService"]) == 3
    assert any("into warm pool" in one["Description"] and one["StatusCode"] == "Failed" for one in service.account.activities)
    assert polled.world().targets[0].launch_failure is None
    group.desired = 9
    for _ in range(4):
        polled.turn(60)
    failure = polled.world().targets[0].launch_failure
    assert failure is not None
    assert "InsufficientInstanceCapacity" in failure.message


def test_a_pool_that_fills_says_nothing_of_the_group(service: Service) -> None:
    """A launch into the pool after the failure is no launch of what is missing."""
    group = pooled(service, WarmPool(least=1, prepared=0))
    service.account.stock[ZONE, "m5.large"] = 0
    group.desired = 5
    polled = Polled(service, policy_set(POLICY))
    for _ in range(4):
        polled.turn(60)
    assert polled.world().targets[0].launch_failure is not None
    into = {"Description": "Launching a new EC2 instance into warm pool: i-0feed", "StatusCode": "Successful"}
    newest = service.account.activities[0]
    service.account.activities.insert(0, {**newest, "ActivityId": "activity-z", "StatusMessage": None, **into})
    polled.turn(10)
    assert polled.world().targets[0].launch_failure is not None


def test_a_pool_that_takes_instances_back_holds(service: Service) -> None:
    """What leaves such a group is not gone: it is held by name, and one that AWS takes out goes on beside it."""
    group = pooled(service, WarmPool(least=0, prepared=2, reuses=True))
    reading = read(client(REGION, "", service.url), ref(group))
    assert reading is not None
    judged = judge(reading.facts, Terms(now_seconds=1_900_000_000, first_seen_seconds=0, human_hold_seconds=0))
    assert judged.ownership.state is OwnerState.HELD
    assert "ReuseOnScaleIn" in judged.ownership.evidence[0]
    group.desired = 1
    service.advance(60)
    assert (len(group.counted), [one.state for one in group.warmed], service.account.ended) == (1, ["Warmed:Stopped"], [])


def test_one_that_goes_back_into_the_pool_is_given_up(service: Service) -> None:
    """The policy of the pool changed while its node was drained: the instance is not ended again and again."""
    group, writer = pooled(service, WarmPool(least=0, prepared=0)), Writer(service)
    name = group.counted[0].instance_id
    group.pool = WarmPool(least=0, prepared=2, reuses=True)
    for _ in range(2):  # what is known of the change first, then no read is so old any more
        service.advance(60)
    (removal,) = writer.remove(group, name)
    assert (removal.state.value, "ReuseOnScaleIn" in removal.message, removal.reopen) == ("Failed", True, True), removal
    assert service.count("TerminateInstance") == 0
