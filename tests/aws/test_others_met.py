"""Who begins to size a group between two answers is met by the read before a write, and then known to the plan."""

import pytest

from reconciler.cluster.target import TargetFacts
from tests.aws.policies import policy_set
from tests.aws.service.behaviour import stamp
from tests.aws.service.server import Service
from tests.aws.service.state import Group
from tests.aws.test_asking import POLICY, TAG, Polled
from tests.aws.writes import MARK, Writer, ref, workers

EKS_TAGS = {"eks:cluster-name": "prod", "eks:nodegroup-name": "blue"}


class Met:
    """A group that a plan knew as free when somebody else began to size it."""

    def __init__(self, service: Service, group: Group) -> None:
        self.service, self.group = service, group
        self.polled, self.writer = Polled(service, policy_set(POLICY)), Writer(service)
        self.writer.accounts.on_write(self.polled.poll._wrote)
        self.polled.turn()
        assert self.facts().writers == ()
        self.bound = self.writer.bound(group)

    def facts(self) -> TargetFacts:
        found: TargetFacts = self.polled.world().targets[0]
        return found

    def written(self) -> tuple[str, ...]:
        """What the plan knows of others after one write that they stopped."""
        desired = self.group.desired
        assert not self.writer.provider.resize(ref(self.group), 5, self.bound, MARK).done
        assert self.group.desired == desired
        self.polled.turn()
        return tuple(one.by for one in self.facts().writers)


def blue(service: Service, status: str) -> None:
    service.account.nodegroups["blue"] = {
        "clusterName": "prod", "status": status, "resources": {"autoScalingGroups": [{"name": "workers"}]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "by"),
    [
        ("policies", [{"PolicyName": "cpu", "PolicyType": "StepScaling"}], "scaling policy cpu"),
        ("schedules", [{"ScheduledActionName": "n", "DesiredCapacity": 1, "Recurrence": "0 0 * * *"}], "scheduled action n"),
        ("refreshes", [{"InstanceRefreshId": "r", "Status": "InProgress"}], "instance refresh"),
    ],
)
def test_met_once_known_at_once(service: Service, name: str, value: list[dict[str, object]], by: str) -> None:
    """One write is refused, and the next plan has the evidence, though it is not yet time to ask for it again."""
    group = service.account.add(workers(tags={TAG: "owned"}))
    met = Met(service, group)
    setattr(group, name, value)
    assert met.written() == (by,)
    before = service.count("DescribePolicies")
    met.writer.accounts.wrote(group.region, group.name, others=True)
    met.polled.turn()
    assert service.count("DescribePolicies") == before


def test_a_node_group_that_eks_updates(service: Service) -> None:
    """It has instances, so that EKS is not asked for it; while it changes it is, once a minute, and no longer."""
    group = service.account.add(workers(tags={TAG: "owned", **EKS_TAGS}))
    blue(service, "ACTIVE")
    met = Met(service, group)
    asked = service.count("DescribeNodegroup")
    blue(service, "UPDATING")
    assert met.written() == ("managed node group blue",)
    blue(service, "ACTIVE")
    for _ in range(7):
        met.polled.turn()
    assert met.facts().writers == ()
    # One of the judgement, one before the write, two while it changed.
    assert service.count("DescribeNodegroup") <= asked + 4
    settled = service.count("DescribeNodegroup")
    for _ in range(20):
        met.polled.turn(60)
    assert service.count("DescribeNodegroup") == settled


@pytest.mark.usefixtures("at_once")
def test_a_refresh_that_began_before_the_first_read(service: Service) -> None:
    """It has replaced one instance and waits before the next: nothing is missing, and the first plan knows of it."""
    group = service.account.add(workers(desired=3, tags={TAG: "owned"}))
    group.refreshes = [{"InstanceRefreshId": "r", "Status": "InProgress"}]
    service.account.activities.insert(0, {
        "ActivityId": "a-1", "AutoScalingGroupName": group.name, "AutoScalingGroupARN": group.arn,
        "Description": "Terminating EC2 instance: i-0", "StatusCode": "Successful",
        "Cause": "At 2026-11-22T12:00:00Z an instance was taken out of service in response to an instance refresh.",
        "StartTime": stamp(service.account),
    })  # fmt: skip
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    assert [one.by for one in polled.world().targets[0].writers] == ["instance refresh"]
    assert service.count("DescribeInstanceRefreshes") == 1
    group.refreshes = []
    polled.turn(70)
    polled.turn(70)
    assert polled.world().targets[0].writers == ()
    assert service.count("DescribeInstanceRefreshes") == 2


@pytest.mark.usefixtures("at_once")
def test_a_refresh_that_an_activity_tells_of(service: Service) -> None:
    """It ends an instance: the group misses one, its activities say why, and the refresh is asked for before any write."""
    group = service.account.add(workers(desired=3, tags={TAG: "owned"}))
    met = Met(service, group)
    group.refreshes = [{"InstanceRefreshId": "r", "Status": "InProgress"}]
    leaving = group.counted[0]
    leaving.state, leaving.changes_at = "Terminating", service.account.now + 1000
    service.account.activities.insert(0, {
        "ActivityId": "a-1", "AutoScalingGroupName": group.name, "AutoScalingGroupARN": group.arn,
        "Description": f"Terminating EC2 instance: {leaving.instance_id}", "StatusCode": "InProgress",
        "Cause": "At 2026-11-22T12:00:00Z an instance was taken out of service in response to an instance refresh.",
        "StartTime": stamp(service.account),
    })  # fmt: skip
    group.suspended = {"Launch"}
    met.polled.poll._wrote(group.region, group.name, False)
    met.polled.turn()
    assert [one.by for one in met.facts().writers] == ["instance refresh"]
    group.refreshes = [{"InstanceRefreshId": "r", "Status": "Successful"}]
    service.account.activities[0]["StatusCode"] = "Successful"
    met.polled.turn(70)
    assert met.facts().writers == ()
