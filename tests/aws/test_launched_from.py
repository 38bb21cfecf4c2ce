"""Which instances were made from what their group makes instances from now, and what follows where they are smaller."""

from typing import Any

import pytest

from reconciler.plan.plan import ActionKind
from tests.aws.documents import TEMPLATE, group, template_version, world
from tests.aws.service.server import Service
from tests.aws.test_loop import Loop, bind, pending, sizes, told

LT = {"LaunchTemplateId": "lt-1", "LaunchTemplateName": "name-of-lt-1"}


def of_version(version: str | None, template: str = "lt-1") -> dict[str, Any]:
    return {"LaunchTemplate": {**LT, "LaunchTemplateId": template, "Version": version}}


@pytest.mark.parametrize(
    ("wanted", "made", "outdated"),
    [
        (of_version("2"), of_version("2"), False),
        (of_version("2"), of_version("1"), True),
        (of_version("2"), of_version("2", "lt-0"), True),
        (of_version("$Latest"), of_version("3"), False),
        (of_version("$Latest"), of_version("2"), True),
        (of_version("$Default"), of_version("2"), False),
        (of_version(None), of_version("1"), True),
        ({"LaunchConfigurationName": "b"}, {"LaunchConfigurationName": "a"}, True),
        ({"LaunchConfigurationName": "b"}, {"LaunchConfigurationName": "b"}, False),
        ({"LaunchConfigurationName": "b"}, {}, False),
        (of_version("2"), {}, False),
        ({}, of_version("1"), False),
        (of_version("$Latest", "lt-9"), of_version("1", "lt-9"), False),
        (
            {
                "MixedInstancesPolicy": {
                    "LaunchTemplate": {
                        "LaunchTemplateSpecification": of_version("2")["LaunchTemplate"],
                        "Overrides": [
                            {"InstanceType": "m5.large"},
                            {"LaunchTemplateSpecification": of_version("1", "lt-7")["LaunchTemplate"]},
                        ],
                    }
                }
            },
            of_version("1", "lt-7"),
            False,
        ),
    ],
)
def test_made_from_another_template(wanted: dict[str, Any], made: dict[str, Any], outdated: bool) -> None:
    """Known only where both say a version: `$Latest` is 3 here, `$Default` 2, and of lt-9 nothing was captured."""
    versions = [template_version({}, version=number, default=number == 2) for number in (1, 2, 3)]
    instance = {"InstanceId": "i-1", "AvailabilityZone": "eu-central-1a", "LifecycleState": "InService", **made}
    found = world(group(DesiredCapacity=1, Instances=[instance], **wanted), LaunchTemplateVersions=versions)
    assert found.machines[0].outdated is outdated


def test_nodes_that_are_smaller_than_the_tags_say(service: Service) -> None:
    """The tags say 4 processors, the instances have 2: one pod of 3 buys one node at the most, whatever waits, and then none."""
    loop = Loop(service)
    loop.groups["general"].max_size = 0
    loop.groups["spot"].tags |= {f"{TEMPLATE}resources/cpu": "4", f"{TEMPLATE}resources/memory": "16Gi"}
    loop.cluster.pods = pending(1)
    loop.turns(7)
    bind(loop, loop.groups["spot"])
    large = pending(2, "large")
    for item in large:
        item["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    loop.cluster.pods = [*loop.cluster.pods, *large]
    report = loop.turns(40)
    assert sizes(loop) == (1, 0), told(report)
    assert service.count("SetDesiredCapacity") == 1
    assert report.plan is not None
    assert not [action for action in report.plan.actions if action.kind is ActionKind.RESIZE]
    assert "SmallerThanTemplate" in {reason.code for line in report.plan.groups for reason in line.reasons}


def test_the_first_node_is_smaller_than_the_tags_say(service: Service) -> None:
    """Nobody could know before it was there. What it shows is believed as soon as it has joined."""
    loop = Loop(service)
    loop.groups["general"].max_size = 0
    loop.groups["spot"].tags |= {f"{TEMPLATE}resources/cpu": "4", f"{TEMPLATE}resources/memory": "16Gi"}
    large = pending(1, "large")
    large[0]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    loop.cluster.pods = large
    for _ in range(40):
        report = loop.turn()
        assert loop.groups["spot"].desired <= 1, told(report)
