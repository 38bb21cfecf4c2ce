"""Rows S14 to S38 on MachineSets of OpenShift's own controllers: one plan of a cluster in which each row has its nodes."""

from collections.abc import Iterator
from typing import Any

import pytest

from reconciler.plan.plan import ActionKind, NodeState, Plan, PodOutcome
from reconciler.policy.documents import Budget, GroupFields, Limit, Mode, ScaleDown
from reconciler.policy.values.label_selector import Selector
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, pod
from tests.live.own_loop import OwnLoop, done
from tests.openshift.live_bench import SERVED, MachineSetBench
from tests.openshift.objects import machine_autoscaler
from tests.testbed.api import Api, Object
from tests.testbed.machine_api import MachineApi

NAMESPACE = "okd-rows"
SYSTEM = "kube-system"
SAFE, DISABLED = "cluster-autoscaler.kubernetes.io/safe-to-evict", "cluster-autoscaler.kubernetes.io/scale-down-disabled"
LABELS = "capacity.cluster-autoscaler.kubernetes.io/labels"
# What stands on each node of the set that shrinks.
ROLES = (
    "busy", "guarded", "system", "alone", "local", "pinned-by-annotation", "disabled", "stuck", "alone-but-safe", "spare",
    "empty", "movable",
)  # fmt: skip
AT_ONCE = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0, utilization_threshold_percent=50))


