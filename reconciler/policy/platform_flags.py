"""How the Cluster Autoscaler's settings name the targets of one platform; where all platforms meet.

What a flag decides is no platform's; which targets it speaks of is, and each cloud provider of the Cluster Autoscaler has a form
of its own for that.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from reconciler import registered_platforms
from reconciler.policy.imports.fragment import Fragment
from reconciler.values.loose_json import text_at

FragmentReader = Callable[[Mapping[str, Any], Callable[[], str]], Fragment]
"""Makes a fragment of an object. The second argument tells the place, which raises `PlaceNeededError`."""


class PlaceNeededError(ValueError):
    """A setting names targets without saying in which region or location they are."""


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

    `clouds` are the values of `--cloud-provider` that mean it, `provider` is its key in policies. `accelerator_label` is the
    label by which its nodes say their accelerator to the Cluster Autoscaler (empty: the one of Cluster API). `named` reads the
    NAME of `--nodes=MIN:MAX:NAME` (None: of another platform, by its form), `discovered` the value of
    `--node-group-auto-discovery` as an item of `spec.discovery` but for its name (None: of another platform). Both are given
    what tells the place, which raises `PlaceNeededError`, and raise `ValueError` for what cannot be read. `elsewhere` are
    flags, without hyphens, that decide nothing, and where what they say is said here. `place_variables` are those of the
    environment that tell the place, `chart_place` is the value of the Helm chart that does; `chart_discovery` makes the value
    of `--node-group-auto-discovery` of the chart's `autoDiscovery`, as the chart does (empty: none); `chart_default`: the chart
    means it where its values name no cloud. `objects` read the kinds of object, by which the platform's own autoscaler is told,
    and raise `ValueError` for one that cannot be read; `objects_called` is what people call them. `fragments` read objects of
    other tools that make targets of this platform, by API group and kind.
    """

    clouds: tuple[str, ...]
    provider: str
    named: Callable[[str, Callable[[], str]], NamedTarget | None]
    discovered: Callable[[str, Callable[[], str]], Mapping[str, Any] | None] = lambda _text, _place: None
    elsewhere: Mapping[str, str] = {}
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
    """Those that a value of `--cloud-provider` means; all where it is not said. None: there is no platform for it here."""
    return tuple(one for one in platform_flags() if not cloud or cloud in one.clouds)


def autoscaler_object(item: Mapping[str, Any]) -> AutoscalerObject | None:
    """What an object of some platform's own autoscaler says; None for every other one. Raises `ValueError`."""
    kind = text_at(item, "kind")
    return next((one.objects[kind](item) for one in platform_flags() if kind in one.objects), None)


def autoscaler_cloud(item: Mapping[str, Any]) -> str:
    """The value of `--cloud-provider` for the platform whose own autoscaler reads the object; empty for every other one."""
    kind = text_at(item, "kind")
    return next((one.clouds[0] for one in platform_flags() if kind in one.objects), "")
