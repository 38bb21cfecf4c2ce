"""How the targets of one platform are read: what each platform tells this layer, and where the kinds of all of them meet.

Which kinds there are is data. The code that reads their objects is imported when the first of them is there.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Protocol

import msgspec

from reconciler import registered_platforms
from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.values.cluster_identity import ClusterIdentity

Key = tuple[str, str]
"""Namespace and name. For an object outside Kubernetes, the namespace is a region."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """How to recognize a cloud's own answer. `list_key` is above its list or above one object (`AutoScalingGroups`). The other
    key has the name of an item (`AutoScalingGroupName`; empty: items only have numbers)."""

    list_key: str
    item_name: str = ""


class Reference(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """An object that a target refers to. An empty namespace is that of the target."""

    group: str
    kind: str
    namespace: str = ""
    name: str = ""


class Hiding(Protocol):
    """What puts pseudonyms in the place of words that are not to be shared."""

    def word(self, text: str) -> str:
        """For one word."""

    def value(self, key: str, text: str) -> str:
        """For the value of a label, taint or annotation."""

    def tokens(self, text: str) -> str:
        """For the words of a text; what stands between them stays."""


class WireKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of object.

    `name` is the name of the kind among all platforms (empty: `kind`). `group` is its API group, if that is not the
    platform's. `plural` is its resource on a server; if empty, it has no watch of its own. `target`: its objects are targets,
    so the owners of their fields are kept. `needed`: a decision on targets of this platform needs it. `any_kind_ending_so`:
    every kind with this ending, of any group, is watched once a target refers to one. `envelope`: it comes in a cloud's own
    list. `verbs` are the verbs that mode Enforce needs in addition to reading. `optional` says what they are for, if a loop
    can work without them. `only_for` are the kinds of target that cannot be judged without its objects (empty: all of the
    platform). `of_cluster`: each object is a workload cluster, which its targets name.
    """

    kind: str
    name: str = ""
    group: str = ""
    plural: str = ""
    target: bool = False
    needed: bool = False
    any_kind_ending_so: bool = False
    envelope: Envelope | None = None
    verbs: tuple[str, ...] = ()
    optional: str = ""
    only_for: tuple[str, ...] = ()
    of_cluster: bool = False

    @property
    def known_as(self) -> str:
        """What captures and plans call it."""
        return self.name or self.kind


