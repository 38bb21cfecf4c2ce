"""Instance types and launch configurations as AWS says them now, where it may be asked; the table of the program where not."""

import pytest

from reconciler.cluster.target import TargetFacts
from tests.aws.policies import policy_set
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.service.state import M5_LARGE, Group
from tests.aws.test_asking import POLICY, TAG, Polled
from tests.aws.writes import workers

NEWER = {**M5_LARGE, "VCpuInfo": {"DefaultVCpus": 6}}


def group(service: Service, kind: str, name: str = "workers", **extra: object) -> Group:
    return service.account.add(workers(name, desired=0, instance_type=kind, tags={TAG: "owned"}, extra=extra))


def read(service: Service) -> tuple[Polled, TargetFacts]:
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    return polled, polled.world().targets[0]


def processors(facts: TargetFacts) -> int:
    capacity = facts.template.capacity
    return capacity.cpu_milli if capacity is not None else 0


def test_a_type_that_is_newer_than_the_table(service: Service) -> None:
    """Known from AWS; asked once a day, whatever else is asked."""
    service.account.types["m99.large"] = NEWER
    group(service, "m99.large")
    polled, facts = read(service)
    assert (processors(facts), facts.problems) == (6000, ())
    assert "describe-instance-types" in facts.template.origins[0]
    for _ in range(60):
        polled.turn(1300)
    assert service.count("DescribeInstanceTypes") == 1
    for _ in range(20):
        polled.turn(1300)
    assert service.count("DescribeInstanceTypes") == 2


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "AccessDenied"])
def test_without_the_right_the_table_stands(service: Service, code: str) -> None:
    """Nobody needs it: nothing is told, and the group has its shape."""
    service.account.faults["DescribeInstanceTypes"] = [ServiceError(code, "not authorized", 403)]
    group(service, "m5.large")
    polled, facts = read(service)
    assert (processors(facts), facts.problems, polled.poll.problems) == (2000, (), ())
    assert "the instance table of" in facts.template.origins[0]


def test_one_name_that_aws_does_not_know(service: Service) -> None:
    """It refuses the whole call for it: the others are asked for again."""
    group(service, "m98.large", "a")
    service.account.types["m99.large"] = NEWER
    group(service, "m99.large", "b")
    polled, _ = read(service)
    shapes = {facts.ref.name: processors(facts) for facts in polled.world().targets}
    assert shapes == {"a": 0, "b": 6000}
    assert service.count("DescribeInstanceTypes") == 2


def test_throttled(service: Service) -> None:
    """The table stands until it can be asked again."""
    service.account.faults["DescribeInstanceTypes"] = [ServiceError("RequestLimitExceeded", "Request limit exceeded.", 503)]
    group(service, "m5.large")
    polled, facts = read(service)
    assert "the instance table of" in facts.template.origins[0]
    polled.turn()
    assert "describe-instance-types" in polled.world().targets[0].template.origins[0]


def test_launch_configuration_from_zero(service: Service) -> None:
    """S66, live: the older kind of template says what a node will be; asked once."""
    group(service, "m5.large", LaunchConfigurationName="lc-1", LaunchTemplate=None)
    polled, facts = read(service)
    assert (processors(facts), facts.problems) == (2000, ())
    for _ in range(30):
        polled.turn(100)
    assert service.count("DescribeLaunchConfigurations") == 1
