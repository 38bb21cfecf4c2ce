"""Manifests beside the policies that fight over replicas: what declares a size that a node group decides.

SOURCE: Cluster API 1.14: a declared `spec.replicas` is written again at every sync, and the topology controller forces the
replicas of its MachineDeployments back; where a size is left out, the defaulting webhook keeps the one that is there (inside
its bounds) only if both size annotations are present, and sets 1 otherwise; the Cluster webhook refuses a topology that has
replicas and a size annotation for the same MachineDeployment.
"""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.policy.documents import Discovery, NodeGroup, PolicySet
from reconciler.policy.findings import Findings, Source
from reconciler.policy.nodes import Mapping as MappingNode
from reconciler.policy.nodes import Node, Scalar, Sequence, spot_of_entry
from reconciler.policy.place import Place
from reconciler.policy.problem import Problem, Severity
from reconciler.policy.yaml_text import compose_documents, read_source

CLUSTER_API = "cluster.x-k8s.io"
SIZE_ANNOTATIONS = tuple(f"{CLUSTER_API}/cluster-api-autoscaler-node-group-{bound}-size" for bound in ("min", "max"))
MANIFEST_CODES: Mapping[str, str] = {
    "ManifestUnreadable": "A manifest that cannot be read is not examined.",
    "ReplicasInManifest": "A size that a node group decides is declared nowhere else.",
    "ReplicasInTopology": "A topology leaves the replicas of a MachineDeployment out that a node group sizes.",
}
_SIZED = ("MachineDeployment", "MachineSet", "MachinePool")


class _Object(msgspec.Struct, frozen=True):
    """One object of a manifest; `namespace` is empty where the manifest leaves it to whoever applies it."""

    kind: str
    namespace: str
    name: str
    cluster: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    node: MappingNode
    source: Source


def manifest_problems(files: Mapping[str, bytes], sets: tuple[PolicySet, ...]) -> tuple[Problem, ...]:
    """Every declared size that a group of the policies decides; texts that cannot be read are warnings, one a file.

    `files` maps a path, as it is to be printed, to its bytes. Manifests are data: nothing is resolved, rendered or fetched.
    """
    findings = Findings()
    unread: list[Problem] = []
    for path in sorted(files):
        reading = Findings()
        decoded = read_source(path, files[path], reading)
        documents = compose_documents(*decoded, reading) if decoded is not None else []
        faults = [problem for problem in reading.sorted() if problem.code != "UnsupportedTag"]
        if faults:
            unread.append(_unreadable(faults[0]))
        if decoded is None:
            continue
        findings.open(decoded[0])
        for document in documents:
            for found in _objects(document, decoded[0]):
                _judge(found, sets, findings)
    return tuple(sorted((*findings.sorted(), *unread)))


def _unreadable(fault: Problem) -> Problem:
    message = f"the rest of this manifest is not examined: {fault.message}"
    return msgspec.structs.replace(fault, code="ManifestUnreadable", message=message, hint="", severity=Severity.WARNING)


def _objects(node: Node, source: Source) -> Iterator[_Object]:
    """The Cluster API objects of a document, those of lists included."""
    if not isinstance(node, MappingNode):
        return
    kind, version = _text(node, "kind"), _text(node, "apiVersion")
    items = _entry(node, "items")
    if kind.endswith("List") and isinstance(items, Sequence):
        for item in items.items:
            yield from _objects(item, source)
    elif version.partition("/")[0] == CLUSTER_API and kind in (*_SIZED, "Cluster"):
        metadata, spec = _entry(node, "metadata"), _entry(node, "spec")
        yield _Object(
            kind=kind,
            namespace=_text(metadata, "namespace"),
            name=_text(metadata, "name"),
            cluster=_text(spec, "clusterName"),
            labels=_texts(_entry(metadata, "labels")),
            annotations=_texts(_entry(metadata, "annotations")),
            node=node,
            source=source,
        )


def _judge(found: _Object, sets: tuple[PolicySet, ...], findings: Findings) -> None:
    spec = _entry(found.node, "spec")
    if found.kind == "Cluster":
        workers = _entry(_entry(_entry(spec, "topology"), "workers"), "machineDeployments")
        for entry in workers.items if isinstance(workers, Sequence) else ():
            _judge_topology(found, entry, sets, findings)
        return
    declared = _pair(spec, "replicas")
    claim = _claim(found, sets)
    if declared is None or claim is None:
        return
    key, value = declared
    who, place = claim
    missing = [name for name in SIZE_ANNOTATIONS if name not in found.annotations]
    first = f"first add {' and '.join(missing)} (without both, the webhook sets 1 when the line goes), then " if missing else ""
    where = f", namespace: {found.namespace}" if found.namespace else ""
    ignored = f"{{group: {CLUSTER_API}, kind: {found.kind}{where}, name: {found.name}, jsonPointers: [/spec/replicas]}}"
    findings.add(
        "ReplicasInManifest",
        found.source,
        spot_of_entry(key, value),
        f"{found.kind} {_named(found)} declares replicas {_shown(value)}, and {who} decides them: every sync would write it",
        f"{first}delete this line; or let Argo CD leave it alone with ignoreDifferences: [{ignored}] and "
        "syncOptions: [RespectIgnoreDifferences=true]",
        related=((place, f"{who} is written here"),),
    )


