"""Whether an instance was made from the template that its group uses now."""

from reconciler.platforms.aws.facts.view import AwsView, specifications
from reconciler.platforms.aws.facts.wire import AutoScalingGroup, Instance
from reconciler.platforms.aws.facts.wire_launch import LaunchTemplateSpecification
from reconciler.values.whole_number import whole_number


def outdated(item: AutoScalingGroup, instance: Instance, view: AwsView) -> bool:
    """Whether the group now uses another launch template, another version or another launch configuration. False if unknown: a
    version that is named `$Latest` and was not captured, or an instance that does not show its own."""
    if item.launch_configuration_name:
        return instance.launch_configuration_name not in (None, "", item.launch_configuration_name)
    made = instance.launch_template
    if made is None or not made.version:
        return False
    current = [version for wanted in specifications(item) if (version := _resolved(wanted, view)) is not None]
    return bool(current) and len(current) == len(specifications(item)) and _key(made) not in current


def _resolved(wanted: LaunchTemplateSpecification, view: AwsView) -> tuple[str, str] | None:
    """Template and number of the version; None where the number is not known."""
    if whole_number(wanted.version or "") is not None:
        return _key(wanted)
    version = view.template(wanted)
    name = wanted.launch_template_id or wanted.launch_template_name
    return (name, str(version.version_number)) if version is not None else None


def _key(one: LaunchTemplateSpecification) -> tuple[str, str]:
    return one.launch_template_id or one.launch_template_name, one.version or ""
