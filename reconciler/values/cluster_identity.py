"""Which workload cluster is meant: its name, and what its Cluster object says."""

import re

import msgspec

WAVE_LABEL = "reconciler.dev/wave"
"""On a Cluster object: its place in the order in which clusters take a change of the policy tree, a whole number."""
_WAVE = re.compile(r"[0-9]{1,6}")
CLOUD_NAME = "reconciler.dev/cloud-name"
"""A label of a Cluster object: what the cloud's own objects call the cluster."""


class ClusterIdentity(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A workload cluster. `namespace` is that of its Cluster object, empty if nobody read it. `labels` are those of that object,
    None if nobody read them. `hidden`: some of them are pseudonyms of a redacted snapshot, which `labels` leaves out."""

    name: str
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] | None = None
    hidden: bool = False

    @property
    def title(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def wave(self) -> int | None:
        """Its place in the order of a rollout; None, after all numbers, without a label that is a whole number."""
        written = dict(self.labels or ()).get(WAVE_LABEL, "")
        return int(written) if _WAVE.fullmatch(written) else None

    @property
    def wave_problem(self) -> str:
        """Why the label of a wave does not count; empty: it does, or there is none."""
        written = dict(self.labels or ()).get(WAVE_LABEL)
        if written is None or self.wave is not None:
            return ""
        return f"its label {WAVE_LABEL} is not a whole number, so it takes changes after all waves"

    @property
    def cloud_name(self) -> str:
        """What the label of the Cluster object says that a cloud calls it; empty without that label."""
        return dict(self.labels or ()).get(CLOUD_NAME, "")


class FleetPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster of a fleet this is, next to the `others` that the fleet has."""

    cluster: ClusterIdentity
    others: tuple[ClusterIdentity, ...] = ()
