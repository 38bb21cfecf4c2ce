"""A seeded crowd whose pods count each other: spread over zones and hosts, anti-affinity to their own and to other apps."""

from random import Random

from tests.differential.generator.draft import HOSTNAME, ZONE, Draft, Object
from tests.testbed.crowd import Crowd, node, pods

_TEAM = "team"
# Zones of unequal size: the smallest fills up first, and its rest keeps the others down.
_HOSTS = {"a": 15, "b": 10, "c": 6, "d": 2}
_DEDICATED = {"key": "dedicated", "value": "d", "effect": "NoSchedule"}


def counting_crowd(namespace: str, apps: int, of_each: int) -> Crowd:
    """33 nodes in four zones, those of zone d for pods that tolerate it; apps in turn under each combination of rules."""
    draft = Draft(Random(f"counting:{apps}:{of_each}"))
    nodes = []
    for zone, count in _HOSTS.items():
        for index in range(count):
            labels = {ZONE: zone, "generation": draft.random.choice(("1", "7"))}
            amounts = {"cpu": draft.random.choice(("1", "2", "4")), "memory": "32Gi", "pods": "40"}
            spec: Object = {"taints": [_DEDICATED]} if zone == "d" else {}
            nodes.append(node(f"counting-{zone}-{index:02d}", labels, amounts, **spec))
    made = []
    for index in range(apps):
        app, team = f"app-{index:02d}", draft.random.choice(("red", "blue"))
        made += pods(namespace, app, of_each, _spec(draft, app, team, index), {_TEAM: team})
    return Crowd(nodes, made)


def _spec(draft: Draft, app: str, team: str, index: int) -> Object:
    requests = {"cpu": draft.random.choice(("100m", "200m", "600m")), "memory": "64Mi"}
    spec: Object = {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}
    spec |= _RULES[index % len(_RULES)](draft, {"matchLabels": {"app": app}}, {"matchLabels": {_TEAM: team}})
    if draft.chance(25):
        spec["nodeSelector"] = {"generation": "7"}
    if draft.chance(40):
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return spec


def _constraint(draft: Draft, key: str, selector: Object) -> Object:
    constraint = {
        "topologyKey": key,
        "maxSkew": draft.random.choice((1, 1, 2)),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        "nodeAffinityPolicy": draft.random.choice(("Honor", "Ignore")),
        "nodeTaintsPolicy": draft.random.choice(("Honor", "Honor", "Ignore")),
    }
    return constraint | ({"minDomains": draft.random.choice((2, 5))} if draft.chance(20) else {})


def _spread(*constraints: Object) -> Object:
    return {"topologySpreadConstraints": list(constraints)}


def _apart(key: str, selector: Object) -> Object:
    term = {"topologyKey": key, "labelSelector": selector}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


_RULES = (
    lambda draft, own, team: _spread(_constraint(draft, ZONE, own)),
    lambda draft, own, team: _spread(_constraint(draft, HOSTNAME, own)),
    lambda draft, own, team: _apart(HOSTNAME, own),
    lambda draft, own, team: _spread(_constraint(draft, ZONE, own)) | _apart(HOSTNAME, own),
    lambda draft, own, team: _spread(_constraint(draft, ZONE, own), _constraint(draft, HOSTNAME, own)),
    lambda draft, own, team: _spread(_constraint(draft, ZONE, team)),
    lambda draft, own, team: _apart(ZONE, own),
    lambda draft, own, team: _spread(_constraint(draft, HOSTNAME, team)) | _apart(HOSTNAME, own),
)
