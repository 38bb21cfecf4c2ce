"""What a platform tells a live process: whether it is there, who writes its targets, what is asked beside the API server.

A platform's targets are kept by the API server of the management cluster (they are watched by what its reading says), or by a
cloud (they are polled). Third-party clients are imported in one named file of the platform's `writing` folder, inside the
functions that need them: this part is looked up in every live process.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Served
from reconciler.kube.watching.polled_source import PolledSource
from reconciler.policy.documents import PolicySet
from reconciler.providers.check import Check
from reconciler.providers.cloud_answer import CloudAnswer, CloudQuestion
from reconciler.providers.contract import TargetProvider


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
