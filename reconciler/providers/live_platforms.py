"""All platforms, live."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
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
from reconciler.providers.answer import CloudAnswer, CloudQuestion, together
from reconciler.providers.contract import TargetProvider

# Findings about a live cluster before the loop runs on it.


class State(StrEnum):
    """Pass: as it should be. Warn: it runs, and something is not as wanted. Fail: it does not run."""

    PASS = "Pass"  # noqa: S105 - no password
    WARN = "Warn"
    FAIL = "Fail"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at: a stable code, what was found, and what to do about it (empty: nothing)."""

    code: str
    state: State
    message: str
    advice: str = ""


# What a platform tells a live process: whether it is there, who writes its targets, what is asked beside the API server.
#
# A platform's targets are kept by the API server of the management cluster (they are watched by what its reading says), or by a
# cloud (they are polled). Third-party clients are imported in one named file of the platform's `writing` folder, inside the
# functions that need them: this part is looked up in every live process.


class Notes(Protocol):
    """What a platform must remember over the end of a process and has no object to leave it on: bytes by name, beside the memory
    of the loop. Both raise `StateUnavailableError`, and where this process may not write `NotLeaderError`."""

    def load(self, part: str) -> bytes | None:
        """As last saved; None when it never was."""

    def save(self, part: str, content: bytes) -> bool:
        """Replace it; false when it was that already."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform is given to work with. `management` writes while this process leads. `served` are the API groups of the
    platform that its server speaks, `owner` is the policy whose marks are set. `platform_chooses` tells the targets without
    machines that may shrink though the platform picks the instance that goes; `policy` is the one in force (None: there is
    none yet). `guard` raises where this process may not write now, to be asked before every write to a cloud; `notes` keep what
    removals must remember (None: nothing is written). `remembered` are the targets, as plans call them, that the loop sized at
    its last decision, in whichever process; it raises `StateUnavailableError` (None: nobody
    remembers). `reconnecting_seconds` says for how long other clients of the management server may still act on what they knew
    before it was away."""

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


class LivePlatform(msgspec.Struct, frozen=True, kw_only=True):
    """One platform, live.

    `name` is the provider's in policies. `kinds` are those of its targets. `served` says which of its API groups a server has,
    in which version (none: not there), given the environment; it raises `UnreachableError`, and `ApiError` for anything but an
    unknown group. `provider` makes what writes. `polled` makes what is asked of a cloud. `checks` are findings for `doctor`;
    they raise as the connection does, and are asked for where the platform is there. `absent` is what `doctor` says where no
    platform is there at all. `configured`: the environment says that this process asks the platform's cloud. `asked` asks the
    cloud once, given the environment; it raises `CloudError`. `hold` writes the words of a hold (empty: takes it off) on a
    target that a cloud keeps, asked as the policy says, and returns those that were there; it raises `CloudError`. `found_by`
    says what lets a process find its targets.
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
    found_by: str = ""


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
