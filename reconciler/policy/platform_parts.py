"""What policies may say about the targets of one platform: each platform's own keys, and where all of them meet.

The attributes that its keys feed are those of `documents.TargetSpec` and `documents.Discovery`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from reconciler import registered_platforms
from reconciler.policy.field import Field
from reconciler.policy.import_fragment import Fragment
from reconciler.values.loose_json import text_at
from reconciler.values.parent_sizes import ParentSizes


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """Labels in which nodes of similar groups of one cloud differ. With a `--cloud-provider` of `clouds`, Cluster Autoscaler
    ignores them by default."""

    name: str
    labels: tuple[str, ...]
    clouds: tuple[str, ...] = ()


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """The names that a platform's own objects have for settings of policies. `column` and `meaning` are for the reference.
    `names` maps the path of a field below `spec` to a name. Below `defaults` and in windows the path is that of a NodeGroup."""

    column: str
    meaning: str
    names: Mapping[str, str]


class PolicyKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of one platform in policies. `target` and `discovery` are objects under `spec.target` and in `spec.discovery[]`.
    Their key is the provider's name. Their constants name the provider, and the kind of target if there is only one.

    `discovery` is None if each target is named in the policy. `default_discovery` names the item that discovers all targets
    without a policy (empty: none). `experimental` says how the platform was tested, if not on the real platform (else empty).
    `controllers` are its managers that would write replicas again, each with what to do instead of adopting from it.
    `never_adopted` are managers that keep its targets in spite of `adoptFrom`, likewise. `balancing` is its preset for
    `spec.balancing.presets`. `in_cloud`: a cloud service keeps its targets, not an API server. `elsewhere` are the names of
    settings on its own objects (None: they have none)."""

    target: Field
    discovery: Field | None = None
    default_discovery: str = ""
    experimental: str = ""
    controllers: Mapping[str, str] = {}
    never_adopted: Mapping[str, str] = {}
    balancing: Preset | None = None
    in_cloud: bool = False
    elsewhere: Elsewhere | None = None

    @property
    def provider(self) -> str:
        """The key of the platform in policies."""
        return self.target.yaml_key


@cache
def platform_keys() -> tuple[PolicyKeys, ...]:
    """Those of all platforms."""
    return registered_platforms.parts("policy_keys", "KEYS")


# How the Cluster Autoscaler's settings name the targets of one platform. All platforms have their part here.
#
# The effect of a flag is the same on all platforms. How it names targets differs: each cloud provider of Cluster Autoscaler has
# its own form.

FragmentReader = Callable[[Mapping[str, Any], Callable[[], str]], Fragment]
"""Makes a fragment of an object. The second argument returns the place, or raises `PlaceNeededError`."""


class PlaceNeededError(ValueError):
    """A setting names targets without their region or location."""


class NamedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A target that a flag names: what a NodeGroup writes below `spec.target`, and the name and namespace for that NodeGroup."""

    target: Mapping[str, Mapping[str, str]]
    name: str
    namespace: str = ""


class SizedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A target, of whatever platform, with the range that an object `by` gives it. `api_group` and `kind` are the target's."""

    by: str
    api_group: str
    kind: str
    namespace: str
    name: str
    min_size: int
    max_size: int


class AutoscalerObject(msgspec.Struct, frozen=True, kw_only=True):
    """What an object says to an autoscaler: `settings`, an object whose paths below `spec` are names of settings, and targets."""

    settings: Mapping[str, Any] = {}
    sized: tuple[SizedTarget, ...] = ()


class PlatformFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one platform.

    `clouds` are its values of `--cloud-provider`, `provider` is its key in policies. `accelerator_label` is the node label that
    shows the accelerator to Cluster Autoscaler (empty: the label of Cluster API).

    `named` reads the NAME of `--nodes=MIN:MAX:NAME`. `discovered` reads the value of `--node-group-auto-discovery` as an item of
    `spec.discovery` without its name. Both return None for the form of another platform. Both get a function that returns the
    place or raises `PlaceNeededError`, and raise `ValueError` for an invalid value.

    `elsewhere` are flags, without hyphens, that decide nothing, each with the place of the same setting here. `alike` are paths
    in objects that are another name of a flag. `place_variables` are the environment variables with the place, and `chart_place`
    is the value of the Helm chart with it. `chart_discovery` makes the value of `--node-group-auto-discovery` from the chart's
    `autoDiscovery`, as the chart does (empty: none). `chart_default`: the chart uses this platform if its values name no cloud.

    `objects` read the kinds of object that configure the platform's own autoscaler, and raise `ValueError` for an invalid one.
    `objects_called` is their name for people. `fragments` read objects of other tools that make targets of this platform, by API
    group and kind.
    """

    clouds: tuple[str, ...]
    provider: str
    named: Callable[[str, Callable[[], str]], NamedTarget | None]
    discovered: Callable[[str, Callable[[], str]], Mapping[str, Any] | None] = lambda _text, _place: None
    elsewhere: Mapping[str, str] = {}
    alike: Mapping[str, str] = {}
    place_variables: tuple[str, ...] = ()
    chart_place: str = ""
    chart_discovery: Callable[[Mapping[str, Any]], str] = lambda _: ""
    chart_default: bool = False
    accelerator_label: str = ""
    objects: Mapping[str, Callable[[Mapping[str, Any]], AutoscalerObject]] = {}
    objects_called: str = ""
    fragments: Mapping[tuple[str, str], FragmentReader] = {}


@cache
def platform_flags() -> tuple[PlatformFlags, ...]:
    """Those of all platforms that the Cluster Autoscaler has a cloud provider for."""
    return registered_platforms.parts("autoscaler_flags", "FLAGS")


def flags_of(cloud: str) -> tuple[PlatformFlags, ...]:
    """The platforms of a value of `--cloud-provider`; all if the value is empty, none if it is not supported here."""
    return tuple(one for one in platform_flags() if not cloud or cloud in one.clouds)


def autoscaler_object(item: Mapping[str, Any]) -> AutoscalerObject | None:
    """What an object of some platform's own autoscaler says; None for every other one. Raises `ValueError`."""
    kind = text_at(item, "kind")
    return next((one.objects[kind](item) for one in platform_flags() if kind in one.objects), None)


def autoscaler_cloud(item: Mapping[str, Any]) -> str:
    """The value of `--cloud-provider` for the platform whose own autoscaler reads the object; empty for every other one."""
    kind = text_at(item, "kind")
    return next((one.clouds[0] for one in platform_flags() if kind in one.objects), "")


# How a platform's targets stand in manifests, and what comes of a size that is left out there; where all platforms meet.


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


# How infrastructure tools (Terraform, eksctl, CloudFormation …) declare the sizes of one platform's targets.


class DeclaredType(msgspec.Struct, frozen=True, kw_only=True):
    """One type of resource of a tool, with the path to the size of the target that comes of it.

    `tool` is one of `policy.manifests.infrastructure_tools`. `type` is the tool's name of the type. For an object of an API
    server it is `Kind.group`, and `list.Kind.group` where the object lists groups. For a module it is the input that lists groups
    (empty: the module is one group). `size` is a path below the resource. `name` is the path to its name, and `called` is
    what its target is then called: `{name}` is that name, `*` what a cloud chooses. `prefix` is the path to the beginning of
    a name. `unnamed` is the target's name where neither is there; `{key}` is what the tool calls the resource. `cluster` is
    the path to the cluster's name, which is `{cluster}` in `called` and in `made`, the tags that come by themselves. `tags`
    are paths to other tags of the target. `module` are texts of which one is in the source of a Terraform module that makes
    such targets. `kept`: why a later change of the size has no effect (empty: it has one). `keep` is an input with which a
    module ignores the size.
    """

    tool: str
    type: str
    size: tuple[str, ...]
    name: tuple[str, ...] = ("name",)
    prefix: tuple[str, ...] = ()
    called: str = "{name}"
    unnamed: str = "*"
    cluster: tuple[str, ...] = ()
    region: tuple[str, ...] = ("region",)
    tags: tuple[tuple[str, ...], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    module: tuple[str, ...] = ()
    kept: str = ""
    keep: str = ""


class PlatformDeclarations(msgspec.Struct, frozen=True, kw_only=True):
    """The types of one platform. `provider` is its key in policies."""

    provider: str
    types: tuple[DeclaredType, ...]


@cache
def platform_declarations() -> tuple[PlatformDeclarations, ...]:
    """Those of all platforms whose targets such tools make."""
    return registered_platforms.parts("declared_types", "DECLARATIONS")
