"""Taking back what never came: incidents 5 and 6, and the reports kubernetes/autoscaler#5829, #9043, #9182, #10147."""

import pytest

from reconciler.platforms.aws.writing.fresh import read
from reconciler.providers.contract import WriteCode
from tests.aws.documents import REGION
from tests.aws.service.behaviour import settle
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.service.state import Group
from tests.aws.writes import Writer, ref, workers

STOCK = (f"{REGION}a", "m5.large")


def short(service: Service, *, desired: int = 7, running: int = 5, **rest: object) -> Group:
    """A group whose last instances do not come."""
    service.account.stock[STOCK] = 0
    group = service.account.add(workers(desired=desired, **rest), running=running)
    service.advance(10)
    return group


def running(group: Group) -> set[str]:
    return {one.instance_id for one in group.counted if one.state == "InService"}


def finished(service: Service, group: Group, writer: Writer) -> None:
    """The turns of the loop that follow, a minute and more later."""
    for _ in range(4):
        service.advance(31)
        reading = read(writer.accounts.of(group.region, ""), ref(group))
        assert reading is not None
        writer.provider.finish((reading.facts,), int(service.account.now))


def test_requests_without_instance(service: Service) -> None:
    """Incident 6: desired 7, 5 there: lowered to 5, and the 5 stay as they were."""
    group, writer = short(service), Writer(service)
    before = running(group)
    assert writer.provider.cancel(ref(group), (), 5, writer.bound(group)).done
    finished(service, group, writer)
    assert (group.desired, running(group)) == (5, before)
    assert not any(one.protected for one in group.counted)
    assert group.tags == {}


@pytest.mark.parametrize("action", ["DescribePolicies", "CreateOrUpdateTags", "SetInstanceProtection", "SetDesiredCapacity"])
def test_one_comes_in_between(service: Service, action: str) -> None:
    """#10147: the missing instance comes at any moment of the cancellation: no instance that ran goes, whatever becomes of it."""
    group, writer = short(service), Writer(service)
    before, bound = running(group), writer.bound(group)
    done: list[str] = []

    def deliver(called: str, _: object) -> None:
        if called == action and not done:
            done.append(called)
            service.account.stock[STOCK] = 1
            group.retry_at = 0
            settle(service.account)

    service.account.before.append(deliver)
    result = writer.provider.cancel(ref(group), (), 5, bound)
    finished(service, group, writer)
    service.advance(600)
    assert done
    assert before <= running(group), result
    assert not any(one.protected for one in group.counted if one.instance_id in before)


def test_never_below_what_runs(service: Service) -> None:
    """#9182: desired 94, and a cancellation that would leave 62 where 94 run: refused, nothing goes."""
    group, writer = service.account.add(workers(desired=94, max_size=100)), Writer(service)
    result = writer.provider.cancel(ref(group), (), 62, writer.bound(group))
    assert result.code == WriteCode.STALE
    assert "94 instances" in result.message
    service.advance(300)
    assert (group.desired, len(running(group))) == (94, 94)


def test_not_below_the_minimum(service: Service) -> None:
    """#9043: fewer there than the minimum: nothing is asked that AWS must refuse."""
    group, writer = short(service, min_size=6), Writer(service)
    assert writer.provider.cancel(ref(group), (), 5, writer.bound(group)).code == WriteCode.REFUSED
    assert service.count("SetDesired") == 0


@pytest.mark.usefixtures("at_once")
def test_instances_that_never_became_nodes(service: Service) -> None:
    """Incident 5: exactly those go, one by one; the healthy ones never fall."""
    group, writer = service.account.add(workers(desired=5)), Writer(service)
    broken = sorted(running(group))[:2]
    assert writer.provider.cancel(ref(group), tuple(broken), 3, writer.bound(group)).done
    assert running(group).isdisjoint(broken)
    service.advance(300)
    assert (group.desired, len(running(group))) == (3, 3)


def test_replaced_at_the_minimum(service: Service) -> None:
    """With the size kept AWS makes others in their place."""
    group, writer = service.account.add(workers(desired=3, min_size=3)), Writer(service)
    broken = min(running(group))
    assert writer.provider.cancel(ref(group), (broken,), 3, writer.bound(group)).done
    service.advance(300)
    assert (group.desired, len(running(group))) == (3, 3)
    assert broken not in running(group)


@pytest.mark.usefixtures("at_once")
def test_protection_of_somebody_else(service: Service) -> None:
    """Where others protect some instances, theirs cannot be told from ours: what never came stays, and so do all instances."""
    group, writer = short(service), Writer(service)
    group.counted[0].protected = True
    result = writer.provider.cancel(ref(group), (), 5, writer.bound(group))
    assert (result.code, group.desired) == (WriteCode.REFUSED, 7)
    for one in group.counted:
        one.protected = True
    assert writer.provider.cancel(ref(group), (), 5, writer.bound(group)).done
    assert all(one.protected for one in group.counted)


