"""A tree of policy texts -> checked documents or every problem in it. All or nothing: one error and no set is usable."""

import hashlib
from collections.abc import Mapping

import msgspec

from reconciler.policy.checks import check_drafts
from reconciler.policy.documents import Discovery, NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.fields import DocumentKind, document_kinds
from reconciler.policy.platform_keys import platform_keys
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.document import Reading, Values
from reconciler.policy.reading.draft import Draft, Drafts
from reconciler.policy.reading.identity import classify
from reconciler.policy.text.nodes import Node
from reconciler.policy.text.place import Place
from reconciler.policy.text.yaml_text import compose_documents, read_source

SUFFIXES = (".yaml", ".yml", ".json")
_BUILT_IN = Place("(built in)", 1, 1)


def read_tree(files: Mapping[str, bytes], *, now_seconds: int, revision: str | None = None) -> PolicyTree:
    """Read all policy texts of a tree.

    `files` maps a path relative to the policy root (`/` separators) to its bytes; only .yaml, .yml and .json count.
    `now_seconds` (Unix time) is what holds and windows are checked against, `revision` the git commit of the tree.
    Never raises for what the texts say: whatever is wrong is a problem with its place.
    """
    findings = Findings()
    skipped: dict[str, int] = {}
    policies: list[Draft[NodeGroupPolicy]] = []
    groups: list[Draft[NodeGroup]] = []
    paths = sorted(path for path in files if path.lower().endswith(SUFFIXES))
    for path in paths:
        decoded = read_source(path, files[path], findings)
        if decoded is None:
            continue
        source, text = decoded
        for node in compose_documents(source, text, findings):
            _take(node, source, findings, policies, groups, skipped)
    drafts = Drafts(policies=tuple(policies), groups=tuple(groups))
    check_drafts(drafts, findings, now_seconds)
    return PolicyTree(
        sets=() if findings.failed else tuple(_policy_set(policy, drafts, revision) for policy in _by_name(policies)),
        problems=findings.sorted(),
        skipped=tuple(sorted(skipped.items())),
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


def _take(
    node: Node,
    source: Source,
    findings: Findings,
    policies: list[Draft[NodeGroupPolicy]],
    groups: list[Draft[NodeGroup]],
    skipped: dict[str, int],
) -> None:
    """Read one document, or each item of a list of them, or count it when it is of another API group."""
    identity = classify(node, source, findings)
    for item in identity.items:
        _take(item, source, findings, policies, groups, skipped)
    if identity.other:
        skipped[identity.other] = skipped.get(identity.other, 0) + 1
    if identity.kind is None:
        return
    reading, values = _values(identity.kind, node, source, findings)
    if identity.kind.kind == "NodeGroup":
        groups.append(Draft(msgspec.convert(values, NodeGroup), reading))
    else:
        policies.append(Draft(msgspec.convert(values, NodeGroupPolicy), reading))


def _by_name(policies: list[Draft[NodeGroupPolicy]]) -> list[NodeGroupPolicy]:
    return sorted((draft.document for draft in policies), key=lambda policy: policy.name)


def _policy_set(policy: NodeGroupPolicy, drafts: Drafts, revision: str | None) -> PolicySet:
    groups = tuple(sorted((draft.document for draft in drafts.groups_of(policy.name)), key=lambda group: group.name))
    return PolicySet(policy=policy, groups=groups, digest=policy_digest(policy, groups), revision=revision)
