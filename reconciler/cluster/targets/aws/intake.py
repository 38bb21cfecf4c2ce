"""The objects around Auto Scaling groups as they are read, until all are there."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from reconciler.cluster.snapshots.kept import Kept
from reconciler.cluster.targets.aws.instance_table import told_type
from reconciler.cluster.targets.aws.view import AwsView
from reconciler.cluster.wire import aws_beside, aws_launch

Item = TypeVar("Item")


class AwsIntake:
    """Every kind with its wire type and what keeps an item, given the number of its source."""

    def __init__(self) -> None:
        self._templates = Kept[aws_launch.LaunchTemplateVersion]()
        self._configurations = Kept[aws_launch.LaunchConfiguration]()
        self._types = Kept[aws_launch.InstanceType]()
        self._policies = Kept[aws_beside.ScalingPolicy]()
        self._schedules = Kept[aws_beside.ScheduledAction]()
        self._activities = Kept[aws_beside.ScalingActivity]()
        self._refreshes = Kept[aws_beside.InstanceRefresh]()
        self._managed = Kept[aws_beside.ManagedNodeGroup]()
        self.kinds: Mapping[str, tuple[type[Any], Callable[[Any, int], None]]] = {
            "LaunchTemplateVersion": (
                aws_launch.LaunchTemplateVersion,
                _by(self._templates, lambda item: (item.launch_template_id, str(item.version_number))),
            ),
            "LaunchConfiguration": (
                aws_launch.LaunchConfiguration,
                _by(self._configurations, lambda item: ("", item.launch_configuration_name)),
            ),
            "InstanceType": (aws_launch.InstanceType, _by(self._types, lambda item: ("", item.instance_type))),
            "ScalingPolicy": (
                aws_beside.ScalingPolicy,
                _by(self._policies, lambda item: (f"{item.policy_arn}/{item.auto_scaling_group_name}", item.policy_name)),
            ),
            "ScheduledAction": (
                aws_beside.ScheduledAction,
                _by(
                    self._schedules,
                    lambda item: (f"{item.scheduled_action_arn}/{item.auto_scaling_group_name}", item.scheduled_action_name),
                ),
            ),
            "ScalingActivity": (aws_beside.ScalingActivity, _by(self._activities, lambda item: ("", item.activity_id))),
            "InstanceRefresh": (aws_beside.InstanceRefresh, _by(self._refreshes, lambda item: ("", item.instance_refresh_id))),
            "ManagedNodeGroup": (
                aws_beside.ManagedNodeGroup,
                _by(self._managed, lambda item: (item.nodegroup_arn or item.cluster_name, item.nodegroup_name)),
            ),
        }

    def view(self, captured: set[str]) -> AwsView:
        """All that was read. `captured` are the kinds of all documents."""
        return AwsView(
            templates=tuple(self._templates.values()),
            configurations={item.launch_configuration_name: item for item in self._configurations.values()},
            told={item.instance_type: told_type(item) for item in self._types.values()},
            policies=_of_group(self._policies),
            schedules=_of_group(self._schedules),
            activities=_of_group(self._activities),
            refreshes=_of_group(self._refreshes),
            managed={
                group.name: item
                for item in self._managed.values()
                for group in (item.resources.auto_scaling_groups if item.resources else None) or ()
            },
            captured=frozenset(captured & self.kinds.keys()),
        )


def _by(kept: Kept[Item], key: Callable[[Item], tuple[str, str]]) -> Callable[[Item, int], None]:
    return lambda item, source: kept.add(key(item), item, source)


def _of_group(kept: Kept[Any]) -> dict[str, tuple[Any, ...]]:
    found: dict[str, list[Any]] = {}
    for item in kept.values():
        found.setdefault(item.auto_scaling_group_name, []).append(item)
    return {name: tuple(items) for name, items in found.items()}
