"""What a plan says of a group, word for word: its sizes and every reason, in each case that a user meets.

Nodes have 4 cores and 16 GiB, the range is 0 to 10, times are the built-in ones; NOW is 2027-01-15T08:00:00Z.
"""

from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner
from reconciler.cluster.world import World
from reconciler.decisions.memory import BackoffState, LeadTime, LeadTimes, Memory, SizeState
from reconciler.plan.plan import ActionKind, Cost, Plan, PlanProblem
from reconciler.policy.documents import Headroom, HeadroomPods, Hold, Limit, NodeGroup, PolicySet, ScaleDown, Tier
from reconciler.policy.pace import Pace
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import group, node, of_kind, plan_of

REF = machine_deployment("general")
TARGET = str(REF)
Case = tuple[ClusterBuilder | World, NodeGroup, Memory]


def _full(nodes: int, pending: int = 0, **fields: object) -> ClusterBuilder:
    """Nodes whose cores are all taken, and so many pods that take a node each."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=nodes, **fields)
    cluster.pods("full", nodes, cpu="4", on=list(names))
    cluster.pods("web", pending, cpu="4")
    return cluster


def _last_node(**fields: object) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, **fields)
    return cluster


def _with_machines(cluster: ClusterBuilder, *names: str, **fields: object) -> ClusterBuilder:
    for name in names:
        cluster.machine(name, REF, **{"created": NOW - 60, **fields})
    return cluster


def _facts(cluster: ClusterBuilder, **fields: object) -> World:
    world = cluster.world()
    return msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], **fields),))


def _group(**fields: object) -> NodeGroup:
    return node_group("general", **fields)


def _pods(count: int, cpu: int) -> Headroom:
    return Headroom(pods=(HeadroomPods(count=count, requests=(("cpu", cpu),)),))


def _starting() -> ClusterBuilder:
    """One node is full, one has joined and is not ready, one is asked for."""
    cluster = _full(1, replicas=3)
    cluster.node("general-2", labels={"pool": "general"}, ready=False, created=NOW - 60)
    cluster.machine("general-2", REF, node="general-2", created=NOW - 90)
    return cluster


def _late(seconds: int) -> ClusterBuilder:
    """Size unchanged since an hour ago, and a machine of that many seconds after."""
    return _with_machines(_full(1, replicas=2), "again", created=NOW - 3600 + seconds)


HOUR_AGO = Memory(sizes={TARGET: SizeState(replicas=2, since_seconds=NOW - 3600)})
WAITED = msgspec.structs.replace(HOUR_AGO, waiting_since={f"{TARGET}/again": NOW - 3540})
BACKED_OFF = Memory(backoffs={"general": BackoffState(failures=2, failed_seconds=NOW - 60, until_seconds=NOW + 540)})
AGAIN = Memory(backoffs={"general": BackoffState(failures=2, failed_seconds=NOW - 9000, until_seconds=NOW - 8000)})
GONE = Memory(unneeded_since={"general-1": NOW - 9000})
KUBECTL = (FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 86_400),)
TEN = tuple(LeadTime(NOW - 86_400 + 3600 * number, 100, 110 + number) for number in range(10))
LEARNED = Memory(
    lead_times={TARGET: LeadTimes(requests=TEN, under_way={"a": NOW - 60, "b": NOW - 30})},
    waiting_since={f"{TARGET} at 2": NOW - 30},
)
ONE_LATE = Memory(lead_times={TARGET: LeadTimes(requests=(*TEN[:9], LeadTime(NOW - 3600, -900, -900)))})
ONE_MORE = ("UpcomingNodes", "1 node requested but not registered yet")

# (current, desired, wanted), and the reasons.
CASES: dict[str, tuple[Callable[[], Case], tuple[int, int, int | None], list[tuple[str, str]]]] = {
    "settled": (lambda: (_full(2), _group(), Memory()), (2, 2, None), []),
    "grows for pods": (
        lambda: (_full(1, 2), _group(), Memory()),
        (1, 3, None),
        [("PendingPods", "2 pending pods on 2 new nodes. No other group can grow for them now")],
    ),
    "below its minimum": (
        lambda: (_full(1), _group(min=3), Memory()),
        (1, 3, None),
        [("BelowMin", "1 replica is below the minimum 3")],
    ),
    "below its minimum and no more may be added": (
        lambda: (_full(1), _group(min=3, max=2), Memory()),
        (1, 2, None),
        [
            ("BelowMin", "1 replica is below the minimum 3"),
            ("MinNotReached", "the group reaches only 2 of its minimum 3: general is at its maximum size 2"),
        ],
    ),
    "held below its minimum": (
        lambda: (_full(1), _group(min=3, hold=Hold(reason="repair")), Memory()),
        (1, 1, 3),
        [("GroupHeld", "general is held: repair (policies/test.yaml:1:1)")],
    ),
    "at its minimum": (lambda: (_full(3), _group(min=3), Memory()), (3, 3, None), []),
    "waits for a node": (lambda: (_with_machines(_full(1, replicas=2), "a"), _group(), Memory()), (2, 2, None), [ONE_MORE]),
    # 2027-01-15T08:00:00Z is NOW: 60 s after the request of the older machine, 119 s is what all ten took.
    "waits for a node and knows how long others took": (
        lambda: (_with_machines(_full(1, replicas=2), "a", created=NOW - 60), _group(), LEARNED),
        (2, 2, None),
        [(ONE_MORE[0], f"{ONE_MORE[1]}, expected by 2027-01-15T08:00:59Z. 10 of 10 earlier ones came in that time")],
    ),
    "waits for a machine and knows how long others took": (
        lambda: (_full(1, replicas=2), _group(), LEARNED),
        (2, 2, None),
        [(ONE_MORE[0], f"{ONE_MORE[1]}, expected by 2027-01-15T08:01:29Z. 10 of 10 earlier ones came in that time")],
    ),
    "waits for longer than others took": (
        lambda: (_with_machines(_full(1, replicas=2), "a", created=NOW - 200), _group(), ONE_LATE),
        (2, 2, None),
        [(ONE_MORE[0], f"{ONE_MORE[1]}, late: expected by 2027-01-15T07:58:38Z. 9 of 10 earlier ones came in that time")],
    ),
    "grows and knows how long others took": (
        lambda: (_full(1, 2), _group(), LEARNED),
        (1, 3, None),
        [
            ("PendingPods", "2 pending pods on 2 new nodes. No other group can grow for them now"),
            ("LeadTime", "new nodes: usable after 1m54s (median) and 1m59s (95th percentile) of the last 10 requests"),
        ],
    ),
    "grows, and one of the others was late": (
        lambda: (_full(1, 2), _group(), ONE_LATE),
        (1, 3, None),
        [
            ("PendingPods", "2 pending pods on 2 new nodes. No other group can grow for them now"),
            ("LeadTime", "new nodes: usable after 1m54s (median) of the last 10 requests. 1 of them did not come in time"),
        ],
    ),
    "waits for one node and for the start of another": (
        lambda: (_starting(), _group(), Memory()),
        (3, 3, None),
        [("UpcomingNodes", "1 node requested but not registered yet, 1 node joined but not started yet (Ready)")],
    ),
    "two machines failed": (
        lambda: (_with_machines(_full(2, replicas=4), "a", "b", failed="quota"), _group(), Memory()),
        (4, 2, None),
        [
            ("RequestCancelled", "machine a, b never became a node (quota) and are cancelled. The group keeps its 2 nodes"),
            ("MachinesFailed", "2 machines failed or did not register in time: a: quota"),
        ],
    ),
    "two machines failed and one must stay": (
        lambda: (_with_machines(_full(2, replicas=4), "a", "b", failed="quota"), _group(min=3), Memory()),
        (4, 3, None),
        [
            ("RequestCancelled", "machine a never became a node (quota) and is cancelled. The group keeps its 2 nodes"),
            ("MachinesFailed", "2 machines failed or did not register in time: a: quota"),
        ],
    ),
    "a machine failed while a node leaves": (
        lambda: (
            _with_machines(_full(3, replicas=4), "a", failed="quota"),
            _group(),
            Memory(leaving={"general-1": NOW - 9}),
        ),
        (4, 3, None),
        [
            ("RequestCancelled", "machine a never became a node (quota) and is cancelled. The group keeps its 2 nodes"),
            ("MachinesFailed", "1 machine failed or did not register in time: a: quota"),
        ],
    ),
    "a machine and a request without one failed": (
        lambda: (
            _with_machines(_full(1, replicas=3), "a", failed="quota"),
            _group(),
            Memory(waiting_since={f"{TARGET} at 3": NOW - 900}),
        ),
        (3, 1, None),
        [
            (
                "RequestCancelled",
                "machine a and 1 request without a machine never became a node (quota) and are cancelled. "
                "The group keeps its 1 node",
            ),
            ("MachinesFailed", "2 machines failed or did not register in time: a: quota"),
        ],
    ),
    "requests without machines come first": (
        lambda: (
            _with_machines(_full(1, replicas=3), "a", failed="quota"),
            _group(min=2),
            Memory(waiting_since={f"{TARGET} at 3": NOW - 900}),
        ),
        (3, 2, None),
        [
            (
                "RequestCancelled",
                "1 request without a machine never became a node (no machine within 15m) and is cancelled. "
                "The group keeps its 1 node",
            ),
            ("MachinesFailed", "2 machines failed or did not register in time: a: quota"),
        ],
    ),
    "a failed machine at the minimum": (
        lambda: (
            _with_machines(_full(1, replicas=2), "a", failed="quota"),
            _group(min=2),
            Memory(failed_machines=(f"{TARGET}/a",)),
        ),
        (2, 2, None),
        [
            ("AskedAnew", "machine a never became a node (quota): requested again, because the minimum is 2"),
            ("MachinesFailed", "1 machine failed or did not register in time: a: quota"),
        ],
    ),
    "a failed machine of a group that grows": (
        lambda: (
            _with_machines(_full(1, 1, replicas=2), "a", failed="quota"),
            _group(),
            Memory(failed_machines=(f"{TARGET}/a",)),
        ),
        (2, 3, None),
        [
            ("PendingPods", "1 pending pod on 1 new node. No other group can grow for them now"),
            ("MachinesFailed", "1 machine failed or did not register in time: a: quota"),
        ],
    ),
    "rolling out": (
        lambda: (
            _facts(_with_machines(_full(1, replicas=2), "a", failed="quota"), rolling_out=True),
            _group(),
            Memory(),
        ),
        (2, 2, None),
        [
            ("MachinesFailed", "1 machine failed or did not register in time: a: quota"),
            ("RolloutInProgress", "general is rolling out a new revision"),
        ],
    ),
    "a machine made again within a minute of the size": (lambda: (_late(60), _group(), WAITED), (2, 1, None), [
        (
            "RequestCancelled",
            "machine again never became a node (no node within 15m) and is cancelled. The group keeps its 1 node",
        ),
        ("MachinesFailed", "1 machine failed or did not register in time: again: no node within 15m"),
    ]),
    "a machine made again later": (lambda: (_late(3500), _group(), HOUR_AGO), (2, 2, None), [
        (
            "Replaced",
            "the target created 1 machine (again) to replace lost nodes: it keeps 2 replicas, unchanged since "
            "2027-01-15T07:00:00Z",
        ),
        ONE_MORE,
    ]),
    "a machine of a size of just now": (
        lambda: (_late(3500), _group(), msgspec.structs.replace(
            HOUR_AGO, sizes={TARGET: SizeState(replicas=2, since_seconds=NOW - 160)}
        )),
        (2, 2, None),
        [ONE_MORE],
    ),
    "above its maximum": (
        lambda: (_full(3), _group(max=2), Memory()),
        (3, 3, None),
        [("AboveMax", "3 replicas are above the maximum 2")],
    ),
    "its last node goes": (lambda: (_last_node(), _group(), GONE), (1, 0, None), []),
    "its last node with a GPU goes": (
        lambda: (_last_node(gpu=1), _group(), GONE),
        (1, 0, None),
        [("MayNotReturn", "the group scales to 0 and returns its machines to the provider, which may not have them later: "
          "they carry accelerators")],
    ),
    "its last node goes and others could not be had": (
        lambda: (_last_node(), _group(), msgspec.structs.replace(AGAIN, unneeded_since=GONE.unneeded_since)),
        (1, 0, None),
        [("MayNotReturn", "the group scales to 0 and returns its machines to the provider, which may not have them later: "
          "the last 2 attempts to get some failed")],
    ),
    "adopted and grown": (
        lambda: (_full(1, 1, owners=KUBECTL), _group(), Memory()),
        (1, 2, None),
        [
            ("PendingPods", "1 pending pod on 1 new node. No other group can grow for them now"),
            ("ResizeNextTime", ""),
        ],
    ),
    "adopted": (lambda: (_full(1, owners=KUBECTL), _group(), Memory()), (1, 1, None), []),
    "headroom of nodes": (
        lambda: (_full(1), _group(headroom=Headroom(nodes=2)), Memory()),
        (1, 3, None),
        [("Headroom", "headroom of 2 nodes has 0 free: 2 nodes more")],
    ),
    "a part of the headroom of nodes": (
        lambda: (_full(1), _group(headroom=Headroom(nodes=3), max=3), Memory()),
        (1, 3, None),
        [
            ("Headroom", "headroom of 3 nodes has 0 free: 2 nodes more"),
            ("HeadroomShort", "headroom lacks 1 node, but the group cannot grow further"),
        ],
    ),
    "no headroom of nodes can be had": (
        lambda: (_full(1), _group(headroom=Headroom(nodes=2), max=1), Memory()),
        (1, 1, None),
        [("HeadroomShort", "headroom lacks 2 nodes, but the group cannot grow further")],
    ),
    "headroom of pods": (
        lambda: (_full(1), _group(headroom=_pods(5, 2000)), Memory()),
        (1, 4, None),
        [
            ("Headroom", "headroom of 5 pods has 0 free: 1 node more"),
            ("Headroom", "headroom of 5 pods has 2 free: 1 node more"),
            ("Headroom", "headroom of 5 pods has 4 free: 1 node more"),
        ],
    ),
    "a part of the headroom of pods": (
        lambda: (_full(1), _group(headroom=_pods(5, 2000), max=3), Memory()),
        (1, 3, None),
        [
            ("Headroom", "headroom of 5 pods has 0 free: 1 node more"),
            ("Headroom", "headroom of 5 pods has 2 free: 1 node more"),
            ("HeadroomShort", "headroom lacks 1 pod, but the group cannot grow further"),
        ],
    ),
    "headroom of pods larger than a node": (
        lambda: (_full(1), _group(headroom=_pods(1, 5000)), Memory()),
        (1, 1, None),
        [("HeadroomShort", "headroom lacks 1 pod, but the group cannot grow further")],
    ),
    "headroom while it is backed off": (
        lambda: (_full(1), _group(headroom=Headroom(nodes=2)), BACKED_OFF),
        (1, 1, None),
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_group(name: str) -> None:
    """Sizes and reasons of each case."""
    make, sizes, reasons = CASES[name]
    cluster, document, memory = make()
    world = cluster.world() if isinstance(cluster, ClusterBuilder) else cluster
    line = group(plan_of(world, policy(document, adopt_from=("kubectl",)), memory), "general")
    assert (line.current, line.desired, line.wanted) == sizes
    assert [(one.code, one.message if text else "") for one, (_, text) in zip(line.reasons, reasons, strict=True)] == reasons


def _priced(*prices: str) -> Plan:
    cluster = ClusterBuilder()
    groups = []
    for number, price in enumerate(prices):
        cluster.group(f"g{number}", nodes=number + 1)
        groups.append(node_group(f"g{number}", min=number + 2, price_per_hour=price or None))
    return plan_of(cluster.world(), policy(*groups, currency="EUR"))


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        (("0.10", "0.25"), Cost(current_per_hour="0.60", desired_per_hour="0.95", currency="EUR")),
        (("0.10", ""), Cost(current_per_hour="0.10", desired_per_hour="0.20", currency="EUR", unpriced_groups=("g1",))),
        (("", ""), Cost(current_per_hour=None, desired_per_hour=None, currency="EUR", unpriced_groups=("g0", "g1"))),
    ],
)
def test_what_all_replicas_cost(prices: tuple[str, ...], expected: Cost) -> None:
    """One and two nodes, each group with one less than its minimum; groups without a price are named."""
    assert _priced(*prices).cost == expected


def test_removals_of_a_target_count_down_from_what_will_remain() -> None:
    """Five replicas, one machine failed and is taken back, one node leaves already: 3, 2 and 1 remain."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=4, replicas=5)
    cluster.machine("a", REF, created=NOW - 60, failed="quota")
    idle = {f"general-{number}": NOW - 9000 for number in range(1, 5)}
    memory = Memory(unneeded_since=idle, leaving={"general-1": NOW - 5}, failed_machines=(f"{TARGET}/a",))
    rules = policy(_group(min=1), pace=Pace(delay_after_failure_seconds=0))
    plan = plan_of(cluster.world(), rules, memory)
    assert [(action.kind, action.from_, action.to, action.machines or action.nodes) for action in plan.actions] == [
        (ActionKind.CANCEL, 5, 4, ("a",)),
        (ActionKind.REMOVE_NODE, 3, 2, ("general-2",)),
        (ActionKind.REMOVE_NODE, 2, 1, ("general-3",)),
    ]


