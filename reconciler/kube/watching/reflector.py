"""One collection of an API server, followed as it changes: first all of it, then event by event.

SOURCE of the protocol: Kubernetes API concepts (watch, bookmarks, streaming lists, 410 Gone). SOURCE of the numbers: client-go's
reflector. Three rules are ours:

- A store that is being filled is never visible.
- A silent watch is renewed from its current version, since a connection whose other end is gone looks like a quiet one. Meanwhile
  it is trusted, since a collection without changes is quiet. With etcd's defaults, bookmarks may be ten minutes apart.
- After a break, a new watch is trusted only once it has brought everything up to a version that was read meanwhile. Missed events
  arrive later than the answer's headers.
"""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Protocol

import msgspec
from msgspec import Raw

from reconciler.kube.connection.api import Api, ApiError, QuietError, UnreachableError
from reconciler.kube.connection.backoff import Backoff
from reconciler.kube.connection.refusal_status import api_error
from reconciler.kube.watching.collection import Collection, located
from reconciler.kube.watching.stream_state import Phase, StreamState
from reconciler.kube.watching.watch_pace import Pace
from reconciler.kube.watching.watch_wire import Event, ListPage, VersionedObject
from reconciler.values.decoding import decoder
from reconciler.values.whole_number import whole_number

PAGE = 500
# Longer than the minute between bookmarks, if there are any; else it costs one request per watch.
SILENCE_SECONDS = 90.0
ABSENT_PAUSE_SECONDS = 60.0
TOO_MANY_PAUSE_SECONDS = 300.0
# The server sends a bookmark two seconds before a watch ends, so a short watch soon reports its version.
_CATCH_UP_SECONDS = 4
_SHORTEST_WATCH_SECONDS, _MORE_WATCH_SECONDS = 300, 300
_GONE, _NOT_FOUND, _FORBIDDEN = 410, 404, 403
_NOT_UNDERSTOOD = (400, 422)
_event = decoder(Event)
_page = decoder(ListPage)
_versioned = decoder(VersionedObject)


class Store(Protocol):
    """The receiver of objects. Both calls return whether they changed anything of interest."""

    def __len__(self) -> int: ...

    def put(self, item: Raw) -> bool:
        """An object as it is now."""

    def discard(self, item: Raw) -> bool:
        """An object that was deleted."""


class Pause(msgspec.Struct, frozen=True):
    """What a reflector waits for: so many seconds."""

    seconds: float


class Lines(msgspec.Struct, frozen=True):
    """What a reflector waits for: the next lines of a watch, or None at its end. What reading raises is thrown into it."""

    stream: Iterator[bytes]


Steps = Generator[Pause | Lines, list[bytes] | None, None]
"""A reflector at work. All that takes long without being named here are single requests."""


class Driven(Protocol):
    """A reflector that is under way."""

    def wake(self) -> None:
        """It is to look around now: it was told to stop."""

    def join(self, timeout_seconds: float) -> bool:
        """Whether it has ended."""


Drive = Callable[[Steps, str], Driven]
"""Begins to drive a reflector of that name."""


class TooManyObjectsError(Exception):
    """The collection has more objects than may be kept. What was read is given up."""


class _RelistError(Exception):
    """Our version is too old to continue from."""


