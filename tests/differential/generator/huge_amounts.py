"""Nodes and pods with more of a resource than anybody has today: above 4 PiB, and far more units than fit there."""

from tests.differential.generator.draft import Draft

_ROOM, _WANT = ("3Pi", "5Pi", "7Pi", "20Pi"), ("1Pi", "4Pi", "4.5Pi", "6Pi")
_UNITS_ROOM, _UNITS_WANT = ("9007199254740993", "4503599627370497"), ("4503599627370496", "4503599627370497", "9007199254740992")
_RESOURCE = "example.com/tokens"


def add(draft: Draft) -> None:
    """Give nodes huge amounts, and pods requests around their limits."""
    for node in draft.some(draft.nodes, 60):
        amounts = {"memory": draft.random.choice(_ROOM), _RESOURCE: draft.random.choice(_UNITS_ROOM)}
        if draft.chance(40):
            amounts["ephemeral-storage"] = draft.random.choice(_ROOM)
        node["status"]["allocatable"] |= amounts
        node["status"]["capacity"] |= amounts
    # Few on nodes: with sums above 8 EiB the scheduler itself counts round the corner.
    chosen = [*draft.some(draft.bound, 20), *draft.some(draft.pending, 60)]
    for pod in chosen:
        resources = pod["spec"]["containers"][0]["resources"]
        if draft.chance(70):
            resources.setdefault("requests", {})["memory"] = draft.random.choice(_WANT)
        if draft.chance(40):
            amount = draft.random.choice(_UNITS_WANT)
            resources.setdefault("requests", {})[_RESOURCE] = amount
            resources.setdefault("limits", {})[_RESOURCE] = amount
        if draft.chance(20):
            resources.setdefault("requests", {})["ephemeral-storage"] = draft.random.choice(_WANT)