def _judge_topology(found: _Object, entry: Node, sets: tuple[PolicySet, ...], findings: Findings) -> None:
    declared = _pair(entry, "replicas")
    if declared is None:
        return
    name = _text(entry, "name")
    annotations = _texts(_entry(_entry(entry, "metadata"), "annotations"))
    sized = [key for key in SIZE_ANNOTATIONS if key in annotations]
    claim = _claim_on_topology(found, name, annotations, sets)
    if not sized and claim is None:
        return
    key, value = declared
    topology = f"the topology of Cluster {_named(found)} declares replicas {_shown(value)} for {name}"
    hint = "delete this line"
    if sized:
        message = f"{topology} beside {' and '.join(sized)}, which the Cluster webhook refuses"
    else:
        message = f"{topology}, and {claim[0] if claim else ''} decides them: the topology controller would write it again"
    missing = [key for key in SIZE_ANNOTATIONS if key not in annotations]
    if missing:
        hint += f" and in the same commit add {' and '.join(missing)} under metadata.annotations: without both the webhook sets 1"
    related = ((claim[1], f"{claim[0]} is written here"),) if claim is not None else ()
    findings.add("ReplicasInTopology", found.source, spot_of_entry(key, value), message, hint, related=related)


def _claim(found: _Object, sets: tuple[PolicySet, ...]) -> tuple[str, Place] | None:
    """What of the policies sizes this object, in words, and where it is written."""
    for entry in sets:
        for group in entry.groups:
            if _targets(group, found) and group.target.name == found.name:
                return f"NodeGroup {group.name}", group.place
        for item in entry.policy.discovery:
            if _discovers(item, found, found.annotations, found.labels, found.cluster):
                return f"discovery {item.name} of NodeGroupPolicy {entry.policy.name}", entry.policy.place
    return None


def _claim_on_topology(
    found: _Object, name: str, annotations: Mapping[str, str], sets: tuple[PolicySet, ...]
) -> tuple[str, Place] | None:
    """The MachineDeployment of a topology is called after Cluster and entry, with random characters behind."""
    stem = f"{found.name}-{name}"
    for entry in sets:
        for group in entry.groups:
            called = group.target.name == stem or group.target.name.startswith(f"{stem}-")
            if called and group.target.kind in ("", "MachineDeployment") and _same_namespace(group, found):
                return f"NodeGroup {group.name}", group.place
        for item in entry.policy.discovery:
            if not item.labels and _discovers(item, found, annotations, {}, found.name):
                return f"discovery {item.name} of NodeGroupPolicy {entry.policy.name}", entry.policy.place
    return None


def _targets(group: NodeGroup, found: _Object) -> bool:
    return (group.target.kind or "MachineDeployment") == found.kind and _same_namespace(group, found)


def _same_namespace(group: NodeGroup, found: _Object) -> bool:
    return group.target.provider == "clusterAPI" and found.namespace in ("", group.target.namespace)


def _discovers(item: Discovery, found: _Object, annotations: Mapping[str, str], labels: Mapping[str, str], cluster: str) -> bool:
    """Only targets with both size annotations are discovered."""
    return (
        item.provider == "clusterAPI"
        and all(key in annotations for key in SIZE_ANNOTATIONS)
        and (not item.namespaces or not found.namespace or found.namespace in item.namespaces)
        and item.cluster_name in ("", cluster)
        and all(labels.get(key) == value for key, value in item.labels)
    )


def _pair(node: Node | None, key: str) -> tuple[Node, Node] | None:
    if not isinstance(node, MappingNode):
        return None
    found = (pair for pair in node.pairs if isinstance(pair[0], Scalar) and pair[0].text == key)
    return next((pair for pair in found if not (isinstance(pair[1], Scalar) and _null(pair[1]))), None)


def _null(value: Scalar) -> bool:
    return value.plain and value.text in ("", "~", "null")


def _entry(node: Node | None, key: str) -> Node | None:
    pair = _pair(node, key)
    return None if pair is None else pair[1]


def _text(node: Node | None, key: str) -> str:
    value = _entry(node, key)
    return value.text if isinstance(value, Scalar) else ""


def _texts(node: Node | None) -> dict[str, str]:
    if not isinstance(node, MappingNode):
        return {}
    return {key.text: value.text for key, value in node.pairs if isinstance(key, Scalar) and isinstance(value, Scalar)}


def _named(found: _Object) -> str:
    return f"{found.namespace}/{found.name}" if found.namespace else found.name


def _shown(value: Node) -> str:
    return value.text[:40] if isinstance(value, Scalar) else "as a structure"
