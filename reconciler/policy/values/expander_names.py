"""What expanders are called elsewhere."""

CLUSTER_AUTOSCALER_EXPANDERS = {
    "least-waste": "LeastWaste",
    "least-nodes": "LeastNodes",
    "most-pods": "MostPods",
    "price": "LeastCost",
}
"""Values of the Cluster Autoscaler's flag `--expander`, and what does the same here; `priority` is what tiers are for."""
