"""What a decision costs grows with shapes of pods and with nodes, not with pods: calls are counted, not seconds."""

import gc
import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType

import msgspec
import pytest

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, ZONE_LABEL
from reconciler.cluster.pods.pod import AffinityTerm, HostPort, SpreadConstraint
from reconciler.decisions.decide import decide
from reconciler.decisions.draft import Draft
from reconciler.decisions.groups import witnesses
from reconciler.decisions.growth import options, stages
from reconciler.decisions.growth.cost import posed_problem, tier_growth
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal import candidates, load
from reconciler.policy.documents import Budget, Expander, PodRules, PolicySet, RequestReading, RequestsFrom, ScaleDown, Toggle
from reconciler.scheduling.topology.domains import DomainMap
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector

OPEN = (Budget(nodes=1_000_000),)
Deciding = Callable[[], None]


def calls_of(run: Deciding) -> Counter[object]:
    """How often `run` calls each function, those of the interpreter included. Each step of a generator is a call too."""
    run()  # what is remembered from one decision to the next is there by now
    calls = Counter[object]()

    def note(frame: FrameType, event: str, function: object) -> None:
        if event == "call":
            calls[frame.f_code] += 1
        elif event == "c_call":
            calls[getattr(function, "__qualname__", "")] += 1

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # finalizers of what earlier tests left are no calls of this one
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return calls


def steps_of(run: Deciding) -> int:
    """How many instructions of the interpreter `run` takes. What C code does of its own is no step."""
    run()  # as above
    steps = 0

    def note(frame: FrameType, event: str, _: object) -> object:
        nonlocal steps
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        steps += event == "opcode"
        return note

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(note)
    try:
        run()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return steps


def _half_used(nodes: int, pods_each: int) -> Deciding:
    """Nodes with 4 of 10 cores in use: three of five may leave, since what runs on five fills two."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=nodes, cpu="10", memory="100Gi", max_pods=1000)
    on = [name for name in names for _ in range(pods_each)]
    cluster.pods("web", nodes * pods_each, cpu=f"{4000 // pods_each}m", on=on)
    memory = Memory(unneeded_since=dict.fromkeys(names, NOW - 9_999))
    return _deciding(cluster, policy(node_group("general", max=1000), budgets=OPEN), memory, leaves=nodes * 3 // 5)


def _deciding(cluster: ClusterBuilder, rules: PolicySet, memory: Memory, leaves: int = 0, comes: int = 0) -> Deciding:
    world = cluster.world()

    def run() -> None:
        plan, _ = decide(world, rules, memory, NOW)
        assert [group.desired - group.current for group in plan.groups] == [comes - leaves], plan.summary

    return run


def _code(function: object) -> CodeType:
    code = getattr(function, "__code__", None)
    assert isinstance(code, CodeType)
    return code


def test_ten_times_the_pods_on_the_same_nodes_take_as_many_calls() -> None:
    few, many = calls_of(_half_used(40, 10)), calls_of(_half_used(40, 100))
    # The pods of the first node are added up one by one, and those of the 39 others are known then: 90 pods more.
    assert many.total() - few.total() <= 3 * 90


@pytest.mark.parametrize("nodes", [10, 100])
def test_equal_nodes_are_looked_at_once(nodes: int) -> None:
    calls = calls_of(_half_used(nodes, 10))
    assert calls[_code(candidates._look_at)] == 1
    assert calls[_code(load.NodeLoads._plain_sum)] == 1
    # What the template states is compared with a node of each shape, then with all shapes.
    assert calls[_code(witnesses.least_of)] == 2


def test_nodes_with_different_loads_ask_the_rules_of_their_group_once() -> None:
    """Ten nodes with 1 to 10 pods that need a core each: none has the load of another, and the same rules keep all of them."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=10, cpu="20", memory="100Gi")
    on = [name for number, name in enumerate(names, start=1) for _ in range(number)]
    cluster.pods("web", len(on), cpu="1", on=on)
    rules = policy(node_group("general", max=100, scale_down=ScaleDown(mode=Toggle.DISABLED)))
    calls = calls_of(_deciding(cluster, rules, Memory()))
    assert calls[_code(candidates._look_at)] == 10
    assert calls[_code(candidates._own_blockers)] == 1


