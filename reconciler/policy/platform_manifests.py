"""How a platform's targets stand in manifests, and what comes of a size that is left out there; where all platforms meet."""

from functools import cache

import msgspec

from reconciler import registered_platforms


class ParentSizes(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of another project whose objects declare the sizes of targets that its controller makes.

    `owner` is the project, `group` and `kind` are those of the object. `entries` is the path to a list of pools; without it
    the object is the only entry. `sizes` are paths below an entry. `target_kind` is the kind of object that is made, and
    `target_name` and `target_namespace` say what it is called: `{name}` and `{namespace}` are those of the object, `{entry}`
    is the entry's name, and `{cluster}` is its `spec.clusterName`.
    """

    owner: str
    group: str
    kind: str
    entries: tuple[str, ...] = ()
    sizes: tuple[tuple[str, ...], ...]
    target_kind: str
    target_name: str
    target_namespace: str


class PlatformManifests(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests of one platform.

    `provider` is its key in policies, `group` the API group of its objects; `renamed`: an operator may have given the group
    another name. `sized` are kinds with `spec.replicas`, `kept` those of which a webhook keeps the size between both size
    annotations where a write leaves it out. `topology` is a kind whose workers declare sizes of objects of the kinds
    `workers`. `parents` are kinds of other projects that declare sizes of its targets.
    `kind_suffix` is what stands behind a kind in the name of a target's kind. `unset` is what to do before a declared size goes,
    where no annotation keeps it.
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
