"""Manifests next to the policies that declare a size that a node group decides.

SOURCE: Cluster API 1.14. A declared `spec.replicas` is written again at every sync, and the topology controller forces the
replicas of its MachineDeployments back. If a size is left out and both size annotations are present, the defaulting webhook keeps
the current one, within the bounds. Otherwise it sets 1. The Cluster webhook rejects a topology that has replicas and a size
annotation for the same MachineDeployment.
"""

from collections.abc import Iterable, Mapping

import msgspec

from reconciler.policy.documents import Discovery, NodeGroup, PolicySet
from reconciler.policy.manifests.defaulted_replicas import unset_words
from reconciler.policy.manifests.infrastructure_sizes import InfrastructureSize, infrastructure_sizes, judge_sizes
from reconciler.policy.manifests.infrastructure_tools import ReadManifest, read_manifest, resources_of
from reconciler.policy.manifests.manifest_object import (
    Bounds,
    ManifestObject,
    bounds_of,
    entry_of,
    integer,
    manifest_objects,
    pair_of,
    shown,
    text_of,
    texts_of,
    topology_entries,
)
from reconciler.policy.manifests.parent_sizes import ParentSize, parent_sizes
from reconciler.policy.neighbours import UnreadFile
from reconciler.policy.place import Place
from reconciler.policy.platform.manifests import manifests_by_group
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.yaml_nodes import Node, spot_of_entry

MANIFEST_CODES: Mapping[str, str] = {
    "ManifestUnreadable": "A manifest that cannot be read is not examined.",
    "ManifestUnrendered": "A kustomization or a chart is checked after rendering.",
    "ReplicasByParent": "An object of another project does not declare a size that a node group decides.",
    "ReplicasDropped": "A change that omits replicas says what happens to them.",
    "ReplicasInManifest": "No manifest declares a size that a node group decides.",
    "ReplicasInTopology": "A topology omits the replicas of a worker that a node group sizes.",
    "ReplicasUnset": "A manifest without replicas has both size annotations, which keep the current size.",
    "SizeNotEvaluated": "A file of an infrastructure tool shows which group the size that it declares belongs to.",
}


class _Claim(msgspec.Struct, frozen=True):
    """What of the policies sizes an object, in words, where it is written, and the bounds that it gives."""

    who: str
    place: Place
    bounds: Bounds = (None, None)
    group: str = ""


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """What manifests say: their problems, and declared sizes of infrastructure tools that are none: of no group, or kept."""

    problems: tuple[Problem, ...]
    others: tuple[InfrastructureSize, ...]


def manifest_problems(
    files: Mapping[str, bytes], sets: tuple[PolicySet, ...], group: str = "", unread_files: Iterable[UnreadFile] = ()
) -> tuple[Problem, ...]:
    """The problems of `examined`."""
    return examined(files, sets, group, unread_files).problems


def examined(
    files: Mapping[str, bytes], sets: tuple[PolicySet, ...], group: str = "", unread_files: Iterable[UnreadFile] = ()
) -> Examined:
    """Every declared size that a group of the policies decides; texts that cannot be read are warnings, one per file.

    `files` maps a path, as it is to be printed, to its bytes; `group` is as in `manifests_by_group`,
    `unread_files` could not be handed over. Manifests are data: nothing is resolved, rendered or fetched.
    """
    findings = Findings()
    unread = [_unreadable(one.problem()) for one in unread_files]
    platforms = manifests_by_group(group)
    read: list[ReadManifest] = []
    for path in sorted(files):
        reading = Findings()
        manifest_file = read_manifest(path, files[path], reading)
        faults = [problem for problem in reading.sorted() if problem.code != "UnsupportedTag"]
        if faults:
            unread.append(_unreadable(faults[0]))
        if manifest_file is None:
            continue
        read.append(manifest_file)
        findings.open(manifest_file.source)
        for document in manifest_file.documents:
            for manifest in manifest_objects(document, manifest_file.source, platforms):
                _judge(manifest, sets, findings)
            for size in parent_sizes(document):
                _judge_parent(size, manifest_file.source, sets, findings)
    others = tuple(judge_sizes(infrastructure_sizes(resources_of(read)), sets, findings))
    return Examined(problems=tuple(sorted((*findings.sorted(), *unread))), others=others)


def _unreadable(fault: Problem) -> Problem:
    message = f"the rest of this manifest is not examined: {fault.message}"
    return msgspec.structs.replace(fault, code="ManifestUnreadable", message=message, hint="", severity=Severity.WARNING)


