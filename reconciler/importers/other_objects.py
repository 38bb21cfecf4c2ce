"""Objects that configure another autoscaler, or the tool that makes its targets: which kinds are read, and by which reader."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec

from reconciler.importers.capacity_quota import CAPACITY_QUOTA, capacity_quota
from reconciler.importers.karpenter import NODE_POOL, node_pool
from reconciler.importers.scheduler_configuration import SCHEDULER_CONFIGURATION, scheduler_configuration
from reconciler.policy.import_fragment import Fragment
from reconciler.policy.platform.autoscaler_flags import FragmentReader, PlaceNeededError, platform_flags
from reconciler.values.loose_json import Object, text_at


class OtherObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a kind that is read here, and its file."""

    item: Object
    file: str


class ReadObject(msgspec.Struct, frozen=True, kw_only=True):
    """The result for an object, and its file."""

    fragment: Fragment
    file: str


def is_other_object(item: Object) -> bool:
    """Whether its kind is one of those that are read here."""
    return _kind(item) in _readers()


def read_objects(objects: Sequence[OtherObject], place: Callable[[], str]) -> tuple[ReadObject, ...]:
    """Each object, the highest rank first. `place` returns the region if an object has none. Raises `PlaceNeededError`."""
    read = [ReadObject(fragment=_fragment(one, place), file=one.file) for one in objects]
    return tuple(sorted(read, key=lambda one: one.fragment.rank, reverse=True))


def _fragment(one: OtherObject, place: Callable[[], str]) -> Fragment:
    kind = _kind(one.item)
    try:
        return _readers()[kind](one.item, place)
    except PlaceNeededError as error:
        raise PlaceNeededError(f"{kind[1]} ({one.file}): {error}") from None


def _kind(item: Object) -> tuple[str, str]:
    return text_at(item, "apiVersion").partition("/")[0], text_at(item, "kind")


@cache
def _readers() -> Mapping[tuple[str, str], FragmentReader]:
    of_platforms = {kind: reader for one in platform_flags() for kind, reader in one.fragments.items()}
    return {
        NODE_POOL: node_pool,
        CAPACITY_QUOTA: capacity_quota,
        SCHEDULER_CONFIGURATION: scheduler_configuration,
        **of_platforms,
    }
