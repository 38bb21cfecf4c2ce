"""What policies may say about the targets of one platform: each platform's own keys, and where all of them meet.

The attributes that its keys feed are those of `documents.TargetSpec` and `documents.Discovery`.
"""

from collections.abc import Mapping
from functools import cache

import msgspec

from reconciler import registered_platforms
from reconciler.policy.field import Field


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """Labels by which nodes of one cloud differ though their groups are alike. `clouds` are values of the Cluster Autoscaler's
    `--cloud-provider` under which it ignores them unasked."""

    name: str
    labels: tuple[str, ...]
    clouds: tuple[str, ...] = ()


class PolicyKeys(msgspec.Struct, frozen=True, kw_only=True):
    """`target` and `discovery` are objects under `spec.target` and in `spec.discovery[]`, whose key is the provider's name and
    whose constants name the provider, and the kind of target where there is one alone. `discovery` None: its targets are named
    one by one. `default_discovery` names the item that discovers all its targets where there is no policy (empty: none does).
    `experimental` says how far they were proven where that is not on the real platform (empty: it is). `controllers` are managers
    of its own that would write replicas again, each with what to do instead of adopting from it. `balancing` is what
    `spec.balancing.presets` may name for its nodes. `in_cloud`: its targets are kept by a service of a cloud and not by an API
    server."""

    target: Field
    discovery: Field | None = None
    default_discovery: str = ""
    experimental: str = ""
    controllers: Mapping[str, str] = {}
    balancing: Preset | None = None
    in_cloud: bool = False

    @property
    def provider(self) -> str:
        """The key of the platform in policies."""
        return self.target.yaml_key


@cache
def platform_keys() -> tuple[PolicyKeys, ...]:
    """Those of all platforms."""
    return registered_platforms.parts("policy_keys", "KEYS")
