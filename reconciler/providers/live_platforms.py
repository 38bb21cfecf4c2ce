"""All platforms, live."""

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from reconciler import registered_platforms
from reconciler.cluster.platform_reading import readings
from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Served
from reconciler.kube.watching.polled_source import PolledSource
from reconciler.policy.documents import PolicySet
from reconciler.providers.cloud_answer import CloudAnswer, CloudQuestion, together
from reconciler.providers.contract import TargetProvider
from reconciler.providers.live_platform import LivePlatform, Surroundings


@cache
def live_platforms() -> tuple[LivePlatform, ...]:
    """Those that have a writing half."""
    return registered_platforms.parts("live", "LIVE")


def served_platforms(api: Api, environment: Mapping[str, str]) -> tuple[Served, ...]:
    """The API groups of platforms that a server has.

    Raises `UnreachableError`, and `ApiError` for anything but an unknown group.
    """
    return tuple(found for platform in live_platforms() for found in platform.served(api, environment))


def asks_clouds(environment: Mapping[str, str]) -> bool:
    """Whether a process of this environment sizes targets that no API server keeps."""
    return any(platform.configured(environment) for platform in live_platforms())


def nothing_to_size(server: str) -> str:
    """A sentence for a process that finds no platform."""
    ways = "; ".join(platform.found_by for platform in live_platforms() if platform.found_by)
    return f"{server} keeps nothing whose replicas could be changed, and no cloud is to be asked: {ways}"


def names_clouds(policy: PolicySet) -> bool:
    """Whether a policy names or discovers targets that no API server keeps, and that a process can write."""
    on_server = {reading.name for reading in readings() if reading.group}
    clouds = {platform.name for platform in live_platforms() if platform.provider is not None} - on_server
    named = {group.target.provider for group in policy.groups} | {item.provider for item in policy.policy.discovery}
    return bool(clouds & named)


def ask_clouds(question: CloudQuestion, environment: Mapping[str, str]) -> CloudAnswer:
    """What the clouds of all platforms say, once. Raises `CloudError`."""
    return together(platform.asked(question, environment) for platform in live_platforms())


def hold_in_cloud(target: TargetRef, policy: PolicySet, text: str) -> str | None:
    """Write the words of a hold (empty: take it off) on a target that a cloud keeps: the words that were there, None where that
    cloud holds nothing so. Raises `CloudError`."""
    for platform in live_platforms():
        if target.kind in platform.kinds and platform.hold is not None:
            return platform.hold(target, policy, text)
    return None


def providers(surroundings: Surroundings) -> dict[str, TargetProvider]:
    """Who writes targets, by their kind. A platform of which the server has nothing has no provider."""
    found: dict[str, TargetProvider] = {}
    for platform in live_platforms():
        own = of_platform(platform, surroundings)
        if platform.provider is not None and own is not None:
            found |= dict.fromkeys(platform.kinds, platform.provider(own))
    return found


def polled(surroundings: Surroundings) -> tuple[PolledSource, ...]:
    """What is asked of clouds."""
    there = ((platform, of_platform(platform, surroundings)) for platform in live_platforms())
    return tuple(source for platform, own in there if own is not None for source in platform.polled(own))


def autoscaler_homes(served: Iterable[Served]) -> tuple[str, ...]:
    """The namespaces where platforms that are served keep autoscalers of their own."""
    there = {item.platform for item in served}
    return tuple(home for reading in readings() if reading.name in there for home in reading.autoscaler_namespaces)


def of_platform(platform: LivePlatform, surroundings: Surroundings) -> Surroundings | None:
    """The surroundings as one platform sees them; None where its objects are kept by a server that has none of them."""
    mine = tuple(item for item in surroundings.served if item.platform == platform.name)
    on_server = any(reading.group for reading in readings() if reading.name == platform.name)
    return None if on_server and not mine else msgspec.structs.replace(surroundings, served=mine)
