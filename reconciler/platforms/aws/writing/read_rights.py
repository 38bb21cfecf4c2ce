"""The read permissions that a process needs: how each is tried, and what fails without it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EC2, EKS, ZONAL_SHIFT

_NOBODY = "reconciler-doctor-asks-for-a-right"
"""The name of a group that does not exist: AWS decides whether a call is allowed before it looks for the group."""
_REFUSES = "the loop refuses every write: it cannot tell who else sizes a group"


class ReadAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One right. `without` states what follows if it is missing. `stops_writes`: nothing is sized then. `of_group`: AWS answers
    for one named group alone. `of_node_group`: only managed node groups of EKS need it."""

    service: str
    action: str
    without: str
    stops_writes: bool = True
    of_group: bool = False
    of_node_group: bool = False
    resource: str = "*"

    @property
    def right(self) -> str:
        """The name of the right in IAM."""
        return f"{self.service}:{self.action}"

    def parameters(self, groups: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any] | None:
        """Parameters of the smallest call; None if there is nothing to ask for."""
        if self.of_node_group:
            tags = ({tag["Key"]: tag.get("Value", "") for tag in item.get("Tags") or ()} for item in groups)
            tagged = next((one for one in tags if one.get("eks:cluster-name") and one.get("eks:nodegroup-name")), None)
            return (
                None
                if tagged is None
                else {"clusterName": tagged["eks:cluster-name"], "nodegroupName": tagged["eks:nodegroup-name"]}
            )
        if self.service == ZONAL_SHIFT:
            return {"maxResults": 5}
        if self.service == EC2 and self.action != "DescribeLaunchTemplateVersions":
            return {"MaxResults": 5}
        if self.service == EC2:
            return {"MaxResults": 5, "Versions": ["$Default"]}
        named = next((item["AutoScalingGroupName"] for item in groups), next(iter(names), _NOBODY))
        return {"MaxRecords": 1, **({"AutoScalingGroupName": named} if self.of_group else {})}


READS_ASKED = (
    ReadAsked(service=AUTO_SCALING, action="DescribeAutoScalingGroups", without="the loop reads no group and sizes none"),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeAutoScalingInstances",
        without="failed requests are not withdrawn while there are Nodes that belong to no group of the policy",
        stops_writes=False,
    ),
    ReadAsked(service=AUTO_SCALING, action="DescribeInstanceRefreshes", without=_REFUSES, of_group=True),
    ReadAsked(service=AUTO_SCALING, action="DescribePolicies", without=_REFUSES),
    ReadAsked(service=AUTO_SCALING, action="DescribeScheduledActions", without=_REFUSES),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeScalingActivities",
        without="the loop cannot read groups with missing instances, and sizes nothing meanwhile",
    ),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeLaunchConfigurations",
        without="the capacity of a new node is unknown for groups with a launch configuration",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeInstanceTypes",
        without="machine types that are not in the built-in table are unknown",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeLaunchTemplateVersions",
        without="the capacity of a new node is unknown for groups without nodes",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeCapacityReservations",
        without="it is unknown how much reserved capacity is free, and nodes are not drained before a Capacity Block ends",
        stops_writes=False,
    ),
    ReadAsked(
        service=ZONAL_SHIFT,
        action="ListManagedResources",
        without="zonal shifts are unknown, and groups may grow in a zone that is shifted away",
        stops_writes=False,
    ),
    ReadAsked(
        service=EKS,
        action="DescribeNodegroup",
        without="the loop refuses writes to managed node groups: it cannot tell whether EKS changes them",
        of_node_group=True,
        resource="arn:aws:eks:*:*:nodegroup/*/*/*",
    ),
)
