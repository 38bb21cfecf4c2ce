"""NodeAffinity: the labels and the name that a pod demands of its node."""

from collections.abc import Iterable

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.scheduling.label_match import Labels
from reconciler.scheduling.verdict import Rejection
from reconciler.values.label_selector import Requirement, requirement_text, satisfies

NAME_FIELD = "metadata.name"

NodeSelector = tuple[tuple[str, str], ...]
Terms = tuple[NodeSelectorTerm, ...] | None


def affinity_rejection(selector: NodeSelector, terms: Terms, labels: Labels, name: str) -> Rejection | None:
    """The answer of NodeAffinity for a node with these labels and this name.

    Source: plugin NodeAffinity, and `RequiredNodeAffinity.Match` of component-helpers. Every pair of `nodeSelector` must match.
    If the affinity has required terms, at least one of them must match. An empty list of terms, or a list of empty terms, matches
    no node. The terms also exclude what PreFilter excludes by name.
    """
    unmet = [f"{key}={value}" for key, value in selector if labels(key) != value]
    if not unmet and terms is not None and not any(term_matches(term, labels, name) for term in terms):
        unmet = [terms_text(terms) or "no node (its affinity has no terms)"]
    if not unmet:
        return None
    return Rejection("NodeAffinity", f"wants {', '.join(unmet)}, but the node has {_have(selector, terms, labels, name)}")


def matches(selector: NodeSelector, terms: Terms, labels: Labels, name: str) -> bool:
    """Do selector and terms match the node?"""
    if any(labels(key) != value for key, value in selector):
        return False
    return terms is None or any(term_matches(term, labels, name) for term in terms)


def term_matches(term: NodeSelectorTerm, labels: Labels, name: str) -> bool:
    """Whether one node selector term matches.

    Source: component-helpers `nodeSelectorTerm.match`. An empty term matches nothing. A field requirement has In or NotIn with
    exactly one value; anything else makes the term match nothing.
    """
    if not term.expressions and not term.fields:
        return False
    if not all(_field_holds(item, name) for item in term.fields):
        return False
    return all(satisfies(item, labels(item.key)) for item in term.expressions)


def referenced_keys(selector: NodeSelector, terms: Terms) -> tuple[str, ...]:
    """The labels that selector and terms look at, sorted."""
    keys = {key for key, _ in selector}
    keys.update(item.key for term in terms or () for item in term.expressions)
    return tuple(sorted(keys))


def names_host(selector: NodeSelector, terms: Terms) -> bool:
    """Does the answer hang on the name of the node?"""
    return HOSTNAME_LABEL in referenced_keys(selector, terms) or any(term.fields for term in terms or ())


def terms_text(terms: Iterable[NodeSelectorTerm]) -> str:
    """Node selector terms, of which one must match, in the notation of kubectl."""
    return " or ".join(_term_text(term) for term in terms)


def labels_text(terms: tuple[NodeSelectorTerm, ...], labels: Labels) -> str:
    """What a node has of the labels that such terms look at."""
    return ", ".join(_label_text(key, labels(key)) for key in referenced_keys((), terms))


def _field_holds(item: Requirement, name: str) -> bool:
    if len(item.values) != 1 or item.operator not in ("In", "NotIn"):
        return False
    have = name if item.key == NAME_FIELD else ""
    return (have == item.values[0]) == (item.operator == "In")


def _term_text(term: NodeSelectorTerm) -> str:
    parts = [requirement_text(item) for item in (*term.expressions, *term.fields)]
    return f"({', '.join(parts)})" if len(parts) > 1 else (parts[0] if parts else "nothing (an empty term)")


def _have(selector: NodeSelector, terms: Terms, labels: Labels, name: str) -> str:
    parts = [_label_text(key, labels(key)) for key in referenced_keys(selector, terms)]
    if any(item.key == NAME_FIELD for term in terms or () for item in term.fields):
        parts.append(f"{NAME_FIELD}={name}")
    return ", ".join(parts) or "no say"


def _label_text(key: str, value: str | None) -> str:
    return f"no {key}" if value is None else f"{key}={value}"


def node_labels(pairs: Iterable[tuple[str, str]], hostname: str | None) -> dict[str, str]:
    """Labels of a node, the hostname label (None: there is none) included."""
    have = dict(pairs)
    if hostname is not None:
        have[HOSTNAME_LABEL] = hostname
    return have


def label_reader(pairs: Iterable[tuple[str, str]], hostname: str | None) -> Labels:
    """Reads such labels."""
    return node_labels(pairs, hostname).get
