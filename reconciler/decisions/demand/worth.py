"""The relative worth of resources, if nothing has a price."""

from reconciler.cluster.values.resources import Resources

# One core, one GiB and one GPU in millionths of a dollar an hour: the default prices that OpenCost uses for nodes without a price
# (0.031611 a core, 0.004237 a GiB, 0.95 a GPU). Only their ratios matter here.
_CORE_MICROS, _GIB_MICROS, _GPU_MICROS = 31611, 4237, 950_000

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "habana.ai/gaudi")


def gpus_of(amounts: Resources) -> int:
    """How many GPUs of any vendor these are."""
    return sum(amounts.get(name) for name in GPU_RESOURCES) if amounts.extended else 0


def worth(amounts: Resources) -> int:
    """A number to compare requests or capacities by: what they would cost, in units of which only the ratio matters."""
    cpu_and_gpus = amounts.cpu_milli * _CORE_MICROS + gpus_of(amounts) * _GPU_MICROS * 1000
    return (cpu_and_gpus << 30) + amounts.memory_bytes * 1000 * _GIB_MICROS
