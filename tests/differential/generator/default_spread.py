"""Default constraints of a kube-scheduler's own configuration, and the Services and controllers that pods belong to."""

from collections.abc import Iterator

from tests.differential.generator.draft import APPS, HOSTNAME, NAMESPACES, ZONE, Draft, Object, labels_of

_RACK = "example.com/rack"
_OWNERS = (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("v1", "ReplicationController"))
_OTHERS = (("batch/v1", "Job"), ("apps/v1", "DaemonSet"), ("example.com/v1", "ReplicaSet"))


def add(draft: Draft) -> None:
    """Configure the scheduler, and give many pods Services, controllers or constraints of their own that only score."""
    for node in draft.some(draft.nodes, 75):
        labels_of(node)[_RACK] = draft.random.choice(("r1", "r2", "r3", "r4"))
    draft.owners.append(_configuration(draft))
    draft.owners += _services(draft)
    made = list(_controllers(draft))
    # Of some controllers nothing is left, as when they were deleted and their pods not yet.
    draft.owners += [
        one for one in made if one["kind"] in ("ReplicaSet", "StatefulSet", "ReplicationController") and draft.chance(85)
    ]
    for pod in draft.some(draft.pods, 70):
        fitting = [one for one in made if one["metadata"]["namespace"] == pod["metadata"]["namespace"]]
        if fitting:
            owner = draft.random.choice(fitting)
            reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
            reference |= {"uid": f"uid-{owner['metadata']['name']}", "controller": draft.chance(95)}
            pod["metadata"]["ownerReferences"] = [reference]
    for pod in draft.some(draft.pods, 8):
        when = draft.random.choice(("ScheduleAnyway", "DoNotSchedule"))
        own = {"topologyKey": ZONE, "maxSkew": 2, "whenUnsatisfiable": when}
        own["labelSelector"] = {"matchLabels": {"app": draft.random.choice(APPS)}}
        pod["spec"]["topologySpreadConstraints"] = [own]
    for pod in draft.some(draft.pods, 15):
        pod["spec"]["nodeSelector"] = pod["spec"].get("nodeSelector", {}) | draft.random.choice(({ZONE: "a"}, {_RACK: "r1"}))
    for node in draft.some(draft.nodes, 15):
        node["spec"].setdefault("taints", []).append({"key": "default-spread", "value": "x", "effect": "NoSchedule"})
    for pod in draft.some(draft.pods, 4):
        pod["metadata"]["labels"] = {}


def _configuration(draft: Draft) -> Object:
    keys = draft.subset((ZONE, _RACK, HOSTNAME), 1, 3)
    if draft.chance(5):
        keys[0] = "no-such-key"
    constraints = [_constraint(draft, key, "DoNotSchedule" if draft.chance(85) else "ScheduleAnyway") for key in keys]
    args: Object = {"defaultingType": "List", "defaultConstraints": constraints}
    if draft.chance(8):
        args = {"defaultingType": "System"}
    profile: Object = {"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}
    if draft.chance(50):
        profile["schedulerName"] = "default-scheduler"
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [profile],
    }


def _constraint(draft: Draft, key: str, when: str) -> Object:
    constraint: Object = {"topologyKey": key, "maxSkew": draft.random.choice((1, 2, 3, 5)), "whenUnsatisfiable": when}
    if draft.chance(25):
        constraint["minDomains"] = draft.random.choice((1, 2, 4, 50))
    if draft.chance(30):
        constraint["nodeAffinityPolicy"] = draft.random.choice(("Honor", "Ignore"))
    if draft.chance(30):
        constraint["nodeTaintsPolicy"] = draft.random.choice(("Honor", "Ignore"))
    if draft.chance(10):
        constraint["matchLabelKeys"] = ["version"]
    return constraint


def _services(draft: Draft) -> Iterator[Object]:
    for number in range(draft.random.randint(0, 6)):
        spec: Object = {"ports": [{"port": 80}]}
        selector = draft.random.choice(
            (
                {"app": draft.random.choice(APPS)},
                {"app": draft.random.choice(APPS), "version": "v1"},
                {"version": draft.random.choice(("v1", "v2"))},
                {"app": "nobody"},
                {},
                None,
            )
        )
        if selector is not None:
            spec["selector"] = selector
        metadata = {"name": f"service-{number}", "namespace": draft.random.choice(NAMESPACES)}
        yield {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _controllers(draft: Draft) -> Iterator[Object]:
    """Some select what their pods do not have, as after labels were changed by hand."""
    for number in range(draft.random.randint(2, 12)):
        version, kind = draft.random.choice((*_OWNERS, *_OWNERS, *_OTHERS))
        app = draft.random.choice(APPS)
        spec: Object = {"replicas": 3}
        if kind == "ReplicationController":
            spec["selector"] = draft.random.choice(({"app": app}, {"app": app, "version": "v1"}))
        else:
            spec["selector"] = draft.random.choice(
                (
                    {"matchLabels": {"app": app}},
                    {"matchLabels": {"version": "v1"}},
                    {"matchExpressions": [{"key": "app", "operator": "In", "values": draft.subset(APPS, 1, 4)}]},
                    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": draft.subset(APPS, 1, 2)}]},
                    {"matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]},
                )
            )
        metadata = {"name": f"owner-{number}", "namespace": draft.random.choice(NAMESPACES)}
        yield {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
