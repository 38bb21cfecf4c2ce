"""Pods without constraints get those of the scheduler's configuration. Expected places are counted by hand."""

from collections.abc import Iterable

import msgspec
import pytest

from reconciler.cluster.pods.pod import SpreadFrom
from reconciler.cluster.unread import Unread
from reconciler.cluster.workloads.workload import Service
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import DefaultConstraint, InclusionPolicy, PolicySet, SchedulerRules
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.text.explanation.pod import explain_pod
from reconciler.scheduling.default_spread import with_default_spread
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.settled import come_to_rest
from tests.builders import CAPTURED, NOW, ClusterBuilder, node_group, policy, selector

ZONE = "topology.kubernetes.io/zone"
READ = (*CAPTURED, "Service")
OVER_ZONES = DefaultConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule")
SCORED = DefaultConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway")


def _policy(*constraints: DefaultConstraint, **fields: object) -> PolicySet:
    rules = SchedulerRules(default_constraints=constraints)
    return policy(node_group("a", max=9), node_group("b", max=9), scheduler=rules, **fields)


def _two_zones(nodes_in_b: int = 1) -> ClusterBuilder:
    """Zone a has a node with room for everything, zone b has nodes with as much, or none yet."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1, cpu="32", labels={ZONE: "a"})
    cluster.group("b", nodes=nodes_in_b, cpu="32", labels={ZONE: "b"})
    return cluster


def _world(cluster: ClusterBuilder, services: Iterable[Service] = (), captured: tuple[str, ...] = READ) -> World:
    """Controllers select the pods of their name."""
    controllers = tuple(msgspec.structs.replace(one, selector=selector(app=one.name)) for one in cluster.world().controllers)
    return cluster.world(controllers=controllers, services=tuple(services), captured=captured)


def _plan(world: World, rules: PolicySet) -> Plan:
    return decide(world, rules, Memory(), NOW)[0]


def _service(**labels: str) -> Service:
    return Service(namespace="shop", name="front", selector=tuple(sorted(labels.items())))


def _outcomes(plan: Plan) -> dict[str, tuple[PodOutcome, str | None]]:
    return {line.pod: (line.outcome, line.node or line.group) for line in plan.pods}


def test_a_pod_goes_to_the_zone_that_the_scheduler_asks_for():
    """Zone a runs one pod of the ReplicaSet, b none. One more in a would be 2 - 0, beyond a skew of 1."""
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None])
    world = _world(cluster)
    assert _outcomes(_plan(world, _policy())) == {"shop/web-2": (PodOutcome.FITS_EXISTING, "a-1")}
    assert _outcomes(_plan(world, _policy(OVER_ZONES))) == {"shop/web-2": (PodOutcome.FITS_EXISTING, "b-1")}


def test_a_node_is_added_where_the_zone_is_missing():
    """Two of three pods are on the only node of a; b has none. minDomains 2 makes its count 0, so b grows."""
    cluster = _two_zones(nodes_in_b=0)
    cluster.pods("web", 2, cpu="1", on=["a-1", None])
    two = msgspec.structs.replace(OVER_ZONES, min_domains=2)
    assert _outcomes(_plan(_world(cluster), _policy(two))) == {"shop/web-2": (PodOutcome.TRIGGERS_SCALE_UP, "b")}


@pytest.mark.parametrize("constraint", [SCORED, msgspec.structs.replace(OVER_ZONES, max_skew=2)])
def test_what_only_scores_or_allows_more_changes_nothing(constraint: DefaultConstraint):
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None])
    assert _outcomes(_plan(_world(cluster), _policy(constraint))) == {"shop/web-2": (PodOutcome.FITS_EXISTING, "a-1")}


@pytest.mark.parametrize(
    ("owner", "service", "place"),
    [
        ("Job", None, "a-1"),
        ("Job", _service(app="web"), "b-1"),
        ("Job", _service(app="web", tier="x"), "a-1"),
        (None, _service(app="web"), "b-1"),
        ("StatefulSet", None, "b-1"),
        ("ReplicationController", None, "b-1"),
    ],
)
def test_the_selector_comes_from_services_and_three_kinds_of_controllers(owner: str | None, service: Service | None, place: str):
    """A Job adds no requirement, and without any there is no constraint; a Service must select the pod."""
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None], owner=owner)
    plan = _plan(_world(cluster, [service] if service else []), _policy(OVER_ZONES))
    assert _outcomes(plan)["shop/web-2"] == (PodOutcome.FITS_EXISTING, place)


def test_services_of_other_namespaces_select_nothing():
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None], owner="Job")
    other = msgspec.structs.replace(_service(app="web"), namespace="other")
    assert _outcomes(_plan(_world(cluster, [other]), _policy(OVER_ZONES)))["shop/web-2"][1] == "a-1"


def test_constraints_of_a_pod_replace_those_of_the_scheduler_even_if_they_only_score():
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None], shape={"spread_from": SpreadFrom.POD})
    assert _outcomes(_plan(_world(cluster), _policy(OVER_ZONES)))["shop/web-2"][1] == "a-1"


def test_pods_of_one_shape_are_told_apart_by_their_controllers():
    """Two ReplicaSets make equal pods. Requirements of the second are met by nobody, so its pods count none and may go to a."""
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None], labels={"app": "web"})
    cluster.pods("copy", 1, cpu="1", labels={"app": "web"})
    outcomes = _outcomes(_plan(_world(cluster), _policy(OVER_ZONES)))
    assert outcomes == {"shop/copy-1": (PodOutcome.FITS_EXISTING, "a-1"), "shop/web-2": (PodOutcome.FITS_EXISTING, "b-1")}


def test_a_node_stays_where_its_pods_would_break_the_spread():
    """Each zone runs two pods, and has a full node beside theirs. Once those of one node leave, the second that comes to the
    other zone makes 4 - 0."""
    cluster = _two_zones()
    for zone in ("a", "b"):
        cluster.node(f"full-{zone}", cpu="32", labels={ZONE: zone})
    cluster.pods("web", 4, cpu="1", on=["a-1", "a-1", "b-1", "b-1"])
    cluster.pods("full", 2, cpu="32", on=["full-a", "full-b"], owner="Job")
    world = _world(cluster)

    def removable(rules: PolicySet) -> set[str]:
        return {line.node for line in _plan(world, rules).nodes if line.removable}

    assert len(removable(_policy())) == 1
    assert removable(_policy(OVER_ZONES)) == set()


@pytest.mark.parametrize("missing", ["Service", "ReplicaSet"])
def test_nothing_is_guessed_about_what_was_not_captured(missing: str):
    """The pod is not modelled, its node is kept, and the plan lists the kind."""
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["b-1", None])
    world = _world(cluster, captured=tuple(kind for kind in READ if kind != missing))
    plan = _plan(world, _policy(OVER_ZONES))
    (line,) = plan.pods
    assert (line.outcome, [reason.code for reason in line.reasons]) == (PodOutcome.NOT_MODELLED, ["NotModelled"])
    assert "default topology spread" in line.reasons[0].message
    assert "NotModelled" in [blocker.code for node in plan.nodes if node.node == "b-1" for blocker in node.blockers]
    assert missing != "Service" or "Service" in plan.not_captured
    assert "Service" not in _plan(world, _policy()).not_captured


@pytest.mark.parametrize(
    ("unread", "judged"),
    [
        (Unread(kind="Service", namespace="shop", name="odd", why="x"), False),
        (Unread(kind="Service", namespace="bank", name="odd", why="x"), True),
        (Unread(group="apps", kind="ReplicaSet", namespace="shop", name="web", why="x"), False),
        (Unread(group="apps", kind="ReplicaSet", namespace="shop", name="other", why="x"), True),
        (Unread(group="apps", kind="ReplicaSet", namespace="bank", name="web", why="x"), True),
    ],
)
def test_one_object_that_cannot_be_read(unread: Unread, *, judged: bool):
    """A Service may select every pod of its namespace; a controller has its own pods."""
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["b-1", None])
    world = msgspec.structs.replace(_world(cluster), unread=(unread,))
    (line,) = _plan(world, _policy(OVER_ZONES)).pods
    assert (line.outcome is not PodOutcome.NOT_MODELLED) == judged


def test_pods_of_other_schedulers_are_left_alone():
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None], shape={"scheduler_name": "volcano"})
    world = with_default_spread(_world(cluster), _policy(OVER_ZONES).policy)
    assert {shape.spread_from for shape in world.pod_shapes} == {SpreadFrom.NOWHERE}


def test_the_fields_are_those_of_the_constraint():
    """With the selector of the pod's controller, in the same terms as if the pod had the constraint itself."""
    cluster = _two_zones()
    cluster.pods("web", 1, cpu="1")
    constraint = msgspec.structs.replace(
        OVER_ZONES,
        max_skew=3,
        min_domains=4,
        node_affinity_policy=InclusionPolicy.IGNORE,
        node_taints_policy=InclusionPolicy.HONOR,
    )
    world = with_default_spread(_world(cluster, [_service(app="web")]), _policy(constraint).policy)
    (spread,) = world.pod_shapes[0].spread
    assert (spread.topology_key, spread.max_skew, spread.min_domains) == (ZONE, 3, 4)
    assert (spread.node_affinity_policy, spread.node_taints_policy) == ("Ignore", "Honor")
    assert spread.selector == selector(app="web")


