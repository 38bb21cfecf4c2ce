"""What is watched: the collections that make a World, and their paths on a server."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.platform_reading import PlatformReading, WireKind, readings
from reconciler.kube.connection.api import Api, ApiError
from reconciler.values.decoding import decode


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """All objects of one kind, in one namespace or in all. `version` and `plural` are empty until the server was asked.

    `optional`: without the right to read it, everything else is still followed, and the kind counts as not captured."""

    group: str
    kind: str
    version: str = ""
    plural: str = ""
    namespace: str = ""
    optional: bool = False

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The path of the collection, once version and plural are known."""
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
"""What is read of the cluster whose pods need nodes."""

DEVICES = tuple(
    Collection(group="resource.k8s.io", kind=kind, version="v1", plural=plural, optional=True)
    for kind, plural in (
        ("ResourceSlice", "resourceslices"),
        ("ResourceClaim", "resourceclaims"),
        ("ResourceClaimTemplate", "resourceclaimtemplates"),
    )
)
"""Read of the same cluster. Without slices and claims, no pod with resource claims is judged; without templates, no pod whose
claims are not made yet."""
SERVICES = Collection(group="", kind="Service", version="v1", plural="services")
"""What is read as well where the scheduler's default constraints need it (see `scheduling.default_spread`)."""
QUOTAS = Collection(group="autoscaling.x-k8s.io", kind="CapacityQuota", plural="capacityquotas", optional=True)
"""Read of the same cluster. Few servers have the kind. SOURCE: the Cluster Autoscaler's own definition; it is cluster-scoped."""
POD_GROUPS = Collection(group="scheduling.k8s.io", kind="PodGroup", plural="podgroups", optional=True)
"""Read of the same cluster. Servers have the kind since 1.36, if it is enabled. Without it, no pod of a PodGroup is judged."""

_QUOTAS = Collection(group="", kind="ResourceQuota", version="v1", plural="resourcequotas", optional=True)
_TEMPLATES = Collection(group="", kind="PodTemplate", version="v1", plural="podtemplates", optional=True)
BUFFERS = (
    Collection(group="autoscaling.x-k8s.io", kind="CapacityBuffer", plural="capacitybuffers", optional=True),
    _TEMPLATES,
    _QUOTAS,
)
"""Read of the same cluster where the policy keeps room for CapacityBuffers: these, what they refer to, and what bounds them."""
REQUESTS = (
    Collection(group="autoscaling.x-k8s.io", kind="ProvisioningRequest", plural="provisioningrequests", optional=True),
    _TEMPLATES,
    _QUOTAS,
)
"""Read of the same cluster where the policy answers ProvisioningRequests: these, the templates that they name, and what bounds
them."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """An API group of a platform, as a server has it. `platform` is the provider's name in policies. If `version` is empty, the
    server is asked for it."""

    platform: str
    group: str
    version: str = ""

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"


def platform_collections(served: Iterable[Served], namespaces: Iterable[str] = ()) -> tuple[Collection, ...]:
    """What is read of the cluster with the targets: in some namespaces, or in all if none is named."""
    known = tuple(served)
    return tuple(
        Collection(group=served_kind.group, kind=kind.kind, version=served_kind.version, plural=kind.plural, namespace=namespace)
        for reading, kind in followed_kinds()
        if (served_kind := spoken(known, reading, kind)) is not None
        for namespace in tuple(namespaces) or ("",)
    )


def nowhere(served: Iterable[Served]) -> frozenset[str]:
    """Kinds in API groups that the server does not have: there are none of them, which is known without a list."""
    known = tuple(served)
    platforms = {item.platform for item in known}
    return frozenset(
        kind.known_as
        for reading, kind in followed_kinds()
        if reading.name in platforms and kind.group and spoken(known, reading, kind) is None
    )


def followed_kinds() -> tuple[tuple[PlatformReading, WireKind], ...]:
    """The kinds of all platforms that are on API servers."""
    return tuple((reading, kind) for reading in readings() for kind in reading.kinds if kind.plural)


def spoken(served: Iterable[Served], reading: PlatformReading, kind: WireKind) -> Served | None:
    """The group and version of a platform's kind on the server; None if it is not there."""
    # An operator may have renamed the platform's own group. Groups that a kind names stay as they are.
    named = {item.group for item in reading.kinds if item.group}
    own = [item for item in served if item.platform == reading.name]
    return next((item for item in own if (item.group == kind.group if kind.group else item.group not in named)), None)


def cluster_api(group: str = "", version: str = "") -> Served:
    """The default platform: the first registered, in its own group and version or in others."""
    first = readings()[0]
    return Served(platform=first.name, group=first.group_here(group), version=version)


def renamed_group(served: Iterable[Served]) -> str:
    """The API group of the platform whose group an operator may choose; empty if it is not served."""
    renamed = {reading.name for reading in readings() if reading.renamed}
    return next((item.group for item in served if item.platform in renamed), "")


_NOT_FOUND = 404


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
    """The collection with version and plural, asked of the server if they are unknown. Of several versions it is the preferred
    one, or the first that has the kind.

    Raises `ApiError` 404 if the server has no such group or kind, and `UnreachableError`.
    """
    resolved = collection
    if not resolved.version:
        group = decode(api.get(f"/apis/{resolved.group}"), _Group)
        versions = list(dict.fromkeys((group.preferred_version.version, *(one.version for one in group.versions))))
        resolved = _in_first(resolved, versions, api)
    if not resolved.plural:
        plural = _plural(resolved, api)
        if plural is None:
            raise ApiError(404, "NotFound", f"{resolved.api_version} has no kind {resolved.kind}")
        resolved = msgspec.structs.replace(resolved, plural=plural)
    return resolved


def _in_first(collection: Collection, versions: list[str], api: Api) -> Collection:
    """In the first version that has the kind; in the first of all where none has it."""
    candidates = [msgspec.structs.replace(collection, version=version) for version in versions]
    for candidate in candidates if len(candidates) > 1 else ():
        plural = _plural(candidate, api)
        if plural is not None:
            return msgspec.structs.replace(candidate, plural=collection.plural or plural)
    return candidates[0]


def _plural(collection: Collection, api: Api) -> str | None:
    """By the server's own list of its kinds; None: it does not have this one."""
    try:
        listed = decode(api.get(f"/apis/{collection.group}/{collection.version}"), _Resources)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        return None
    return next((item.name for item in listed.resources if item.kind == collection.kind and "/" not in item.name), None)
