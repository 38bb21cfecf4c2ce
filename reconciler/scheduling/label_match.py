"""Whether labels satisfy requirements, as apimachinery's label selectors decide it."""

import re
from collections.abc import Callable, Iterable

from reconciler.cluster.values.selector import LabelSelector, Requirement

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_INT64 = 2**63

Labels = Callable[[str], str | None]


def satisfies(requirement: Requirement, value: str | None) -> bool:
    """Does a label with this value (None: no such label) satisfy the requirement?

    NotIn holds where the label is missing; Gt and Lt compare 64-bit integers, take exactly one of them and never hold
    for anything else (apimachinery, labels.Requirement).
    """
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            have, want = _integer(value), _integer(requirement.values[0]) if len(requirement.values) == 1 else None
            if have is None or want is None:
                return False
            return have > want if requirement.operator == "Gt" else have < want
    return False


def selects(selector: LabelSelector | None, labels: Iterable[tuple[str, str]]) -> bool:
    """Does the selector match these labels? None matches nothing, an empty selector everything."""
    if selector is None:
        return False
    if not selector.requirements:
        return True
    have = dict(labels)
    return all(satisfies(requirement, have.get(requirement.key)) for requirement in selector.requirements)


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


def requirement_text(requirement: Requirement) -> str:
    """A requirement in the notation of kubectl: `zone in (a,b)`, `pool=gpu`, `!spot`, `gen>3`."""
    key, values = requirement.key, ",".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
        case "NotIn":
            return f"{key}!={values}" if len(requirement.values) == 1 else f"{key} notin ({values})"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
    return f"{key}{'>' if requirement.operator == 'Gt' else '<'}{values}"
