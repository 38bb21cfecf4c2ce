"""A live cluster, read once: the lists that a snapshot holds, in the form in which they are read again."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Raw

from reconciler.cluster.platform_reading import envelopes, is_target, kind_objects, objects_of, of_any_group, readings
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.listing import Listing, Object, name_of
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.redaction import NEVER_SHARED, redacted
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.wire.meta import api_group
from reconciler.cluster.workloads.capacity_buffer import BUFFER
from reconciler.cluster.workloads.provisioning_request import REQUEST
from reconciler.cluster.world import World
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.connection.feature_gates import feature_gates
from reconciler.kube.connection.server_version import server_version
from reconciler.kube.watching.collection import (
    BUFFERS,
    DEVICES,
    POD_GROUPS,
    QUOTAS,
    REQUESTS,
    SERVICES,
    WORKLOAD,
    Collection,
    Served,
    located,
    nowhere,
    platform_collections,
    renamed_group,
)
from reconciler.kube.watching.watch_wire import ListPage
from reconciler.policy.documents import PolicySet
from reconciler.providers.cloud_answers import CloudQuestion
from reconciler.providers.live_platforms import ask_clouds
from reconciler.scheduling.default_spread import needs_services
from reconciler.values.decoding import decode, decoder
from reconciler.values.feature_gate import REPORTED
from reconciler.values.instant import instant_text

FORMAT_VERSION = "1.0"
PAGE = 500
_FORBIDDEN, _NOT_FOUND, _GONE = 403, 404, 410
_page = decoder(ListPage)
_object = decoder(dict)


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A collection that was not captured, and why."""

    kind: str
    why: str


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """What was read at `captured_seconds` (Unix time). `kinds` were captured even where nothing is there; `unread` are kinds
    that the server has and that we may not list. `templates` are group and plural of the infrastructure templates in use.
    `version` is what the API server of the workload says (`v1.36.3`). `gates` are its feature gates that decide where pods run.
    """

    cluster: str
    captured_seconds: int
    capi_group: str
    listings: tuple[Listing, ...]
    kinds: tuple[str, ...]
    unread: tuple[Unread, ...] = ()
    templates: tuple[tuple[str, str], ...] = ()
    version: str = ""
    gates: tuple[tuple[str, bool], ...] = ()

    def files(self) -> dict[str, bytes]:
        """The files of a snapshot by relative name: `snapshot.yaml` and one list per kind. The same objects give the same bytes,
        but for the instant."""
        return {"snapshot.yaml": self._manifest(), **{f"{item.file}.json": item.encoded() for item in self.listings}}

    def world(self) -> World:
        """The World that these files describe. Raises `SnapshotError`."""
        return read_snapshot(_Lazy(self), self.capi_group)

    def redacted(self, pseudonyms: Pseudonyms) -> "Capture":
        """Without what a decision does not read, without the names of pods, and in words that may be seen."""
        listings = tuple(redacted(self.listings, pseudonyms, self.capi_group))
        kinds = tuple(kind for kind in self.kinds if kind not in NEVER_SHARED)
        return msgspec.structs.replace(self, listings=listings, kinds=kinds)

    def _manifest(self) -> bytes:
        lines = [
            f'formatVersion: "{FORMAT_VERSION}"',
            f'capturedAt: "{instant_text(self.captured_seconds)}"',
            f"cluster: {msgspec.json.encode(self.cluster).decode()}",
            *([f"kubernetesVersion: {msgspec.json.encode(self.version).decode()}"] if self.version else []),
            *([f"featureGates: {msgspec.json.encode(dict(self.gates)).decode()}"] if self.gates else []),
            "kinds:",
            *(f"  - {kind}" for kind in self.kinds),
        ]
        return "\n".join(lines).encode() + b"\n"