def _pending(pods: int) -> Deciding:
    """Pods that need 100 cores together, whatever their number: ten nodes."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="10", memory="100Gi", max_pods=10_000)
    cluster.pods("web", pods, cpu=f"{100_000 // pods}m")
    return _deciding(cluster, policy(node_group("general", max=100)), Memory(), comes=10)


def test_ten_times_the_pods_for_the_same_new_nodes_take_as_many_calls() -> None:
    few, many = calls_of(_pending(1_000)), calls_of(_pending(10_000))
    assert many - few == Counter()


def _gang(pods: int) -> Deciding:
    """The same pods, which are useful only together, and a ProvisioningRequest that needs a node more."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="10", memory="100Gi", max_pods=10_000)
    cluster.pods("web", pods, cpu=f"{100_000 // pods}m")
    cluster.request("more", (1, "10"))
    read = RequestsFrom(provisioning_requests=RequestReading.READ)
    rules = policy(node_group("general", max=100), pods=PodRules(gang_labels=("app",)), requests_from=read)
    return _deciding(cluster, rules, Memory(), comes=11)


def _incomplete_gang(pods: int) -> Deciding:
    """Nine nodes for pods that need ten, all or none."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="10", memory="100Gi", max_pods=10_000)
    cluster.pods("web", pods, cpu=f"{100_000 // pods}m")
    return _deciding(cluster, policy(node_group("general", max=9), pods=PodRules(gang_labels=("app",))), Memory())


def _in_turn(pods: int) -> Deciding:
    """The first of two groups failed while the pods waited, so that the second has its turn."""
    cluster = ClusterBuilder()
    cluster.group("b-first", nodes=0, cpu="10", memory="100Gi", max_pods=10_000)
    cluster.pods("web", pods, cpu=f"{100_000 // pods}m")
    return _deciding(cluster, policy(node_group("b-first", max=100)), Memory(last_failures={"b-first": NOW - 60}), comes=10)


def _over_zones(pods: int) -> Deciding:
    """Ten deployments whose pods select the zone of the second of two groups."""
    cluster = ClusterBuilder()
    for zone in "ab":
        cluster.group(zone, nodes=0, cpu="10", memory="100Gi", max_pods=10_000, labels={ZONE_LABEL: zone})
    for number in range(10):
        cluster.pods(f"web-{number}", pods // 10, cpu=f"{100_000 // pods}m", node_selector={ZONE_LABEL: "b"})
    world, rules = cluster.world(), policy(*(node_group(zone, max=100) for zone in "ab"))

    def run() -> None:
        plan, _ = decide(world, rules, Memory(), NOW)
        assert [group.desired for group in plan.groups] == [0, 10], plan.summary

    return run


def _promised(pods: int) -> Deciding:
    """The nodes that the pods were promised are on their way."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="10", memory="100Gi", max_pods=10_000)
    cluster.pods("web", pods, cpu=f"{100_000 // pods}m")
    world, rules = cluster.world(), policy(node_group("general", max=100))
    _, memory = decide(world, rules, Memory(), NOW)
    (facts,) = world.targets
    later = msgspec.structs.replace(world, targets=(msgspec.structs.replace(facts, replicas=10),))

    def run() -> None:
        plan, _ = decide(later, rules, memory, NOW + 60)
        assert not plan.actions, plan.summary

    return run


SITUATIONS = pytest.mark.parametrize("waiting", [_pending, _gang, _incomplete_gang, _in_turn, _over_zones, _promised])


@SITUATIONS
def test_no_step_looks_at_pods_one_by_one(waiting: Callable[[int], Deciding]) -> None:
    assert steps_of(waiting(10_000)) == steps_of(waiting(1_000))


@SITUATIONS
def test_growth_is_tried_again_only_for_a_gang_that_is_given_up(waiting: Callable[[int], Deciding]) -> None:
    calls = calls_of(waiting(1_000))
    assert calls[_code(stages._Tries.grow)] == (2 if waiting is _incomplete_gang else 1)


