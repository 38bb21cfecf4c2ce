"""How manifests declare one platform's targets, and what happens where they leave out the size."""

from functools import cache

import msgspec

from reconciler import registered_platforms
from reconciler.values.parent_sizes import ParentSizes


class PlatformManifests(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests of one platform.

    `provider` is its key in policies, `group` the API group of its objects; `renamed`: an operator may have given the group
    another name. `sized` are kinds with `spec.replicas`, `kept` those of which a webhook keeps the size between both size
    annotations where a write leaves it out. `topology` is a kind whose workers declare sizes of objects of the kinds `workers`.
    `parents` are kinds of other projects that declare sizes of its targets. `kind_suffix` is what follows a kind in the name of a
    target's kind. `unset` is what to do before a declared size is removed, if no annotation keeps it.
    """

    provider: str
    group: str
    renamed: bool = False
    sized: tuple[str, ...]
    kept: tuple[str, ...] = ()
    topology: str = ""
    workers: tuple[str, ...] = ()
    parents: tuple[ParentSizes, ...] = ()
    kind_suffix: str = ""
    unset: str = ""

    def target_kind(self, kind: str) -> str:
        """The kind of target that a kind of object is."""
        return f"{kind}{self.kind_suffix}"


def workers_field(kind: str) -> str:
    """The list of a topology that has the entries for objects of this kind: `machineDeployments`, `machinePools`."""
    return f"{kind[:1].lower()}{kind[1:]}s"


@cache
def platform_manifests() -> tuple[PlatformManifests, ...]:
    """Those of all platforms that keep targets as objects of an API server."""
    return registered_platforms.parts("manifests", "MANIFESTS")


def manifests_by_group(renamed: str) -> dict[str, PlatformManifests]:
    """By API group, which is `renamed` (empty: its own) for the platform of which an operator may say so."""
    return {(renamed if renamed and one.renamed else one.group): one for one in platform_manifests()}
