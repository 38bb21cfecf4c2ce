"""Room for ProvisioningRequests: for all pods of one at once or none, after all pods, kept until they run or ten minutes pass."""

import json

import msgspec
import pytest

from reconciler.cluster.pods.pod import ClaimUse
from reconciler.cluster.workloads.pod_quota import ResourceQuota
from reconciler.cluster.world import BufferProblem, World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.gitops.preview import compare
from reconciler.plan.plan import ActionKind, Plan, RequestLine, RequestState
from reconciler.plan.preview import PreviewSide
from reconciler.plan.summary import canonical_json
from reconciler.policy.documents import (
    BufferReading,
    HeadroomFrom,
    Hold,
    Limit,
    NodeGroup,
    PodRules,
    PolicySet,
    RequestReading,
    RequestsFrom,
    Template,
    TemplateDevices,
)
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.html.plan import request_section
from reconciler.rendering.printers.markdown.plan import plan_comment
from reconciler.rendering.printers.text.explanation.group import explain_group
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.rendering.printers.text.preview import preview_text
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import codes, group, node, of_kind, plan_of, pod
from tests.decisions.device_cluster import DRIVER, GPU, DeviceCluster, gpu, slice_of
from tests.decisions.device_cluster import request as asked_devices

READ = RequestsFrom(provisioning_requests=RequestReading.READ)
CHECK = "check-capacity.autoscaling.x-k8s.io"
OURS = {"consume": "autoscaling.x-k8s.io/consume-provisioning-request"}


def _rules(*groups: NodeGroup, **fields: object) -> PolicySet:
    return policy(*(groups or (node_group("a", max=9),)), **{"requests_from": READ, **fields})


def _line(plan: Plan, name: str = "ml/train") -> RequestLine:
    return next(line for line in plan.request_lines if line.request == name)


def _said(line: RequestLine) -> list[str]:
    return [reason.code for reason in line.reasons]