def _judge(manifest: ManifestObject, sets: tuple[PolicySet, ...], findings: Findings) -> None:
    spec = entry_of(manifest.node, "spec")
    if manifest.topology:
        for kind, entry in topology_entries(manifest):
            _judge_topology(manifest, kind, entry, sets, findings)
        return
    claim = _claim(manifest, sets)
    if claim is None:
        return
    declared = pair_of(spec, "replicas")
    if declared is None:
        if manifest.kept:
            _judge_unset(
                f"{manifest.kind} {manifest.title}",
                entry_of(manifest.node, "metadata"),
                manifest,
                manifest.annotations,
                claim,
                findings,
            )
        return
    key, value = declared
    where = f", namespace: {manifest.namespace}" if manifest.namespace else ""
    ignored = f"{{group: {manifest.group}, kind: {manifest.kind}{where}, name: {manifest.name}, jsonPointers: [/spec/replicas]}}"
    findings.add(
        "ReplicasInManifest",
        manifest.source,
        spot_of_entry(key, value),
        f"{manifest.kind} {manifest.title} declares replicas {shown(value)}, and {claim.who} decides them: "
        "every sync would write it",
        f"{_deletion(value, manifest, claim)}. Alternatively, let Argo CD ignore it with ignoreDifferences: [{ignored}] and "
        "syncOptions: [RespectIgnoreDifferences=true]",
        related=((claim.place, f"{claim.who} is written here"),),
    )


def _judge_parent(size: ParentSize, source: Source, sets: tuple[PolicySet, ...], findings: Findings) -> None:
    """Only groups by name: an object that is made has its labels and annotations from elsewhere."""
    groups = (group for entry in sets for group in entry.groups)
    claim = next((_claim_of(group) for group in groups if _made_by(size, group)), None)
    if claim is None:
        return
    owner = size.declared.parent.owner
    findings.add(
        "ReplicasByParent",
        source,
        size.spot,
        f"{size.what} declares {size.declared.field_path} {shown(size.declared.value)}, and {claim.who} decides the replicas: "
        f"{owner} would write them again",
        f"let one of both decide: remove {claim.who} from the policy, or end the size here as {owner} documents it",
        related=((claim.place, f"{claim.who} is written here"),),
    )


def _made_by(size: ParentSize, group: NodeGroup) -> bool:
    target, platform = group.target, size.platform
    kind = target.kind or platform.sized[0]
    made = platform.target_kind(size.declared.parent.target_kind)
    return (
        (target.provider, kind) == (platform.provider, made)
        and size.declared.sizes(size.declared.parent.target_kind, target.namespace, target.name)
    )  # fmt: skip


def _deletion(value: Node, manifest: ManifestObject, claim: _Claim) -> str:
    """How to delete the line, and what the server then makes of its value."""
    if manifest.platform.unset:
        return f"{manifest.platform.unset}. Then delete this line"
    missing = [name for name in manifest.sizes if name not in manifest.annotations]
    before = integer(value)
    if missing:
        falls = f" ({unset_words(before, None, None)})" if before is not None else ""
        return (
            f"first add {_added(missing, claim.bounds, manifest)} (without both, the webhook sets 1{falls}), "
            "then delete this line"
        )
    bounds = bounds_of(manifest.annotations, manifest.sizes)
    if before is None or None in bounds:
        return "delete this line"
    return f"delete this line (then the webhook decides: {unset_words(before, *bounds)})"


def _judge_unset(
    what: str, named: Node | None, manifest: ManifestObject, annotations: Mapping[str, str], claim: _Claim, findings: Findings
) -> None:
    """Replicas left out where a group decides them: without both annotations the commit that drops them sets 1."""
    missing = [name for name in manifest.sizes if name not in annotations]
    pair = pair_of(named, "name")
    if not missing or pair is None:
        return
    findings.add(
        "ReplicasUnset",
        manifest.source,
        spot_of_entry(*pair),
        f"{what} leaves replicas out without both size annotations, and {claim.who} decides them: the commit that drops them "
        "makes them 1, whatever runs",
        f"in the same commit add {_added(missing, claim.bounds, manifest)}: with both, the webhook keeps the current size "
        "within them",
        severity=Severity.WARNING,
        related=((claim.place, f"{claim.who} is written here"),),
    )


