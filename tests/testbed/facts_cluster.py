"""A cluster that is given as facts, on a real control plane: machines and volumes are made here, all else by Kubernetes itself.

The API server admits pods, the DaemonSet controller makes those of DaemonSets, kube-scheduler binds them, the controller of
volumes binds claims, and the controller of nodes taints what is not ready. What has no place on a control plane is done here: the
parts of a kubelet that the scheduler sees, and a driver that makes a volume where kube-scheduler has chosen a node for it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.properties.node_facts import Amount, Daemon, Facts, Group, Node, Pod, Stage, Workload
from tests.properties.node_manifests import (
    claim,
    cluster_wide,
    csi_node,
    daemon_set,
    node_object,
    pod_object,
    pod_spec,
    size,
    static_pod,
    volume,
)
from tests.testbed.api import Api, ApiError, Object, collection, path_of
from tests.testbed.control_plane import FAKE_NODE, ControlPlane
from tests.testbed.overlooked import until_seen_to

PODS = "/api/v1/pods"
_NODES = "/api/v1/nodes"
_SHOP = "/api/v1/namespaces/shop"
_CLAIMS = f"{_SHOP}/persistentvolumeclaims"
_SELECTED = "volume.kubernetes.io/selected-node"
_AGAIN = "-again"
_HOST = "kubernetes.io/hostname"
_FIRST, _LAST = "agents-first", "after-all-others"
_CPU, _MEMORY = "recommended/cpu", "recommended/memory"
_AGENTS_ONLY = {"key": "testbed.reconciler.dev/agents-only", "effect": "NoSchedule"}
_NOT_READY = "node.kubernetes.io/not-ready"


def prepare(api: Api) -> None:
    """What all clusters of one control plane share."""
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for name, value in ((_FIRST, 1000), (_LAST, -1000)):
        api.create(_priority(name, value))
    api.create(*_recommender())
    for namespace in ("default", "shop", "kube-system"):
        _until_open(api, namespace)
    recommended = _container_pod("probe", "default", {_CPU: "123m", _MEMORY: "45Mi"})
    _until(lambda: _dry_run(api, recommended)[0]["resources"] == {"requests": {"cpu": "123m", "memory": "45Mi"}}, api)


class FactsCluster:
    """The objects of one cluster; `remove` them in the end. `names` is that of its namespace for agents."""

    def __init__(self, plane: ControlPlane, facts: Facts) -> None:
        self._plane, self._api, self.facts = plane, plane.api, facts
        self._stages: dict[str, Stage] = {}
        self._owners: dict[str, Object] = {}

    # What is there before the first plan.

    def create(self) -> None:
        """All of it but the pods that wait; kube-scheduler and the DaemonSet controller have done their part."""
        facts, api = self.facts, self._api
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": facts.agents}})
        _until_open(api, facts.agents)
        api.create(*cluster_wide(facts))
        _until(self._admits_as_stated, api)
        nodes = [(group, node) for group in facts.groups for node in group.nodes]
        leaving = {node.name: (node.cordoned, node.passing) for _, node in nodes}
        for _, node in nodes:
            node.cordoned, node.passing = False, ()
        self.register(nodes)
        for daemon in facts.daemons:
            api.create(self._daemon_set(daemon))
        self._until_settled()
        self._until_agents()
        self._check_agents()
        for group, node in nodes:
            node.cordoned, node.passing = leaving[node.name]
            if node.cordoned or node.passing:
                self._write_spec(group, node)
        self._until_settled()
        pods = [*facts.waiting, *(pod for _, node in nodes for pod in node.pods)]
        works = {pod.workload.name: pod.workload for pod in pods}
        for name, many in Counter(pod.workload.name for pod in pods).items():
            self._owners[name] = self._owner(works[name], many)
        for _, node in nodes:
            for pod in node.pods:
                api.create(self._pod(pod, node))

    def wait(self, pods: Iterable[Pod], only: Mapping[str, list[str]] | None = None) -> None:
        """Pods come, the larger first, and kube-scheduler has decided about all of them. Those that may run `only` on some
        nodes (by the names of pods) come before all others."""
        only = only or {}
        coming = sorted(pods, key=lambda pod: (pod.name not in only, -size(pod.workload)))
        for pod in coming:
            if pod.workload.volume:
                # First the volume: a claim that names one that is not there yet is looked at every 15 s.
                if pod.volume_zone:
                    self._make_volume(pod, None)
                made = _without_status(claim(pod))
                # Whoever makes a claim of a volume that is there does not write that both are bound.
                made["metadata"].pop("annotations", None)
                self._api.create(made)
        fixed = {pod.name for pod in coming if pod.volume_zone}
        self._api.wait(_CLAIMS, lambda items: _bound_claims(items) >= fixed, "claims being bound", 60)
        for pod in coming:
            item = self._pod(pod, None)
            if pod.name in only:
                terms = [{"matchExpressions": [{"key": _HOST, "operator": "In", "values": only[pod.name]}]}]
                there = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
                item["spec"]["affinity"] = item["spec"].get("affinity", {}) | {"nodeAffinity": there}
            self._api.create(item)
        self.settle({pod.name for pod in coming})

    # What comes.

    def register(self, nodes: Iterable[tuple[Group, Node]]) -> None:
        """Nodes register as they are: those that have started with all that they have."""
        for group, node in nodes:
            if node.stage is Stage.STARTING and not group.startup:
                # Otherwise pods would run there that a driver or a device on it keeps away a moment later.
                node.ready = False
            item = node_object(group, node)
            item["metadata"]["annotations"] |= FAKE_NODE if node.stage is Stage.USABLE else {}
            item["spec"].pop("unschedulable", None)
            item["spec"]["taints"] = [taint for taint in item["spec"].get("taints", ()) if not _of_controllers(taint)]
            (made,) = self._api.create(item)
            self._stages[node.name] = node.stage
            if node.stage is Stage.USABLE:
                self._api.create(_unnamed(csi_node(self.facts, group, node)))
            if group.static is not None:
                mirror = static_pod(group.static, node)
                mirror["metadata"]["name"] += f"-{self.facts.agents}"
                mirror["metadata"]["ownerReferences"][0]["uid"] = made["metadata"]["uid"]
                self._api.create(_without_status(mirror))

    def came(self, nodes: Iterable[tuple[Group, Node]]) -> None:
        """New nodes have registered, with the agents that run from the start."""
        self.register(nodes)
        self._until_settled()
        self._until_agents()

    def start_all(self) -> None:
        """Nodes that started are usable: first for agents, as their priority has it in time, then for all pods at one instant."""
        nodes = [(group, node) for group in self.facts.groups for node in group.nodes]
        started = [(group, node) for group, node in nodes if self._stages[node.name] is not node.stage]
        for group, node in started:
            self._stages[node.name] = node.stage
            self._write_spec(group, node, _AGENTS_ONLY)
            self._api.create(_unnamed(csi_node(self.facts, group, node)))
            item = node_object(group, node)
            status = {key: item["status"][key] for key in ("capacity", "allocatable", "conditions")}
            self._api.call("PATCH", f"{path_of(item)}/status", {"status": status}, "application/merge-patch+json")
        self._until_agents()
        with self._plane.paused("kube-scheduler"):
            for group, node in started:
                self._write_spec(group, node)
            self._until_settled()

    def again(self, pods: list[Pod], made: list[Pod], only: Mapping[str, list[str]]) -> None:
        """The same pods come anew, to the nodes that are there by now, with other names: kwok may still delete by the old ones.
        Volumes that were `made` for them are forgotten. `only` as in `wait`, by the old names."""
        with self._plane.paused("kube-scheduler"):
            for pod in pods:
                self._api.call("DELETE", f"{_SHOP}/pods/{pod.name}", {"gracePeriodSeconds": 0})
                if pod.workload.volume:
                    self._api.call("DELETE", f"{_CLAIMS}/{pod.name}")
            names = {pod.name for pod in pods}
            until_seen_to(self._api, f"{_SHOP}/pods", lambda items: not names & _names(items), "deletion of pods", 60)
        _delete_all(self._api, "/apis/storage.k8s.io/v1/volumeattachments")
        for pod in pods:
            pod.name += _AGAIN
        for pod in made:
            pod.volume_zone = ""
        self.wait(pods, {name + _AGAIN: nodes for name, nodes in only.items()})

    def until_bound(self, names: set[str], seconds: float) -> bool:
        """Whether kube-scheduler binds these within so many seconds; it waits up to ten before it tries a pod again."""
        try:
            self._decided(lambda pod: bool(pod["spec"].get("nodeName")), names, seconds)
        except TimeoutError:
            return False
        return True

    def settle(self, names: set[str] | None = None) -> None:
        """kube-scheduler has decided about all pods that are there, and about one that comes after all others."""
        self._decided(_is_decided, names or set(), 60)
        last = _container_pod("last", "default", {})
        last["spec"] |= {"nodeSelector": {"no-such": "node"}, "priorityClassName": _LAST}
        self._api.create(last)
        self._api.wait("/api/v1/namespaces/default/pods", lambda items: all(map(_is_decided, items)), "the last pod", 60)
        self._api.delete(last)
        self._decided(_is_decided, names or set(), 60)

    def places(self) -> dict[str, str]:
        """The node of each pod that kube-scheduler has bound."""
        found = self._api.items(f"{_SHOP}/pods")
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in found if pod["spec"].get("nodeName")}

    def said(self, pod: str) -> str:
        """What kube-scheduler says of a pod that waits."""
        status = self._api.get(f"{_SHOP}/pods/{pod}")["status"]
        return "; ".join(item.get("message", "") for item in status.get("conditions", ()) if item["type"] == "PodScheduled")

    def remove(self) -> None:
        """Everything, with no grace."""
        api = self._api
        for daemon in self.facts.daemons:
            api.call("DELETE", f"/apis/apps/v1/namespaces/{daemon.namespace}/daemonsets/{daemon.name}")
        _delete_all(api, f"{_SHOP}/replicationcontrollers")
        for pods in (f"{_SHOP}/pods", f"/api/v1/namespaces/{self.facts.agents}/pods", "/api/v1/namespaces/kube-system/pods"):
            _delete_all(api, pods)
        for path in (_NODES, "/apis/storage.k8s.io/v1/csinodes", _CLAIMS, "/api/v1/persistentvolumes"):
            _delete_all(api, path)
        for path in ("csidrivers", "storageclasses", "volumeattachments"):
            _delete_all(api, f"/apis/storage.k8s.io/v1/{path}")
        _delete_all(api, "/apis/node.k8s.io/v1/runtimeclasses")
        api.call("DELETE", f"/api/v1/namespaces/{self.facts.agents}")

    # Parts.

    def _pod(self, pod: Pod, node: Node | None) -> Object:
        return _without_status(pod_object(pod, node, self._owners[pod.workload.name]))

    def _owner(self, work: Workload, many: int) -> Object:
        """A controller that does not run here (`ControlPlane`): its pods are as they are made."""
        labels = {"app": work.name}
        made: Object = {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": work.name, "namespace": "shop"},
            "spec": {"replicas": many, "selector": labels, "template": {"metadata": {"labels": labels}, "spec": pod_spec(work)}},
        }
        uid = self._api.call("POST", f"{_SHOP}/replicationcontrollers", made)["metadata"]["uid"]
        return {"apiVersion": "v1", "kind": made["kind"], "name": work.name, "uid": uid, "controller": True}

    def _daemon_set(self, daemon: Daemon) -> Object:
        made = _without_status(daemon_set(daemon))
        template = made["spec"]["template"]
        template["spec"]["priorityClassName"] = _FIRST
        template["spec"].setdefault("tolerations", []).append({"key": _AGENTS_ONLY["key"], "operator": "Exists"})
        if daemon.added != Amount(0, 0):
            first = self.facts.admitted(daemon.namespace, *daemon.containers[0]).plus(daemon.added).listed()
            template["metadata"]["annotations"] = {_CPU: first["cpu"], _MEMORY: first["memory"]}
        return made

    def _write_spec(self, group: Group, node: Node, *more: Object) -> None:
        """The taints of a node but for those that controllers write, whether it is cordoned, and that kwok runs its
        pods; with `more` taints it does not yet."""
        wanted = node_object(group, node)
        taints = [taint for taint in wanted["spec"].get("taints", ()) if not _of_controllers(taint)]
        for _ in range(20):
            seen = self._api.read(wanted)
            if not more:
                seen["metadata"].setdefault("annotations", {}).update(FAKE_NODE)
            of_controllers = [taint for taint in seen["spec"].get("taints", ()) if _of_controllers(taint)]
            seen["spec"]["taints"] = [*taints, *more, *of_controllers]
            seen["spec"]["unschedulable"] = node.cordoned
            try:
                self._api.call("PUT", path_of(wanted), seen)
                return
            except ApiError as error:
                if error.status != 409:
                    raise
        raise TimeoutError(f"{node.name} is written all the time")

    def _make_volume(self, pod: Pod, claim_uid: str | None) -> None:
        made = _without_status(volume(self.facts, pod))
        made["spec"]["claimRef"]["uid"] = claim_uid
        self._api.create(made)

    def _until_settled(self) -> None:
        """The controller of nodes has written its taints."""
        items = [node_object(group, node) for group in self.facts.groups for node in group.nodes]
        wanted = {item["metadata"]["name"]: _taints(item) for item in items}

        def holds(nodes: list[Object]) -> bool:
            return {item["metadata"]["name"]: _taints(item) for item in nodes} == wanted

        until_seen_to(self._api, _NODES, holds, "taints of nodes", 60)

    def _until_agents(self) -> None:
        """Each node runs the pods of DaemonSets that the facts say.

        SOURCE: the controller does not read node selectors of RuntimeClasses, so that there are pods which wait for ever.
        """
        wanted = self._agents()

        def all_there(pods: list[Object]) -> bool:
            return {(_daemon(pod), _own_node(pod)) for pod in pods if _daemon(pod) and pod["spec"].get("nodeName")} == wanted

        try:
            self._api.wait(PODS, all_there, "pods of DaemonSets", 60)
        except TimeoutError as error:
            told = [(_daemon(pod), _own_node(pod), pod["spec"].get("nodeName")) for pod in self._api.items(PODS) if _daemon(pod)]
            raise TimeoutError(f"{wanted} are to run, there are {told}") from error

    def _agents(self) -> set[tuple[str, str]]:
        """DaemonSets and the nodes that a pod of them runs on."""
        nodes = [(group, node) for group in self.facts.groups for node in group.nodes]
        return {(daemon.name, node.name) for daemon in self.facts.daemons for group, node in nodes if daemon.is_on(group, node)}

    def _check_agents(self) -> None:
        """Admission has made of them what the facts say."""
        really = {daemon.name: daemon.really for daemon in self.facts.daemons}
        for pod in self._api.items(PODS):
            if _daemon(pod) and _requested(pod["spec"]) != really[_daemon(pod)]:
                raise RuntimeError(f"{pod['metadata']['name']}: {_requested(pod['spec'])}, not {really[_daemon(pod)]}")

    def _admits_as_stated(self) -> bool:
        """Whether the plugins of admission have seen the limit range and the runtime classes."""
        facts = self.facts
        probe = _container_pod("probe", facts.agents, {})
        said = _dry_run(self._api, probe)[0].get("resources", {}).get("requests", {})
        if said != (facts.limit_range.listed() if facts.limit_range else {}) and _amount(said) != facts.limit_range:
            return False
        for name, (overhead, _) in facts.overheads.items():
            probe["spec"]["runtimeClassName"] = name
            if _amount(_dry_run(self._api, probe)[1]) != overhead:
                return False
        return True

    def _decided(self, decided: Callable[[Object], bool], names: set[str], seconds: float) -> None:
        """Wait for all pods of the shop, or for those of these names; volumes are made where they are to be meanwhile."""
        waiting = {pod.name: pod for pod in self.facts.waiting}

        def holds(pods: list[Object]) -> bool:
            self._provision(waiting)
            seen = [pod for pod in pods if not names or pod["metadata"]["name"] in names]
            return len(seen) >= len(names) and all(map(decided, seen))

        self._api.wait(f"{_SHOP}/pods", holds, "decisions about pods", seconds)

    def _provision(self, waiting: dict[str, Pod]) -> None:
        zones = {node.name: node.zone for group in self.facts.groups for node in group.nodes}
        if not any(pod.workload.volume and not pod.volume_zone for pod in waiting.values()):
            return
        for item in self._api.items(_CLAIMS):
            pod = waiting.get(item["metadata"]["name"])
            where = item["metadata"].get("annotations", {}).get(_SELECTED)
            if pod is not None and not pod.volume_zone and where:
                pod.volume_zone = zones[where]
                self._make_volume(pod, item["metadata"]["uid"])


def _without_status(item: Object) -> Object:
    return {key: value for key, value in item.items() if key != "status"}


def _unnamed(item: Object) -> Object:
    return item | {"metadata": {"name": item["metadata"]["name"]}}


def _taints(node: Object) -> set[tuple[str, str]]:
    """Without the one that a node that is not ready gets when it is looked at next, every 5 s."""
    found = {(taint["key"], taint["effect"]) for taint in node["spec"].get("taints") or ()}
    return found - {(_NOT_READY, "NoExecute")} if (_NOT_READY, "NoSchedule") in found else found


def _of_controllers(taint: Object) -> bool:
    return str(taint["key"]).startswith("node.kubernetes.io/")


def _is_decided(pod: Object) -> bool:
    said = pod["status"].get("conditions") or ()
    refused = any(item["type"] == "PodScheduled" and item.get("reason") == "Unschedulable" for item in said)
    return refused or bool(pod["spec"].get("nodeName"))


def _daemon(pod: Object) -> str:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner["name"] for owner in owners if owner["kind"] == "DaemonSet"), "")


def _own_node(pod: Object) -> str:
    """The node that the DaemonSet controller has made a pod for."""
    terms = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    fields = [field for term in terms.get("nodeSelectorTerms", ()) for field in term.get("matchFields", ())]
    return str(fields[0]["values"][0]) if fields else ""


def _names(items: Iterable[Object]) -> set[str]:
    return {item["metadata"]["name"] for item in items}


def _bound_claims(items: Iterable[Object]) -> set[str]:
    return {item["metadata"]["name"] for item in items if item["status"].get("phase") == "Bound"}


def _amount(listed: dict[str, str]) -> Amount:
    cpu, memory = listed.get("cpu", "0"), listed.get("memory", "0")
    return Amount(
        int(cpu.removesuffix("m")) * (1 if cpu.endswith("m") else 1000),
        int(memory.rstrip("MGi")) * (1024 if memory.endswith("Gi") else 1),
    )


def _requested(spec: Object) -> Amount:
    found = _amount(spec.get("overhead", {}))
    for container in spec["containers"]:
        found = found.plus(_amount(container["resources"].get("requests", {})))
    return found


def _container_pod(name: str, namespace: str, annotations: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }


def _dry_run(api: Api, pod: Object) -> tuple[Any, Any]:
    """The first container and the overhead of a pod as admission makes it."""
    spec = api.call("POST", f"{collection(pod)}?dryRun=All", pod)["spec"]
    return spec["containers"][0], spec.get("overhead", {})


def _until(holds: Callable[[], bool], api: Api) -> None:
    api.wait("/api/v1/namespaces?limit=1", lambda _: holds(), "admission knowing what was made", 60)


def _until_open(api: Api, namespace: str) -> None:
    api.wait(f"/api/v1/namespaces/{namespace}/serviceaccounts", bool, "the default service account")


def _delete_all(api: Api, path: str) -> None:
    def gone(items: list[Object]) -> bool:
        if items:
            api.call("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        return not items

    api.wait(path, gone, f"deletion of {path}", 120)


def _priority(name: str, value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        # Nobody is moved: a plan promises a place, not that whoever comes later takes it.
        "preemptionPolicy": "Never",
    }


def _recommender() -> tuple[Object, Object]:
    """What a VerticalPodAutoscaler's webhook does: it writes other requests into the first container of some pods."""
    group = "admissionregistration.k8s.io"
    has = f'has(object.metadata.annotations) && "{_CPU}" in object.metadata.annotations'
    said = {name: f'object.metadata.annotations["{key}"]' for name, key in (("cpu", _CPU), ("memory", _MEMORY))}
    requests = ", ".join(f'"{name}": {text}' for name, text in said.items())
    patch = f'[JSONPatch{{op: "add", path: "/spec/containers/0/resources", value: {{"requests": {{{requests}}}}}}}]'
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "recommended", "expression": has}],
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    meta = {"name": "recommender"}
    kind = "MutatingAdmissionPolicy"
    return (
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": meta, "spec": policy},
        {"apiVersion": f"{group}/v1", "kind": f"{kind}Binding", "metadata": meta, "spec": {"policyName": "recommender"}},
    )