def _one_node(used: str = "1") -> ClusterBuilder:
    """A node of 4 cores with a pod that keeps it."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    cluster.pods("web", 1, cpu=used, on="a-1", traits={"safe_to_evict": "false"})
    return cluster


def _consumers(cluster: ClusterBuilder, *places: str | None, cpu: str = "1", request: str = "train") -> None:
    """Pods that take the room of a request, each on a node or pending."""
    marks = ((OURS["consume"], request),)
    cluster.pods("worker", len(places), cpu=cpu, on=places, namespace="ml", owner="Job", traits={"annotations": marks})


def test_all_pods_get_nodes_at_once() -> None:
    """Of five of a core, three fit on the node that is there, and two on a new one. The plan says for which request."""
    cluster = _one_node()
    cluster.request("train", (5, "1"))
    plan = plan_of(cluster.world(), _rules())
    line = group(plan, "a")
    assert (line.desired, codes(line)) == (2, ["GrownForRequest"])
    assert line.reasons[0].message == "2 pods of ProvisioningRequest ml/train need 1 node more"
    assert plan.actions[0].reason.message == line.reasons[0].message
    asked = _line(plan)
    assert (asked.state, asked.pods, asked.fits, asked.requested, asked.until) == (RequestState.WAITING, 5, 3, 2, None)
    assert [reason.message for reason in asked.reasons] == ["3 pods would run now", "a grows for 2 pods"]


def test_pods_with_claims_change_nothing_for_a_request() -> None:
    """Three pods that ask the same of devices become one shape, so that the shapes after theirs have other numbers. Five
    pods of a core: four fit on the node that is there, and one needs another."""
    cluster = DeviceCluster()
    cluster.group("a", nodes=1)
    cluster.train("wait", 3)
    cluster.request("train", (5, "1"))
    plan = plan_of(cluster.world(), _rules())
    assert (group(plan, "a").desired, _line(plan).fits, _line(plan).requested) == (2, 4, 1)


def test_without_the_field_nothing_is_done_and_it_is_told() -> None:
    cluster = _one_node()
    cluster.request("train", (5, "1"))
    plan = plan_of(cluster.world(), policy(node_group("a", max=9)))
    assert group(plan, "a").desired == 1
    assert "provisioningRequests" not in json.loads(canonical_json(plan))
    assert [(one.code, one.object) for one in plan.problems] == [("ProvisioningRequestNotServed", "ProvisioningRequest ml/train")]


@pytest.mark.parametrize(
    ("most", "limits", "word"), [(2, (), "AtMaxSize"), (9, (Limit(name="n", max=(("nodes", 2),)),), "LimitReached")]
)
def test_all_or_nothing(most: int, limits: tuple[Limit, ...], word: str) -> None:
    """Nine need three nodes, and two may be there: no node is added, and the room that is there stays free for others."""
    cluster = _one_node()
    cluster.request("train", (9, "1"))
    cluster.buffer("spare", 3, cpu="1")
    both = HeadroomFrom(capacity_buffers=BufferReading.READ)
    plan = plan_of(cluster.world(), _rules(node_group("a", max=most), limits=limits, headroom_from=both))
    assert group(plan, "a").desired == 1
    asked = _line(plan)
    assert (asked.state, asked.fits, asked.requested) == (RequestState.SHORT, 0, 0)
    assert _said(asked)[0] == "RequestShort"
    assert word in _said(asked)
    assert asked.reasons[0].message == "only 7 of 9 pods would have room, so no node is added for any"
    assert plan.buffer_lines[0].fits == 3


def test_several_sets_come_together() -> None:
    """A driver of 2 cores and four workers of 3: six cores of these fit nowhere, so that one driver alone gets nothing."""
    for most, desired, state in ((6, 5, RequestState.WAITING), (4, 1, RequestState.SHORT)):
        cluster = _one_node()
        cluster.request("train", (1, "2"), (4, "3"))
        plan = plan_of(cluster.world(), _rules(node_group("a", max=most)))
        assert (group(plan, "a").desired, _line(plan).state) == (desired, state)


def test_pods_that_exist_come_first() -> None:
    """Two pods of 4 cores take two of the three nodes, and the request would need two."""
    cluster = _one_node("4")
    cluster.pods("new", 2, cpu="4")
    cluster.request("train", (2, "4"), shape={"priority": 10_000})
    plan = plan_of(cluster.world(), _rules(node_group("a", max=4)))
    assert group(plan, "a").desired == 3
    assert [pod(plan, f"shop/new-{number}").outcome.value for number in (1, 2)] == ["TriggersScaleUp"] * 2
    assert _line(plan).state is RequestState.SHORT


def test_the_oldest_comes_first_and_the_next_that_fits_whole() -> None:
    """Two nodes may come. The oldest needs three and gets none; the next gets its two; for the last nothing is left."""
    cluster = _one_node("4")
    for age, (name, pods) in enumerate((("last", 1), ("next", 2), ("oldest", 3))):
        cluster.request(name, (pods, "4"), created=NOW - 60 - age)
    plan = plan_of(cluster.world(), _rules(node_group("a", max=3)))
    states = {line.request: line.state for line in plan.request_lines}
    assert states == {"ml/last": RequestState.SHORT, "ml/next": RequestState.WAITING, "ml/oldest": RequestState.SHORT}
    assert group(plan, "a").desired == 3


def test_what_gets_no_room_leaves_no_trace() -> None:
    """Three groups would give the first request eight of its nine nodes. The plan for the groups is the one without it."""
    plans = []
    for names in (("huge", "small"), ("small",)):
        cluster = _one_node("4")
        for number, name in enumerate(names):
            cluster.request(name, (9 if name == "huge" else 3, "4"), created=NOW - 100 + number)
        cluster.group("b", nodes=0)
        cluster.group("c", nodes=0)
        rules = _rules(*(node_group(name, max=3) for name in "abc"), limits=(Limit(name="all", max=(("nodes", 9),)),))
        plans.append(plan_of(cluster.world(), rules))
    with_it, without = plans
    assert (_line(with_it, "ml/huge").state, _line(with_it, "ml/small").state) == (RequestState.SHORT, RequestState.WAITING)
    assert sum(line.desired for line in without.groups) == 4
    assert with_it.groups == without.groups
    assert [action.reason for action in with_it.actions] == [action.reason for action in without.actions]


def test_of_many_that_do_not_fit_some_are_tried_in_turn() -> None:
    """The four oldest and four others are tried. What fits behind them has its turn within 40 plans."""
    cluster = _one_node("4")
    for number in range(17):
        cluster.request(f"r{number:02}", (9, "4"), created=NOW - 100 + number)
    cluster.request("small", (1, "4"), created=NOW)
    rules, world, grown = _rules(node_group("a", max=3)), cluster.world(), []
    for turn in range(40):
        plan, _ = decide(world, rules, Memory(), NOW + 10 * turn)
        said = {line.request: _said(line)[0] for line in plan.request_lines}
        assert [said[f"ml/r{number:02}"] for number in range(4)] == ["RequestShort"] * 4
        tried = [name for name, code in said.items() if code != "RequestNotTried"]
        assert len(tried) == 8
        grown.append(group(plan, "a").desired == 2)
        assert grown[-1] == ("ml/small" in tried)
    assert any(grown)
    assert not all(grown)


def test_equal_requests_are_given_up_together() -> None:
    """Twenty ask for the same, which does not fit; what comes after them gets its node in the same plan."""
    cluster = _one_node("4")
    for number in range(20):
        cluster.request(f"r{number:02}", (9, "4"), shape={"labels": (("app", "same"),)}, created=NOW - 100 + number)
    cluster.request("small", (1, "4"), created=NOW)
    plan = plan_of(cluster.world(), _rules(node_group("a", max=3)))
    assert all(_line(plan, f"ml/r{number:02}").reasons == _line(plan, "ml/r00").reasons for number in range(20))
    assert _said(_line(plan, "ml/r19"))[0] == "RequestShort"
    assert group(plan, "a").desired == 2


@pytest.mark.parametrize(("pods", "state"), [(3, RequestState.PROVISIONED), (4, RequestState.SHORT)])
def test_a_check_adds_no_node(pods: int, state: RequestState) -> None:
    cluster = _one_node()
    cluster.request("train", (pods, "1"), class_name=CHECK)
    plan = plan_of(cluster.world(), _rules())
    assert not plan.changes
    assert _line(plan).state is state
    if state is RequestState.SHORT:
        assert _line(plan).reasons[0].message == (
            "nodes that are there have room for 3 of 4 pods (too little free capacity on 1)"
        )


def test_a_check_that_finds_too_little_takes_nothing() -> None:
    """The room for three of its four pods is free for a younger request."""
    cluster = _one_node()
    cluster.request("train", (4, "1"), class_name=CHECK)
    cluster.request("younger", (3, "1"), class_name=CHECK, created=NOW)
    plan = plan_of(cluster.world(), _rules())
    assert (_line(plan).state, _line(plan, "ml/younger").state) == (RequestState.SHORT, RequestState.PROVISIONED)


def test_nodes_that_are_not_there_yet_are_waited_for() -> None:
    """Of both classes: it is not provisioned before the node is ready."""
    for class_name in (CHECK, "best-effort-atomic-scale-up.reconciler.dev"):
        cluster = ClusterBuilder()
        cluster.group("a", nodes=1, replicas=2)
        cluster.machine("a-2", machine_deployment("a"), created=NOW - 60)
        cluster.pods("web", 1, cpu="4", on="a-1", traits={"safe_to_evict": "false"})
        cluster.request("train", (2, "2"), class_name=class_name)
        plan = plan_of(cluster.world(), _rules())
        assert group(plan, "a").desired == 2
        assert (_line(plan).state, _line(plan).upcoming) == (RequestState.WAITING, 2)


def test_a_node_that_is_not_ready_has_no_room() -> None:
    cluster = ClusterBuilder()
    cluster.target("a", 1)
    cluster.node("a-1", labels={"pool": "a"}, ready=False)
    cluster.request("train", (1, "1"), class_name=CHECK)
    assert _line(plan_of(cluster.world(), _rules())).state is RequestState.SHORT


def _booked(cluster: ClusterBuilder, seconds_ago: int, **fields: object) -> World:
    cluster.request("train", (3, "1"), **{"provisioned_seconds": NOW - seconds_ago, **fields})
    return cluster.world()


def test_the_room_is_kept_for_ten_minutes() -> None:
    """From the first plan in which it was there, which is remembered. Nobody but the status says when it was told."""
    cluster = _one_node()
    cluster.request("train", (3, "1"))
    plan, memory = decide(cluster.world(), _rules(), Memory(), NOW)
    assert (_line(plan).state, _line(plan).until) == (RequestState.PROVISIONED, "2027-01-15T08:10:00Z")
    assert memory.bookings == {"uid-train": NOW + 600}
    told = _booked(_one_node(), 0)
    for later, state in ((599, RequestState.PROVISIONED), (600, RequestState.EXPIRED)):
        plan, after = decide(told, _rules(), memory, NOW + later)
        assert (_line(plan).state, after.bookings) == (state, {"uid-train": NOW + 600})
    assert _said(_line(plan)) == ["BookingExpired"]
    assert _line(plan).reasons[0].message == "the room was kept until 2027-01-15T08:10:00Z, and 3 pods did not come"


def test_a_booking_is_known_without_a_memory() -> None:
    """By the condition. One that was never told begins again when its time is over."""
    for ago, state in ((599, RequestState.PROVISIONED), (600, RequestState.EXPIRED)):
        assert _line(plan_of(_booked(_one_node(), ago), _rules())).state is state
    cluster = _one_node()
    cluster.request("train", (3, "1"))
    plan, memory = decide(cluster.world(), _rules(), Memory(bookings={"uid-train": NOW - 1}), NOW)
    assert (_line(plan).state, memory.bookings) == (RequestState.PROVISIONED, {"uid-train": NOW + 600})


@pytest.mark.parametrize(
    ("places", "came", "state"),
    [
        ((None,), 1, RequestState.PROVISIONED),
        (("a-1", "a-1"), 2, RequestState.PROVISIONED),
        (("a-1", "a-1", None), 3, RequestState.PROVISIONED),
        (("a-1", "a-1", "a-1"), 3, RequestState.EXPIRED),
    ],
)
def test_pods_take_the_room_of_their_request(places: tuple[str | None, ...], came: int, state: RequestState) -> None:
    """The node has room for three. What came needs no room of the request, and all pods together need no node more."""
    cluster = _one_node()
    _consumers(cluster, *places)
    plan = plan_of(_booked(cluster, 30), _rules())
    assert group(plan, "a").desired == 1
    assert (_line(plan).came, _line(plan).state) == (came, state)
    assert [line.outcome.value for line in plan.pods] == ["FitsExisting"] * places.count(None)
    if state is RequestState.EXPIRED:
        assert (_said(_line(plan)), _line(plan).reasons[0].message) == (["BookingConsumed"], "its 3 pods run")


def test_pods_of_another_request_are_not_its_pods() -> None:
    cluster = _one_node()
    _consumers(cluster, "a-1", "a-1", request="other")
    plan = plan_of(_booked(cluster, 30), _rules())
    assert (_line(plan).came, _line(plan).requested, group(plan, "a").desired) == (0, 2, 2)


def test_pods_belong_to_the_set_that_they_are_like() -> None:
    """A driver of 2 cores and two workers of one; a worker came, so that 2 + 1 of three cores are left to keep."""
    cluster = _one_node("0")
    _consumers(cluster, "a-1")
    cluster.request("train", (1, "2"), (2, "1"), provisioned_seconds=NOW - 30)
    cluster.buffer("spare", 1, cpu="1")
    plan = plan_of(cluster.world(), _rules(headroom_from=HeadroomFrom(capacity_buffers=BufferReading.READ)))
    assert (_line(plan).fits, plan.buffer_lines[0].fits) == (2, 0)


def test_room_that_is_kept_is_not_given_to_another_request() -> None:
    """An older one that waits comes after one whose room is kept."""
    cluster = _one_node()
    cluster.request("older", (3, "1"), class_name=CHECK, created=NOW - 900)
    world = _booked(cluster, 30, class_name=CHECK)
    plan = plan_of(world, _rules())
    assert (_line(plan).state, _line(plan, "ml/older").state) == (RequestState.PROVISIONED, RequestState.SHORT)


def test_room_that_was_lost_is_not_provisioned_any_more() -> None:
    """Others took it. Nodes are added again for one class, and not for the other; no booking is left."""
    for class_name, state, size in (
        (CHECK, RequestState.SHORT, 1),
        ("best-effort-atomic-scale-up.autoscaling.x-k8s.io", RequestState.WAITING, 2),
    ):
        world = _booked(_one_node("4"), 30, class_name=class_name)
        plan, memory = decide(world, _rules(), Memory(bookings={"uid-train": NOW + 570}), NOW)
        assert (_line(plan).state, group(plan, "a").desired, memory.bookings) == (state, size, {})


def test_a_node_with_its_room_is_kept() -> None:
    """Until the booking is over."""
    for ago, removed in ((30, []), (600, ["a-2"])):
        cluster = ClusterBuilder()
        cluster.group("a", nodes=2)
        cluster.pods("web", 1, cpu="4", on="a-1", traits={"safe_to_evict": "false"})
        world, memory = _booked(cluster, ago), Memory(unneeded_since={"a-2": NOW - 3600})
        plan = plan_of(world, _rules(), memory)
        assert [action.nodes[0] for action in of_kind(plan, ActionKind.REMOVE_NODE)] == removed
        if not removed:
            assert "it has room for ProvisioningRequest ml/train" in [one.message for one in node(plan, "a-2").blockers]


@pytest.mark.parametrize(
    ("fields", "used", "code"),
    [
        ({"created": NOW - 3600, "valid_seconds": 3600}, "4", "RequestTooOld"),
        ({"class_name": CHECK, "retries": False}, "4", "RequestNotRepeated"),
        ({"shape": {"node_selector": (("pool", "b"),)}}, "4", "RequestFitsNoGroup"),
    ],
)
def test_what_is_given_up(fields: dict[str, object], used: str, code: str) -> None:
    cluster = _one_node(used)
    cluster.request("train", (3, "1"), **fields)  # type: ignore[arg-type]
    plan = plan_of(cluster.world(), _rules())
    assert not plan.changes
    assert (_line(plan).state, _said(_line(plan))[0]) == (RequestState.FAILED, code)


@pytest.mark.parametrize(
    "fields", [{"created": NOW - 3600, "valid_seconds": 0}, {"class_name": CHECK, "retries": False, "valid_seconds": 0}]
)
def test_one_try_is_enough_where_there_is_room(fields: dict[str, object]) -> None:
    cluster = _one_node()
    cluster.request("train", (3, "1"), **fields)  # type: ignore[arg-type]
    assert _line(plan_of(cluster.world(), _rules())).state is RequestState.PROVISIONED


def test_it_is_not_given_up_while_something_is_unknown() -> None:
    """A group whose nodes nobody knows might run the pods, and so might one that was not read."""
    cluster = _one_node("4")
    cluster.target("b", 0)
    cluster.request("train", (3, "1"), shape={"node_selector": (("pool", "b"),)})
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9), node_group("b", max=9)))
    assert _line(plan).state is RequestState.SHORT
    cluster = _one_node("4")
    cluster.request("train", (3, "1"), shape={"node_selector": (("pool", "b"),)})
    assert _line(plan_of(cluster.world(not_captured=("MachinePool",)), _rules())).state is RequestState.SHORT


def test_it_is_not_given_up_while_a_new_node_is_not_modelled() -> None:
    """kube-scheduler evaluates the selector of the class, and the plan does not. Of a selector that it evaluates it is sure."""
    declared = Template(devices=(TemplateDevices(name="gpu", driver=DRIVER, count=2),))
    for selector, state in (
        ('ip("10.0.0.1").family() == 4', RequestState.SHORT),
        ('device.driver == "other.example.com"', RequestState.FAILED),
    ):
        cluster = DeviceCluster()
        cluster.group("a", nodes=0)
        cluster.request("train", (1, "1"), shape={"claims": (cluster.template("one", namespace="ml"),)})
        selecting = msgspec.structs.replace(GPU, selectors=(selector,))
        captured = tuple(sorted({*cluster.world().captured, "ProvisioningRequest"}))
        world = cluster.world(device_classes=(selecting,), captured=captured)
        plan = plan_of(world, _rules(node_group("a", min=0, max=9, template=declared)))
        assert _line(plan).state is state


@pytest.mark.parametrize(
    ("declared", "nodes", "pool_slices", "state"),
    [
        (None, 0, 1, RequestState.SHORT),
        (None, 1, 2, RequestState.SHORT),
        ((), 0, 1, RequestState.FAILED),
        ((TemplateDevices(name="gpu", driver=DRIVER, count=1),), 0, 1, RequestState.FAILED),
    ],
    ids=["nothing is known", "its only node lacks a slice", "declared: none", "declared: too few"],
)
def test_it_is_given_up_for_its_devices_only_where_the_policy_declares_them(
    declared: tuple[TemplateDevices, ...] | None, nodes: int, pool_slices: int, state: RequestState
) -> None:
    """The pod asks for two devices. What a node shows for a while is no proof of what the next one has."""
    cluster = DeviceCluster()
    names = cluster.group("a", nodes=nodes)
    cluster.slices.extend(slice_of(name, [gpu(0), gpu(1)], slice_count=pool_slices) for name in names)
    two = cluster.template("two", asked_devices(2), namespace="ml")
    cluster.request("train", (1, "1"), shape={"claims": (two,)})
    world = cluster.world(captured=tuple(sorted({*cluster.world().captured, "ProvisioningRequest"})))
    plan = plan_of(world, _rules(node_group("a", min=0, max=9, template=Template(devices=declared))))
    assert _line(plan).state is state


def test_a_request_that_is_over_wants_nothing() -> None:
    cluster = _one_node("4")
    cluster.request("train", (3, "1"), over=True)
    for rules in (_rules(), policy(node_group("a", max=9))):
        plan = plan_of(cluster.world(), rules)
        assert (group(plan, "a").desired, plan.request_lines, plan.problems) == (1, (), ())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"class_name": "queued-provisioning.gke.io"}, "ProvisioningRequestNotServed"),
        ({"writers": ("cluster-autoscaler", "nodegroup-reconciler")}, "RequestAnswered"),
        ({"code": BufferProblem.NOT_FOUND, "problem": "there is no PodTemplate x"}, "RequestRefused"),
    ],
)
def test_what_is_left_alone(fields: dict[str, object], code: str) -> None:
    """It is told, unless another program answers it."""
    cluster = _one_node("4")
    cluster.request("train", (3, "1"), **fields)  # type: ignore[arg-type]
    plan = plan_of(cluster.world(), _rules())
    assert (group(plan, "a").desired, _line(plan).state, _said(_line(plan))) == (1, RequestState.IGNORED, [code])
    assert [one.code for one in plan.problems] == [code] * (code != "RequestAnswered")
    adopted = plan_of(cluster.world(), _rules(adopt_from=("cluster-autoscaler",)))
    assert (_line(adopted).state is RequestState.WAITING) == (code == "RequestAnswered")


def test_a_request_that_nobody_can_read_is_given_up_in_time() -> None:
    cluster = _one_node("4")
    fields = {"code": BufferProblem.NOT_FOUND, "problem": "no", "created": NOW - 3600, "valid_seconds": 3600}
    cluster.request("train", **fields)  # type: ignore[arg-type]
    assert (_line(plan_of(cluster.world(), _rules())).state) is RequestState.FAILED


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ({"priority": -11}, "Expendable"),
        ({"scheduler_name": "volcano"}, "OtherScheduler"),
        ({"claims": (ClaimUse(name="gpu", claim="gpu"),)}, "NotModelled"),
    ],
)
def test_pods_that_would_get_no_node_get_no_room(shape: dict[str, object], code: str) -> None:
    cluster = _one_node("4")
    cluster.request("train", (2, "1"), shape=shape)
    plan = plan_of(cluster.world(), _rules())
    assert group(plan, "a").desired == 1
    assert (_line(plan).state, _said(_line(plan))) == (RequestState.SHORT, ["RequestShort", code])


def test_equal_checks_are_judged_by_the_room_that_is_left() -> None:
    """Three cores are free. Between two equal checks for four pods, another request gets two of them."""
    cluster = _one_node()
    for number, (name, pods) in enumerate((("before", 4), ("between", 2), ("after", 4))):
        shape = {"labels": (("app", "same"),)}
        cluster.request(name, (pods, "1"), class_name=CHECK, shape=shape, created=NOW - 100 + number)
    plan = plan_of(cluster.world(), _rules())
    said = {name: _line(plan, f"ml/{name}").reasons[0].message for name in ("before", "after")}
    assert said["before"] == "nodes that are there have room for 3 of 4 pods (too little free capacity on 1)"
    assert said["after"] == "nodes that are there have room for 1 of 4 pods (too little free capacity on 1)"


def test_a_check_and_a_growth_for_equal_pods_each_say_why() -> None:
    """In either order, though both ask for the same pods."""
    grow = "best-effort-atomic-scale-up.reconciler.dev"
    for first, second in ((CHECK, grow), (grow, CHECK)):
        cluster = _one_node()
        for number, class_name in enumerate((first, second)):
            shape = {"labels": (("app", "same"),)}
            name = "check" if class_name == CHECK else "grow"
            cluster.request(name, (50, "1"), class_name=class_name, shape=shape, created=NOW - 100 + number)
        plan = plan_of(cluster.world(), _rules(node_group("a", max=2)))
        assert (_said(_line(plan, "ml/check"))[0], _said(_line(plan, "ml/grow"))[0]) == ("RequestNoRoom", "RequestShort")
        assert "(too little free capacity on 1)" in _line(plan, "ml/check").reasons[0].message


def test_gangs_and_requests_side_by_side() -> None:
    """A gang of two that does not fit whole leaves its node to the request."""
    cluster = _one_node("4")
    cluster.pods("gang", 3, cpu="4", labels={"job": "g"})
    cluster.request("train", (2, "4"))
    rules = _rules(node_group("a", max=3), pods=PodRules(gang_labels=("job",)))
    plan = plan_of(cluster.world(), rules)
    assert (group(plan, "a").desired, _line(plan).state) == (3, RequestState.WAITING)
    assert {line.outcome.value for line in plan.pods} == {"Unplaceable"}


def test_requests_that_nobody_has_read_stop_removals() -> None:
    """An empty node may be the room of one of them."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=2)
    world, memory = cluster.world(), Memory(unneeded_since={"a-1": NOW - 3600, "a-2": NOW - 3600})
    plan = plan_of(world, _rules(), memory)
    assert (plan.not_captured, plan.changes) == (("ProvisioningRequest",), False)
    assert plan_of(world, policy(node_group("a", max=9)), memory).changes


