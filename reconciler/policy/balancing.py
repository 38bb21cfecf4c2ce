"""Labels that siblings of `balanceWith: Auto` may differ in, by platform.

SOURCE: the labels that the providers of Cluster Autoscaler ignore when they compare groups. Its Cluster API provider documents a
list per platform. Zones, regions and the host name are always ignored.
"""

from collections.abc import Mapping
from functools import cache

from reconciler.policy.platform.policy_keys import Preset, platform_keys

# Of clouds whose machines others keep: Cluster API's providers, for one.
_ELSEWHERE = (
    Preset(name="Alibaba", labels=("topology.diskplugin.csi.alibabacloud.com/zone",)),
    Preset(
        name="Azure",
        labels=("agentpool", "kubernetes.azure.com/agentpool", "topology.disk.csi.azure.com/zone"),
        clouds=("azure",),
    ),
    Preset(name="GCP", labels=("topology.gke.io/zone",), clouds=("gce",)),
    Preset(
        name="IBM",
        labels=(
            "ibm-cloud.kubernetes.io/vpc-instance-id",
            "ibm-cloud.kubernetes.io/worker-id",
            "vpc-block-csi-driver-labels",
        ),
    ),
)

ALWAYS_IGNORED: tuple[str, ...] = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
)
ALWAYS_IGNORED_PREFIX = "beta.kubernetes.io/"


@cache
def presets() -> Mapping[str, Preset]:
    """By name, in the order of the alphabet: those of the platforms, and of clouds that are none here."""
    own = (keys.balancing for keys in platform_keys() if keys.balancing is not None)
    return {preset.name: preset for preset in sorted((*_ELSEWHERE, *own), key=lambda preset: preset.name.casefold())}


def preset_of_cloud(cloud: str) -> str:
    """The name of the preset that the Cluster Autoscaler applies by itself under this `--cloud-provider`; empty for none."""
    return next((preset.name for preset in presets().values() if cloud in preset.clouds), "")
