"""The relative worth of cpu and memory requests, if nothing has a price."""

from reconciler.cluster.values.resources import Resources

# One core and one GiB in millionths of a dollar an hour: the default prices that OpenCost uses for nodes without a price
# (0.031611 a core, 0.004237 a GiB). Only their ratio matters here.
_CORE_MICROS, _GIB_MICROS = 31611, 4237


def worth(requests: Resources) -> int:
    """A number to compare requests by: what they would cost, in units of which only the ratio matters."""
    return (requests.cpu_milli * _CORE_MICROS << 30) + requests.memory_bytes * 1000 * _GIB_MICROS
