"""Small values of a cluster by short calls, for tests."""

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.target import TargetRef
from reconciler.cluster.values.resources import Resources
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.values.quantity import parse_amount
from reconciler.values.label_selector import LabelSelector, Requirement


def amounts(cpu: str = "0", memory: str = "0", pods: int = 0, **extended: int) -> Resources:
    """`amounts("500m", "1Gi")`; extended resources by keyword, `gpu` standing for nvidia.com/gpu."""
    return Resources(
        cpu_milli=parse_amount(cpu, milli=True),
        memory_bytes=parse_amount(memory, milli=False),
        pods=pods,
        extended=tuple(
            sorted(("nvidia.com/gpu" if name == "gpu" else name, amount) for name, amount in extended.items() if amount)
        ),
    )


def machine_deployment(name: str, namespace: str = "prod") -> TargetRef:
    """The ref of a MachineDeployment."""
    return TargetRef(kind=MACHINE_DEPLOYMENT, namespace=namespace, name=name)


def selector(**labels: str) -> LabelSelector:
    """A selector by equal labels."""
    return LabelSelector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items())))


def taint(text: str) -> Taint:
    """`dedicated=gpu:NoSchedule`."""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value, effect)


def api_group(kind: str) -> str:
    """The API group of a controller of pods."""
    return {"Job": "batch", "ReplicationController": ""}.get(kind, "apps")
