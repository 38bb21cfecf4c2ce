"""Selectors of objects in their one canonical form: sorted, without repetition, `matchLabels` as In requirements."""

from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import meta, pod
from reconciler.values.label_selector import LABEL_OPERATORS, LabelSelector, Requirement


class NodeSelectorTerm(msgspec.Struct, frozen=True, order=True):
    """One node selector term: all of `expressions` (labels) and `fields` (metadata.name) must hold; an empty one matches
    nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


_LABEL_OPERATORS = frozenset(LABEL_OPERATORS)
_NODE_OPERATORS = _LABEL_OPERATORS | {"Gt", "Lt"}


def label_selector(wire: meta.LabelSelector | None, added: Iterable[Requirement] = ()) -> LabelSelector | None:
    """A label selector with `added` requirements folded in; None stays None (it matches nothing).

    Folding what is already there changes nothing, so that pods which the API server has treated stay as they are.
    """
    if wire is None:
        return None
    requirements = {requirement(key, "In", (value,), _LABEL_OPERATORS) for key, value in (wire.match_labels or {}).items()}
    for item in wire.match_expressions or ():
        requirements.add(requirement(item.key, item.operator, item.values or (), _LABEL_OPERATORS))
    requirements.update(added)
    return LabelSelector(tuple(sorted(requirements)))


def node_terms(wire: pod.NodeSelector | None) -> tuple[NodeSelectorTerm, ...] | None:
    """Node selector terms, sorted; None without any selector."""
    if wire is None:
        return None
    return tuple(sorted({_node_term(term) for term in wire.node_selector_terms or ()}))


def requirement(key: str, operator: str, values: Iterable[str], operators: frozenset[str]) -> Requirement:
    """One requirement. Raises `UnreadableError` for an operator that does not exist."""
    if operator not in operators:
        raise UnreadableError(f"the operator {operator!r} is none of {', '.join(sorted(operators))}")
    return Requirement(key, operator, tuple(sorted(set(values))))


def label_pairs(labels: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Labels sorted by key."""
    return tuple(sorted(labels.items())) if labels else ()


def _node_term(wire: pod.NodeSelectorTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(_node_requirements(wire.match_expressions), _node_requirements(wire.match_fields))


def _node_requirements(wire: list[meta.LabelRequirement] | None) -> tuple[Requirement, ...]:
    return tuple(sorted({requirement(item.key, item.operator, item.values or (), _NODE_OPERATORS) for item in wire or ()}))
