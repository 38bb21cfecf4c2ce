"""One collection of an API server, followed as it changes: first all of it, then event by event.

SOURCE of the protocol: Kubernetes API concepts (watch, bookmarks, streaming lists, 410 Gone); of the numbers: client-go's
reflector. What is our own: a store that is being filled is never seen; a watch on which nothing comes is renewed from where
it stands, since a connection whose other end is gone looks like a quiet one, and is trusted meanwhile, since quiet is what a
collection is that nobody changes (with etcd's defaults bookmarks may be ten minutes apart); and after a break a watch that
stands again is trusted only when it has brought everything up to a version that was read meanwhile, since what was missed
arrives later than the answer's head.
"""

import random
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import msgspec
from msgspec import Raw

from reconciler.kube.connection.api import Api, ApiError, QuietError, UnreachableError, api_error
from reconciler.kube.connection.outages import Backoff
from reconciler.kube.watching.collection import Collection, located
from reconciler.values.whole_number import whole_number

# What a list and a watch wrap around objects.


class Event(msgspec.Struct, gc=False):
    """One line of a watch: `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, `object` the object or a Status."""

    type: str
    object: Raw


class ListMeta(msgspec.Struct, rename="camel", gc=False):
    """`metadata` of a list; `more` is the token that the next page is asked with."""

    resource_version: str = ""
    more: str = msgspec.field(default="", name="continue")


class ListPage(msgspec.Struct, gc=False):
    """One page of a list."""

    metadata: ListMeta
    items: list[Raw] | None = None


class ObjectVersion(msgspec.Struct, rename="camel", gc=False):
    """The part of an object's `metadata` by which a watch is continued."""

    resource_version: str = ""
    annotations: dict[str, str] | None = None


class VersionedObject(msgspec.Struct, gc=False):
    """An object as far as a watch looks at it."""

    metadata: ObjectVersion


# How much a watch can be trusted now.


class Phase(StrEnum):
    """Waiting: the first list is not complete. Synced: it is, and changes arrive. Broken: changes do not arrive at present.
    Absent: the server has no such collection. Stopped: nobody watches."""

    WAITING = "Waiting"
    SYNCED = "Synced"
    BROKEN = "Broken"
    ABSENT = "Absent"
    STOPPED = "Stopped"


class StreamState(msgspec.Struct, frozen=True, kw_only=True):
    """One watched collection. `heard_seconds` is how long ago the server last said anything on it, bookmarks included
    (negative: never), `event_seconds` the same for a change. `lists` counts lists and initial states that were read, `renewals`
    watches that were continued by another because they were quiet or had run out. `message` is the last failure while Waiting,
    Broken or Absent, or the object that cannot be read."""

    collection: str
    phase: Phase
    objects: int
    heard_seconds: float
    event_seconds: float
    lists: int
    list_calls: int
    renewals: int = 0
    message: str = ""

    def doubt(self, longest_silence_seconds: float) -> str:
        """Why nothing may be decided on this; empty when it may."""
        if self.phase is Phase.ABSENT:
            return ""
        if self.phase is not Phase.SYNCED:
            return f"{self.collection}: {self.phase.value.lower()}" + (f" ({self.message})" if self.message else "")
        if self.message:
            return f"{self.collection}: {self.message}"
        if self.heard_seconds > longest_silence_seconds:
            return f"{self.collection}: the server has been silent for {self.heard_seconds:.0f} s"
        return ""


def polled_state(collection: str, heard_seconds: float | None, *, objects: int, asks: int, failure: str) -> StreamState:
    """That of a source which is asked again and again: synced once a whole answer has come (`heard_seconds` ago; None: never)."""
    heard = heard_seconds is not None
    return StreamState(
        collection=collection,
        phase=Phase.SYNCED if heard else Phase.WAITING,
        objects=objects if heard else 0,
        heard_seconds=-1 if heard_seconds is None else heard_seconds,
        event_seconds=-1 if heard_seconds is None else heard_seconds,
        lists=1 if heard else 0,
        list_calls=asks,
        message="" if heard else failure,
    )