def test_a_held_group_tells_what_it_would_do() -> None:
    cluster = _one_node("4")
    cluster.request("train", (1, "1"))
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9, hold=Hold(reason="repair"))))
    assert (group(plan, "a").desired, group(plan, "a").wanted) == (1, 2)
    assert (_line(plan).state, "GroupHeld" in _said(_line(plan))) == (RequestState.SHORT, True)


def test_the_steady_state_keeps_the_room() -> None:
    cluster = _one_node()
    cluster.request("train", (5, "1"))
    rules = _rules()
    plan, memory = decide(cluster.world(), rules, Memory(), NOW)
    rest = settled(cluster.world(), rules, memory, NOW, plan)
    assert (group(rest, "a").desired, group(rest, "a").settled) == (2, 2)


def test_nodes_come_once_for_one_request() -> None:
    """Its node is there and empty after an hour, and the pods have not come: it is not added again, and not removed."""
    cluster = _one_node()
    cluster.request("train", (5, "1"))
    rules = _rules()
    _, memory = decide(cluster.world(), rules, Memory(), NOW)
    assert memory.purchase is not None
    later = ClusterBuilder(now=NOW + 120)
    later.group("a", nodes=2, created=NOW + 60)
    later.pods("web", 1, cpu="1", on="a-1", traits={"safe_to_evict": "false"})
    later.request("train", (5, "1"), created=NOW - 60)
    plan, memory = decide(later.world(), rules, memory, NOW + 120)
    assert (group(plan, "a").desired, _line(plan).state) == (2, RequestState.PROVISIONED)


