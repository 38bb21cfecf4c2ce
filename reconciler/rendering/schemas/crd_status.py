"""The status of our custom resources, and their columns of `kubectl get`."""

from reconciler.rendering.schemas.scalar_schema import Schema


def _column(name: str, kind: str, path: str, *, wide: bool = False) -> Schema:
    return {"name": name, "type": kind, "jsonPath": path} | ({"priority": 1} if wide else {})


_AGE = _column("Age", "date", ".metadata.creationTimestamp")

POLICY_COLUMNS: list[Schema] = [
    _column("Mode", "string", ".spec.mode"),
    _column("Groups", "integer", ".status.groups"),
    _column("Held", "integer", ".status.heldGroups"),
    _column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    _column("Summary", "string", ".status.summary"),
    _column("Revision", "string", ".status.revision", wide=True),
    _AGE,
]

GROUP_COLUMNS: list[Schema] = [
    _column("Policy", "string", ".spec.policyRef.name"),
    _column("Tier", "string", ".status.tier"),
    _column("Min", "integer", ".status.min"),
    _column("Max", "integer", ".status.max"),
    _column("Current", "integer", ".status.current"),
    _column("Desired", "integer", ".status.desired"),
    _column("Owner", "string", ".status.owner"),
    _column("Held", "string", '.status.conditions[?(@.type=="Held")].status'),
    _column("Reason", "string", ".status.reason", wide=True),
    _AGE,
]

# The form of metav1.Condition, which tools that wait for a condition know.
_CONDITIONS: Schema = {
    "description": "Conditions by type.",
    "type": "array",
    "maxItems": 32,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status", "lastTransitionTime", "reason", "message"],
        "properties": {
            "type": {"type": "string", "maxLength": 316},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
            "message": {"type": "string", "maxLength": 32768},
        },
    },
}
_GENERATION: Schema = {"description": "The generation that was judged.", "type": "integer", "format": "int64"}


def _text(description: str) -> Schema:
    return {"description": description, "type": "string"}


def _count(description: str) -> Schema:
    return {"description": description, "type": "integer", "format": "int64"}


_POLICY: dict[str, Schema] = {
    "revision": _text("The revision of the policy in force."),
    "summary": _text("The summary line of the last plan."),
    "planDigest": _text("The digest of the last plan."),
    "planTime": {"description": "When the last plan was made.", "type": "string", "format": "date-time"},
    "groups": _count("Number of node groups."),
    "heldGroups": _count("Number of node groups that are held."),
}

_GROUP: dict[str, Schema] = {
    "target": _text("The object that is sized."),
    "tier": _text("The tier of the group."),
    "min": _count("The minimum in force."),
    "max": _count("The maximum in force."),
    "current": _count("Replicas of the target at the last plan."),
    "desired": _count("Replicas after all actions of the last plan."),
    "wanted": _count("What a held group would do."),
    "owner": _text("Who owns the replicas: Ours, Adoptable, Held or Unknown."),
    "reason": _text("The first reason of the last plan, in words."),
    "planDigest": _text(
        "The digest of the plan that this status comes from. A plan that changes nothing here leaves it unchanged."
    ),
    "revision": _text("The revision of the policy that it was decided by."),
}


def status_schema(kind: str) -> Schema:
    """The schema of `status` of one kind."""
    own = _POLICY if kind == "NodeGroupPolicy" else _GROUP
    return {
        "description": "Written by the loop.",
        "type": "object",
        "properties": {"observedGeneration": _GENERATION, "conditions": _CONDITIONS} | own,
    }