def test_more_than_fifty(service: Service) -> None:
    """AWS takes 50 at a time."""
    group, writer = short(service, desired=122, running=120, max_size=200), Writer(service)
    assert writer.provider.cancel(ref(group), (), 120, writer.bound(group)).done
    finished(service, group, writer)
    assert (group.desired, len(running(group))) == (120, 120)
    assert not any(one.protected for one in group.counted)


@pytest.mark.parametrize("at", ["SetInstanceProtection", "SetDesiredCapacity"])
def test_ended_in_the_middle(service: Service, at: str) -> None:
    """A process that is killed leaves word of its protection; the next one that writes takes it back first."""
    group, writer = short(service), Writer(service)
    bound = writer.bound(group)
    killed = [False]

    def kill(called: str, _: object) -> None:
        if called.startswith("Describe"):
            return
        # Nothing of this process is done after that call.
        if killed[0]:
            raise ServiceError("InternalFailure", "killed", 500)
        killed[0] = called == at

    service.account.before.append(kill)
    writer.provider.cancel(ref(group), (), 5, bound)
    service.account.before.clear()
    assert "reconciler.dev/shield" in group.tags
    assert any(one.protected for one in group.counted)
    after = Writer(service)
    after.provider.resize(ref(group), group.desired, after.bound(group))
    assert any(one.protected for one in group.counted)
    service.advance(61)
    after.provider.resize(ref(group), group.desired + 1, after.bound(group))
    assert not any(one.protected for one in group.counted)
    assert "reconciler.dev/shield" not in group.tags


def test_not_allowed_to_protect(service: Service) -> None:
    """Without that right the race cannot be closed, so that nothing is lowered."""
    group, writer = short(service), Writer(service)
    bound = writer.bound(group)
    service.account.faults["SetInstanceProtection"] = [ServiceError("AccessDenied", "no", 403)] * 9
    result = writer.provider.cancel(ref(group), (), 5, bound)
    assert (result.code, group.desired) == (WriteCode.DENIED, 7)


@pytest.mark.usefixtures("at_once")
def test_asked_again(service: Service) -> None:
    """The outcome was not known: what is lowered already is done."""
    group, writer = short(service), Writer(service)
    bound = writer.bound(group)
    assert writer.provider.cancel(ref(group), (), 5, bound).done
    assert writer.provider.cancel(ref(group), (), 5, bound).code == WriteCode.STALE
    assert group.desired == 5


@pytest.mark.parametrize("acts", [0.5, 2, 4, 20])
def test_aws_acts_some_seconds_later(service: Service, acts: float) -> None:
    """The missing instance comes in the moment of the write, and AWS chooses who goes only then: the one that came."""
    group, writer = short(service, desired=6), Writer(service)
    before, bound = running(group), writer.bound(group)
    service.account.timing.acts = acts

    def deliver(called: str, _: object) -> None:
        if called == "SetDesiredCapacity" and service.account.stock[STOCK] == 0:
            service.account.stock[STOCK] = 1
            group.retry_at = 0
            settle(service.account)
            service.account.stock[STOCK] = -1

    service.account.before.append(deliver)
    assert writer.provider.cancel(ref(group), (), 5, bound).done
    # The one that came is the newest, and one of the older would go.
    finished(service, group, writer)
    service.advance(300)
    assert running(group) == before
    assert not any(one.protected for one in group.counted)
    assert group.tags == {}


def test_protection_stays_while_more_are_there_than_wanted(service: Service) -> None:
    """AWS does not act at all (`Terminate` is suspended): nothing is unprotected, and it is looked for every ten seconds."""
    group, writer = short(service, desired=6), Writer(service)
    assert writer.provider.cancel(ref(group), (), 5, writer.bound(group)).done
    group.suspended.add("Terminate")
    group.desired = 4
    finished(service, group, writer)
    assert all(one.protected for one in group.counted)
    assert "reconciler.dev/shield" in group.tags


@pytest.mark.usefixtures("at_once")
def test_protection_is_no_tag_to_be_released(service: Service) -> None:
    """The tag goes last: without it nobody could tell whose the protection is."""
    group, writer = short(service), Writer(service)
    assert writer.provider.cancel(ref(group), (), 5, writer.bound(group)).done
    result = writer.provider.release(ref(group), writer.bound(group))
    assert result.code == WriteCode.UNAVAILABLE
    assert "reconciler.dev/shield" in group.tags
    service.advance(61)
    assert writer.provider.release(ref(group), writer.bound(group)).done
    assert (group.tags, any(one.protected for one in group.counted)) == ({}, False)


@pytest.mark.usefixtures("at_once")
def test_taken_back_once_more_while_protected(service: Service) -> None:
    """A second cancellation within the minute knows the protection for ours."""
    group, writer = short(service), Writer(service)
    assert writer.provider.cancel(ref(group), (), 6, writer.bound(group)).done
    assert writer.provider.cancel(ref(group), (), 5, writer.bound(group)).done
    before = running(group)
    finished(service, group, writer)
    assert (group.desired, running(group), group.tags) == (5, before, {})
    assert not any(one.protected for one in group.counted)
