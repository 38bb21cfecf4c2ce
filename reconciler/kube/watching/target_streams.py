"""The objects of platforms that a view needs, followed for it alone: targets, and the templates that they refer to."""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Collection, Served, nowhere, platform_collections
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.reflector import SILENCE_SECONDS, Pace, Reflector
from reconciler.kube.watching.trust import Need, Stream, stream_of


class TargetStreams(Protocol):
    """What a view takes its targets from. Its stores may be read under `lock` only."""

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held while an object changes."""

    def start(self) -> None:
        """Begin to follow; returns at once."""

    def stop(self) -> None:
        """Ask every stream of this view to end."""

    def join(self, left_seconds: Callable[[], float]) -> bool:
        """Wait for the streams to end; whether all have."""

    def follow_referred(self) -> None:
        """Begin to follow the kinds that targets refer to and that are not followed yet."""

    def streams(self) -> Sequence[Stream]:
        """Every stream, with the objects of this view."""

    def nowhere(self) -> frozenset[str]:
        """Kinds that the server does not have."""


class OwnTargets:
    """`TargetStreams` of one view. `changed` is called after a change, in some thread."""

    def __init__(
        self,
        api: Api,
        *,
        served: tuple[Served, ...],
        namespaces: Iterable[str],
        capi_group: str,
        pace: Pace,
        changed: Callable[[], None],
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self.lock = threading.Lock()
        self._api = api
        self._capi_group = capi_group
        self._namespaces = tuple(namespaces) or ("",)
        self._pace = pace
        self._changed = changed
        self._silence_seconds = silence_seconds
        self._nowhere = nowhere(served)
        self._targets = [self._reflector(item) for item in platform_collections(served, namespaces)]
        self._templates: dict[tuple[str, str], list[Reflector]] = {}

    def start(self) -> None:  # noqa: D102 - as the protocol says
        # A page that reads the view meanwhile may find templates to follow. It starts their reflectors itself.
        for reflector in self._targets:
            reflector.start()

    def stop(self) -> None:  # noqa: D102 - as the protocol says
        for reflector in self._reflectors():
            reflector.stop()

    def join(self, left_seconds: Callable[[], float]) -> bool:  # noqa: D102 - as the protocol says
        ended = [reflector.join(left_seconds()) for reflector in self._reflectors()]
        return all(ended)

    def follow_referred(self) -> None:  # noqa: D102 - as the protocol says
        for group, kind in sorted(self._referred() - self._templates.keys()):
            reflectors = [
                self._reflector(Collection(group=group, kind=kind, namespace=namespace)) for namespace in self._namespaces
            ]
            self._templates[group, kind] = reflectors
            for reflector in reflectors:
                reflector.start()

    def streams(self) -> list[Stream]:  # noqa: D102 - as the protocol says
        templates = [stream_of(one, Need.ASIDE) for reflectors in tuple(self._templates.values()) for one in reflectors]
        return [*(stream_of(one) for one in self._targets), *templates]

    def nowhere(self) -> frozenset[str]:  # noqa: D102 - as the protocol says
        return self._nowhere

    def _reflectors(self) -> list[Reflector]:
        return [*self._targets, *(one for reflectors in tuple(self._templates.values()) for one in reflectors)]

    def _referred(self) -> set[tuple[str, str]]:
        with self.lock:
            return {
                reference for item in self._targets if isinstance(item.store, ObjectStore) for reference in item.store.referred()
            }

    def _reflector(self, collection: Collection) -> Reflector:
        return Reflector(
            self._api, collection, lambda resolved: ObjectStore(resolved, self._capi_group),
            pace=self._pace, lock=self.lock, changed=self._changed, silence_seconds=self._silence_seconds,
        )  # fmt: skip
