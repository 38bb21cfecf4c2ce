"""Pods that were promised a node, with what makes a promise matter: ports, rules, requests, priorities, gates."""

from tests.differential.generator import inter_pod_affinity, ports, spread
from tests.differential.generator.draft import Draft


def add(draft: Draft) -> None:
    """Nominate many of the waiting pods to few nodes, in all orders of priority."""
    draft.random.choice((inter_pod_affinity.add, ports.add, spread.add))(draft)
    nodes = draft.subset([*draft.node_names(), "node-gone"], 2, 6)
    for pod in draft.some(draft.pending, 60):
        pod["status"]["nominatedNodeName"] = draft.random.choice(nodes)
        pod["spec"]["priority"] = draft.random.choice((0, 0, 100, 1000))
        if draft.chance(10):
            pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        if draft.chance(10):
            pod["spec"]["schedulerName"] = "another-scheduler"
