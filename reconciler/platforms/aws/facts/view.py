"""The objects around Auto Scaling groups. The facts of one group are judged with them."""

from collections.abc import Mapping

import msgspec

from reconciler.platforms.aws.facts.instance_types import KnownType, known_types
from reconciler.platforms.aws.facts.notices import Notice
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_beside import (
    InstanceRefresh,
    ManagedNodeGroup,
    ScalingActivity,
    ScalingPolicy,
    ScheduledAction,
)
from reconciler.platforms.aws.facts.wire_launch import (
    CapacityReservation,
    LaunchConfiguration,
    LaunchTemplateData,
    LaunchTemplateSpecification,
    LaunchTemplateVersion,
    ManagedResource,
)

SIZERS = ("InstanceRefresh", "ScalingPolicy", "ScheduledAction")
"""The kinds that AWS is asked for in addition to the groups, so that no other writer is overlooked."""


class AwsView(msgspec.Struct, frozen=True, kw_only=True):
    """What is known in addition to the groups. `policies`, `schedules`, `activities` and `refreshes` are keyed by the name of the
    group, with the region in the ARN of each if it has one. `captured` lists the kinds that were read at all.

    `described` has the instance types that AWS described. `managed` has EKS's node groups by the name of their Auto Scaling
    group. `noticed` has what was announced for instances. `managed_resources` are what zonal shifts apply to, by ARN.
    `zone_names` are the names of zones by region and id."""

    templates: tuple[LaunchTemplateVersion, ...] = ()
    configurations: Mapping[str, LaunchConfiguration] = {}
    described: Mapping[str, KnownType] = {}
    policies: Mapping[str, tuple[ScalingPolicy, ...]] = {}
    schedules: Mapping[str, tuple[ScheduledAction, ...]] = {}
    activities: Mapping[str, tuple[ScalingActivity, ...]] = {}
    refreshes: Mapping[str, tuple[InstanceRefresh, ...]] = {}
    managed: Mapping[str, ManagedNodeGroup] = {}
    noticed: Mapping[str, Notice] = {}
    reservations: tuple[CapacityReservation, ...] = ()
    managed_resources: Mapping[str, ManagedResource] = {}
    zone_names: Mapping[tuple[str, str], str] = {}
    captured: frozenset[str] = frozenset(SIZERS)

    def known(self, name: str) -> KnownType | None:
        """One instance type, from AWS's answer, else from the table."""
        return self.described.get(name) or known_types().get(name)

    def template(self, wanted: LaunchTemplateSpecification) -> LaunchTemplateVersion | None:
        """The version that new instances are made from now; None if it was not captured."""
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

    def template_data(self, item: AutoScalingGroup) -> tuple[LaunchTemplateData, ...]:
        """What new instances of a group are made from now. Versions that were not captured are missing."""
        versions = map(self.template, specifications(item))
        return tuple(version.launch_template_data for version in versions if version is not None)


def specifications(item: AutoScalingGroup) -> list[LaunchTemplateSpecification]:
    """The template of the group, and the templates that overrides use instead."""
    mixed = item.mixed_instances_policy.launch_template if item.mixed_instances_policy else None
    own = (mixed.launch_template_specification if mixed else None) or item.launch_template
    overrides = (one.launch_template_specification for one in (mixed.overrides if mixed else None) or ())
    return [one for one in (own, *overrides) if one is not None]


def region_of(arn: str) -> str:
    """The region of an ARN (its fourth part), or empty."""
    parts = arn.split(":")
    return parts[3] if len(parts) > 3 else ""
