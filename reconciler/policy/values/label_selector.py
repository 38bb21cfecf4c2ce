"""Which objects are meant, by their labels: as Kubernetes writes it in policies."""

import msgspec


class LabelRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """One `matchExpressions` item."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes label selector; all requirements must hold."""

    match_labels: tuple[tuple[str, str], ...] = ()
    match_expressions: tuple[LabelRequirement, ...] = ()
