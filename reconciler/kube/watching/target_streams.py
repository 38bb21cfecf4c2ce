"""The objects of platforms that a view needs, followed for it alone: targets, and the templates that they refer to."""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Collection, Served, nowhere, platform_collections
from reconciler.kube.watching.followed_kinds import FollowedKinds
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.reflector import SILENCE_SECONDS, Reflector
from reconciler.kube.watching.trust import Need, Stream, stream_of
from reconciler.kube.watching.watch_pace import Pace


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
        self._pace = pace
        self._changed = changed
        self._silence_seconds = silence_seconds
        self._nowhere = nowhere(served)
        namespaces = tuple(namespaces)
        self._kinds = FollowedKinds(self._reflector, platform_collections(served, namespaces), namespaces)

    def start(self) -> None:  # noqa: D102 - as the protocol says
        self._kinds.start()

    def stop(self) -> None:  # noqa: D102 - as the protocol says
        self._kinds.stop()

    def join(self, left_seconds: Callable[[], float]) -> bool:  # noqa: D102 - as the protocol says
        return self._kinds.join(left_seconds)

    def follow_referred(self) -> None:  # noqa: D102 - as the protocol says
        self._kinds.follow(self._referred())

    def streams(self) -> list[Stream]:  # noqa: D102 - as the protocol says
        templates = [stream_of(one, Need.ASIDE) for one in self._kinds.of_templates()]
        return [*(stream_of(one) for one in self._kinds.targets), *templates]

    def nowhere(self) -> frozenset[str]:  # noqa: D102 - as the protocol says
        return self._nowhere

    def _referred(self) -> set[tuple[str, str]]:
        with self.lock:
            stores = [item.store for item in self._kinds.targets if isinstance(item.store, ObjectStore)]
            return {reference for store in stores for reference in store.referred()}

    def _reflector(self, collection: Collection) -> Reflector:
        return Reflector(
            self._api, collection, lambda resolved: ObjectStore(resolved, self._capi_group),
            pace=self._pace, lock=self.lock, changed=self._changed, silence_seconds=self._silence_seconds,
        )  # fmt: skip
