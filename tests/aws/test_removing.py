"""Removing exactly the instances of drained nodes."""

import pytest

from reconciler.providers.contract import RemovalState, WriteCode
from tests.aws.documents import REGION
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import LOST, Service
from tests.aws.service.state import Group
from tests.aws.writes import Writer, ref, workers


def ids(group: Group) -> list[str]:
    return [one.instance_id for one in group.counted]


@pytest.mark.usefixtures("at_once")
def test_exactly_these(service: Service) -> None:
    """The chosen ones go, desired capacity falls with them, the others stay."""
    group, writer = service.account.add(workers(desired=5)), Writer(service)
    first, second, *rest = ids(group)
    found = writer.remove(group, second, first)
    assert [one.state for one in found] == [RemovalState.FINISHED] * 2
    assert (group.desired, ids(group)) == (3, rest)
    service.advance(300)
    assert (group.desired, ids(group)) == (3, rest)


@pytest.mark.usefixtures("at_once")
def test_again_changes_nothing(service: Service) -> None:
    """What is going, and what is gone, is finished."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    victim = ids(group)[0]
    writer.remove(group, victim)
    assert writer.remove(group, victim)[0].state is RemovalState.FINISHED
    service.advance(120)
    assert Writer(service).remove(group, victim)[0].state is RemovalState.FINISHED
    assert (group.desired, service.count("Terminate")) == (2, 1)


@pytest.mark.usefixtures("at_once")
def test_a_lost_answer(service: Service) -> None:
    """Done or not is seen by the read after it; never twice."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    service.account.faults["TerminateInstanceInAutoScalingGroup"] = [LOST]
    assert writer.remove(group, ids(group)[0])[0].state is RemovalState.FINISHED
    assert (group.desired, service.count("Terminate")) == (2, 1)


@pytest.mark.usefixtures("at_once")
def test_a_read_that_is_old(service: Service) -> None:
    """AWS shows for a while what was: the instance that was asked to go is not asked again, and nothing else either."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    victim = ids(group)[0]
    service.freeze_reads()
    for _ in range(3):
        assert writer.remove(group, victim)[0].state is RemovalState.DRAINING
    service.thaw_reads()
    assert writer.remove(group, victim)[0].state is RemovalState.FINISHED
    assert (group.desired, service.count("Terminate")) == (2, 1)


@pytest.mark.usefixtures("at_once")
def test_not_below_the_floor(service: Service) -> None:
    """The plan's floor, and the group's own minimum, hold for all removals together."""
    group, writer = service.account.add(workers(desired=3, min_size=1)), Writer(service)
    found = writer.remove(group, *ids(group), floor=2)
    assert [one.state for one in found] == [RemovalState.FINISHED, RemovalState.FAILED, RemovalState.FAILED]
    assert all(one.reopen for one in found[1:])
    assert group.desired == 2


def test_the_minimum_rises_in_between(service: Service) -> None:
    """AWS refuses with the code that it also has for instances that are gone: this one still runs."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    victim = ids(group)[0]
    service.account.before.append(lambda action, _: setattr(group, "min_size", 3) if action.startswith("Terminate") else None)
    (found,) = writer.remove(group, victim)
    assert (found.state, found.code, found.reopen) == (RemovalState.FAILED, WriteCode.REFUSED, True)
    assert victim in ids(group)


@pytest.mark.usefixtures("at_once")
def test_gone_in_between(service: Service) -> None:
    """Spot took it in the meantime: there is nothing left to do."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    victim = ids(group)[0]
    service.account.before.append(lambda action, _: group.instances.pop(victim, None) if action.startswith("Terminate") else None)
    assert writer.remove(group, victim)[0].state is RemovalState.FINISHED


@pytest.mark.usefixtures("at_once")
def test_a_hook_that_keeps_it(service: Service) -> None:
    """An instance that waits for a hook on its way out is on its way out."""
    group, writer = service.account.add(workers(desired=3, terminate_hook_seconds=3600)), Writer(service)
    assert writer.remove(group, ids(group)[0])[0].state is RemovalState.FINISHED
    assert group.desired == 2


@pytest.mark.usefixtures("at_once")
def test_protected_from_scale_in(service: Service) -> None:
    """The protection is against scale-in by size; a chosen instance goes."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    for one in group.counted:
        one.protected = True
    assert writer.remove(group, ids(group)[0])[0].state is RemovalState.FINISHED


@pytest.mark.usefixtures("at_once")
def test_standby(service: Service) -> None:
    """Somebody has taken it out by hand: it is left to them."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    victim = group.counted[0]
    bound = writer.bound(group)
    victim.state = "Standby"
    group.desired = 2
    assert writer.provider.may_begin(ref(group), victim.instance_id, "n", bound).code == WriteCode.STALE
    assert "is Standby" in writer.provider.may_begin(ref(group), victim.instance_id, "n", writer.bound(group)).message
    (found,) = writer.remove(group, victim.instance_id)
    assert (found.state, found.reopen, service.count("Terminate")) == (RemovalState.FAILED, True, 0)


@pytest.mark.usefixtures("at_once")
def test_may_begin(service: Service) -> None:
    """Nothing is written; what stands against it is told before the node is drained."""
    group, writer = service.account.add(workers(desired=2, min_size=1)), Writer(service)
    victim = ids(group)[0]
    assert writer.provider.may_begin(ref(group), victim, "n", writer.bound(group)).done
    assert writer.provider.may_begin(ref(group), "i-other", "n", writer.bound(group)).code == WriteCode.NOT_FOUND
    group.min_size = 2
    assert "MinSize 2" in writer.provider.may_begin(ref(group), victim, "n", writer.bound(group)).message
    assert all(action.startswith("Describe") for action, _ in service.account.calls)


@pytest.mark.usefixtures("at_once")
def test_blocked_by_an_activity(service: Service) -> None:
    """Not now: asked again, and nothing was marked."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    victim = ids(group)[0]
    group.blocked_by_activity = "a-1"
    (found,) = writer.remove(group, victim)
    assert (found.state, found.untouched) == (RemovalState.DRAINING, True)
    group.blocked_by_activity = ""
    assert writer.remove(group, victim)[0].state is RemovalState.FINISHED


def test_throttled(service: Service) -> None:
    """No write without a read of its own."""
    group, writer = service.account.add(workers(desired=3)), Writer(service)
    service.account.faults["DescribeAutoScalingGroups"] = [ServiceError("Throttling", "Rate exceeded")]
    assert writer.remove(group, ids(group)[0])[0].state is RemovalState.DRAINING
    assert service.count("Terminate") == 0


@pytest.mark.usefixtures("at_once")
def test_replaced_by_aws(service: Service) -> None:
    """Incident 11: AWS evens out zones by itself: its own terminations are none of ours, and ours takes nothing of them."""
    group, writer = service.account.add(workers(desired=4, zones=2)), Writer(service)
    for one in list(group.counted):
        if one.zone.endswith("b"):
            one.health = "Unhealthy"
    service.advance(10)
    victim = next(one.instance_id for one in group.counted if one.zone == f"{REGION}a")
    assert writer.remove(group, victim)[0].state is RemovalState.FINISHED
    service.advance(300)
    assert (group.desired, len(group.counted)) == (3, 3)