@pytest.mark.parametrize(("pods", "posed"), [(1_000, 0), (901, 1)])
def test_a_mix_is_looked_for_only_where_nodes_could_be_fewer_or_smaller(pods: int, posed: int) -> None:
    """Of 100m each, 1,000 fill ten large nodes and could fill 20 small ones: no mix is cheaper. Of 901, 100m are left for a
    tenth node, where a small one would do."""
    cluster = ClusterBuilder()
    cluster.group("large", nodes=0, cpu="10", memory="100Gi", max_pods=10_000)
    cluster.group("small", nodes=0, cpu="5", memory="50Gi", max_pods=10_000)
    cluster.pods("web", pods, cpu="100m")
    prices = {"large": "1.00", "small": "0.50"}
    groups = (node_group(name, max=100, price_per_hour=price) for name, price in prices.items())
    world, rules = cluster.world(), policy(*groups, expanders=(Expander.LEAST_COST,))

    def run() -> None:
        plan, _ = decide(world, rules, Memory(), NOW)
        assert plan.cost.desired_per_hour == ("10.00" if pods == 1_000 else "9.50")

    assert calls_of(run)[_code(posed_problem.pose)] == posed


@pytest.mark.parametrize("groups", [1, 3])
def test_a_pod_on_each_host_leaves_no_mix_to_look_for(groups: int) -> None:
    """Such a pod stays on its node, so nobody asks for the pods of each node. New hosts are taken in all at once."""
    cluster = ClusterBuilder()
    names = [f"group-{number}" for number in range(groups)]
    for name in names:
        cluster.group(name, nodes=0, cpu="10", memory="100Gi")
    term = AffinityTerm(topology_key=HOSTNAME_LABEL, selector=selector(app="web"), namespaces=("shop",))
    cluster.pods("web", 100, cpu="100m", shape={"anti_affinity": (term,)})
    world, rules = cluster.world(), policy(*(node_group(name, max=100) for name in names))

    def run() -> None:
        plan, _ = decide(world, rules, Memory(), NOW)
        assert [group.desired for group in plan.groups] == [100] + [0] * (groups - 1), plan.summary

    calls = calls_of(run)
    assert calls[_code(tier_growth.Growth.nodes)] == 0
    assert calls[_code(DomainMap._domain_of)] <= groups


def test_no_node_is_tried_that_the_rules_of_its_zone_keep_empty() -> None:
    """Four of these pods fill a node, and a zone may have one more pod than the others: a second node would stay empty."""
    cluster = ClusterBuilder()
    for zone in "abc":
        cluster.group(zone, nodes=1, cpu="10", memory="10Gi", labels={ZONE_LABEL: zone})
        cluster.pods(f"full-{zone}", 1, cpu="10", on=f"{zone}-1")
    spread = SpreadConstraint(topology_key=ZONE_LABEL, max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 36, cpu="2500m", shape={"spread": (spread,)})
    world, rules = cluster.world(), policy(*(node_group(zone, max=100) for zone in "abc"))

    def run() -> None:
        plan, _ = decide(world, rules, Memory(), NOW)
        assert [group.desired - group.current for group in plan.groups] == [3, 3, 3], plan.summary

    calls = calls_of(run)
    upcoming, bought = 3, 9
    assert calls[_code(Draft.open)] == upcoming + bought
    assert not calls[_code(options._option)]


def _refused(pods: int) -> Deciding:
    """A pod with a host port, for which a node comes, so many that select another pool, and as many that are to run near pods
    that nobody has."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="10", memory="10Gi")
    company = AffinityTerm(topology_key=HOSTNAME_LABEL, selector=selector(app="nobody"), namespaces=("shop",))
    cluster.pods("a-web", 1, cpu="1", shape={"host_ports": (HostPort(8080),)})
    for number in range(pods):
        cluster.pods(f"other-{number:02d}", 1, cpu="100m", node_selector={"pool": "other"})
        cluster.pods(f"near-{number:02d}", 1, cpu="100m", shape={"affinity": (company,)})
    return _deciding(cluster, policy(node_group("general", max=100)), Memory(), comes=1)


def test_a_node_is_tried_once_for_pods_that_its_labels_keep_off_and_never_for_pods_without_company() -> None:
    """Growth has two rounds, with the pod that gets a node and without it."""
    few, many = calls_of(_refused(10)), calls_of(_refused(20))
    assert many[_code(Draft.open)] - few[_code(Draft.open)] == 10
