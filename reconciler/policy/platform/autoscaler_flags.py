"""How the Cluster Autoscaler's settings name the targets of one platform.

All platforms have their part here. The effect of a flag is the same on all platforms. How it names targets differs: each cloud
provider of Cluster Autoscaler has its own form.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from reconciler import registered_platforms
from reconciler.policy.import_fragment import Fragment
from reconciler.values.loose_json import text_at

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
