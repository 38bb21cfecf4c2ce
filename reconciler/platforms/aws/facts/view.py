"""The objects around Auto Scaling groups: what the facts of one group are read against."""

from collections.abc import Mapping

import msgspec

from reconciler.platforms.aws.facts.activities import Notice
from reconciler.platforms.aws.facts.instance_types import KnownType, known_types
from reconciler.platforms.aws.facts.wire import (
    InstanceRefresh,
    LaunchConfiguration,
    LaunchTemplateSpecification,
    LaunchTemplateVersion,
    ManagedNodeGroup,
    ScalingActivity,
    ScalingPolicy,
    ScheduledAction,
)

SIZERS = ("InstanceRefresh", "ScalingPolicy", "ScheduledAction")
"""What AWS is asked for beside the groups, so that nobody who sizes them is overlooked."""


class AwsView(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beside the groups. `policies`, `schedules`, `activities` and `refreshes` by the name of the group, with the
    region in the ARN of each where it has one; `captured` says which kinds were read at all. `told` are instance types that
    AWS was asked for, `managed` EKS's own node groups by the name of the group that they keep, `noticed` what was announced for
    instances."""

    templates: tuple[LaunchTemplateVersion, ...] = ()
    configurations: Mapping[str, LaunchConfiguration] = {}
    told: Mapping[str, KnownType] = {}
    policies: Mapping[str, tuple[ScalingPolicy, ...]] = {}
    schedules: Mapping[str, tuple[ScheduledAction, ...]] = {}
    activities: Mapping[str, tuple[ScalingActivity, ...]] = {}
    refreshes: Mapping[str, tuple[InstanceRefresh, ...]] = {}
    managed: Mapping[str, ManagedNodeGroup] = {}
    noticed: Mapping[str, Notice] = {}
    captured: frozenset[str] = frozenset(SIZERS)

    def known(self, name: str) -> KnownType | None:
        """One instance type, as AWS told it, else as the table has it."""
        return self.told.get(name) or known_types().get(name)

    def template(self, wanted: LaunchTemplateSpecification) -> LaunchTemplateVersion | None:
        """The version that new instances are made from now; None when it was not captured."""
        versions = [
            item
            for item in self.templates
            if (item.launch_template_id == wanted.launch_template_id)
            or (not wanted.launch_template_id and item.launch_template_name == wanted.launch_template_name)
        ]
        if wanted.version == "$Latest":
            return max(versions, key=lambda item: item.version_number, default=None)
        if wanted.version in (None, "", "$Default"):
            return next((item for item in versions if item.default_version), None)
        return next((item for item in versions if str(item.version_number) == wanted.version), None)


def region_of(arn: str) -> str:
    """The region of an ARN (its fourth part), or empty."""
    parts = arn.split(":")
    return parts[3] if len(parts) > 3 else ""
