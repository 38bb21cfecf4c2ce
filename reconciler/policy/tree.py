"""A tree of policy texts -> checked documents or every problem in it. All or nothing: one error and no set is usable."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from reconciler.policy.checks import check_drafts
from reconciler.policy.checks.references import check_policy_names
from reconciler.policy.documents import Discovery, NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.fields import DocumentKind, document_kinds
from reconciler.policy.fleet.cluster_checks import check_labels_read, check_overrides
from reconciler.policy.fleet.cluster_discovery import check_discovery, in_cluster
from reconciler.policy.fleet.clusters import Layers, Written, counts_in, elsewhere, for_many, imagined
from reconciler.policy.neighbours import Beside, InForce, Named, UnreadFile
from reconciler.policy.place import Place
from reconciler.policy.platform.policy_keys import platform_keys
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.document import Reading, Values
from reconciler.policy.reading.document_identity import Identity, classify
from reconciler.policy.reading.draft import Draft, Drafts
from reconciler.policy.reading.nearly_ours import may_hold_ours
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.yaml_nodes import Node
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.decoding import convert

SUFFIXES = (".yaml", ".yml", ".json")
_HARMLESS = frozenset({"UnsupportedTag"})
"""Faults of a text that was read to its end all the same."""
_BUILT_IN = Place("(built in)", 1, 1)


def read_tree(
    files: Mapping[str, bytes],
    *,
    now_seconds: int,
    revision: str | None = None,
    unread: Iterable[UnreadFile] = (),
    before: InForce | None = None,
    cluster: ClusterIdentity | None = None,
) -> PolicyTree:
    """Read all policy texts of a tree, and the policies of one cluster where documents name clusters.

    `files` maps a path relative to the policy root (`/` separators) to its bytes; only .yaml, .yml and .json count.
    `now_seconds` (Unix time) is what holds and windows are checked against, `revision` the git commit of the tree. `unread` are
    files of the tree that could not be handed over, `before` is what the tree follows on, where something is in force.
    Without a `cluster`, a tree for many clusters is checked for each cluster that it distinguishes, and has no sets.
    Never raises for what the texts say: whatever is wrong is a problem with its place. Files that are nobody's policy are
    passed over (see `neighbours`).
    """
    return next(read_trees(files, (cluster,), now_seconds=now_seconds, revision=revision, unread=unread, before=before))


def read_trees(
    files: Mapping[str, bytes],
    clusters: Iterable[ClusterIdentity | None],
    *,
    now_seconds: int,
    revision: str | None = None,
    unread: Iterable[UnreadFile] = (),
    before: InForce | None = None,
) -> Iterator[PolicyTree]:
    """As `read_tree` for each of the clusters, in their order. The texts are read once."""
    reader = _TreeReader()
    paths = sorted(path for path in files if path.lower().endswith(SUFFIXES))
    for path in paths:
        reader.read(path, files[path])
    for file in unread:
        if file.ours:
            reader.findings.report(file.problem())
        else:
            reader.beside.passed((file.problem(),), unread=True)
    drafts = Drafts(policies=tuple(one.draft for one in reader.policies), groups=tuple(reader.groups))
    reader.beside.judge(reader.findings, _named(drafts), before)
    many = for_many(drafts)
    if many:
        check_policy_names(drafts, reader.findings)
        check_overrides(drafts, reader.findings)
    layers = Layers(policies=tuple(reader.policies), groups=tuple(reader.groups), read=read_node_group_policy)
    for cluster in clusters:
        findings = Findings()
        findings.absorb(reader.findings)
        if not many:
            check_drafts(drafts, findings, now_seconds)
        here = _in_cluster(layers, drafts, cluster, findings, now_seconds) if many else drafts
        yield PolicyTree(
            sets=() if findings.failed else tuple(_policy_set(policy, here, revision) for policy in _by_name(here.policies)),
            problems=findings.sorted(),
            skipped=tuple(sorted(reader.skipped.items())),
            neighbours=reader.beside.sorted(),
            files=len(paths),
            policies=len(drafts.policies),
            groups=len(drafts.groups),
            for_many=many,
            elsewhere=_elsewhere(drafts, cluster) if many and cluster is not None else frozenset(),
        )


def _elsewhere(drafts: Drafts, cluster: ClusterIdentity) -> frozenset[tuple[str, str]]:
    found = elsewhere(drafts, counts_in(cluster))
    return frozenset((name, _digest((msgspec.structs.replace(one, place=_BUILT_IN, places={}),))) for name, one in found)


def _in_cluster(layers: Layers, drafts: Drafts, cluster: ClusterIdentity | None, findings: Findings, now_seconds: int) -> Drafts:
    """The documents of one cluster, checked. Without one, each cluster that the tree distinguishes is checked."""
    if findings.failed:
        return Drafts(policies=(), groups=())
    if cluster is None:
        for counts in imagined(drafts):
            check_drafts(layers.drafts(counts, findings), findings, now_seconds)
        return Drafts(policies=(), groups=())
    check_labels_read(drafts, cluster, findings)
    here = layers.drafts(counts_in(cluster), findings)
    check_discovery(here, cluster, findings)
    check_drafts(here, findings, now_seconds)
    narrowed = (Draft(in_cluster(draft.document, cluster), draft.reading) for draft in here.policies)
    return Drafts(policies=tuple(narrowed), groups=here.groups)


def narrowed(sets: Iterable[PolicySet], cluster: ClusterIdentity) -> tuple[PolicySet, ...]:
    """Sets of a tree that names no clusters, as one of several clusters has them: discovery finds its targets alone."""
    policies = ((in_cluster(one.policy, cluster), one) for one in sets)
    return tuple(
        msgspec.structs.replace(one, policy=policy, digest=policy_digest(policy, one.groups)) for policy, one in policies
    )


def default_policy() -> PolicySet:
    """What applies when no policy is given: every target of platforms that say sizes on their targets, mode Observe."""
    everything = (keys for keys in platform_keys() if keys.default_discovery)
    discovery = (Discovery(name=keys.default_discovery, provider=keys.provider) for keys in everything)
    policy = NodeGroupPolicy(name="default", discovery=tuple(discovery), place=_BUILT_IN, places={})
    return PolicySet(policy=policy, groups=(), digest=policy_digest(policy, ()))


def policy_digest(policy: NodeGroupPolicy, groups: tuple[NodeGroup, ...]) -> str:
    """sha256 over the values, whatever their places, order of keys or formatting."""
    bare: list[msgspec.Struct] = [msgspec.structs.replace(policy, place=_BUILT_IN, places={})]
    bare += (msgspec.structs.replace(group, place=_BUILT_IN, places={}) for group in groups)
    return _digest(bare)


def _digest(documents: Sequence[msgspec.Struct]) -> str:
    return "sha256:" + hashlib.sha256(msgspec.json.encode(documents, order="deterministic")).hexdigest()


def read_node_group(node: Node, source: Source, findings: Findings) -> Draft[NodeGroup]:
    """One document that is known to be a NodeGroup, by itself: nothing across documents is checked."""
    reading, values = _values(_kind("NodeGroup"), node, source, findings)
    return Draft(convert(values, NodeGroup), reading)


def read_node_group_policy(node: Node, source: Source, findings: Findings) -> Draft[NodeGroupPolicy]:
    """One document that is known to be a NodeGroupPolicy, by itself."""
    reading, values = _values(_kind("NodeGroupPolicy"), node, source, findings)
    return Draft(convert(values, NodeGroupPolicy), reading)


def _kind(name: str) -> DocumentKind:
    return next(kind for kind in document_kinds() if kind.kind == name)


def _values(kind: DocumentKind, node: Node, source: Source, findings: Findings) -> tuple[Reading, Values]:
    reading = Reading(kind.kind, source, findings)
    values = reading.read_object(kind.root, node, "") or {}
    values["place"] = Place(source.path, node.line, node.column)
    values["places"] = reading.places()
    return reading, values


class _TreeReader:
    """Reads one text after the other, and tells ours from those of others."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.beside = Beside()
        self.skipped: dict[str, int] = {}
        self.policies: list[Written] = []
        self.groups: list[Draft[NodeGroup]] = []

    def read(self, path: str, data: bytes) -> None:
        """Read one text. A text of others may be as wrong as it likes."""
        apart = Findings()
        decoded = read_source(path, data, apart)
        nodes = compose_documents(*decoded, apart) if decoded is not None else []
        faults = [problem for problem in apart.sorted() if problem.code not in _HARMLESS]
        documents = [one for node in nodes if decoded is not None for one in _documents(node, decoded[0], apart)]
        unread = [identity.stray for _, identity in documents if identity.stray is not None and identity.unread]
        strays = [identity.stray for _, identity in documents if identity.stray is not None and not identity.unread]
        ours = any(identity.ours for _, identity in documents)
        if ours or ((faults or unread) and may_hold_ours([data])):
            for problem in (*strays, *unread):
                apart.report(problem)
            self.findings.absorb(apart)
        elif faults or unread:
            self.beside.passed(tuple(dict.fromkeys((*faults, *unread, *apart.sorted()))), unread=True)
        elif strays:
            self.beside.passed((*strays, *apart.sorted()), unread=False)
        for node, identity in documents:
            if identity.other:
                self.skipped[identity.other] = self.skipped.get(identity.other, 0) + 1
                if not ours and not faults:
                    self.beside.other(path, identity.other)
            if identity.kind is not None and decoded is not None:
                self._take(identity.kind, node, decoded[0])

    def _take(self, kind: DocumentKind, node: Node, source: Source) -> None:
        if kind.kind == "NodeGroup":
            self.groups.append(read_node_group(node, source, self.findings))
        else:
            self.policies.append(Written(read_node_group_policy(node, source, self.findings), node))


def _documents(node: Node, source: Source, findings: Findings) -> Iterator[tuple[Node, Identity]]:
    """A document, or each item of a list of them."""
    identity = classify(node, source, findings)
    if not identity.items:
        yield node, identity
    for item in identity.items:
        yield from _documents(item, source, findings)


def _named(drafts: Drafts) -> frozenset[Named]:
    named: set[Named] = {("NodeGroupPolicy", "", draft.document.name) for draft in drafts.policies}
    return frozenset(named | {("NodeGroup", draft.document.namespace, draft.document.name) for draft in drafts.groups})


def _by_name(policies: Iterable[Draft[NodeGroupPolicy]]) -> list[NodeGroupPolicy]:
    return sorted((draft.document for draft in policies), key=lambda policy: policy.name)


def _policy_set(policy: NodeGroupPolicy, drafts: Drafts, revision: str | None) -> PolicySet:
    groups = tuple(sorted((draft.document for draft in drafts.groups_of(policy.name)), key=lambda group: group.name))
    return PolicySet(policy=policy, groups=groups, digest=policy_digest(policy, groups), revision=revision)
