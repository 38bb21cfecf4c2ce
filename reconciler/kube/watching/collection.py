"""What is watched: the collections that a World is made of, and where a server keeps each."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.platform_reading import PlatformReading, WireKind, readings
from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import Api, ApiError


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """All objects of one kind, in one namespace or in all. `version` and `plural` are empty until a server was asked."""

    group: str
    kind: str
    version: str = ""
    plural: str = ""
    namespace: str = ""

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where the collection is, once version and plural are known."""
        top = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{top}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{top}/{self.plural}"

    def __str__(self) -> str:
        return f"{self.kind} in {self.namespace}" if self.namespace else self.kind


WORKLOAD = tuple(
    Collection(group=group, kind=kind, version="v1", plural=plural)
    for group, kind, plural in (
        ("", "Node", "nodes"),
        ("", "Pod", "pods"),
        ("", "Namespace", "namespaces"),
        ("", "ReplicationController", "replicationcontrollers"),
        ("", "PersistentVolume", "persistentvolumes"),
        ("", "PersistentVolumeClaim", "persistentvolumeclaims"),
        ("", "LimitRange", "limitranges"),
        ("apps", "ReplicaSet", "replicasets"),
        ("apps", "StatefulSet", "statefulsets"),
        ("apps", "DaemonSet", "daemonsets"),
        ("apps", "Deployment", "deployments"),
        ("batch", "Job", "jobs"),
        ("policy", "PodDisruptionBudget", "poddisruptionbudgets"),
        ("scheduling.k8s.io", "PriorityClass", "priorityclasses"),
        ("storage.k8s.io", "StorageClass", "storageclasses"),
        ("storage.k8s.io", "CSINode", "csinodes"),
        ("storage.k8s.io", "CSIDriver", "csidrivers"),
        ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities"),
        ("storage.k8s.io", "VolumeAttachment", "volumeattachments"),
        ("node.k8s.io", "RuntimeClass", "runtimeclasses"),
        ("resource.k8s.io", "DeviceClass", "deviceclasses"),
    )
)
"""What is read of the cluster whose pods are to be placed."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """An API group of a platform as a server speaks it. `platform` is the provider's name in policies; an empty `version` is
    asked of the server."""

    platform: str
    group: str
    version: str = ""

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"


def platform_collections(served: Iterable[Served], namespaces: Iterable[str] = ()) -> tuple[Collection, ...]:
    """What is read of the cluster that holds the targets: in some namespaces, or in all when none is named."""
    known = tuple(served)
    return tuple(
        Collection(group=found.group, kind=kind.kind, version=found.version, plural=kind.plural, namespace=namespace)
        for reading, kind in followed_kinds()
        if (found := spoken(known, reading, kind)) is not None
        for namespace in tuple(namespaces) or ("",)
    )


def nowhere(served: Iterable[Served]) -> frozenset[str]:
    """Kinds of a platform that a server has, in API groups that it does not: there is none, which is known without a list."""
    known = tuple(served)
    platforms = {item.platform for item in known}
    return frozenset(
        kind.known_as
        for reading, kind in followed_kinds()
        if reading.name in platforms and kind.group and spoken(known, reading, kind) is None
    )


def followed_kinds() -> tuple[tuple[PlatformReading, WireKind], ...]:
    """The kinds of all platforms that a server keeps."""
    return tuple((reading, kind) for reading in readings() for kind in reading.kinds if kind.plural)


def spoken(served: Iterable[Served], reading: PlatformReading, kind: WireKind) -> Served | None:
    """In which group and version a kind of a platform is spoken; None: it is not."""
    # An operator may have given the platform's own group another name; those that a kind names are as they are.
    named = {item.group for item in reading.kinds if item.group}
    own = [item for item in served if item.platform == reading.name]
    return next((item for item in own if (item.group == kind.group if kind.group else item.group not in named)), None)


def cluster_api(group: str = "", version: str = "") -> Served:
    """The platform that is there when nobody says which: the first registered, in a group and version of its own or another."""
    first = readings()[0]
    return Served(platform=first.name, group=first.group_here(group), version=version)


def renamed_group(served: Iterable[Served]) -> str:
    """The API group of the platform whose group an operator may choose; empty where it is not served."""
    renamed = {reading.name for reading in readings() if reading.renamed}
    return next((item.group for item in served if item.platform in renamed), "")


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    preferred_version: _Version
    versions: list[_Version]


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


def located(collection: Collection, api: Api) -> Collection:
    """The collection with version and plural, asked of the server where they are not known.

    Raises `ApiError` 404 when the server has no such group or kind, and `UnreachableError`.
    """
    found = collection
    if not found.version:
        group = msgspec.json.decode(api.get(f"/apis/{found.group}"), type=_Group)
        found = msgspec.structs.replace(found, version=group.preferred_version.version)
    if not found.plural:
        listed = msgspec.json.decode(api.get(f"/apis/{found.group}/{found.version}"), type=_Resources)
        plural = next((item.name for item in listed.resources if item.kind == found.kind and "/" not in item.name), None)
        if plural is None:
            raise ApiError(404, "NotFound", f"{found.api_version} has no kind {found.kind}")
        found = msgspec.structs.replace(found, plural=plural)
    return found


# Where a server keeps the object of a target, whichever platform it is of.


class TargetObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object by `apiVersion` and kind as it is written in manifests, and its path."""

    api_version: str
    kind: str
    path: str


def object_of(target: TargetRef, served: Iterable[Served]) -> TargetObject | None:
    """The object of a target; None for one that no server keeps, or not one of these."""
    known = tuple(served)
    for reading, kind in followed_kinds():
        if kind.target and kind.known_as == target.kind:
            found = spoken(known, reading, kind)
            if found is None:
                return None
            path = f"/apis/{found.api_version}/namespaces/{target.namespace}/{kind.plural}/{target.name}"
            return TargetObject(api_version=found.api_version, kind=kind.kind, path=path)
    return None
