"""A tree of policy texts -> checked documents or every problem in it. All or nothing: one error and no set is usable."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reconciler.policy.checks import check_drafts
from reconciler.policy.documents import Discovery, NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.fields import DocumentKind, document_kinds
from reconciler.policy.neighbours import Beside, InForce, Named, UnreadFile
from reconciler.policy.platform_keys import platform_keys
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.document import Reading, Values
from reconciler.policy.reading.draft import Draft, Drafts
from reconciler.policy.reading.identity import Identity, classify
from reconciler.policy.reading.near_miss import may_hold_ours
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.text.nodes import Node
from reconciler.policy.text.place import Place

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
) -> PolicyTree:
    """Read all policy texts of a tree.

    `files` maps a path relative to the policy root (`/` separators) to its bytes; only .yaml, .yml and .json count.
    `now_seconds` (Unix time) is what holds and windows are checked against, `revision` the git commit of the tree. `unread` are
    files of the tree that could not be handed over, `before` is what the tree follows on, where something is in force.
    Never raises for what the texts say: whatever is wrong is a problem with its place. Files that are nobody's policy are
    passed over (see `neighbours`).
    """
    reader = _TreeReader()
    paths = sorted(path for path in files if path.lower().endswith(SUFFIXES))
    for path in paths:
        reader.read(path, files[path])
    for file in unread:
        if file.ours:
            reader.findings.report(file.problem())
        else:
            reader.beside.passed((file.problem(),), unread=True)
    findings, policies, groups = reader.findings, reader.policies, reader.groups
    drafts = Drafts(policies=tuple(policies), groups=tuple(groups))
    reader.beside.judge(findings, _named(drafts), before)
    check_drafts(drafts, findings, now_seconds)
    return PolicyTree(
        sets=() if findings.failed else tuple(_policy_set(policy, drafts, revision) for policy in _by_name(policies)),
        problems=findings.sorted(),
        skipped=tuple(sorted(reader.skipped.items())),
        neighbours=reader.beside.sorted(),
        files=len(paths),
        policies=len(policies),
        groups=len(groups),
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
    return "sha256:" + hashlib.sha256(msgspec.json.encode(bare, order="deterministic")).hexdigest()


def read_node_group(node: Node, source: Source, findings: Findings) -> Draft[NodeGroup]:
    """One document that is known to be a NodeGroup, by itself: nothing across documents is checked."""
    reading, values = _values(_kind("NodeGroup"), node, source, findings)
    return Draft(msgspec.convert(values, NodeGroup), reading)


def read_node_group_policy(node: Node, source: Source, findings: Findings) -> Draft[NodeGroupPolicy]:
    """One document that is known to be a NodeGroupPolicy, by itself."""
    reading, values = _values(_kind("NodeGroupPolicy"), node, source, findings)
    return Draft(msgspec.convert(values, NodeGroupPolicy), reading)


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
        self.policies: list[Draft[NodeGroupPolicy]] = []
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
        reading, values = _values(kind, node, source, self.findings)
        if kind.kind == "NodeGroup":
            self.groups.append(Draft(msgspec.convert(values, NodeGroup), reading))
        else:
            self.policies.append(Draft(msgspec.convert(values, NodeGroupPolicy), reading))


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


def _by_name(policies: list[Draft[NodeGroupPolicy]]) -> list[NodeGroupPolicy]:
    return sorted((draft.document for draft in policies), key=lambda policy: policy.name)


def _policy_set(policy: NodeGroupPolicy, drafts: Drafts, revision: str | None) -> PolicySet:
    groups = tuple(sorted((draft.document for draft in drafts.groups_of(policy.name)), key=lambda group: group.name))
    return PolicySet(policy=policy, groups=groups, digest=policy_digest(policy, groups), revision=revision)
