"""One group at this moment: every write is judged on it."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.platforms.aws.facts import group, wire_beside
from reconciler.platforms.aws.facts.units import NOT_COUNTED
from reconciler.platforms.aws.facts.view import AwsView
from reconciler.platforms.aws.facts.wire import AutoScalingGroup, Instance
from reconciler.platforms.aws.writing.beside_groups import BesideGroups
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EKS, Aws, AwsError
from reconciler.values.decoding import decode

_CLUSTER_TAG, _NODE_GROUP_TAG = "eks:cluster-name", "eks:nodegroup-name"


class Reading(msgspec.Struct, frozen=True):
    """A group with its facts, and the service's clock at the read."""

    item: AutoScalingGroup
    facts: TargetFacts
    date_seconds: int

    @property
    def counted(self) -> tuple[Instance, ...]:
        """The instances that its desired capacity counts, including pending ones."""
        return tuple(one for one in self.item.instances or () if not one.lifecycle_state.startswith(NOT_COUNTED))

    def instance(self, name: str) -> Instance | None:
        """One of its instances in any state; None if the group no longer has it."""
        return next((one for one in self.item.instances or () if one.instance_id == name), None)


def read(aws: Aws, target: TargetRef, around: BesideGroups | None = None) -> Reading | None:
    """The group and everything that could hold it, read now; None if it does not exist. `around` shares the reads among groups
    that are written at the same time. Raises `AwsError` and
    `msgspec.ValidationError`, also if only a part could not be read, because the judgement needs the other writers."""
    around = around or BesideGroups()
    described, date_seconds = around.described(aws, target.name)
    if described is None:
        return None
    item = converted(described, AutoScalingGroup)
    name = {"AutoScalingGroupName": target.name}
    others = around.of(aws, target.name)
    refreshes = aws.call(AUTO_SCALING, "DescribeInstanceRefreshes", **name, MaxRecords=1).body.get("InstanceRefreshes") or ()
    view = AwsView(
        policies={target.name: tuple(converted(one, wire_beside.ScalingPolicy) for one in others.policies)},
        schedules={target.name: tuple(converted(one, wire_beside.ScheduledAction) for one in others.schedules)},
        refreshes={target.name: tuple(converted(one, wire_beside.InstanceRefresh) for one in refreshes)},
        managed=_managed(aws, item),
    )
    return Reading(item, group.facts(item, view), date_seconds)


def read_alone(aws: Aws, target: TargetRef, around: BesideGroups) -> Reading | None:
    """The group without what could hold it: its tags and instances. None if it does not exist. Raises as `read`."""
    described, date_seconds = around.described(aws, target.name)
    if described is None:
        return None
    item = converted(described, AutoScalingGroup)
    return Reading(item, group.facts(item), date_seconds)


def seen_again(aws: Aws, before: Reading) -> Reading | None:
    """The group alone, read once more: its instances now, judged by the facts of the earlier reading. None if it is gone. Raises
    as `read`."""
    name = before.facts.ref.name
    answer = aws.call(AUTO_SCALING, "DescribeAutoScalingGroups", AutoScalingGroupNames=[name])
    groups = answer.body.get("AutoScalingGroups")
    if not groups:
        return None
    return Reading(converted(groups[0], AutoScalingGroup), before.facts, answer.date_seconds)


_PROVIDER_ID = re.compile(r"^aws:///[^/]*/?(i-[0-9a-f]+)$")


def group_members(aws: Aws, target: TargetRef, provider_ids: Iterable[str], around: BesideGroups) -> tuple[str, ...]:
    """Those of these instances that the group has, whether or not its description shows them. Raises `AwsError`."""
    names = tuple(match[1] for text in provider_ids if (match := _PROVIDER_ID.match(text)))
    groups = around.groups_of(aws, names) if names else {}
    return tuple(sorted(name for name, group_name in groups.items() if group_name == target.name))


def _managed(aws: Aws, item: AutoScalingGroup) -> dict[str, wire_beside.ManagedNodeGroup]:
    asked = node_group(aws, {tag.key: tag.value for tag in item.tags or ()})
    return {item.auto_scaling_group_name: converted(asked, wire_beside.ManagedNodeGroup)} if asked is not None else {}


def node_group(aws: Aws, tags: dict[str, str]) -> dict[str, Any] | None:
    """EKS's description of its node group behind these tags; None if there is none. Raises `AwsError`."""
    cluster, name = tags.get(_CLUSTER_TAG), tags.get(_NODE_GROUP_TAG)
    if not cluster or not name:
        return None
    try:
        answer: dict[str, Any] | None = aws.call(EKS, "DescribeNodegroup", clusterName=cluster, nodegroupName=name).body.get(
            "nodegroup"
        )
    except AwsError as error:
        if error.code == "ResourceNotFoundException":
            # Tags outlive the node group that set them.
            return None
        raise
    return answer


def converted(body: dict[str, Any], kind: type[Any]) -> Any:  # noqa: ANN401 - one function for every kind of answer
    """A client's answer as the type that a file of it becomes. Raises `msgspec.ValidationError`."""
    return decode(msgspec.json.encode(body), kind)
