"""Topology spread constraints: policies, minimum domains, several at once, keys that nodes lack."""

from tests.differential.generator.draft import APPS, HOSTNAME, ZONE, Draft, Object, labels_of

_RACK = "example.com/rack"


def add(draft: Draft) -> None:
    """Put nodes into racks and spread many pods over zones, racks and hosts."""
    for node in draft.some(draft.nodes, 75):
        labels_of(node)[_RACK] = draft.random.choice(("r1", "r2", "r3", "r4"))
    for node in draft.some(draft.nodes, 15):
        node["spec"].setdefault("taints", []).append({"key": "spread", "value": "x", "effect": "NoSchedule"})
    for pod in draft.some(draft.pods, 60):
        keys = (
            draft.subset((ZONE, _RACK, HOSTNAME, "no-such-key"), 1, 2)
            if draft.chance(12)
            else draft.subset((ZONE, _RACK, HOSTNAME), 1, 2)
        )
        pod["spec"]["topologySpreadConstraints"] = [_constraint(draft, pod, key) for key in keys]
        if draft.chance(20):
            pod["spec"].setdefault("tolerations", []).append({"key": "spread", "operator": "Exists"})
        if draft.chance(20):
            selector = draft.random.choice(({ZONE: "a"}, {_RACK: "r1"}))
            pod["spec"]["nodeSelector"] = pod["spec"].get("nodeSelector", {}) | selector


def _constraint(draft: Draft, pod: Object, key: str) -> Object:
    constraint: Object = {
        "topologyKey": key,
        "maxSkew": draft.random.choice((1, 1, 2, 3)),
        "whenUnsatisfiable": "DoNotSchedule" if draft.chance(85) else "ScheduleAnyway",
    }
    if draft.chance(92):
        constraint["labelSelector"] = _selector(draft)
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and draft.chance(30):
        constraint["minDomains"] = draft.random.choice((1, 2, 4, 50))
    if draft.chance(35):
        constraint["nodeAffinityPolicy"] = draft.random.choice(("Honor", "Ignore"))
    if draft.chance(35):
        constraint["nodeTaintsPolicy"] = draft.random.choice(("Honor", "Ignore"))
    if "labelSelector" in constraint and draft.chance(25):
        _match_label_keys(draft, pod, constraint)
    return constraint


def _selector(draft: Draft) -> Object:
    return draft.random.choice(
        (
            {"matchLabels": {"app": draft.random.choice(APPS)}},
            {"matchLabels": {"app": draft.random.choice(APPS)}},
            {"matchLabels": {"version": "v1"}},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": draft.subset(APPS, 1, 3)}]},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": draft.subset(APPS, 1, 2)}]},
            {"matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}, {"key": "app", "operator": "Exists"}]},
            {},
        )
    )


def _match_label_keys(draft: Draft, pod: Object, constraint: Object) -> None:
    selector = constraint["labelSelector"]
    taken = set(selector.get("matchLabels", {})) | {item["key"] for item in selector.get("matchExpressions", [])}
    keys = [key for key in ("version", "no-such-label") if key not in taken]
    if not keys:
        return
    constraint["matchLabelKeys"] = keys
    # Since 1.34 the API server also folds the values into the selector when the pod is made; older pods lack that.
    if draft.chance(60):
        extra = [
            {"key": key, "operator": "In", "values": [pod["metadata"]["labels"][key]]}
            for key in keys
            if key in pod["metadata"]["labels"]
        ]
        selector["matchExpressions"] = [*selector.get("matchExpressions", []), *extra]