def test_judging_twice_is_judging_once_and_a_policy_without_them_takes_them_back():
    """Also with a DaemonSet, whose pods a Service selects, and with shapes that split."""
    cluster = _two_zones()
    cluster.daemonset("agent")
    cluster.pods("web", 2, cpu="1", on=["a-1", None], labels={"app": "web"})
    cluster.pods("copy", 1, cpu="1", labels={"app": "web"})
    service = Service(namespace="kube-system", name="agents", selector=(("app", "agent"),))
    world, rules = _world(cluster, [service]), _policy(OVER_ZONES)
    judged = with_default_spread(world, rules.policy)
    assert judged != world
    assert with_default_spread(judged, rules.policy) == judged
    (agent,) = judged.daemon_pods
    assert judged.pod_shapes[agent.shape].spread[0].selector == selector(app="agent")
    back = with_default_spread(judged, _policy().policy)
    assert (back.pod_shapes, back.pods, back.daemon_pods) == (world.pod_shapes, world.pods, world.daemon_pods)


def test_the_simulated_scheduler_follows_them():
    """Four pending pods: two in each zone, while without the constraint the first node by name takes all."""
    cluster = _two_zones()
    cluster.pods("web", 4, cpu="1")
    for rules, expected in ((_policy(), ["a-1"] * 4), (_policy(OVER_ZONES), ["a-1", "a-1", "b-1", "b-1"])):
        simulated = SimulatedCluster(_world(cluster), rules, NOW)
        simulated.advance_to(NOW)
        assert sorted(pod.node.name for pod in simulated.objects.pods.values() if pod.node) == expected