class _OwnThread:
    """Drives one reflector in a thread that waits for it."""

    def __init__(self, run: Callable[[], None], name: str) -> None:
        self._thread = threading.Thread(target=run, name=f"watch {name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Its pace is stopped, and its stream cut."""

    def join(self, timeout_seconds: float) -> bool:
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()


class Reflector:
    """Follows one collection between `start` and `stop`: in a thread of its own, or as `drive` does it.

    `store` is None until the whole collection was read once. Take `lock` to read it. `changed` is called in the reflector's
    thread after a change, without the lock. `nowhere`: the server does not have the kind. With `most_objects`, a collection of
    more objects is not kept, and counts as broken.
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
        most_objects: int = 0,
        drive: Drive | None = None,
    ) -> None:
        self.collection = collection
        self._drive = drive
        self._driven: Driven | None = None
        self._most_objects = most_objects
        self.store: Store | None = None
        self.nowhere = False
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
        self._refused = False
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

    def start(self) -> None:
        """Begin to follow."""
        name = str(self.collection)
        self._driven = self._drive(self.steps(), name) if self._drive is not None else _OwnThread(self.run, name)

    def stop(self) -> None:
        """Ask it to end; `join` waits for that. Stop its `pace` as well."""
        self._stopping = True
        cut, driven = self._cut, self._driven
        if cut is not None:
            cut()
        if driven is not None:
            driven.wake()

    def join(self, timeout_seconds: float) -> bool:
        """Whether it has ended."""
        return self._driven is None or self._driven.join(timeout_seconds)

    def state(self) -> StreamState:
        """How far the store can be trusted now."""
        now = self._pace.monotonic()
        return StreamState(
            collection=str(self.collection),
            phase=self._phase,
            objects=len(self.store) if self.store is not None else 0,
            heard_seconds=-1.0 if self._heard is None else now - self._heard,
            event_seconds=-1.0 if self._event is None else now - self._event,
            lists=self._lists,
            list_calls=self._list_calls,
            renewals=self._renewals,
            message=self._message,
            refused=self._refused,
        )

    def run(self) -> None:
        """Follow in this thread until stopped."""
        steps = self.steps()
        with suppress(StopIteration):
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    if self._pace.pause(step.seconds):
                        break
                    step = next(steps)
                    continue
                try:
                    line = next(step.stream, None)
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(None if line is None else [line])
        steps.close()

    def steps(self) -> Steps:
        """Follow until stopped; no answer of a server ends it."""
        try:
            while not self._stopping:
                wait = yield from self._attempt()
                if wait is not None:
                    yield Pause(wait)
        finally:
            self._phase = Phase.STOPPED

    def _attempt(self) -> Generator[Pause | Lines, list[bytes] | None, float | None]:
        """One round; how long to wait after it, None: not at all."""
        try:
            yield from self._round()
        except TooManyObjectsError as error:
            with self._lock:
                self.store, self._version, self._last = None, "", None
            self._failed(error)
            return TOO_MANY_PAUSE_SECONDS
        except _RelistError:
            self._forgotten()
            # The server may have told many clients so at once.
            return self._backoff.next_seconds()
        except Exception as error:
            if isinstance(error, QuietError) and self._phase is Phase.SYNCED:
                self._renewing = True
                return None
            # An unforeseen failure must not end the following silently: it is reported like any other, and tried again.
            self._failed(error)
            return self._wait_seconds(error)
        return None

    def _wait_seconds(self, error: Exception) -> float:
        absent = self._phase is Phase.ABSENT
        return ABSENT_PAUSE_SECONDS * (0.5 + self._pace.random()) if absent else self._backoff.after(error)

    def _failed(self, error: Exception) -> None:
        if self._stopping:
            return
        known = isinstance(error, (ApiError, UnreachableError, msgspec.DecodeError, TooManyObjectsError))
        absent = (_NOT_FOUND, _FORBIDDEN) if self.collection.optional else (_NOT_FOUND,)
        missing = isinstance(error, ApiError) and error.status in absent and self.store is None
        self.nowhere = missing and isinstance(error, ApiError) and error.status == _NOT_FOUND
        with self._lock:
            self._refused = isinstance(error, ApiError) and error.status == _FORBIDDEN
            self._message = str(error) if known else f"{type(error).__name__}: {error}"
            self._phase = Phase.ABSENT if missing else Phase.WAITING if self.store is None else Phase.BROKEN
            self._broke, self._needed, self._renewing = self.store is not None, None, False
            # The server may have another version now, so its path is asked again.
            self._located = self.collection
        if missing:
            self._changed()

    def _forgotten(self) -> None:
        """Everything must be read again. The data of a watch that ended in order stays as good as it was; only its age grows."""
        with self._lock:
            self._version, self._last = "", None
            if not self._renewing:
                self._phase, self._message = (
                    Phase.WAITING,
                    "the known version is too old to continue from, so the list is read again",
                )

    def _round(self) -> Steps:
        """One connection, or one paged list."""
        if not self._located.version or not self._located.plural:
            self._located = located(self.collection, self._api)
        if self._version:
            yield from self._follow()
        elif self._streaming_lists:
            yield from self._stream_all()
        else:
            self._list_all()

    def _stream_all(self) -> Steps:
        """A watch that begins with everything there is, and goes on with changes."""
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        try:
            yield from self._watch(query, self._fresh(self._located))
        except ApiError as error:
            if error.status in _NOT_UNDERSTOOD:
                self._streaming_lists = False
                return
            raise
        except UnreachableError:
            # A server that does not know this mode never reports where the initial state ends.
            if self.store is None:
                self._streaming_failures += 1
                self._streaming_lists = self._streaming_failures < 3
            raise

    def _follow(self) -> Steps:
        if self._last is not None:
            self._version = _versioned.decode(self._last).metadata.resource_version
            self._last = None
        query = {"resourceVersion": self._version}
        if self._broke:
            self._needed = self._newest()
            query["timeoutSeconds"] = str(_CATCH_UP_SECONDS)
        try:
            yield from self._watch(query, None)
        except ApiError as error:
            if error.status == _GONE:
                raise _RelistError from None
            raise
        if self._needed is not None and not self._stopping:
            # No bookmark came: only a complete read shows whether something was missed.
            raise _RelistError

    def _newest(self) -> int:
        """The collection's current version, from a read that the server answers from its latest state."""
        self._list_calls += 1
        version = whole_number(_page.decode(self._api.get(self._located.path, {"limit": "1"})).metadata.resource_version)
        if version is None or whole_number(self._version) is None:
            # Versions that cannot be compared tell nothing.
            raise _RelistError
        return version

    def _caught_up(self, version: str) -> None:
        """After a break: trust again once nothing that was missed can still come."""
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
            self._check_size(store)
            if not page.metadata.more:
                break
            query = {"limit": str(PAGE), "continue": page.metadata.more}
            if self._stopping:
                return
        self._heard = self._pace.monotonic()
        self._take_over(store, page.metadata.resource_version)

    def _watch(self, query: dict[str, str], filling: Store | None) -> Steps:
        """Read one connection to its end. With `filling`, it begins with the initial state, which goes there."""
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
            while (came := (yield Lines(lines))) is not None:
                for line in came:
                    self._backoff.reset()
                    filling = self._take(_event.decode(line), filling)
                    self._hears(filling)
        self._cut = None
        if filling is not None and not self._stopping:
            raise UnreachableError("the watch ended before everything was read")
        self._renewing = self._phase is Phase.SYNCED
        if self._pace.monotonic() - began < 1:
            # A server that ends every watch at once would be asked endlessly.
            yield Pause(self._backoff.next_seconds())

    def _hears(self, filling: Store | None) -> None:
        """Filling another store does not make the current one fresher."""
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
            self._check_size(filling)
            return filling
        store = self.store
        if store is None:
            raise _RelistError
        with self._lock:
            changed = store.discard(event.object) if event.type == "DELETED" else store.put(event.object)
            self._last = event.object
            self._event = self._pace.monotonic()
        self._check_size(store)
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

    def _check_size(self, store: Store) -> None:
        if self._most_objects and len(store) > self._most_objects:
            raise TooManyObjectsError(f"it has more than {self._most_objects:,} objects, which is what one cluster may take here")

    def _trust(self) -> None:
        with self._lock:
            self._phase, self._message, self._refused = Phase.SYNCED, "", False