def test_a_group_without_target_is_told_of_and_nothing_is_done() -> None:
    """Its nodes are known by labels; pods wait, the minimum is not reached, headroom is not kept."""
    cluster = ClusterBuilder()
    cluster.node("general-1", labels={"pool": "general"})
    cluster.pods("web", 2, cpu="4")
    nodes = Selector(match_labels=(("pool", "general"),))
    plan = plan_of(cluster.world(), policy(_group(min=3, nodes=nodes, headroom=Headroom(nodes=1))))
    line = group(plan, "general")
    assert (line.current, line.desired, line.held, plan.actions) == (0, 0, True, ())
    assert [one.code for one in line.reasons] == ["GroupHeld", "TargetMissing"]
    assert line.reasons[1].message.endswith(" does not exist. If it was deleted for good, remove the NodeGroup from git")
    assert node(plan, "general-1").group == "general"


@pytest.mark.parametrize(
    ("limit", "desired", "said"),
    [
        (Limit(name="cores", max=(("cpu", 15_000),)), 3, "limit cores allows 15 cpu: 12 in use, one more node of general adds 4"),
        (Limit(name="cores", max=(("cpu", 16_000),)), 4, ""),
        (Limit(name="few", max=(("nodes", 2),)), 2, "limit few allows 2 nodes: 2 in use, one more node of general adds 1"),
        (
            Limit(name="cores", max=(("cpu", 11_000),), nodes=Selector(match_labels=(("pool", "general"),))),
            2,
            "limit cores allows 11 cpu: 8 in use, one more node of general adds 4",
        ),
        (Limit(name="cores", max=(("cpu", 4000),), nodes=Selector(match_labels=(("pool", "x"),))), 4, ""),
    ],
)
def test_a_minimum_within_limits(limit: Limit, desired: int, said: str) -> None:
    """One node of four that are the minimum."""
    plan = plan_of(_full(1).world(), policy(_group(min=4), limits=(limit,)))
    told = [one.message for one in group(plan, "general").reasons if one.code == "MinNotReached"]
    assert group(plan, "general").desired == desired
    assert told == ([f"the group reaches only {desired} of its minimum 4: {said}"] if said else [])


