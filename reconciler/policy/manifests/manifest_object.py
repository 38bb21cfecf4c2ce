"""Objects of platforms in manifests, as far as their size goes: data, of which nothing is resolved, rendered or fetched."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.policy.platform.manifests import PlatformManifests, workers_field
from reconciler.policy.problems.findings import Source
from reconciler.policy.yaml_nodes import Mapping as MappingNode
from reconciler.policy.yaml_nodes import Node, Scalar, Sequence, is_null
from reconciler.values.whole_number import whole_number

Bounds = tuple[int | None, int | None]
_LARGEST_SIZE = 2**31 - 1


class ManifestObject(msgspec.Struct, frozen=True):
    """One object of a manifest; `namespace` is empty where the manifest leaves it to whoever applies it. `group` is its API
    group, which is the prefix of its platform's annotations too."""

    platform: PlatformManifests
    group: str
    kind: str
    namespace: str
    name: str
    cluster: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    node: MappingNode
    source: Source

    @property
    def sizes(self) -> tuple[str, ...]:
        """The keys of both size annotations."""
        return size_annotations(self.group)

    @property
    def title(self) -> str:
        """Namespace, where it is there, and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def topology(self) -> bool:
        """Whether its workers declare sizes, and not it itself."""
        return self.kind == self.platform.topology

    @property
    def kept(self) -> bool:
        """Whether both size annotations keep a size that is left out."""
        return self.kind in self.platform.kept


def size_annotations(group: str) -> tuple[str, ...]:
    """The keys of the minimum and the maximum, with an API group in front."""
    return tuple(f"{group}/cluster-api-autoscaler-node-group-{bound}-size" for bound in ("min", "max"))


def manifest_objects(node: Node, source: Source, platforms: Mapping[str, PlatformManifests]) -> Iterator[ManifestObject]:
    """The objects of platforms in a document, those of lists included; `platforms` by their API groups."""
    for item in objects_of(node):
        yield from _of_platform(item, source, platforms)


def objects_of(node: Node) -> Iterator[MappingNode]:
    """The object that a document is, or those of the list that it is."""
    if not isinstance(node, MappingNode):
        return
    items = entry_of(node, "items")
    if text_of(node, "kind").endswith("List") and isinstance(items, Sequence):
        for item in items.items:
            yield from objects_of(item)
        return
    yield node


def _of_platform(node: MappingNode, source: Source, platforms: Mapping[str, PlatformManifests]) -> Iterator[ManifestObject]:
    kind, version = text_of(node, "kind"), text_of(node, "apiVersion")
    group = version.partition("/")[0]
    platform = platforms.get(group)
    if platform is not None and kind in (*platform.sized, platform.topology):
        metadata, spec = entry_of(node, "metadata"), entry_of(node, "spec")
        yield ManifestObject(
            platform=platform,
            group=group,
            kind=kind,
            namespace=text_of(metadata, "namespace"),
            name=text_of(metadata, "name"),
            cluster=text_of(spec, "clusterName"),
            labels=texts_of(entry_of(metadata, "labels")),
            annotations=texts_of(entry_of(metadata, "annotations")),
            node=node,
            source=source,
        )


def topology_entries(manifest: ManifestObject) -> Iterator[tuple[str, Node]]:
    """The entries of a topology's workers, each with the kind of the object that is made of it."""
    workers = entry_of(entry_of(entry_of(manifest.node, "spec"), "topology"), "workers")
    for kind in manifest.platform.workers:
        entries = entry_of(workers, workers_field(kind))
        yield from ((kind, entry) for entry in (entries.items if isinstance(entries, Sequence) else ()))


def pair_of(node: Node | None, key: str) -> tuple[Node, Node] | None:
    """Key and value of an entry; None where it is not there, or null."""
    if not isinstance(node, MappingNode):
        return None
    pairs = (pair for pair in node.pairs if isinstance(pair[0], Scalar) and pair[0].text == key)
    return next((pair for pair in pairs if not is_null(pair[1])), None)


def integer(value: Node) -> int | None:
    """A whole number from 0 that a size may have; None for anything else."""
    return _size(value.text) if isinstance(value, Scalar) else None


def bounds_of(annotations: Mapping[str, str], keys: tuple[str, ...]) -> Bounds:
    """Both, or none: as the webhook counts them."""
    low, high = (_size(annotations.get(key, "")) for key in keys)
    if low is None or high is None or high < low:
        return None, None
    return low, high


def _size(text: str) -> int | None:
    number = whole_number(text)
    return number if number is not None and number <= _LARGEST_SIZE else None


def entry_of(node: Node | None, key: str) -> Node | None:
    """The value of an entry."""
    pair = pair_of(node, key)
    return None if pair is None else pair[1]


def text_of(node: Node | None, key: str) -> str:
    """The text of an entry; empty where there is none."""
    value = entry_of(node, key)
    return value.text if isinstance(value, Scalar) else ""


def texts_of(node: Node | None) -> dict[str, str]:
    """A mapping of texts."""
    if not isinstance(node, MappingNode):
        return {}
    return {key.text: value.text for key, value in node.pairs if isinstance(key, Scalar) and isinstance(value, Scalar)}


def shown(value: Node) -> str:
    """A value in a message."""
    return value.text[:40] if isinstance(value, Scalar) else "as a structure"
