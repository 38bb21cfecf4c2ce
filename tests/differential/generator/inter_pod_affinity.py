"""Pods that want to be near other pods, or far from them; both directions, namespaces, label keys."""

from tests.differential.generator.draft import APPS, HOSTNAME, NAMESPACES, ZONE, Draft, Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def add(draft: Draft) -> None:
    """Give pods required terms (and a few preferred ones, which must not matter)."""
    if draft.chance(20):
        # A snapshot may lack a Namespace; its labels are then as good as none.
        draft.namespaces.pop()
    for pod in draft.some(draft.pods, 35):
        affinity = pod["spec"].setdefault("affinity", {})
        if draft.chance(45):
            affinity["podAffinity"] = {_REQUIRED: [_term(draft, pod, near=True) for _ in range(draft.random.choice((1, 1, 2)))]}
        if draft.chance(65) or "podAffinity" not in affinity:
            affinity["podAntiAffinity"] = {
                _REQUIRED: [_term(draft, pod, near=False) for _ in range(draft.random.choice((1, 1, 2)))]
            }
        if draft.chance(15):
            preferred = [{"weight": 5, "podAffinityTerm": _term(draft, pod, near=True)}]
            affinity.setdefault("podAffinity", {})[_PREFERRED] = preferred


def _term(draft: Draft, pod: Object, *, near: bool) -> Object:
    # Anti-affinity over a whole zone would leave no room for anything else: mostly hosts.
    keys = (ZONE, ZONE, HOSTNAME, "no-such-key") if near else (HOSTNAME, HOSTNAME, HOSTNAME, ZONE, "no-such-key")
    term: Object = {"topologyKey": draft.random.choice(keys)}
    if draft.chance(95):
        term["labelSelector"] = _selector(draft, pod)
    if draft.chance(30):
        term["namespaces"] = draft.subset(NAMESPACES, 1, 2)
    if draft.chance(25):
        term["namespaceSelector"] = draft.random.choice(
            ({}, {"matchLabels": {"team": "red"}}, {"matchLabels": {"team": "nobody"}})
        )
    if "labelSelector" in term and draft.chance(20):
        _label_keys(draft, pod, term)
    return term


def _selector(draft: Draft, pod: Object) -> Object:
    own = pod["metadata"]["labels"]["app"]
    return draft.random.choice(
        (
            {"matchLabels": {"app": own}},
            {"matchLabels": {"app": own}},
            {"matchLabels": {"app": draft.random.choice(APPS), "version": "v2"}},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": [own, "no-such-app"]}]},
            {"matchLabels": {"app": "no-such-app"}},
            {},
        )
    )


def _label_keys(draft: Draft, pod: Object, term: Object) -> None:
    """The API server folds these keys into the selector when the pod is made; the scheduler reads the selector only."""
    field, operator = draft.random.choice((("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")))
    selector = term["labelSelector"]
    if "version" in selector.get("matchLabels", {}):
        return
    term[field] = ["version"]
    value = pod["metadata"]["labels"]["version"]
    folded = {"key": "version", "operator": operator, "values": [value]}
    selector["matchExpressions"] = [*selector.get("matchExpressions", []), folded]
