"""Nodes whose hostname label says something else than their name, or that have none; pods that ask for it."""

from tests.differential.generator.draft import HOSTNAME, Draft, labels_of

_TERMS = (
    {"matchExpressions": [{"key": HOSTNAME, "operator": "Exists"}]},
    {"matchExpressions": [{"key": HOSTNAME, "operator": "DoesNotExist"}]},
    {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["node-00", "other"]}]},
    {"matchExpressions": [{"key": HOSTNAME, "operator": "NotIn", "values": ["node-00", "other"]}]},
    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-00"]}]},
)


def add(draft: Draft) -> None:
    """Change or take away the label of some nodes; mixed with others, topology keys and volumes meet them too."""
    for node in draft.some(draft.nodes, 20):
        labels_of(node)[HOSTNAME] = draft.random.choice(("other", "node-00"))
    for node in draft.some(draft.nodes, 15):
        labels_of(node).pop(HOSTNAME, None)
    for pod in draft.some(draft.pods, 40):
        if draft.chance(20):
            pod["spec"]["nodeSelector"] = {HOSTNAME: "other"}
        else:
            affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [draft.random.choice(_TERMS)]}}
            pod["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity
