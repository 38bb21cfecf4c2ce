"""Selectors of nodes as Kubernetes evaluates them."""

import msgspec

from reconciler.values.label_selector import Requirement


class NodeSelectorTerm(msgspec.Struct, frozen=True, order=True):
    """One node selector term: all of `expressions` (labels) and `fields` (metadata.name) must hold; an empty one matches
    nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