def test_a_preview_shows_what_reading_them_causes() -> None:
    cluster = _one_node("4")
    cluster.request("train", (8, "1"))
    sides = [
        (PreviewSide(source=source), policy(node_group("a", max=9), requests_from=RequestsFrom(provisioning_requests=reading)))
        for source, reading in (("main", RequestReading.IGNORE), ("pr", RequestReading.READ))
    ]
    preview = compare(cluster.world(), NOW, sides[0], sides[1], DEFAULT_WORK_BUDGET)
    assert group(preview.plan, "a").desired == 3
    text = preview_text(preview)
    assert "requestsFrom.provisioningRequests" in text
    assert "ml/train" in text


def test_a_plan_tells_of_each_request() -> None:
    """As text, in a pull request, on a page; `explain` names it as the cause."""
    cluster = _one_node()
    cluster.request("train", (5, "1"))
    cluster.request("huge", (50, "1"), created=NOW)
    world, rules = cluster.world(), _rules(node_group("a", max=3))
    plan, memory = decide(world, rules, Memory(), NOW)
    lines = plan_text(plan).splitlines()
    start = lines.index("Room for ProvisioningRequests: 2")
    assert lines[start + 1] == "  ml/huge: no room for 50 pods"
    assert "  ml/train: room is on its way for 5 pods, 3 now, 2 later" in lines
    for text in (str(plan_comment(plan)), str(request_section(plan))):
        assert "room is on its way for 5 pods, 3 now, 2 later" in text
    case = Case.of(world, rules, plan, NOW, memory)
    assert any("ProvisioningRequest ml/train" in line for line in explain_group(case, "a", 120))


