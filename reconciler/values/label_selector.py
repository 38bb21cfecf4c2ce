"""Label selectors as Kubernetes evaluates them, and one requirement in the notation of kubectl.

SOURCE: `k8s.io/apimachinery/pkg/labels`, Requirement.Matches; `metav1.LabelSelector`.
"""

import re
from collections.abc import Mapping

import msgspec

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
"""The operators of a label selector. A node selector has Gt and Lt as well."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_INT64 = 2**63


class Requirement(msgspec.Struct, frozen=True, order=True, gc=False):
    """One requirement: operator In, NotIn, Exists, DoesNotExist, Gt or Lt; `values` sorted on objects, as written in policies."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, order=True):
    """A label selector in one canonical form: `matchLabels` become In requirements; sorted; empty matches everything."""

    requirements: tuple[Requirement, ...] = ()


def satisfies(requirement: Requirement, value: str | None) -> bool:
    """Does a label with this value (None: no such label) satisfy the requirement?

    NotIn holds if the label is missing. Gt and Lt compare 64-bit integers, take exactly one of them and never hold for anything
    else; nor does an operator that does not exist.
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


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Does the selector match these labels? None matches nothing, an empty selector everything."""
    return selector is not None and all(satisfies(one, labels.get(one.key)) for one in selector.requirements)


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


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None