def test_headroom_in_zones_is_grown_where_the_template_is() -> None:
    """Nodes of zones a and b are full; new ones come to a: there one more is kept, in b it cannot be."""
    zone = "topology.kubernetes.io/zone"
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, labels={zone: "a"})
    cluster.node("general-2", labels={"pool": "general", zone: "b"})
    cluster.machine("general-2", REF, node="general-2")
    cluster.target("general", 2, template=cluster.world().targets[0].template)
    cluster.pods("full", 2, cpu="4", on=["general-1", "general-2"])
    plan = plan_of(cluster.world(), policy(_group(headroom=Headroom(nodes_per_zone=1))))
    assert [one.message for one in group(plan, "general").reasons] == ["headroom of 1 node has 0 free: 1 node more"]
    assert group(plan, "general").desired == 3


def test_which_nodes_headroom_protects() -> None:
    """Of three empty nodes two are headroom; with a DaemonSet's pod on each they are empty all the same."""
    for daemons in (False, True):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=3)
        if daemons:
            cluster.daemonset("agent", cpu="100m")
        rules = _group(headroom=Headroom(nodes=2), scale_down=ScaleDown(unneeded_time_seconds=0))
        plan = plan_of(cluster.world(), policy(rules))
        assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-3",)]
        assert group(plan, "general").desired == 2


