"""Which workload cluster is meant: its name, and what its Cluster object says."""

import msgspec


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