def test_the_same_plan_from_any_order() -> None:
    """And with any work budget it ends."""
    cluster = _one_node()
    for number in range(4):
        cluster.request(f"r{number}", (number + 1, "1"), created=NOW - 60)
    world = cluster.world()
    plans = {canonical_json(plan_of(world, _rules())) for _ in range(2)}
    assert len(plans) == 1
    for budget in (1, 50, 500):
        plan, _ = decide(world, _rules(), Memory(), NOW, budget)
        assert len(plan.request_lines) == 4
    assert msgspec.json.decode(next(iter(plans)))["provisioningRequests"][0]["request"] == "ml/r0"


QUOTA = ResourceQuota(namespace="ml", name="small", left=(("pods", 3),))


def test_the_quota_of_the_namespace_bounds_the_pods() -> None:
    """Four pods of which the quota leaves three never come, so that no node is added. Two requests together count too."""
    cluster = _one_node()
    cluster.request("large", (4, "2"), quotas=(QUOTA,), created=NOW - 90)
    cluster.request("first", (2, "2"), quotas=(QUOTA,), created=NOW - 80)
    cluster.request("second", (2, "2"), quotas=(QUOTA,), created=NOW - 70)
    cluster.request("third", (1, "2"), quotas=(QUOTA,), created=NOW - 60)
    plan = plan_of(cluster.world(), _rules())
    assert _said(_line(plan, "ml/large")) == _said(_line(plan, "ml/second")) == ["RequestLimited"]
    assert _line(plan, "ml/large").reasons[0].data["limit"] == "ResourceQuota small"
    assert {_line(plan, name).state for name in ("ml/first", "ml/third")} == {RequestState.WAITING}


def test_a_quota_that_cannot_be_read() -> None:
    """Nobody knows what it leaves."""
    cluster = _one_node()
    cluster.request("train", (1, "2"), quotas=(msgspec.structs.replace(QUOTA, problem="cpu: is text"),))
    assert _said(_line(plan_of(cluster.world(), _rules()))) == ["RequestLimited"]


def test_requests_of_one_namespace_do_not_take_all() -> None:
    """10,000 pods of a namespace are examined in one plan; another namespace has its own."""
    cluster = _one_node()
    for name in ("old", "new"):
        cluster.request(name, (6_000, "100"), created=NOW - (90 if name == "old" else 60))
    cluster.request("other", (1, "2"), namespace="web")
    plan = plan_of(cluster.world(), _rules())
    assert "RequestLimited" not in _said(_line(plan, "ml/old"))
    assert _said(_line(plan, "ml/new")) == ["RequestLimited"]
    assert _line(plan, "web/other").fits == 1