def test_problems_of_a_plan() -> None:
    """What could not be read of a target, and a node with the label of an accelerator that offers none and is nobody's."""
    cluster = _full(1)
    cluster.node("odd", labels={"cluster-api/accelerator": "h100"})
    cluster.node("plain")
    cluster.node("fine", labels={"cluster-api/accelerator": "h100"}, gpu=1)
    world = _facts(cluster, problems=("annotation x is no number",))
    assert plan_of(world, policy(_group())).problems == (
        PlanProblem(
            code="AcceleratorUnknown",
            object="Node odd",
            message="label cluster-api/accelerator=h100 names an accelerator, it offers none and no group manages it: it counts "
            "without",
        ),
        PlanProblem(code="TargetProblem", object=TARGET, message="annotation x is no number"),
    )
    managed = _full(1, labels={"cluster-api/accelerator": "h100"})
    assert plan_of(managed.world(), policy(_group())).problems == ()


def test_an_empty_policy_releases_nothing_where_there_were_groups() -> None:
    """And says how many there were."""
    rules: PolicySet = policy()
    (problem,) = plan_of(_full(1).world(), rules, Memory(known_groups={TARGET: "general", "x": "y"})).problems
    assert (problem.code, problem.message) == (
        "AllGroupsGone",
        "the policy has no groups any more. It had 2: nothing is released",
    )
    assert plan_of(_full(1).world(), rules).problems == ()


