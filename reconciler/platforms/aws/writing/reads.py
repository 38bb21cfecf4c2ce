"""The reads that a process needs rights for, one by one: how each is tried, and what a process is without it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EC2, EKS

_NOBODY = "reconciler-doctor-asks-for-a-right"
"""A group that is not there: whether a call is allowed is decided before anybody looks for it."""
_REFUSES = "every write is refused: nobody could tell who else sizes a group"


class ReadAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One right. `without` is what follows where it is missing; `stops_writes`: nothing is sized then. `of_group`: AWS answers
    for one group alone, which is named; `of_node_group`: only groups of EKS have something to ask for."""

    service: str
    action: str
    without: str
    stops_writes: bool = True
    of_group: bool = False
    of_node_group: bool = False
    resource: str = "*"

    @property
    def right(self) -> str:
        """As IAM calls it."""
        return f"{self.service}:{self.action}"

    def parameters(self, groups: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any] | None:
        """Of the smallest call; None where there is nothing to ask for."""
        if self.of_node_group:
            tags = ({tag["Key"]: tag.get("Value", "") for tag in item.get("Tags") or ()} for item in groups)
            found = next((one for one in tags if one.get("eks:cluster-name") and one.get("eks:nodegroup-name")), None)
            return (
                None
                if found is None
                else {"clusterName": found["eks:cluster-name"], "nodegroupName": found["eks:nodegroup-name"]}
            )
        if self.service == EC2:
            return {"MaxResults": 5} if self.action == "DescribeInstanceTypes" else {"MaxResults": 5, "Versions": ["$Default"]}
        named = next((item["AutoScalingGroupName"] for item in groups), next(iter(names), _NOBODY))
        return {"MaxRecords": 1, **({"AutoScalingGroupName": named} if self.of_group else {})}


READS_ASKED = (
    ReadAsked(service=AUTO_SCALING, action="DescribeAutoScalingGroups", without="no group is read, and nothing is sized"),
    ReadAsked(service=AUTO_SCALING, action="DescribeInstanceRefreshes", without=_REFUSES, of_group=True),
    ReadAsked(service=AUTO_SCALING, action="DescribePolicies", without=_REFUSES),
    ReadAsked(service=AUTO_SCALING, action="DescribeScheduledActions", without=_REFUSES),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeScalingActivities",
        without="groups that miss instances cannot be read, and nothing is sized meanwhile",
    ),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeLaunchConfigurations",
        without="groups with a launch configuration do not say what a new node offers",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeInstanceTypes",
        without="machine types that the built-in table does not have are not known",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeLaunchTemplateVersions",
        without="groups without nodes do not say what a new one offers",
        stops_writes=False,
    ),
    ReadAsked(
        service=EKS,
        action="DescribeNodegroup",
        without="writes to managed node groups are refused: nobody could tell whether EKS changes them",
        of_node_group=True,
        resource="arn:aws:eks:*:*:nodegroup/*/*/*",
    ),
)
