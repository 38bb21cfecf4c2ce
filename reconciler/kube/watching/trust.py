"""Which streams a view waits for, and which it goes on without."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

import msgspec

from reconciler.cluster.platform_reading import is_target, known_kind
from reconciler.cluster.unread import Unread
from reconciler.cluster.values.kept_objects import Key
from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.polled_source import PolledSource
from reconciler.kube.watching.reflector import Reflector
from reconciler.kube.watching.stream_state import Phase, StreamState

PATIENCE_SECONDS = 30.0
"""How long a view waits for a kind that cannot be read now. A server that starts again needs less."""
ASIDE_SECONDS = 5.0
"""How long it waits for the first answer about a kind that a target names."""


class Need(StrEnum):
    """Vital: there is no view without it. Awaited: the view waits for `PATIENCE_SECONDS`, unless the server refuses the kind.
    Aside: any tenant can name such a kind, so the view waits only for its first answer, and only for `ASIDE_SECONDS`."""

    VITAL = "Vital"
    AWAITED = "Awaited"
    ASIDE = "Aside"


_VITAL = frozenset({"Node", "Pod"})


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """One collection that is followed. `stores` have its objects of this view. `unreadable` are those that cannot be read; an
    object without a name may be any of the kind. `bound` has the nodes that unreadable pods and Nodes concern, empty for a pod
    without one."""

    collection: Collection
    state: StreamState
    stores: tuple[ObjectStore, ...] = ()
    unreadable: Mapping[Key, str] = {}
    bound: Mapping[Key, str] = {}
    need: Need = Need.AWAITED


def stream_of(reflector: Reflector, need: Need = Need.AWAITED) -> Stream:
    """The stream of a reflector whose store is of one view."""
    store, collection = reflector.store, reflector.collection
    own = store if isinstance(store, ObjectStore) else None
    return Stream(
        collection=collection,
        state=reflector.state(),
        stores=() if own is None else (own,),
        unreadable={} if own is None else own.unreadable.copy(),
        bound={} if own is None else own.bound.copy(),
        need=Need.VITAL if collection.kind in _VITAL else need,
    )


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """`doubts` are why there is no view (empty: there is one). `unread` is what the view lacks: it goes on `without` these
    collections, and single objects cannot be read."""

    doubts: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    without: frozenset[str] = frozenset()


class Trust:
    """Judges the streams of one view again and again, and remembers since when each is in doubt. `capi_group` is the API group
    that an operator gave Cluster API (empty: its own)."""

    def __init__(self, monotonic: Callable[[], float], longest_silence_seconds: float, capi_group: str = "") -> None:
        self._monotonic = monotonic
        self._capi_group = capi_group
        self._longest_silence_seconds = longest_silence_seconds
        self._since: dict[str, float] = {}

    def judge(self, streams: Iterable[Stream], polled: Iterable[PolledSource] = ()) -> Judged:
        """What follows from the present state of the streams and of the answers of clouds."""
        now = self._monotonic()
        doubts: list[str] = []
        unread: list[Unread] = []
        targets: list[str] = []
        without: set[str] = set()
        for stream in streams:
            state, where = stream.state, stream.collection
            kind = known_kind(where.group, where.kind)
            why = state.why(self._longest_silence_seconds)
            if is_target(where.group, where.kind, self._capi_group) and state.phase is not Phase.ABSENT:
                targets.append(f"{state.collection}: {why}" if why else "")
            if not why:
                self._since.pop(state.collection, None)
            elif self._goes_on_without(stream, now):
                unread.append(Unread(group=where.group, kind=kind, namespace=where.namespace, why=why))
                without.add(state.collection)
            else:
                doubts.append(f"{state.collection}: {why}")
            for (namespace, name), fault in sorted(stream.unreadable.items()):
                on = stream.bound.get((namespace, name))
                if kind == "Node" and on is None:
                    doubts.append(f"{kind}: {name} cannot be read: {fault}")
                else:
                    own = namespace or where.namespace
                    unread.append(Unread(group=where.group, kind=kind, namespace=own, name=name, why=fault, node=on))
        for source in polled:
            doubtful: dict[str, str] = {}
            for state in source.states():
                why = state.why(self._longest_silence_seconds)
                targets.append(f"{state.collection}: {why}" if why else "")
                if not why:
                    self._since.pop(state.collection, None)
                # What was answered once has been asked for again ever since.
                elif state.phase is Phase.SYNCED or self._waited(state, now):
                    doubtful[state.collection] = why
                else:
                    doubts.append(f"{state.collection}: {why}")
            unread += source.unread(doubtful)
            without |= doubtful.keys()
        if targets and all(targets):
            # Nobody knows any group, so there is nothing to decide.
            doubts += targets
        return Judged(doubts=tuple(dict.fromkeys(doubts)), unread=tuple(sorted(unread)), without=frozenset(without))

    def _waited(self, state: StreamState, now: float) -> bool:
        return now - self._since.setdefault(state.collection, now) >= PATIENCE_SECONDS

    def _goes_on_without(self, stream: Stream, now: float) -> bool:
        since = self._since.setdefault(stream.state.collection, now)
        match stream.need:
            case Need.VITAL:
                return False
            case Need.AWAITED:
                return stream.state.refused or self._waited(stream.state, now)
            case Need.ASIDE:
                return bool(stream.state.message) or now - since >= ASIDE_SECONDS
