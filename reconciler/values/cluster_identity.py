"""Which workload cluster is meant: its name, and what its Cluster object says."""

import msgspec

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
    def cloud_name(self) -> str:
        """What the label of the Cluster object says that a cloud calls it; empty without that label."""
        return dict(self.labels or ()).get(CLOUD_NAME, "")


class FleetPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster of a fleet this is, next to the `others` that the fleet has."""

    cluster: ClusterIdentity
    others: tuple[ClusterIdentity, ...] = ()