# Real time and chance for what follows a cluster; tests hand in their own.

# Linux stops its monotonic clock in a suspend; others have no such clock.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Pace(Protocol):
    """Time and chance, handed in. `pause` waits, and returns true when it was woken because all is to end."""

    def monotonic(self) -> float:
        """Seconds on a clock that only goes forward."""

    def random(self) -> float:
        """A number in [0, 1)."""

    def pause(self, seconds: float) -> bool:
        """Wait; true: stop."""


class RealPace:
    """The machine's clocks. `pause` ends at once, with true, after `stop`."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._random = random.Random()  # noqa: S311 - spreads retries, keeps no secret

    def monotonic(self) -> float:
        """Seconds on a clock that only goes forward, also while the machine is suspended: a lease runs out then as well."""
        return time.clock_gettime(_CLOCK)

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()

    def pause(self, seconds: float) -> bool:
        """Wait; true: stop."""
        return self._stopped.wait(seconds)

    def stop(self) -> None:
        """Wake everybody who waits, for good."""
        self._stopped.set()


PAGE = 500
# Longer than the minute between bookmarks where they come; one request a watch where they do not.
SILENCE_SECONDS = 90.0
ABSENT_PAUSE_SECONDS = 60.0
# The server sends a bookmark two seconds before a watch runs out: a short one says soon how far it is.
_CATCH_UP_SECONDS = 4
_SHORTEST_WATCH_SECONDS, _MORE_WATCH_SECONDS = 300, 300
_GONE, _NOT_FOUND = 410, 404
_NOT_UNDERSTOOD = (400, 422)
_event = msgspec.json.Decoder(Event)
_page = msgspec.json.Decoder(ListPage)
_versioned = msgspec.json.Decoder(VersionedObject)


class Store(Protocol):
    """Where objects go. Both calls say whether they changed anything of interest."""

    unreadable: dict[tuple[str, str], str]

    def __len__(self) -> int: ...

    def put(self, item: Raw) -> bool:
        """An object as it is now."""

    def discard(self, item: Raw) -> bool:
        """An object that was deleted."""


class _RelistError(Exception):
    """What we know is too old to be continued."""


class Reflector:
    """Follows one collection in a thread of its own, between `start` and `stop`.

    `store` is None until the whole collection was read once; whoever reads it holds `lock`. `changed` is called in the
    reflector's thread after a change, without the lock.
    """

    def __init__(
        self,
        api: Api,
        collection: Collection,
        fresh: Callable[[Collection], Store],
        *,
        pace: Pace,
        lock: threading.Lock,
        changed: Callable[[], None],
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self.collection = collection
        self.store: Store | None = None
        self._api = api
        self._located = collection
        self._fresh = fresh
        self._pace = pace
        self._lock = lock
        self._changed = changed
        self._silence_seconds = silence_seconds
        self._backoff = Backoff(pace.random)
        self._phase = Phase.WAITING
        self._message = ""
        self._lists = self._list_calls = self._renewals = 0
        self._heard: float | None = None
        self._event: float | None = None
        self._version = ""
        self._last: Raw | None = None
        self._broke = self._renewing = False
        self._needed: int | None = None
        self._streaming_lists = True
        self._streaming_failures = 0
        self._stopping = False
        self._cut: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self.run, name=f"watch {collection}", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; `join` waits for it. Its `pace` must have been told too."""
        self._stopping = True
        cut = self._cut
        if cut is not None:
            cut()

    def join(self, timeout_seconds: float) -> bool:
        """Whether the thread has ended."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def state(self) -> StreamState:
        """How much the store can be trusted now."""
        now = self._pace.monotonic()
        unreadable = self.store.unreadable if self.store is not None else {}
        message = self._message
        if self._phase is Phase.SYNCED and unreadable:
            key, why = min(unreadable.copy().items())
            message = f"{'/'.join(filter(None, key))} cannot be read: {why}"
        return StreamState(
            collection=str(self.collection),
            phase=self._phase,
            objects=len(self.store) if self.store is not None else 0,
            heard_seconds=-1.0 if self._heard is None else now - self._heard,
            event_seconds=-1.0 if self._event is None else now - self._event,
            lists=self._lists,
            list_calls=self._list_calls,
            renewals=self._renewals,
            message=message,
        )

    def run(self) -> None:
        """Follow until stopped; nothing that a server does ends it."""
        while not self._stopping:
            try:
                self._round()
            except _RelistError:
                self._forgotten()
                # Many clients may have been told so at once.
                wait = self._backoff.next_seconds()
            except Exception as error:
                if isinstance(error, QuietError) and self._phase is Phase.SYNCED:
                    self._renewing = True
                    continue
                # An unforeseen failure must not end the thread silently: it is told like any other, and tried again.
                self._failed(error)
                wait = self._wait_seconds(error)
            else:
                continue
            if self._pace.pause(wait):
                break
        self._phase = Phase.STOPPED

    def _wait_seconds(self, error: Exception) -> float:
        absent = self._phase is Phase.ABSENT
        return ABSENT_PAUSE_SECONDS * (0.5 + self._pace.random()) if absent else self._backoff.after(error)

    def _failed(self, error: Exception) -> None:
        if self._stopping:
            return
        known = isinstance(error, (ApiError, UnreachableError, msgspec.DecodeError))
        missing = isinstance(error, ApiError) and error.status == _NOT_FOUND and self.store is None
        with self._lock:
            self._message = str(error) if known else f"{type(error).__name__}: {error}"
            self._phase = Phase.ABSENT if missing else Phase.WAITING if self.store is None else Phase.BROKEN
            self._broke, self._needed, self._renewing = self.store is not None, None, False
            # A version may have been replaced by another, and where it lies is asked anew.
            self._located = self.collection
        if missing:
            self._changed()

    def _forgotten(self) -> None:
        """All is to be read again. What a watch had told that ended in order is as good as it was: `heard_seconds` ages it."""
        with self._lock:
            self._version, self._last = "", None
            if not self._renewing:
                self._phase, self._message = Phase.WAITING, "what was known is too old to be continued, it is read again"

    def _round(self) -> None:
        """One connection, or one paged list."""
        if not self._located.version or not self._located.plural:
            self._located = located(self.collection, self._api)
        if self._version:
            self._follow()
        elif self._streaming_lists:
            self._stream_all()
        else:
            self._list_all()

    def _stream_all(self) -> None:
        """A watch that begins with everything there is, and goes on with what changes."""
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        try:
            self._watch(query, self._fresh(self._located))
        except ApiError as error:
            if error.status in _NOT_UNDERSTOOD:
                self._streaming_lists = False
                return
            raise
        except UnreachableError:
            # A server that knows nothing of it never says where the beginning ends.
            if self.store is None:
                self._streaming_failures += 1
                self._streaming_lists = self._streaming_failures < 3
            raise

    def _follow(self) -> None:
        if self._last is not None:
            self._version = _versioned.decode(self._last).metadata.resource_version
            self._last = None
        query = {"resourceVersion": self._version}
        if self._broke:
            self._needed = self._newest()
            query["timeoutSeconds"] = str(_CATCH_UP_SECONDS)
        try:
            self._watch(query, None)
        except ApiError as error:
            if error.status == _GONE:
                raise _RelistError from None
            raise
        if self._needed is not None and not self._stopping:
            # No bookmark came: nothing but reading it all tells whether something was missed.
            raise _RelistError

    def _newest(self) -> int:
        """The version that the collection is at now, by a read that the server answers from its latest state."""
        self._list_calls += 1
        version = whole_number(_page.decode(self._api.get(self._located.path, {"limit": "1"})).metadata.resource_version)
        if version is None or whole_number(self._version) is None:
            # Versions that cannot be compared say nothing.
            raise _RelistError
        return version

    def _caught_up(self, version: str) -> None:
        """After a break: trust again once nothing of what was missed is still to come."""
        if self._needed is not None and int(version) >= self._needed:
            self._broke, self._needed = False, None
            self._trust()

    def _list_all(self) -> None:
        store = self._fresh(self._located)
        query = {"limit": str(PAGE)}
        while True:
            try:
                self._list_calls += 1
                page = _page.decode(self._api.get(self._located.path, query))
            except ApiError as error:
                if error.status == _GONE and "continue" in query:
                    raise _RelistError from None
                raise
            for item in page.items or ():
                store.put(item)
            if not page.metadata.more:
                break
            query = {"limit": str(PAGE), "continue": page.metadata.more}
            if self._stopping:
                return
        self._heard = self._pace.monotonic()
        self._take_over(store, page.metadata.resource_version)

    def _watch(self, query: dict[str, str], filling: Store | None) -> None:
        """Read one connection to its end. With `filling` it begins with the initial state, which goes there."""
        seconds = _SHORTEST_WATCH_SECONDS + int(_MORE_WATCH_SECONDS * self._pace.random())
        asked = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds), **query}
        began = self._pace.monotonic()
        stream = self._api.stream(self._located.path, asked, silence_seconds=self._silence_seconds)
        self._cut = getattr(stream, "cut", None)
        if self._stopping:
            return
        with stream as lines:
            self._hears(filling)
            if filling is None:
                self._renewals += self._renewing
                self._renewing = False
                self._caught_up(self._version)
                if self._needed is None:
                    self._trust()
            for line in lines:
                self._backoff.reset()
                filling = self._take(_event.decode(line), filling)
                self._hears(filling)
        self._cut = None
        if filling is not None and not self._stopping:
            raise UnreachableError("the watch ended before everything was read")
        self._renewing = self._phase is Phase.SYNCED
        if self._pace.monotonic() - began < 1:
            # A server that ends every watch at once would be asked without end.
            self._pace.pause(self._backoff.next_seconds())

    def _hears(self, filling: Store | None) -> None:
        """What fills another store makes the one that is read no fresher."""
        if filling is None or self.store is None:
            self._heard = self._pace.monotonic()

    def _take(self, event: Event, filling: Store | None) -> Store | None:
        """One event; the store that is still being filled, if any."""
        if event.type == "ERROR":
            error = api_error(500, bytes(event.object))
            if error.status == _GONE:
                raise _RelistError
            raise error
        if event.type == "BOOKMARK":
            metadata = _versioned.decode(event.object).metadata
            self._last = None
            if filling is not None:
                if (metadata.annotations or {}).get("k8s.io/initial-events-end") == "true":
                    self._take_over(filling, metadata.resource_version)
                    return None
            else:
                self._version = metadata.resource_version
                self._caught_up(self._version)
            return filling
        if filling is not None:
            filling.put(event.object)
            return filling
        store = self.store
        if store is None:
            raise _RelistError
        with self._lock:
            changed = store.discard(event.object) if event.type == "DELETED" else store.put(event.object)
            self._last = event.object
            self._event = self._pace.monotonic()
        if changed:
            self._changed()
        if self._needed is not None:
            self._caught_up(_versioned.decode(event.object).metadata.resource_version)
        return None

    def _take_over(self, store: Store, version: str) -> None:
        with self._lock:
            self.store = store
            self._version, self._last = version, None
            self._broke, self._needed, self._renewing = False, None, False
            self._lists += 1
        self._trust()
        self._changed()

    def _trust(self) -> None:
        with self._lock:
            self._phase, self._message = Phase.SYNCED, ""
