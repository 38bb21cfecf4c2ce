"""Which objects are meant, by their labels: as Kubernetes writes it in policies."""

from collections.abc import Mapping

import msgspec

from reconciler.values.label_selector import Requirement, satisfies


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes label selector as it is written; all requirements must hold."""

    match_labels: tuple[tuple[str, str], ...] = ()
    match_expressions: tuple[Requirement, ...] = ()


def selector_matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether all requirements hold; an empty selector matches everything."""
    return may_match(selector, labels, complete=True) is True


def may_match(selector: Selector, labels: Mapping[str, str], *, complete: bool) -> bool | None:
    """Whether all requirements hold; None when it depends on labels that are not known (`complete` false)."""
    unknown = False
    for key, value in selector.match_labels:
        if labels.get(key) != value:
            if complete or key in labels:
                return False
            unknown = True
    for requirement in selector.match_expressions:
        if not complete and requirement.key not in labels:
            unknown = True
        elif not satisfies(requirement, labels.get(requirement.key)):
            return False
    return None if unknown else True
