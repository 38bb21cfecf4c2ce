"""Amounts of node and pod resources as integers: cpu in milli, memory and ephemeral storage in bytes, others in units."""

import msgspec

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"


class Resources(msgspec.Struct, frozen=True, order=True, kw_only=True, gc=False):
    """A vector of resources. `extended` is sorted by name, holds no zero, and includes huge pages."""

    cpu_milli: int = 0
    memory_bytes: int = 0
    ephemeral_bytes: int = 0
    pods: int = 0
    extended: tuple[tuple[str, int], ...] = ()

    def get(self, name: str) -> int:
        """The amount of the resource called `name` as Kubernetes names it (`cpu` in milli); 0 when absent."""
        if name == CPU:
            return self.cpu_milli
        if name == MEMORY:
            return self.memory_bytes
        if name == EPHEMERAL_STORAGE:
            return self.ephemeral_bytes
        if name == PODS:
            return self.pods
        return next((amount for key, amount in self.extended if key == name), 0)

    def items(self) -> tuple[tuple[str, int], ...]:
        """All non-zero amounts, sorted by resource name."""
        fixed = (
            (CPU, self.cpu_milli),
            (EPHEMERAL_STORAGE, self.ephemeral_bytes),
            (MEMORY, self.memory_bytes),
            (PODS, self.pods),
        )
        return tuple(sorted((*(pair for pair in fixed if pair[1]), *self.extended)))

    def plus(self, other: "Resources", times: int = 1) -> "Resources":
        """This vector with `times` times `other` added (`times` may be negative)."""
        extended = self.extended
        if other.extended:
            sums = dict(self.extended)
            for name, amount in other.extended:
                sums[name] = sums.get(name, 0) + amount * times
            extended = tuple(sorted((name, amount) for name, amount in sums.items() if amount))
        return Resources(
            cpu_milli=self.cpu_milli + other.cpu_milli * times,
            memory_bytes=self.memory_bytes + other.memory_bytes * times,
            ephemeral_bytes=self.ephemeral_bytes + other.ephemeral_bytes * times,
            pods=self.pods + other.pods * times,
            extended=extended,
        )

    @staticmethod
    def of(amounts: dict[str, int]) -> "Resources":
        """From amounts by Kubernetes resource name (`cpu` in milli)."""
        rest = dict(amounts)
        return Resources(
            cpu_milli=rest.pop(CPU, 0),
            memory_bytes=rest.pop(MEMORY, 0),
            ephemeral_bytes=rest.pop(EPHEMERAL_STORAGE, 0),
            pods=rest.pop(PODS, 0),
            extended=tuple(sorted((name, amount) for name, amount in rest.items() if amount)),
        )