class _Lazy(Mapping[str, bytes]):
    """The files, each encoded when it is asked for."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._listings = {f"{item.file}.json": item for item in capture.listings}

    def __getitem__(self, name: str) -> bytes:
        return self._listings[name].encoded() if name in self._listings else self._capture.files()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("snapshot.yaml", *self._listings))

    def __len__(self) -> int:
        return 1 + len(self._listings)


class Clusters(msgspec.Struct, frozen=True, kw_only=True):
    """Where to read: the cluster whose pods are placed, and the one with the targets (the same object when it is one).
    `served` are the platforms whose targets it keeps. `namespaces` limits what is read of them (none: all)."""

    workload: Api
    management: Api
    served: tuple[Served, ...]
    namespaces: tuple[str, ...] = ()


class Clouds(msgspec.Struct, frozen=True, kw_only=True):
    """What is read in addition to the clusters: targets that `policies` name or discover in a cloud. `own` are those that belong
    to the cluster by its nodes; `environment` says who asks."""

    policies: tuple[PolicySet, ...] = ()
    own: bool = False
    environment: Mapping[str, str] = {}


NO_CLOUDS = Clouds()


def capture(
    clusters: Clusters, cluster: str, now_seconds: int, *, targets_only: bool = False, clouds: Clouds = NO_CLOUDS
) -> Capture:
    """Read everything that a decision reads, or only the targets with what belongs to them.

    Raises `UnreachableError`, `CloudError`, and `ApiError` for anything but a kind that is not served or that we may not list.
    """
    two = clusters.management is not clusters.workload
    reader = _Reader(renamed_group(clusters.served))
    reader.nowhere = nowhere(clusters.served)
    if not targets_only:
        # A capture without a policy is for policies that nobody has written yet.
        reads_services = not clouds.policies or any(needs_services(one.policy) for one in clouds.policies)
        reads_buffers = not clouds.policies or any(one.policy.headroom_from.reads_buffers for one in clouds.policies)
        reads_requests = not clouds.policies or any(one.policy.requests_from.reads_requests for one in clouds.policies)
        asking = dict.fromkeys((*(BUFFERS if reads_buffers else ()), *(REQUESTS if reads_requests else ())))
        for collection in (*WORKLOAD, *DEVICES, POD_GROUPS, QUOTAS, *((SERVICES,) if reads_services else ()), *asking):
            reader.read(clusters.workload, "workload/" if two else "", (collection,))
    folder = "management/" if two else ""
    for collections in _by_kind(platform_collections(clusters.served, clusters.namespaces)):
        reader.read(clusters.management, folder, collections)
    for group, kind in sorted(reader.referred()):
        namespaces = clusters.namespaces or ("",)
        wanted = tuple(Collection(group=group, kind=kind, namespace=namespace) for namespace in namespaces)
        reader.read(clusters.management, folder, wanted)
    reader.ask(clouds, folder)
    if targets_only:
        return _captured(reader, cluster, now_seconds)
    gates = feature_gates(clusters.workload, REPORTED)
    return _captured(reader, cluster, now_seconds, server_version(clusters.workload), gates)


def capture_targets(clusters: Clusters, now_seconds: int) -> Capture:
    """Only the targets themselves, by lists: neither their machines nor what describes a node, and no cloud. Raises as `capture`
    does; a kind that we may not list is in `unread`."""
    capi_group = renamed_group(clusters.served)
    reader = _Reader(capi_group)
    for collections in _by_kind(platform_collections(clusters.served, clusters.namespaces)):
        if is_target(collections[0].group, collections[0].kind, capi_group):
            reader.read(clusters.management, "", collections)
    return _captured(reader, "", now_seconds)


def _by_kind(collections: tuple[Collection, ...]) -> Iterator[tuple[Collection, ...]]:
    for where in dict.fromkeys((collection.group, collection.kind) for collection in collections):
        yield tuple(one for one in collections if (one.group, one.kind) == where)


def _captured(
    reader: "_Reader", cluster: str, now_seconds: int, version: str = "", gates: tuple[tuple[str, bool], ...] = ()
) -> Capture:
    return Capture(
        cluster=cluster,
        captured_seconds=now_seconds,
        capi_group=reader.capi_group,
        listings=tuple(reader.listings),
        kinds=tuple(sorted({reader.known_as(item) for item in reader.listings} | reader.nowhere)),
        unread=tuple(reader.unread),
        templates=tuple(sorted(reader.templates)),
        version=version,
        gates=gates,
    )


class _Reader:
    def __init__(self, capi_group: str) -> None:
        self.capi_group = capi_group
        self.nowhere: frozenset[str] = frozenset()
        self._intake = Intake(capi_group)
        self.listings: list[Listing] = []
        self.unread: list[Unread] = []
        self.templates: set[tuple[str, str]] = set()

    def read(self, api: Api, folder: str, collections: tuple[Collection, ...]) -> None:
        """One kind, of one namespace or of several, as one list."""
        items: list[Object] = []
        served_collection = collections[0]
        for collection in collections:
            try:
                served_collection = located(collection, api)
                if of_any_group(served_collection.kind):
                    self.templates.add((served_collection.group, served_collection.plural))
                items += _listed(api, served_collection.path)
            except ApiError as error:
                if error.status == _FORBIDDEN:
                    self.unread.append(Unread(kind=str(collection), why=error.message))
                elif error.status != _NOT_FOUND:
                    raise
                elif collection.optional:
                    self.nowhere |= {collection.kind}
                return
        if not is_target(served_collection.group, served_collection.kind, self.capi_group):
            for item in items:
                # Who owns which field is asked of targets and of what we answer, and is half of every other object.
                if served_collection.kind not in (BUFFER, REQUEST):
                    item.get("metadata", {}).pop("managedFields", None)
        listing = Listing(
            file=f"{folder}{served_collection.plural}",
            api_version=served_collection.api_version,
            kind=served_collection.kind,
            items=items,
        )
        if of_any_group(served_collection.kind) or self.known_as(listing) != served_collection.kind:
            listing = msgspec.structs.replace(listing, file=f"{listing.file}.{served_collection.group}")
        items.sort(key=name_of)
        self.listings.append(listing)

    def ask(self, clouds: Clouds, folder: str) -> None:
        """What clouds say, one list per kind."""
        nodes = (item for listing in self.listings if listing.kind == "Node" for item in listing.items)
        provider_ids = tuple(str((node.get("spec") or {}).get("providerID") or "") for node in nodes)
        answer = ask_clouds(
            CloudQuestion(policies=clouds.policies, own=clouds.own, provider_ids=provider_ids), clouds.environment
        )
        keys = {kind: envelope.list_key for envelope, kind in envelopes()}
        for document in answer.documents:
            items = [_object.decode(item) for item in document.items]
            key = keys[document.kind]
            self.listings.append(
                Listing(file=f"{folder}{key.lower()}", api_version="", kind=document.kind, items=items, list_key=key)
            )
        self.unread += [Unread(kind="targets of a cloud", why=text) for text in answer.unread]

    def known_as(self, listing: Listing) -> str:
        """What the kind of a list is called among those of all platforms."""
        return self._intake.known_as(_head(listing))

    def referred(self) -> set[tuple[str, str]]:
        """Group and kind of what targets refer to and what is to be read as well."""
        references = set()
        for listing in self.listings:
            group = api_group(listing.api_version)
            for reading in readings():
                types = [kind_objects(reading, kind).type for kind in reading.kinds if kind.target and kind.kind == listing.kind]
                if types and group == reading.group_here(self.capi_group):
                    items = decode(msgspec.json.encode(listing.items), list[types[0]])  # type: ignore[valid-type]
                    references |= {objects_of(reading.name).referred(item) for item in items}
        return {(item.group, item.kind) for item in references if item is not None}


def _head(listing: Listing) -> Document:
    return Document(file=listing.file, api_version=listing.api_version, kind=listing.kind, items=[], is_list=True)


def _listed(api: Api, path: str) -> list[Object]:
    """All objects of a collection, in pages; whole when the pages took longer than the server keeps them."""
    query = {"limit": str(PAGE)}
    items: list[Raw] = []
    while True:
        try:
            page = _page.decode(api.get(path, query))
        except ApiError as error:
            if error.status != _GONE or "continue" not in query:
                raise
            items, query = [], {}
            continue
        items += page.items or ()
        if not page.metadata.more:
            return [_object.decode(item) for item in items]
        query = {"limit": str(PAGE), "continue": page.metadata.more}