class Objects(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one platform. `group` is its API group here, `nodes` are those of the cluster, with their `shapes`.
    `captured` names its kinds that were read at all."""

    group: str
    captured: frozenset[str]
    kept: Mapping[tuple[str, str], Mapping[Key, Any]]
    nodes: tuple[Node, ...]
    shapes: tuple[NodeShape, ...] = ()

    def of(self, kind: str) -> Mapping[Key, Any]:
        """The objects of one kind of the platform by their keys, in order; a kind is named as in `WireKind.known_as`."""
        return self.kept.get(("", kind), {})

    def ending(self, kind: str) -> Mapping[tuple[str, str], Mapping[Key, Any]]:
        """Those of every kind with that ending, by group and kind."""
        return {where: items for where, items in self.kept.items() if where[0] and where[1].endswith(kind)}


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform brings into a World, in any order. `clusters` are the workload clusters that it describes."""

    targets: Iterable[TargetFacts] = ()
    machines: Iterable[Machine] = ()
    clusters: Iterable[ClusterIdentity] = ()


class KindObjects(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of the objects of one kind.

    `type` is the pruned struct that an item decodes to; it has a field `kind`. `key` returns an item's key, if that is not the
    namespace and name in `metadata`. `shown` returns what a redacted snapshot keeps of an item, given the maker of pseudonyms.
    Without it, that is decided word by word. `words_of` are the words of an item by which other objects refer to it: they stay.
    """

    type: type[msgspec.Struct]
    key: Callable[[Any], Key] | None = None
    shown: Callable[[dict[str, Any], Hiding], dict[str, Any]] | None = None
    words_of: Callable[[dict[str, Any]], Iterable[str]] = lambda _: ()


class PlatformObjects(msgspec.Struct, frozen=True, kw_only=True):
    """How to read the objects of one platform. Nothing here may raise for the content of an object: that becomes a sentence in
    `problems`, or an `UnreadableError` if that is impossible.

    `kinds` are its kinds as in `WireKind.known_as`, and `rows` makes facts from their objects. Without any object there are no
    rows. `referred` gives the object that a decoded target refers to, if that object must be read too. `words` are the label
    keys, label values and states that its facts compare: they stay in a redacted snapshot.
    """

    kinds: Mapping[str, KindObjects]
    rows: Callable[[Objects], Rows]
    referred: Callable[[Any], Reference | None] = lambda _: None
    words: tuple[str, ...] = ()


class PlatformReading(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to read of one platform.

    `name` is the provider's name in policies. `group` is its API group (empty: none). `renamed`: an operator may have given the
    group another name. `kinds` are its objects. `annotations` are prefixes of keys that decisions read, on its objects and on
    nodes. `autoscaler_namespaces` are where the platform itself runs an autoscaler that would size these targets.
    `passing_taints` are prefixes of taints that its nodes have only for a while, so new nodes will not have them.
    `starting_taints` are taints of a node until it is usable, even if it is Ready. `labels` are keys of node labels whose values
    stay in a redacted snapshot.
    """

    name: str
    kinds: tuple[WireKind, ...]
    group: str = ""
    renamed: bool = False
    annotations: tuple[str, ...] = ()
    autoscaler_namespaces: tuple[str, ...] = ()
    passing_taints: tuple[str, ...] = ()
    starting_taints: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def group_here(self, other: str) -> str:
        """Its API group, when an operator says `other` (empty: nothing)."""
        return other if other and self.renamed else self.group

    def group_of(self, kind: WireKind, other: str = "") -> str:
        """The API group of one of its kinds."""
        return "" if kind.envelope is not None else kind.group or self.group_here(other)


@cache
def readings() -> tuple[PlatformReading, ...]:
    """Those of all platforms."""
    return registered_platforms.parts("reading", "READING")


@cache
def objects_of(platform: str) -> PlatformObjects:
    """How the objects of the platform of that name are read."""
    number = next(number for number, reading in enumerate(readings()) if reading.name == platform)
    objects: PlatformObjects = registered_platforms.part(number, "objects", "OBJECTS")
    return objects


def kind_objects(reading: PlatformReading, kind: WireKind) -> KindObjects:
    """What is read of the objects of a platform's kind."""
    return objects_of(reading.name).kinds[kind.known_as]


@cache
def starting_taints() -> frozenset[str]:
    """Taints of all platforms that a node carries until it is usable."""
    return frozenset(taint for reading in readings() for taint in reading.starting_taints)


@cache
def node_labels() -> frozenset[str]:
    """Keys of labels of all platforms that say what a node is."""
    return frozenset(label for reading in readings() for label in reading.labels)


def group_of_targets(kind: str) -> str:
    """The API group of a kind of target, where no operator has given it another name; empty for a cloud's."""
    groups = (reading.group_of(item) for reading in readings() for item in reading.kinds if item.target and item.known_as == kind)
    return next(groups, "")


def target_kinds() -> tuple[str, ...]:
    """What the kinds of target of all platforms are called."""
    return tuple(kind.known_as for reading in readings() for kind in reading.kinds if kind.target)


def envelopes() -> tuple[tuple[Envelope, str], ...]:
    """The clouds' own lists, each with the kind of its items."""
    return tuple((kind.envelope, kind.kind) for reading in readings() for kind in reading.kinds if kind.envelope is not None)


def read_annotations(capi_group: str) -> tuple[str, ...]:
    """Prefixes of annotations that decisions read, of all platforms."""
    groups = (reading.group_here(capi_group) for reading in readings())
    own = (prefix for reading in readings() for prefix in reading.annotations)
    return tuple(dict.fromkeys((*(f"{group}/" for group in groups if group), *own)))


def known_kind(group: str, kind: str) -> str:
    """What a kind of an API group is called; as it is, where no platform of that group has it."""
    kinds = (
        item.known_as for reading in readings() for item in reading.kinds if (reading.group_of(item), item.kind) == (group, kind)
    )
    return next(kinds, kind)


def of_any_group(kind: str) -> bool:
    """Whether objects of this kind are read in whatever group they are, once a target refers to one."""
    return any(item.any_kind_ending_so and kind.endswith(item.kind) for reading in readings() for item in reading.kinds)


def is_target(group: str, kind: str, capi_group: str = "") -> bool:
    """Whether objects of this kind are targets of some platform."""
    return any(
        item.target and item.kind == kind and reading.group_of(item, capi_group) == group
        for reading in readings()
        for item in reading.kinds
    )