class Rows:
    """The sets, which node has which role, and the plan."""

    def __init__(self, machine_api: MachineApi) -> None:
        self.api: Api = machine_api.api
        self._machine_api = machine_api
        self._made: list[Object] = []
        self.sets = {
            "shrinks": self._set(len(ROLES), "rows"),
            "grows": self._set(0, "rows"),
            "full": self._set(0, "rows-full"),
            "eight": self._set(0, "rows-eight", cpu=8),
            "held": self._set(1, "rows-held"),
        }
        self.nodes = dict(zip(ROLES, self.sets["shrinks"].until_nodes(len(ROLES)), strict=True))
        # The control plane takes its own taints off a moment after a node is ready, and until then it has not started.
        self.api.wait("/api/v1/nodes", self._untainted, "the nodes being free of start-up taints")
        self._controllers = {namespace: self._controller(namespace) for namespace in (NAMESPACE, SYSTEM)}
        self._running()
        self._pending()
        self._beside("okd-master", "8", "rows", taints=[{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])
        self._beside("okd-other", "30", "rows-eight", taints=[{"key": "other", "effect": "NoSchedule"}])
        self._make(
            machine_autoscaler("okd-rows", self.sets["held"].name, 1, 9)
            | {"metadata": {"name": "okd-rows", "namespace": NAMESPACE}}
        )
        self.plan = self._plan()

    def _set(self, replicas: int, label: str, cpu: int = 4) -> MachineSetBench:
        amounts = {"machine.openshift.io/vCPU": str(cpu), "machine.openshift.io/memoryMb": "16384", LABELS: f"rows={label}"}
        capacity = {"cpu": str(cpu), "memory": "16Gi", "pods": "110"}
        return MachineSetBench(
            self._machine_api, replicas, NAMESPACE, annotations=amounts, labels={"rows": label}, capacity=capacity
        )

    def _untainted(self, nodes: list[Object]) -> bool:
        mine = [item for item in nodes if item["metadata"]["name"] in self.nodes.values()]
        return len(mine) == len(ROLES) and not any(item["spec"].get("taints") for item in mine)

    def _make(self, item: Object) -> Object:
        made = self.api.create(item)[0]
        self._made.append(item)
        return made

    def _controller(self, namespace: str) -> Object:
        """Nobody acts on it here; pods that name it are replicated."""
        labels = {"app": "okd-rows"}
        spec = {"containers": [{"name": "c", "image": "none"}]}
        body = {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": "okd-rows", "namespace": namespace},
            "spec": {"replicas": 1, "selector": labels, "template": {"metadata": {"labels": labels}, "spec": spec}},
        }
        made: Object = self.api.call("POST", f"/api/v1/namespaces/{namespace}/replicationcontrollers", body)
        return made

    def _on(self, role: str, cpu: str = "100m", *, namespace: str = NAMESPACE, owned: bool = True, **parts: Any) -> None:
        """A pod that runs on the node of a role."""
        owner = self._controllers[namespace]["metadata"]
        reference = {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "name": owner["name"],
            "uid": owner["uid"],
            "controller": True,
        }
        metadata = {
            "name": f"okd-{role}",
            "namespace": namespace,
            "labels": {"role": role},
            "annotations": parts.pop("annotations", {}),
            "ownerReferences": [reference] if owned else [],
        }
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        spec = {"nodeName": self.nodes[role], "containers": [container], "terminationGracePeriodSeconds": 0, **parts}
        self._make({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def _running(self) -> None:
        priority = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "okd-spare"},
            "value": -11,
        }
        self._make(priority)
        guard = {"minAvailable": 1, "selector": {"matchLabels": {"role": "guarded"}}}
        metadata = {"name": "okd-guard", "namespace": NAMESPACE}
        self._make({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": guard})
        self._on("busy", "3")
        self._on("guarded")
        self._on("system", namespace=SYSTEM)
        self._on("alone", owned=False)
        self._on("local", volumes=[{"name": "cache", "emptyDir": {}}])
        self._on("pinned-by-annotation", annotations={SAFE: "false"})
        self._change("disabled", {"metadata": {"annotations": {DISABLED: "true"}}})
        self._change("stuck", {"metadata": {"labels": {"slot": "one"}}})
        self._on("stuck", nodeSelector={"slot": "one"})
        self._on("alone-but-safe", owned=False, annotations={SAFE: "true"})
        self._on("spare", priorityClassName="okd-spare")
        self._on("movable")
        budgets = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
        self.api.wait(budgets, lambda found: found[0].get("status", {}).get("expectedPods") == 1, "the budget being counted")

    def _change(self, role: str, change: Object) -> None:
        self.api.merge({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.nodes[role]}}, change)

    def _pending(self) -> None:
        self.names = {
            "grows": self.sets["grows"].pods(3),
            "large": self.sets["grows"].pods(1, "5"),
            "full": self.sets["full"].pods(1),
            "eight": self.sets["eight"].pods(5, "7"),
            "spare": self.sets["full"].pods(1, priority_class="okd-spare"),
            "held": self.sets["held"].pods(2),
        }

    def _beside(self, name: str, cpu: str, label: str, taints: list[Object]) -> None:
        amounts = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {"name": name, "labels": {"rows": label}}
        self._make({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": status})

    def _plan(self) -> Plan:
        most = {"full": 0, "grows": 9, "shrinks": 20, "eight": 9, "held": 9}
        limits = (
            # 12 nodes of 4 and the control plane's 8 are 56: one more node of 4.
            Limit(name="all", nodes=_labelled("rows"), max=(("cpu", 60_000),)),
            Limit(name="eight", nodes=_labelled("rows-eight"), max=(("cpu", 64_000),)),
        )
        groups = [bench.group(most=most[name]) for name, bench in self.sets.items()]
        fields = {"limits": limits, "budgets": (Budget(nodes=100),), "defaults": AT_ONCE, "mode": Mode.OBSERVE}
        with OwnLoop(self._machine_api.plane, NAMESPACE, *groups, served=SERVED, **fields) as loop:
            report = loop.loop.turn()
            assert report.plan is not None, report.unavailable
            assert loop.writes() == []
            return report.plan

    def gone(self) -> None:
        for item in reversed(self._made):
            self.api.delete(item)
        for bench in self.sets.values():
            bench.gone()
        for namespace in self._controllers:
            self.api.call("DELETE", f"/api/v1/namespaces/{namespace}/replicationcontrollers/okd-rows")

    def blocked(self, role: str) -> list[str]:
        """The codes of what keeps the node of a role."""
        return blocker_codes(self.plan, self.nodes[role])

    def leaving(self) -> set[str]:
        """The roles of the nodes that go."""
        gone = {name for action in of_kind(self.plan, ActionKind.REMOVE_NODE) for name in action.nodes}
        return {role for role, name in self.nodes.items() if name in gone}


def _labelled(label: str) -> Selector:
    return Selector(match_labels=(("rows", label),))


@pytest.fixture(scope="module")
def rows(machine_api: MachineApi) -> Iterator[Rows]:
    made = Rows(machine_api)
    yield made
    made.gone()


def outcomes(rows: Rows, name: str) -> list[str]:
    return sorted(str(pod(rows.plan, f"{NAMESPACE}/{one}").outcome) for one in rows.names[name])


def first_codes(rows: Rows, name: str) -> set[str]:
    """The first reason of each pod that stays pending."""
    lines = [pod(rows.plan, f"{NAMESPACE}/{one}") for one in rows.names[name]]
    return {codes(line)[0] for line in lines if line.outcome is PodOutcome.UNPLACEABLE}


def test_s14_pending_pods_get_a_node_and_a_reason_each(rows: Rows) -> None:
    """As many as fit below the limit, each named with its group; the others say which limit."""
    assert outcomes(rows, "grows") == ["TriggersScaleUp", "Unplaceable", "Unplaceable"]
    lines = [pod(rows.plan, f"{NAMESPACE}/{one}") for one in rows.names["grows"]]
    assert {line.group for line in lines if line.outcome is PodOutcome.TRIGGERS_SCALE_UP} == {rows.sets["grows"].name}
    assert all("LimitReached" in codes(line) for line in lines if line.outcome is PodOutcome.UNPLACEABLE)


def test_s15_s16_limits_count_all_nodes_and_the_plan_tells_them_apart(rows: Rows) -> None:
    """56 of 60 cores are there, the control plane's included: one node of 4 and no more; the control plane is nobody's."""
    assert group(rows.plan, rows.sets["grows"].name).desired == 1
    master = node(rows.plan, "okd-master")
    assert (master.state, master.group) == (NodeState.UNMANAGED, None)


def test_s19_utilization_is_requests_over_allocatable(rows: Rows) -> None:
    """3 of 4 cores is above half, nothing is below it."""
    assert node(rows.plan, rows.nodes["busy"]).utilization_permille == 750
    assert node(rows.plan, rows.nodes["busy"]).state is NodeState.IN_USE
    assert "empty" in rows.leaving()


def test_s20_a_node_goes_only_when_all_its_pods_find_a_place(rows: Rows) -> None:
    """One pod may move, the other fits no other node."""
    assert ("movable" in rows.leaving(), "stuck" in rows.leaving()) == (True, False)


def test_s21_scale_down_disabled_on_a_node_is_honoured(rows: Rows) -> None:
    """It is empty, and stays."""
    assert rows.blocked("disabled") == ["ScaleDownDisabledAnnotation"]


def test_s22_a_restrictive_budget_is_named(rows: Rows) -> None:
    """With the number that it allows."""
    (blocker,) = node(rows.plan, rows.nodes["guarded"]).blockers
    assert (blocker.code, f"{NAMESPACE}/okd-guard allows 0" in blocker.message) == ("NotEnoughPdb", True)


def test_s23_s24_system_pods_without_a_budget_block(rows: Rows) -> None:
    """Another reason than a budget that is used up."""
    assert rows.blocked("system") == ["SystemPod"]


def test_s25_a_pod_without_controller_blocks(rows: Rows) -> None:
    """Nobody would make it again."""
    assert rows.blocked("alone") == ["Unreplicated"]


def test_s26_local_storage_blocks(rows: Rows) -> None:
    """An emptyDir."""
    assert rows.blocked("local") == ["LocalStorage"]


def test_s27_what_cannot_move_names_why(rows: Rows) -> None:
    """Why kube-scheduler refuses the other nodes."""
    (blocker,) = node(rows.plan, rows.nodes["stuck"]).blockers
    assert (blocker.code, "other labels than the pod wants" in blocker.message) == ("NoPlaceToMove", True)


def test_s28_safe_to_evict_decides_over_the_other_pod_rules(rows: Rows) -> None:
    """On the pod: false blocks, true lifts what else would."""
    assert rows.blocked("pinned-by-annotation") == ["NotSafeToEvict"]
    assert "alone-but-safe" in rows.leaving()


def test_s29_sixty_four_cores_allow_four_more_machines_of_eight(rows: Rows) -> None:
    """30 are there: four nodes of 8 make 62, and the fifth is refused."""
    assert group(rows.plan, rows.sets["eight"].name).desired == 4
    (refused,) = [
        line for one in rows.names["eight"] if (line := pod(rows.plan, f"{NAMESPACE}/{one}")).outcome is PodOutcome.UNPLACEABLE
    ]
    assert [reason.data["used"] for reason in refused.reasons if reason.code == "LimitReached"] == [62_000]


def test_s34_another_autoscaler_of_the_set_is_found(rows: Rows) -> None:
    """OpenShift's own: the set is held and says what it would have been."""
    line = group(rows.plan, rows.sets["held"].name)
    assert (line.current, line.desired, line.wanted, line.owner.by) == (1, 1, 2, f"MachineAutoscaler {NAMESPACE}/okd-rows")


def test_s35_s36_no_node_for_a_pod_that_it_would_not_run(rows: Rows) -> None:
    """Larger than the machine, and no group that may grow: two reasons, and no node for either."""
    assert (first_codes(rows, "large"), first_codes(rows, "full")) == ({"NoGroupFits"}, {"GroupsExhausted"})
    assert group(rows.plan, rows.sets["full"].name).desired == 0


def test_s38_pods_below_the_cutoff_add_no_node_and_keep_none(rows: Rows) -> None:
    """Priority -11: one waits for spare room, the other one's node goes."""
    assert outcomes(rows, "spare") == ["Expendable"]
    assert "spare" in rows.leaving()


def test_s37_load_rises_and_falls(machine_api: MachineApi) -> None:
    """More pods than a node takes, then one: a second node comes and goes, by the loop on the platform's own controllers."""
    bench = MachineSetBench(machine_api, 0, "okd-load")
    with OwnLoop(machine_api.plane, "okd-load", bench.group(), served=SERVED, defaults=AT_ONCE) as loop:
        names = bench.pods(2, annotations={SAFE: "true"})
        loop.until(lambda report: done(report, "Resize"), "growing")
        bench.until_nodes(2)
        pods = "/api/v1/namespaces/okd-load/pods"
        bench.testbed.wait(pods, lambda items: all(one["spec"].get("nodeName") for one in items), "the pods being bound")
        bench.testbed.call("DELETE", f"{pods}/{names[0]}", {"gracePeriodSeconds": 0})
        loop.until(lambda report: bench.replicas() == 1 and not report.plan.actions, "shrinking")
    assert len(bench.until_nodes(1)) == 1
    bench.gone()
