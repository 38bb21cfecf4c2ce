"""Taints, tolerations, and nodes that were cordoned."""

from tests.differential.generator.draft import Draft, Object

_KEYS = ("dedicated", "gpu", "node.kubernetes.io/unreachable", "example.com/spot")
_VALUES = ("", "batch", "web", "5", "10")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def add(draft: Draft) -> None:
    """Taint half of the nodes, cordon some (with and without the taint that goes with it), let pods tolerate."""
    for node in draft.some(draft.nodes, 50):
        node["spec"]["taints"] = [_taint(draft, key) for key in draft.subset(_KEYS, 1, 3)]
    for node in draft.some(draft.nodes, 15):
        node["spec"]["unschedulable"] = True
        if draft.chance(60):
            taints = node["spec"].setdefault("taints", [])
            taints.append({"key": _UNSCHEDULABLE, "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"})
    for pod in draft.some(draft.pods, 75):
        pod["spec"]["tolerations"] = [_toleration(draft) for _ in range(draft.random.randint(1, 4))]


def _taint(draft: Draft, key: str) -> Object:
    taint: Object = {"key": key, "effect": draft.random.choice(_EFFECTS)}
    value = draft.random.choice(_VALUES)
    return taint | {"value": value} if value else taint


def _toleration(draft: Draft) -> Object:
    if draft.chance(8):
        return {"operator": "Exists"}
    if draft.chance(12):
        return {"key": _UNSCHEDULABLE, "operator": "Exists", "effect": draft.random.choice(("", "NoSchedule"))}
    toleration: Object = {"key": draft.random.choice(_KEYS)}
    if draft.chance(40):
        toleration["operator"] = "Exists"
    else:
        # The operator may be left out: it means Equal.
        if draft.chance(50):
            toleration["operator"] = "Equal"
        value = draft.random.choice(_VALUES)
        if value:
            toleration["value"] = value
    if draft.chance(60):
        toleration["effect"] = draft.random.choice(_EFFECTS)
        if toleration["effect"] == "NoExecute":
            toleration["tolerationSeconds"] = 300
    return toleration
