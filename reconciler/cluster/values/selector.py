"""Label selectors and node selector terms as Kubernetes evaluates them."""

import msgspec


class Requirement(msgspec.Struct, frozen=True, order=True, gc=False):
    """One requirement: operator In, NotIn, Exists, DoesNotExist, Gt or Lt; `values` sorted."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, order=True):
    """A label selector in one canonical form: `matchLabels` become In requirements; sorted; empty matches everything."""

    requirements: tuple[Requirement, ...] = ()


class NodeSelectorTerm(msgspec.Struct, frozen=True, order=True):
    """One node selector term: all of `expressions` (labels) and `fields` (metadata.name) must hold; an empty one matches
    nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