def test_the_steady_state_follows_them():
    """Of six pods three have to be in b, which has no node yet: the plan grows b, and at rest three run in each zone."""
    cluster = _two_zones(nodes_in_b=0)
    cluster.pods("web", 6, cpu="1")
    rules = _policy(msgspec.structs.replace(OVER_ZONES, min_domains=2))
    world = _world(cluster)
    rest = come_to_rest(world, rules, Memory(), NOW, _plan(world, rules))
    zones = [dict(rest.world.node_shapes[node.shape].labels)[ZONE] for node in rest.world.nodes]
    assert sorted(zones[node] for node in rest.world.pods.node if node >= 0) == ["a", "a", "a", "b", "b", "b"]


def test_the_reason_names_the_scheduler():
    """Verdicts of nodes say that the constraint is a default one."""
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None])
    world, rules = _world(cluster), _policy(OVER_ZONES)
    plan, memory = decide(world, rules, Memory(), NOW)
    case = Case.of(world, rules, plan, NOW, memory)
    pending = next(row for row in range(len(world.pods)) if world.pods.node[row] < 0)
    (verdict,) = case.state().verdict(case.world.pods.shape[pending], case.node_index("a-1"))
    assert verdict.plugin == "PodTopologySpread"
    assert verdict.message.endswith("one more would exceed maxSkew 1 (by scheduler.defaultConstraints)")


def test_explain_says_which_constraint_the_pod_was_given():
    """By code and numbers, for pods that have a node as well; not for pods with constraints of their own."""
    cluster = _two_zones()
    cluster.pods("web", 2, cpu="1", on=["a-1", None])
    cluster.pods("own", 1, cpu="1", shape={"spread_from": SpreadFrom.POD})
    world, rules = _world(cluster, [_service(app="web")]), _policy(OVER_ZONES)
    plan, memory = decide(world, rules, Memory(), NOW)
    case = Case.of(world, rules, plan, NOW, memory)
    said = {world.pods.key(row): case.default_spread(case.world.pods.shape[row]) for row in range(len(world.pods))}
    assert said["shop/own-1"] == ()
    (reason,) = said["shop/web-1"]
    assert said["shop/web-2"] == (reason,)
    assert reason.code == "DefaultSpread"
    assert reason.data == {"topologyKey": ZONE, "maxSkew": 1, "minDomains": 1, "selector": "app=web"}
    assert f"{reason.message} [DefaultSpread]" in " ".join(explain_pod(case, len(world.pods) - 1, 0))
