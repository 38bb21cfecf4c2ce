"""A World that follows its clusters: equal to a snapshot of them, without reading them again."""

import threading
from collections.abc import Callable, Iterable

import msgspec

from reconciler.cluster.pods.pod_shaping import ShapeDraft
from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.unread import Unread
from reconciler.cluster.values.kept_objects import Key
from reconciler.cluster.values.kubernetes_version import kubernetes_version
from reconciler.cluster.values.unreadable import SnapshotError
from reconciler.cluster.world import World
from reconciler.kube.connection.api import Api
from reconciler.kube.connection.feature_gates import feature_gates
from reconciler.kube.connection.server_version import server_version
from reconciler.kube.watching.collection import DEVICES, POD_GROUPS, QUOTAS, WORKLOAD, Collection, Served, cluster_api
from reconciler.kube.watching.live_pods import LivePods
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.polled_source import PolledSource
from reconciler.kube.watching.reflector import SILENCE_SECONDS, Drive, Reflector
from reconciler.kube.watching.stream_state import Phase, StreamState
from reconciler.kube.watching.target_streams import OwnTargets, TargetStreams
from reconciler.kube.watching.trust import Judged, Stream, Trust, stream_of
from reconciler.kube.watching.watch_pace import Pace, RealPace
from reconciler.values.clauses import clauses
from reconciler.values.feature_gate import REPORTED

LONGEST_SILENCE_SECONDS = 120.0
# A control plane is upgraded rarely, and a scheduler of the next release answers mostly the same.
_VERSION_SECONDS = 600.0


class IncompleteViewError(Exception):
    """No view may be trusted; the message names the streams and why."""


