"""One tree for many clusters: which documents count in one cluster, and what the more specific ones override.

A document that names no clusters counts in all of them. Labels override that, and names override labels.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import combinations

import msgspec

from reconciler.policy.documents import ClusterMatch, NodeGroup, NodeGroupPolicy
from reconciler.policy.field import Field
from reconciler.policy.fields import document_kind
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.draft import AnyDraft, Draft, Drafts
from reconciler.policy.reading.joined_source import JoinedSource, moved
from reconciler.policy.reading.layered import over
from reconciler.policy.reading.nearly_ours import entry
from reconciler.policy.reading.written_twice import written_twice
from reconciler.policy.values.label_selector import Selector, may_match
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar, spot_of
from reconciler.values.cluster_identity import ClusterIdentity

_OWN_KEYS = ("clusters", "basePolicyRef")
"""What says where a document counts. The policy that follows has neither."""


class Rank(IntEnum):
    """How specific a document is, the most specific last."""

    EVERYWHERE = 0
    LABELS = 1
    NAMES = 2


def rank(match: ClusterMatch) -> Rank:
    """How specifically a document names its clusters."""
    if match.names:
        return Rank.NAMES
    return Rank.EVERYWHERE if match.labels is None else Rank.LABELS


class Written(msgspec.Struct, frozen=True):
    """A document as it was read, and as it is written."""

    draft: Draft[NodeGroupPolicy]
    node: Node


Counts = Callable[[ClusterMatch], bool]
"""Whether a document with this match counts in one cluster."""
ReadPolicy = Callable[[Node, Source, Findings], Draft[NodeGroupPolicy]]


def for_many(drafts: Drafts) -> bool:
    """Whether a tree has documents that do not count in every cluster."""
    return any(rank(draft.document.clusters) or draft.document.base_policy for draft in drafts.policies) or any(
        rank(draft.document.clusters) for draft in drafts.groups
    )


def every_draft(drafts: Drafts) -> tuple[AnyDraft, ...]:
    """Policies and groups."""
    return (*drafts.policies, *drafts.groups)


def counts_in(cluster: ClusterIdentity) -> Counts:
    """What counts in a cluster that is known. Labels that nobody read match nothing (see `check_labels_read`)."""
    names = {cluster.name, f"{cluster.namespace}/{cluster.name}"}

    def counts(match: ClusterMatch) -> bool:
        if match.names:
            return not names.isdisjoint(match.names)
        return match.labels is None or selected(match.labels, cluster) is True

    return counts


def selected(selector: Selector, cluster: ClusterIdentity) -> bool | None:
    """Whether a cluster has the labels; None if that depends on labels that nobody read or that are hidden."""
    if cluster.labels is None:
        return None
    return may_match(selector, dict(cluster.labels), complete=not cluster.hidden)


def imagined(drafts: Drafts) -> Iterator[Counts]:
    """The clusters that a tree distinguishes by itself: each that it names, one for each selector, and one for all others.

    A cluster to which several of these apply is checked once it is known."""
    matches = [draft.document.clusters for draft in every_draft(drafts)]
    names = {name for match in matches for name in match.names}
    selectors: dict[Selector, None] = {match.labels: None for match in matches if match.labels is not None}
    yield lambda match: rank(match) is Rank.EVERYWHERE
    for name in sorted(names):
        yield _named(name)
    for selector in selectors:
        yield _labelled(selector)


def _named(name: str) -> Counts:
    return lambda match: rank(match) is Rank.EVERYWHERE or name in match.names


def _labelled(selector: Selector) -> Counts:
    return lambda match: rank(match) is Rank.EVERYWHERE or match.labels == selector


def elsewhere(drafts: Drafts, counts: Counts) -> Iterator[tuple[str, NodeGroup | NodeGroupPolicy]]:
    """The documents that do not count in a cluster, once for each name or selector of the clusters in which they count."""
    for draft in every_draft(drafts):
        match = draft.document.clusters
        if not counts(match):
            for name in match.names or (f"with labels {_labels_text(match.labels or Selector())}",):
                yield name, draft.document


def _labels_text(selector: Selector) -> str:
    expressions = (f"{one.key} {one.operator} {', '.join(one.values)}".rstrip() for one in selector.match_expressions)
    return ", ".join((*(f"{key}={value}" for key, value in selector.match_labels), *expressions))


class Layers(msgspec.Struct, frozen=True, kw_only=True):
    """All documents of a tree. `read` reads a document that several were merged into."""

    policies: tuple[Written, ...]
    groups: tuple[Draft[NodeGroup], ...]
    read: ReadPolicy

    def drafts(self, counts: Counts, findings: Findings) -> Drafts:
        """The documents of one cluster: each policy with what overrides it there, and the groups that are there."""
        policies = [
            self._over(one, counts, findings)
            for one in self.policies
            if not one.draft.document.base_policy and counts(one.draft.document.clusters)
        ]
        here = {draft.document.name for draft in policies}
        elsewhere = {one.draft.document.name for one in self.policies if not one.draft.document.base_policy} - here
        groups = tuple(
            draft for draft in self.groups if counts(draft.document.clusters) and draft.document.policy_ref not in elsewhere
        )
        return Drafts(policies=tuple(policies), groups=groups)

    def _over(self, base: Written, counts: Counts, findings: Findings) -> Draft[NodeGroupPolicy]:
        name = base.draft.document.name
        levels = [one for one in self.policies if one.draft.document.base_policy == name and counts(one.draft.document.clusters)]
        if not levels:
            return base.draft if rank(base.draft.document.clusters) is Rank.EVERYWHERE else self._merged((base,), findings)
        for first, second in combinations(levels, 2):
            if rank(first.draft.document.clusters) is rank(second.draft.document.clusters):
                _equally_specific(first, second, findings)
        ordered = sorted(levels, key=lambda one: (rank(one.draft.document.clusters), one.draft.document.name))
        return self._merged((base, *ordered), findings)

    def _merged(self, layers: Sequence[Written], findings: Findings) -> Draft[NodeGroupPolicy]:
        """The first one with the specs of the others over its own."""
        source = JoinedSource.over([one.draft.reading.source for one in layers])
        nodes: list[Node] = []
        lines = 0
        for one in layers:
            nodes.append(_without_own_keys(moved(one.node, lines)))
            lines += len(one.draft.reading.source.lines)
        spec = entry_of(nodes[0], "spec")
        for node in nodes[1:]:
            above = entry_of(node, "spec")
            if spec is not None and above is not None:
                spec = over(_spec_field(), spec, above)
        return self.read(_with_spec(nodes[0], spec), source, findings)


def _equally_specific(first: Written, second: Written, findings: Findings) -> None:
    mine, other = (entry_of(_without_own_keys(one.node), "spec") for one in (first, second))
    if mine is None or other is None:
        return
    for twice in written_twice(_spec_field(), mine, other):
        where = f"spec.{twice.path}"
        place = first.draft.reading.source.place(spot_of(twice.first))
        message = (
            f"{first.draft.document.name} and {second.draft.document.name} are equally specific, and both set {where} "
            "for the same clusters"
        )
        hint = "remove one of the values, or select other clusters"
        source = second.draft.reading.source
        findings.add("EquallySpecific", source, spot_of(twice.second), message, hint, related=((place, "the other one"),))


def _spec_field() -> Field:
    kind = document_kind("NodeGroupPolicy")
    found = kind.root.child("spec") if kind is not None else None
    if found is None:
        raise LookupError("NodeGroupPolicy.spec")
    return found


def entry_of(node: Node, key: str) -> Node | None:
    """The value of a key of a mapping; None for any other node."""
    return entry(node, key) if isinstance(node, Mapping) else None


def _with_spec(node: Node, spec: Node | None) -> Node:
    if not isinstance(node, Mapping) or spec is None:
        return node
    pairs = tuple((key, spec if isinstance(key, Scalar) and key.text == "spec" else value) for key, value in node.pairs)
    return msgspec.structs.replace(node, pairs=pairs)


def _without_own_keys(node: Node) -> Node:
    spec = entry_of(node, "spec")
    if not isinstance(spec, Mapping):
        return node
    kept = tuple(pair for pair in spec.pairs if not (isinstance(pair[0], Scalar) and pair[0].text in _OWN_KEYS))
    return _with_spec(node, msgspec.structs.replace(spec, pairs=kept))
