"""All platforms, live."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Protocol

import msgspec

from reconciler import registered_platforms
from reconciler.cluster.platform_reading import readings
from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Served
from reconciler.kube.watching.polled_source import PolledSource
from reconciler.policy.documents import PolicySet
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion, together
from reconciler.providers.contract import TargetProvider
from reconciler.providers.findings import Check
from reconciler.values.clauses import clauses
from reconciler.values.cluster_identity import FleetPlace


class Notes(Protocol):
    """What a platform must remember across processes without an object to store it on: bytes by name, next to the memory of the
    loop. Both methods raise `StateUnavailableError`, and `NotLeaderError` if this process may not write."""

    def load(self, part: str) -> bytes | None:
        """The content as last saved; None if it never was."""

    def save(self, part: str, content: bytes) -> bool:
        """Replace it; false if the content was the same already."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform is given to work with. `management` writes while this process leads. `served` has the platform's API groups
    on its server. `owner` is the policy whose marks are set. `platform_chooses` names targets without machines that may shrink
    although the platform picks the instance. `policy` is the one in force (None: not yet).

    `guard` raises if this process may not write now; it is asked before every write to a cloud. `notes` keep what removals must
    remember (None: nothing is written). `remembered` returns the targets, named as in plans, that the loop sized at its last
    decision, in whichever process. It raises `StateUnavailableError` (None: nobody remembers). `reconnecting_seconds` returns for
    how long other clients of the management server may still act on old data, because it was away. `pods_wait` returns whether
    pods had no node at the last decision, and none on its way.

    `loop` tells the loops of one process apart. In a fleet, `cluster` is the Cluster (empty outside one), and `fleet` returns its
    place in the fleet (None outside one)."""

    management: Api
    served: tuple[Served, ...] = ()
    owner: str = ""
    namespaces: tuple[str, ...] = ()
    platform_chooses: Callable[[TargetRef], bool] = lambda _: False
    policy: Callable[[], PolicySet | None] = lambda: None
    guard: Callable[[], None] = lambda: None
    notes: Notes | None = None
    remembered: Callable[[], Iterable[str]] | None = None
    reconnecting_seconds: Callable[[], float] = lambda: 0.0
    pods_wait: Callable[[], bool] = lambda: False
    loop: str = ""
    cluster: str = ""
    fleet: Callable[[], FleetPlace] | None = None


class LivePlatform(msgspec.Struct, frozen=True, kw_only=True):
    """One platform, live.

    `name` is the provider's name in policies. `kinds` are the kinds of its targets. `served` returns which of its API groups a
    server has, and in which version (none: not there), given the environment. It raises `UnreachableError`, and `ApiError` for
    anything but an unknown group. `provider` makes the writer. `polled` makes the sources that poll a cloud. `checks` are
    findings for `doctor`, if the platform is there; they raise as the connection does. `absent` is `doctor`'s finding if no
    platform is there at all.

    `configured`: the environment tells this process to ask the platform's cloud. `asked` asks the cloud once, given the
    environment; it raises `CloudError`. `hold` writes the text of a hold (empty: removes it) on a cloud's target, asked as the
    policy says, and returns the previous text. It raises `CloudError`. `detected_by` states how a process finds its targets.
    """

    name: str
    kinds: tuple[str, ...]
    provider: Callable[[Surroundings], TargetProvider] | None = None
    served: Callable[[Api, Mapping[str, str]], tuple[Served, ...]] = lambda _api, _environment: ()
    polled: Callable[[Surroundings], tuple[PolledSource, ...]] = lambda _: ()
    checks: Callable[[Surroundings], Iterable[Check]] = lambda _: ()
    absent: Check | None = None
    configured: Callable[[Mapping[str, str]], bool] = lambda _: False
    asked: Callable[[CloudQuestion, Mapping[str, str]], CloudAnswer] = lambda _question, _environment: CloudAnswer()
    hold: Callable[[TargetRef, PolicySet, str], str] | None = None
    detected_by: str = ""


@cache
def live_platforms() -> tuple[LivePlatform, ...]:
    """The platforms that can write."""
    return registered_platforms.parts("live", "LIVE")


def served_platforms(api: Api, environment: Mapping[str, str]) -> tuple[Served, ...]:
    """The platforms' API groups on a server.

    Raises `UnreachableError`, and `ApiError` for anything but an unknown group.
    """
    return tuple(served for platform in live_platforms() for served in platform.served(api, environment))


def asks_clouds(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment sizes targets that are not on an API server."""
    return any(platform.configured(environment) for platform in live_platforms())


def nothing_to_size(server: str) -> str:
    """A sentence for a process that finds no platform."""
    ways = clauses(platform.detected_by for platform in live_platforms() if platform.detected_by)
    return f"{server} has nothing whose replicas could be changed, and no cloud is configured: {ways}"


def names_clouds(policy: PolicySet) -> bool:
    """Whether a policy names or discovers targets that are not on an API server and that a process can write."""
    on_server = {reading.name for reading in readings() if reading.group}
    clouds = {platform.name for platform in live_platforms() if platform.provider is not None} - on_server
    named = {group.target.provider for group in policy.groups} | {item.provider for item in policy.policy.discovery}
    return bool(clouds & named)


def ask_clouds(question: CloudQuestion, environment: Mapping[str, str]) -> CloudAnswer:
    """The answers of all platforms' clouds, once. Raises `CloudError`."""
    return together(platform.asked(question, environment) for platform in live_platforms())


def hold_in_cloud(target: TargetRef, policy: PolicySet, text: str) -> str | None:
    """Write the text of a hold (empty: remove it) on a target in a cloud. Returns the previous text, or None if that cloud has no
    such holds. Raises `CloudError`."""
    for platform in live_platforms():
        if target.kind in platform.kinds and platform.hold is not None:
            return platform.hold(target, policy, text)
    return None


def providers(surroundings: Surroundings) -> dict[str, TargetProvider]:
    """The writers of targets, by kind. A platform with nothing on the server has no provider."""
    by_kind: dict[str, TargetProvider] = {}
    for platform in live_platforms():
        own = of_platform(platform, surroundings)
        if platform.provider is not None and own is not None:
            by_kind |= dict.fromkeys(platform.kinds, platform.provider(own))
    return by_kind


def polled(surroundings: Surroundings) -> tuple[PolledSource, ...]:
    """The sources that poll clouds."""
    there = ((platform, of_platform(platform, surroundings)) for platform in live_platforms())
    return tuple(source for platform, own in there if own is not None for source in platform.polled(own))


def autoscaler_homes(served: Iterable[Served]) -> tuple[str, ...]:
    """The namespaces in which served platforms run their own autoscalers."""
    there = {item.platform for item in served}
    return tuple(home for reading in readings() if reading.name in there for home in reading.autoscaler_namespaces)


def of_platform(platform: LivePlatform, surroundings: Surroundings) -> Surroundings | None:
    """The surroundings for one platform; None if its objects would be on a server that has none of them."""
    mine = tuple(item for item in surroundings.served if item.platform == platform.name)
    on_server = any(reading.group for reading in readings() if reading.name == platform.name)
    return None if on_server and not mine else msgspec.structs.replace(surroundings, served=mine)
