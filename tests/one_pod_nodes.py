"""A scheduler and a drain for loops whose nodes take one pod each."""

import random
from typing import Any, Protocol

from reconciler.kube.drain import DrainStep


class Cluster(Protocol):
    """What a loop's double of a cluster has."""

    pods: list[dict[str, Any]]
    leaving: dict[str, str]

    def _nodes(self) -> list[dict[str, Any]]: ...


def waiting(cluster: Cluster) -> int:
    """The pods without a node."""
    return sum("nodeName" not in item["spec"] for item in cluster.pods)


def bind(cluster: Cluster) -> None:
    """Pods whose node is gone are made again; those that wait go to nodes that are ready, free and open."""
    nodes = {item["metadata"]["name"]: item for item in cluster._nodes()}
    for item in cluster.pods:
        if item["spec"].get("nodeName", "") not in ("", *nodes):
            _again(item)
    taken = {item["spec"].get("nodeName") for item in cluster.pods}
    ready = {name for name, item in nodes.items() if _ready(item)}
    free = sorted(ready - taken - set(cluster.leaving))
    for item in cluster.pods:
        if "nodeName" not in item["spec"] and free:
            item["spec"]["nodeName"] = free.pop()
            item["status"] = {"phase": "Running"}


def evicting(cluster: Any, dice: random.Random) -> None:
    """The cluster's drain evicts as the product's does, some pods a step: what ran on the node is pending again."""

    def step(name: str) -> DrainStep:
        mine = [item for item in cluster.pods if item["spec"].get("nodeName") == name]
        for item in mine[: dice.randint(0, 2)]:
            _again(item)
        return DrainStep(remaining=sum(item["spec"].get("nodeName") == name for item in cluster.pods))

    cluster.step = step


def _again(item: dict[str, Any]) -> None:
    item["spec"].pop("nodeName")
    item["status"] = {"phase": "Pending"}


def _ready(item: dict[str, Any]) -> bool:
    return not any(one["type"] == "Ready" and one["status"] != "True" for one in item["status"].get("conditions", ()))
