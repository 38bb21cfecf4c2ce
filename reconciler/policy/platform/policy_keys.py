"""The policy keys of each platform, and the list of all platforms.

The attributes that its keys feed are those of `documents.TargetSpec` and `documents.Discovery`.
"""

from collections.abc import Mapping
from functools import cache

import msgspec

from reconciler import registered_platforms
from reconciler.policy.field import Field


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
