"""Policy selectors over labels."""

from collections.abc import Mapping

from reconciler.policy.values.label_selector import LabelRequirement, Selector


def selector_matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether all requirements hold, as a Kubernetes label selector: an empty one matches everything."""
    return all(labels.get(key) == value for key, value in selector.match_labels) and all(
        _holds(requirement, labels) for requirement in selector.match_expressions
    )


def _holds(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case _:
            return value is None