class LiveWorld:
    """Follows everything that a decision reads.

    `workload` is the cluster whose pods need nodes. `management` is the cluster with the targets (None: the same cluster).
    `served` are the platforms on it (none: Cluster API, of `capi_group` and `capi_version`). `polled` are the platforms that are
    read from elsewhere. `namespaces` limits the objects of platforms that are read. Infrastructure templates are watched as soon
    as a target refers to one of their kind. `also` names further collections of the workload cluster. It is asked at each look,
    and what it names once stays. A watch that receives nothing for `silence_seconds` is renewed. After every change that may
    matter to a decision, `on_change` is called, in some thread. `now_seconds` is the clock for `captured_seconds`,
    `ahead_seconds` how far it is ahead of the clocks of the servers. `targets`
    makes the streams of the management cluster, given what to call after a change (None: this view follows it alone). With
    `most_objects`, a collection of the workload cluster with more objects is not kept, and nothing is decided. `drive` drives the
    reflectors of the workload cluster (None: each has a thread).
    """

    def __init__(
        self,
        workload: Api,
        management: Api | None = None,
        *,
        now_seconds: Callable[[], int],
        ahead_seconds: Callable[[], int] = lambda: 0,
        name: str = "",
        capi_group: str = "",
        capi_version: str = "",
        served: tuple[Served, ...] = (),
        polled: tuple[PolledSource, ...] = (),
        namespaces: Iterable[str] = (),
        workload_collections: tuple[Collection, ...] = (*WORKLOAD, *DEVICES, POD_GROUPS, QUOTAS),
        also: Callable[[], Iterable[Collection]] = tuple,
        targets: Callable[[Callable[[], None]], TargetStreams] | None = None,
        on_change: Callable[[], None] = lambda: None,
        pace: Pace | None = None,
        longest_silence_seconds: float = LONGEST_SILENCE_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
        most_objects: int = 0,
        drive: Drive | None = None,
    ) -> None:
        self._workload = workload
        self._drive = drive
        self._version, self._version_due = "", float("-inf")
        self._gates: tuple[tuple[str, bool], ...] = ()
        self._now_seconds = now_seconds
        self._ahead_seconds = ahead_seconds
        self._name = name
        self._capi_group = capi_group
        self._on_change = on_change
        self._own_pace = RealPace()
        self._pace = pace or self._own_pace
        self._trust = Trust(self._pace.monotonic, longest_silence_seconds, capi_group)
        self._silence_seconds = silence_seconds
        self._most_objects = most_objects
        self._also = also
        self._followed_also: set[Collection] = set()
        self._lock = threading.Lock()
        self._observing = threading.Lock()
        self._progress = threading.Condition()
        self._changes = 0
        self._world: World | None = None
        self._world_of: tuple[int, tuple[Unread, ...]] | None = None
        self._started = self._stopping = False
        self._reflectors = [self._reflector(workload, item) for item in workload_collections]
        self._polled = polled
        self._targets = (targets or self._own_targets(management or workload, served, capi_version, namespaces))(self._changed)

    def start(self) -> None:
        """Begin to follow; returns at once."""
        self._started = True
        for reflector in tuple(self._reflectors):
            reflector.start()
        self._targets.start()
        for source in self._polled:
            source.start(self._changed)

    def stop(self, timeout_seconds: float = 10.0) -> bool:
        """End every stream and wait for its thread; returns whether all have ended."""
        with self._observing:
            self._stopping = True
            reflectors = list(self._reflectors)
        self._own_pace.stop()
        for reflector in reflectors:
            reflector.stop()
        self._targets.stop()
        for source in self._polled:
            source.stop()
        deadline = self._own_pace.monotonic() + timeout_seconds

        def left_seconds() -> float:
            return max(deadline - self._own_pace.monotonic(), 0.01)

        ended = [reflector.join(left_seconds()) for reflector in reflectors]
        return self._targets.join(left_seconds) and all(ended)

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until the view can be trusted; false if the time ran out first."""
        deadline = self._own_pace.monotonic() + timeout_seconds
        while self.doubts():
            left = deadline - self._own_pace.monotonic()
            if left <= 0 or self._stopping:
                return False
            with self._progress:
                # Silence and phases change without a notice.
                self._progress.wait(min(left, 0.2))
        return True

    def doubts(self) -> tuple[str, ...]:
        """Why `observe` would refuse, one sentence per stream; empty if it would not."""
        return self._judged().doubts

    def _judged(self) -> Judged:
        if not self._started or self._stopping:
            return Judged(doubts=("nothing is followed",))
        with self._observing:
            self._follow_also()
            if not self._stopping:
                self._targets.follow_referred()
        return self._trust.judge(self._streams(), self._polled)

    def freshness(self) -> tuple[StreamState, ...]:
        """Every stream and how far it can be trusted, by name."""
        states = [stream.state for stream in self._streams()]
        states += [state for source in self._polled for state in source.states()]
        return tuple(sorted(states, key=lambda state: state.collection))

    def age_seconds(self) -> float:
        """How long ago the most silent stream was heard; infinite if one that a view needs was never heard."""
        lacking = self._judged().without
        states = [state for state in self.freshness() if state.phase is not Phase.ABSENT and state.collection not in lacking]
        if not states or any(state.heard_seconds < 0 for state in states):
            return float("inf")
        return max(state.heard_seconds for state in states)

    def observe(self) -> World:
        """A complete view of this instant. While nothing changes, the same World object except for its instant.

        Raises `IncompleteViewError` if a stream that a view needs has not been read completely, is broken, or is silent for too
        long. Of other streams, of clouds, and of objects that cannot be read, the World says that they are missing.
        """
        judged = self._judged()
        doubts, unread = judged.doubts, judged.unread
        if doubts:
            raise IncompleteViewError(clauses(doubts, 3))
        with self._observing:
            now, ahead = self._now_seconds(), self._ahead_seconds()
            if self._world is None or self._world_of != (self._changes, unread):
                self._world_of = self._changes, unread
                try:
                    self._world = self._assembled(now, unread)
                except SnapshotError as error:
                    self._world = None
                    raise IncompleteViewError(str(error)) from None
            if (self._world.captured_seconds, self._world.clock_ahead_seconds) != (now, ahead):
                self._world = msgspec.structs.replace(self._world, captured_seconds=now, clock_ahead_seconds=ahead)
            return self._world

    def _assembled(self, now_seconds: int, unread: tuple[Unread, ...]) -> World:
        if self._own_pace.monotonic() >= self._version_due:
            self._version_due = self._own_pace.monotonic() + _VERSION_SECONDS
            self._version = server_version(self._workload) or self._version
            self._gates = feature_gates(self._workload, REPORTED) or self._gates
        version = kubernetes_version(self._version)
        whole = Intake(self._capi_group)
        whole.unread = unread
        streams = self._streams()
        with self._lock, self._targets.lock:
            stores = [store for stream in streams for store in stream.stores]
            drafts: dict[Key, ShapeDraft] = {}
            for store in stores:
                store.add_to(whole)
                drafts.update(zip(store.daemon_drafts, store.pods.drafts(store.daemon_drafts.values()), strict=True))
            pods = next((store.pods for store in stores if store.collection.kind == "Pod"), LivePods())
            whole.pods = pods
            for source in self._polled:
                for document in source.documents():
                    try:
                        whole.read(document, stamps=False)
                    except SnapshotError as error:
                        whole.unread = tuple(sorted({*whole.unread, Unread(kind=whole.known_as(document), why=str(error))}))
            kinds = self._targets.nowhere().union(
                item.collection.kind for item in self._reflectors if item.collection.optional and item.nowhere
            )
            manifest = Manifest(captured_seconds=now_seconds, cluster=self._name, kinds=kinds, version=version, gates=self._gates)
            with pods.with_templates(drafts.values()) as numbers:
                whole.daemon_drafts = dict(zip(drafts, numbers, strict=True))
                return assemble(whole, manifest)

    def _streams(self) -> list[Stream]:
        return [*(stream_of(one) for one in list(self._reflectors)), *self._targets.streams()]

    def _own_targets(
        self, management: Api, served: tuple[Served, ...], capi_version: str, namespaces: Iterable[str]
    ) -> Callable[[Callable[[], None]], TargetStreams]:
        known = served or (cluster_api(self._capi_group, capi_version),)
        return lambda changed: OwnTargets(
            management, served=known, namespaces=namespaces, capi_group=self._capi_group, pace=self._pace, changed=changed,
            silence_seconds=self._silence_seconds,
        )  # fmt: skip

    def _reflector(self, api: Api, collection: Collection) -> Reflector:
        return Reflector(
            api,
            collection,
            lambda resolved: ObjectStore(resolved, self._capi_group),
            pace=self._pace,
            lock=self._lock,
            changed=self._changed,
            silence_seconds=self._silence_seconds,
            most_objects=self._most_objects,
            drive=self._drive,
        )

    def _changed(self) -> None:
        self._changes += 1
        with self._progress:
            self._progress.notify_all()
        self._on_change()

    def _follow_also(self) -> None:
        if self._stopping:
            return
        for collection in set(self._also()) - self._followed_also:
            self._followed_also.add(collection)
            reflector = self._reflector(self._workload, collection)
            self._reflectors.append(reflector)
            reflector.start()
