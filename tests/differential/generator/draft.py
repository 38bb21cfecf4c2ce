"""A cluster while it is being made up: objects in API form, and the dice."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")
Object = dict[str, Any]

NAMESPACES = ("default", "shop", "batch")
APPS = ("api", "cache", "db", "queue", "web", "worker")
ZONES = ("a", "b", "c")
HOSTNAME, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


class Draft:
    """Nodes, pods and the rest of one cluster. Features change it in place; equal seeds make equal clusters."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.nodes: list[Object] = []
        self.pods: list[Object] = []
        self.namespaces: list[Object] = []
        self.storage: list[Object] = []
        self.devices: list[Object] = []
        self.owners: list[Object] = []
        self.minor = 36  # of Kubernetes 1.x

    def chance(self, percent: int) -> bool:
        """True in so many cases out of a hundred."""
        return self.random.randrange(100) < percent

    def some(self, items: Sequence[T], percent: int) -> list[T]:
        """Each item with so many chances out of a hundred; at least one if there is any."""
        chosen = [item for item in items if self.chance(percent)]
        return chosen or ([self.random.choice(items)] if items else [])

    def subset(self, items: Sequence[T], least: int = 1, most: int | None = None) -> list[T]:
        """Between `least` and `most` different items, in the order given."""
        count = self.random.randint(least, min(most or len(items), len(items)))
        chosen = set(self.random.sample(range(len(items)), count))
        return [item for index, item in enumerate(items) if index in chosen]

    @property
    def bound(self) -> list[Object]:
        """Pods that are on a node."""
        return [pod for pod in self.pods if "nodeName" in pod["spec"]]

    @property
    def pending(self) -> list[Object]:
        """Pods without a node."""
        return [pod for pod in self.pods if "nodeName" not in pod["spec"]]

    def node_names(self) -> list[str]:
        """Names of all nodes."""
        return [node["metadata"]["name"] for node in self.nodes]

    def items(self) -> Iterable[Object]:
        """All objects."""
        return [*self.nodes, *self.namespaces, *self.storage, *self.devices, *self.owners, *self.pods]

    def snapshot(self) -> Object:
        """All objects as one List, in an order that says nothing."""
        items = list(self.items())
        self.random.shuffle(items)
        return {"apiVersion": "v1", "kind": "List", "items": items}


def name_of(item: Object) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]


def labels_of(item: Object) -> dict[str, str]:
    """The labels of an object, made if there are none."""
    labels: dict[str, str] = item["metadata"].setdefault("labels", {})
    return labels


def add_volume(pod: Object, volume: Object) -> None:
    """One more volume in a pod, with a name of its own."""
    volumes = pod["spec"].setdefault("volumes", [])
    volumes.append({"name": f"v{len(volumes)}", **volume})
