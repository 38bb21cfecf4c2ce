"""Machine types as a cloud sells them: three families of cores to memory, four or five sizes each.

Allocatable amounts and prices are those of AWS, us-east-1, on demand, November 2026 (kubelet reservations of EKS taken off).
"""

import msgspec

from reconciler.cluster.values.resources import Resources


class MachineType(msgspec.Struct, frozen=True):
    """A name, what pods can use of it, and its price an hour in micros of a dollar."""

    name: str
    cpu_milli: int
    memory_mib: int
    pods: int
    price_micros: int

    @property
    def amounts(self) -> Resources:
        """As a vector."""
        return Resources(cpu_milli=self.cpu_milli, memory_bytes=self.memory_mib << 20, pods=self.pods)


MACHINES = (
    MachineType("c6i.xlarge", 3920, 6584, 58, 170_000),
    MachineType("c6i.2xlarge", 7910, 14162, 58, 340_000),
    MachineType("c6i.4xlarge", 15890, 27381, 234, 680_000),
    MachineType("c6i.8xlarge", 31850, 57691, 234, 1_360_000),
    MachineType("c5.4xlarge", 15890, 27381, 234, 680_000),
    MachineType("c5.9xlarge", 35840, 65269, 234, 1_530_000),
    MachineType("c6i.12xlarge", 47810, 88002, 234, 2_040_000),
    MachineType("m6i.xlarge", 3920, 14162, 58, 192_000),
    MachineType("m6i.2xlarge", 7910, 29317, 58, 384_000),
    MachineType("m6i.4xlarge", 15890, 57691, 234, 768_000),
    MachineType("m6i.8xlarge", 31850, 118312, 234, 1_536_000),
    MachineType("m5.4xlarge", 15890, 57691, 234, 768_000),
    MachineType("m5.8xlarge", 31850, 118312, 234, 1_536_000),
    MachineType("m6i.12xlarge", 47810, 178933, 234, 2_304_000),
    MachineType("r6i.xlarge", 3920, 29317, 58, 252_000),
    MachineType("r6i.2xlarge", 7910, 59627, 58, 504_000),
    MachineType("r6i.4xlarge", 15890, 118312, 234, 1_008_000),
    MachineType("r6i.8xlarge", 31850, 239554, 234, 2_016_000),
    MachineType("r5.4xlarge", 15890, 118312, 234, 1_008_000),
    MachineType("r6i.12xlarge", 47810, 360795, 234, 3_024_000),
)
"""Twenty, as many as the groups of the smaller cases."""