def _judge_topology(manifest: ManifestObject, kind: str, entry: Node, sets: tuple[PolicySet, ...], findings: Findings) -> None:
    name = text_of(entry, "name")
    annotations = texts_of(entry_of(entry_of(entry, "metadata"), "annotations"))
    kept = kind in manifest.platform.kept
    sized = [key for key in manifest.sizes if key in annotations and kept]
    claim = _claim_on_topology(manifest, kind, name, annotations, sets)
    declared = pair_of(entry, "replicas")
    if declared is None:
        if claim is not None and kept:
            _judge_unset(f"the topology of Cluster {manifest.title}, {name},", entry, manifest, annotations, claim, findings)
        return
    if not sized and claim is None:
        return
    key, value = declared
    topology = f"the topology of Cluster {manifest.title} declares replicas {shown(value)} for {name}"
    if sized:
        message = f"{topology} beside {' and '.join(sized)}, which the Cluster webhook refuses"
    else:
        who = claim.who if claim else ""
        message = f"{topology}, and {who} decides them: the topology controller would write it again"
    related = ((claim.place, f"{claim.who} is written here"),) if claim is not None else ()
    hint = _topology_hint(value, annotations if kept else dict.fromkeys(manifest.sizes, ""), claim, manifest)
    findings.add("ReplicasInTopology", manifest.source, spot_of_entry(key, value), message, hint, related=related)


def _topology_hint(value: Node, annotations: Mapping[str, str], claim: _Claim | None, manifest: ManifestObject) -> str:
    """To the group with both annotations in one commit, or back to the topology after the group has left the policy."""
    missing = [key for key in manifest.sizes if key not in annotations]
    bounds = claim.bounds if claim is not None else (None, None)
    before = integer(value)
    hint = "delete this line"
    if missing:
        added = _added(missing, bounds, manifest)
        hint += f" and in the same commit add {added} under metadata.annotations: without both the webhook sets 1"
        if before is not None and None not in bounds:
            hint += f", with them {unset_words(before, *bounds)}"
    if claim is not None and claim.group:
        hint += (
            f". To leave them to the topology instead, first remove {claim.who} from the policy, which keeps its size. "
            "Then declare here exactly the replicas that run"
        )
    return hint


def _claim(manifest: ManifestObject, sets: tuple[PolicySet, ...]) -> _Claim | None:
    for entry in sets:
        for group in entry.groups:
            if _targets(group, manifest) and group.target.name == manifest.name:
                return _claim_of(group)
        for item in entry.policy.discovery:
            if _discovers(item, manifest, manifest.annotations, manifest.labels, manifest.cluster):
                return _Claim(f"discovery {item.name} of NodeGroupPolicy {entry.policy.name}", entry.policy.place)
    return None


def _claim_on_topology(
    manifest: ManifestObject, kind: str, name: str, annotations: Mapping[str, str], sets: tuple[PolicySet, ...]
) -> _Claim | None:
    """The object of a topology is called after Cluster and entry, with random characters behind."""
    stem = f"{manifest.name}-{name}"
    for entry in sets:
        for group in entry.groups:
            called = group.target.name == stem or group.target.name.startswith(f"{stem}-")
            if called and (group.target.kind or manifest.platform.sized[0]) == kind and _same_namespace(group, manifest):
                return _claim_of(group)
        for item in entry.policy.discovery:
            if not item.labels and _discovers(item, manifest, annotations, {}, manifest.name):
                return _Claim(f"discovery {item.name} of NodeGroupPolicy {entry.policy.name}", entry.policy.place)
    return None


def _claim_of(group: NodeGroup) -> _Claim:
    return _Claim(f"NodeGroup {group.name}", group.place, (group.size.min, group.size.max), group.name)


def _targets(group: NodeGroup, manifest: ManifestObject) -> bool:
    kind = group.target.kind or manifest.platform.sized[0]
    return kind == manifest.platform.target_kind(manifest.kind) and _same_namespace(group, manifest)


def _same_namespace(group: NodeGroup, manifest: ManifestObject) -> bool:
    return group.target.provider == manifest.platform.provider and manifest.namespace in ("", group.target.namespace)


def _discovers(
    item: Discovery, manifest: ManifestObject, annotations: Mapping[str, str], labels: Mapping[str, str], cluster: str
) -> bool:
    """Only targets with both size annotations are discovered."""
    return (
        item.provider == manifest.platform.provider
        and all(key in annotations for key in manifest.sizes)
        and (not item.namespaces or not manifest.namespace or manifest.namespace in item.namespaces)
        and item.cluster_name in ("", cluster)
        and all(labels.get(key) == value for key, value in item.labels)
    )


def _added(missing: list[str], bounds: Bounds, manifest: ManifestObject) -> str:
    """The annotations to write, with their values where a group gives both."""
    if None in bounds:
        return " and ".join(missing)
    values = dict(zip(manifest.sizes, bounds, strict=True))
    return " and ".join(f'{key}: "{values[key]}"' for key in missing)