def test_a_node_on_its_way_is_headroom_whatever_daemons_it_will_carry() -> None:
    """No pod of the DaemonSet runs yet."""
    cluster = ClusterBuilder()
    cluster.daemonset("agent", cpu="100m")
    cluster.group("general", nodes=0, replicas=1)
    plan = plan_of(cluster.world(), policy(_group(headroom=Headroom(nodes=1))))
    assert group(plan, "general").desired == 1


@pytest.mark.parametrize(("owner", "desired"), [("ReplicaSet", 2), (None, 2), ("StatefulSet", 3)])
def test_who_comes_after_a_pod_that_ends_on_a_leaving_node(owner: str | None, desired: int) -> None:
    """One node is free and a pod waits for it. The successor of a pod that ends asks by itself, or never comes: no place is
    kept for it; that of a StatefulSet comes when the name is free, and finds its place."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("gone", 1, cpu="3", on="general-1", owner=owner)
    cluster.pods("web", 1, cpu="3")
    world = cluster.world()
    rows = (msgspec.structs.replace(pod, deletion_seconds=NOW + 20 if pod.name == "gone-1" else 0) for pod in world.pods)
    world = msgspec.structs.replace(world, pods=PodTable(rows))
    plan = plan_of(world, policy(_group()), Memory(leaving={"general-1": NOW - 9}))
    assert group(plan, "general").desired == desired


def test_siblings_are_of_one_tier() -> None:
    """Four nodes for four pods: shared by two groups of the first tier, and not with the one of the second."""
    cluster = ClusterBuilder()
    for name in ("a", "b", "c"):
        cluster.group(name, nodes=0)
    cluster.target("d", 0)
    cluster.pods("web", 4, cpu="4")
    tiers = (Tier(name="first"), Tier(name="second"))
    groups = [node_group(name, tier="second" if name == "c" else "first", balance_with="all") for name in "abcd"]
    plan = plan_of(cluster.world(), policy(*groups, tiers=tiers))
    assert {line.name: line.desired for line in plan.groups} == {"a": 2, "b": 2, "c": 0, "d": 0}


def test_headroom_in_zones_protects_one_node_in_each() -> None:
    """An empty node of zone a and one of zone b are kept, and none is added."""
    zone = "topology.kubernetes.io/zone"
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, labels={zone: "a"})
    cluster.node("general-2", labels={"pool": "general", zone: "b"})
    cluster.machine("general-2", REF, node="general-2")
    cluster.target("general", 2, template=cluster.world().targets[0].template)
    plan = plan_of(cluster.world(), policy(_group(headroom=Headroom(nodes_per_zone=1))))
    assert plan.actions == ()
    assert [[blocker.code for blocker in line.blockers] for line in plan.nodes] == [["Headroom"], ["Headroom"]]
