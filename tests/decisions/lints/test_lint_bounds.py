"""What `doctor` finds, at the bounds where it begins to find it, with the names and numbers that it tells."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase, VolumeUse
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner, OwnerEvidence, SharedRoom
from reconciler.cluster.world import World
from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import Limit, NodeGroup, PolicySet, TaintSpec, Template
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

ZONE = "topology.kubernetes.io/zone"
CARDS = "cluster-api/accelerator"
GI = 1 << 30
Told = list[tuple[str, str, str, tuple[str, ...]]]


def _told(world: ClusterBuilder | World, rules: PolicySet | None = None, *codes: str) -> Told:
    """(code, object, message, nodes) of all findings, or of those codes."""
    world = world.world() if isinstance(world, ClusterBuilder) else world
    view = View.of(world, rules or policy(node_group("general")), Memory(), NOW, Work(10_000))
    return [(one.code, one.object, one.message, one.nodes) for one in findings(view) if not codes or one.code in codes]


def _member(cluster: ClusterBuilder, name: str, cpu: str = "4", **fields: object) -> None:
    """One more node of `general`."""
    labels = {"pool": "general", **fields.pop("labels", {})}
    cluster.node(name, cpu, labels=labels, **fields)
    cluster.machine(name, machine_deployment("general"), node=name)


def _general(nodes: int = 2, **fields: object) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, **fields)
    return cluster


GROUP = "NodeGroup general"
NO_SUCH = "no node or template has cluster-api/accelerator=a100"


def test_a_group_of_equal_nodes_is_fine() -> None:
    """Nothing is found."""
    assert _told(_general()) == []


def test_nodes_that_differ_from_the_most_frequent_ones() -> None:
    """Two of 4 cores, one of 8, one with another label, and one with another taint, which comes and goes."""
    cluster = _general()
    _member(cluster, "big", "8")
    _member(cluster, "other", labels={"rack": "x"})
    _member(cluster, "tainted", taints=("x=1:NoSchedule",))
    assert _told(cluster, None, "NodesDiffer") == [
        ("NodesDiffer", GROUP, "1 node differs from the other nodes of the group: cpu 4 and 8", ("big",)),
        ("NodesDiffer", GROUP, "1 node differs from the other nodes of the group: label rack: none and x", ("other",)),
    ]


def test_several_nodes_that_differ_alike_are_one_finding() -> None:
    """Of two kinds of shapes as well."""
    cluster = _general(3)
    _member(cluster, "b", "8")
    _member(cluster, "a", "8", labels={"beta.kubernetes.io/x": "1"})
    (found,) = _told(cluster, None, "NodesDiffer")
    assert found[2:] == ("2 nodes differ from the other nodes of the group: cpu 4 and 8", ("a", "b"))


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, ["ReplicaSet shop/web"]),
        ({"cpu": "1m"}, []),
        ({"memory": "1Mi"}, []),
        ({"owner": None}, []),
        ({"owner": "DaemonSet"}, []),
        ({"traits": {"mirror": True}}, []),
        ({"on": None}, []),
    ],
)
def test_workloads_without_requests(fields: dict[str, object], found: list[str]) -> None:
    """Running pods of a controller that is no DaemonSet."""
    cluster = _general(1)
    cluster.pods("web", 1, **{"on": "general-1", **fields})
    told = _told(cluster, None, "NoRequests")
    assert [one[1] for one in told] == found
    assert all(one[2] == "its 1 running pods request neither cpu nor memory" for one in told)


def test_pods_that_have_ended_run_no_more() -> None:
    """Neither their requests nor their budget matter."""
    cluster = _general(1)
    cluster.pods("web", 2, on="general-1")
    world = cluster.world()
    ended = msgspec.structs.replace(
        world, pods=PodTable(msgspec.structs.replace(p, phase=PodPhase.SUCCEEDED) for p in world.pods)
    )
    assert len(_told(world, None, "NoRequests", "NoDisruptionBudget")) == 2
    assert _told(ended, None, "NoRequests", "NoDisruptionBudget") == []


@pytest.mark.parametrize(("kind", "count", "budget", "found"), [
    ("ReplicaSet", 2, False, ["no PodDisruptionBudget covers its 2 running pods"]),
    ("ReplicaSet", 1, False, []),
    ("ReplicaSet", 2, True, []),
    ("Job", 2, False, []),
])  # fmt: skip
def test_workloads_without_a_budget(kind: str, count: int, budget: bool, found: list[str]) -> None:
    """More than one pod, and no Job."""
    cluster = _general(1)
    cluster.pods("web", count, cpu="1m", on="general-1", owner=kind)
    if budget:
        cluster.budget("web", allowed=1)
    assert [one[2] for one in _told(cluster, None, "NoDisruptionBudget")] == found


def _zoned(*zones: str) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.target("general", len(zones))
    for number, zone in enumerate(zones):
        _member(cluster, f"n{number}", labels={ZONE: zone} if zone else {})
    return cluster


@pytest.mark.parametrize(
    ("zones", "on", "claim", "found"),
    [
        (("a", "b"), "n0", "data", ["it spans a, b and 1 of its pods use volumes"]),
        (("a", "b"), "elsewhere", "data", []),
        (("a", "b"), "n0", "", []),
        (("a", ""), "n0", "data", []),
    ],
)
def test_volumes_in_groups_over_several_zones(zones: tuple[str, ...], on: str, claim: str, found: list[str]) -> None:
    """A claim of a pod on a node of the group, and two zones."""
    cluster = _zoned(*zones)
    cluster.node("elsewhere")
    disk = VolumeUse(kind="disk")
    cluster.pods("db", 1, cpu="1m", on=on, shape={"volumes": (disk, VolumeUse(kind="claim", claim=claim) if claim else disk)})
    cluster.pods("plain", 1, cpu="1m", on=on)
    assert [one[2] for one in _told(cluster, None, "ZonalVolumes")] == found


@pytest.mark.parametrize(
    ("small", "none", "large", "found"),
    [
        (11, 0, 10, ["11 of 21 groups may have at most 2 nodes"]),
        (10, 0, 11, []),
        (11, 0, 11, []),
        (20, 0, 0, []),
        (10, 11, 0, []),
    ],
)
def test_many_small_groups(small: int, none: int, large: int, found: list[str]) -> None:
    """More than twenty groups, more than half of them of one or two nodes at most; those of none do not count."""
    cluster = ClusterBuilder()
    groups: list[NodeGroup] = []
    for name, count, most in (("s", small, 2), ("n", none, 0), ("l", large, 3)):
        for number in range(count):
            cluster.group(f"{name}{number:02d}", nodes=0)
            groups.append(node_group(f"{name}{number:02d}", max=most))
    assert [one[2] for one in _told(cluster, policy(*groups), "ManySmallGroups")] == found


@pytest.mark.parametrize(("zonal", "found"), [
    (("a", "b"), ["general span several zones, but these are zonal: z0, z1"]),
    (("a", "a"), []),
    (("a",), []),
])  # fmt: skip
def test_regional_beside_zonal_groups(zonal: tuple[str, ...], found: list[str]) -> None:
    """Zonal groups in two zones at least."""
    cluster = _zoned("a", "b")
    for number, zone in enumerate(zonal):
        cluster.group(f"z{number}", nodes=1, labels={ZONE: zone})
    rules = policy(node_group("general"), *(node_group(f"z{number}") for number in range(len(zonal))))
    assert [one[2] for one in _told(cluster, rules, "RegionalAndZonalGroups")] == found
    without = policy(*(node_group(f"z{number}") for number in range(len(zonal))))
    assert _told(cluster, without, "RegionalAndZonalGroups") == []


def test_gpus_without_a_label() -> None:
    """By their names; a group without GPUs and one without template have none."""
    cluster = _general(1, gpu=2)
    cluster.group("plain", nodes=0)
    cluster.target("unknown", 0)
    rules = policy(*(node_group(name) for name in ("general", "plain", "unknown")))
    assert _told(cluster, rules, "AcceleratorLabelMissing") == [
        ("AcceleratorLabelMissing", GROUP, "its nodes have nvidia.com/gpu and no label that names the type", ())
    ]
    assert _told(_general(1, gpu=2, labels={CARDS: "h100"}), None, "AcceleratorLabelMissing") == []


@pytest.mark.parametrize(("owners", "topology", "replicas", "found"), [
    (("capi-topology",), True, 4, ["the Cluster's topology declares replicas 4 for it"]),
    (("capi-topology",), True, 0, ["the Cluster's topology declares replicas 0 for it"]),
    ((), True, None, []),
    ((), True, 4, []),
    (("argocd",), False, None, []),
    (("argocd",), False, 3, []),
])  # fmt: skip
def test_replicas_in_a_topology(owners: tuple[str, ...], topology: bool, replicas: int | None, found: list[str]) -> None:
    """Only where they are declared there, and hold the group."""
    evidence = OwnerEvidence(
        owners=tuple(FieldOwner(manager=name, operation="Apply") for name in owners),
        topology_owned=topology, topology_deployment="general", topology_replicas=replicas,
    )  # fmt: skip
    assert [one[2] for one in _told(_general(1, evidence=evidence), None, "TopologyReplicas")] == found


def _down(cluster: ClusterBuilder, *names: str) -> World:
    world = cluster.world()
    nodes = tuple(msgspec.structs.replace(node, ready=node.name not in names) for node in world.nodes)
    return msgspec.structs.replace(world, nodes=nodes)


@pytest.mark.parametrize(("most", "found"), [
    (3, ["2 nodes not ready, and limit few is used up: a replacement would occupy that place permanently"]),
    (2, ["2 nodes not ready, and limit few is used up: a replacement would occupy that place permanently"]),
    (4, []),
])  # fmt: skip
def test_a_reserve_that_is_full_while_nodes_are_down(most: int, found: list[str]) -> None:
    """Three nodes, of which two are not ready, and a limit on their number."""
    rules = policy(node_group("general"), limits=(Limit(name="few", max=(("nodes", most),)),))
    told = _told(_down(_general(3), "general-1", "general-3"), rules, "ReservedSlotAtRisk")
    assert [one[2] for one in told] == found
    assert all(one[3] == ("general-1", "general-3") for one in told)
    assert _told(_general(3), rules, "ReservedSlotAtRisk") == []


def test_a_limit_that_is_not_quite_full_is_no_reserve() -> None:
    """Of 14 cores 12 are there: no room for a node of four, and none that a replacement would take."""
    rules = policy(node_group("general"), limits=(Limit(name="cores", max=(("cpu", 14_000),)),))
    assert _told(_down(_general(3), "general-1"), rules, "ReservedSlotAtRisk") == []


@pytest.mark.parametrize(("left", "found"), [(0, True), (1, False)])
def test_the_room_of_a_platform_that_is_full(left: int, found: bool) -> None:
    """The same for what the platform can give."""
    world = _down(_general(2), "general-1")
    room = SharedRoom(name="reservation r1", left=left, why="2 of 2 taken")
    facts = msgspec.structs.replace(world.targets[0], rooms=(room,))
    told = _told(msgspec.structs.replace(world, targets=(facts,)), None, "ReservedSlotAtRisk")
    sentence = "1 node not ready, and reservation r1 is used up: a replacement would occupy that place permanently"
    assert [one[2] for one in told] == ([sentence] if found else [])


TOO_LOW = ["it allows 0.001 cpu, its groups may grow to 40"]


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        (Limit(name="l", max=(("cpu", 39_000),)), ["it allows 39 cpu, its groups may grow to 40"]),
        (Limit(name="l", max=(("cpu", 40_000),)), []),
        (Limit(name="l", max=(("nodes", 1),)), []),
        (Limit(name="l", max=(("nodes", 1), ("memory", GI))), ["it allows 1Gi memory, its groups may grow to 160Gi"]),
        (Limit(name="l", max=(("cpu", 1),), groups=Selector(match_labels=(("team", "a"),))), TOO_LOW),
        (Limit(name="l", max=(("cpu", 1),), groups=Selector(match_labels=(("team", "b"),))), []),
        (Limit(name="l", max=(("cpu", 1),), nodes=Selector(match_labels=(("pool", "general"),))), TOO_LOW),
        (Limit(name="l", max=(("cpu", 1),), nodes=Selector(match_labels=(("pool", "x"),))), []),
    ],
)  # fmt: skip
def test_limits_below_what_groups_may_grow_to(limit: Limit, found: list[str]) -> None:
    """Ten nodes of 4 cores and 16 GiB of one group at most; a limit on nodes is no quota of a provider."""
    cluster = _general(0)
    cluster.target("unknown", 0)
    rules = policy(node_group("general", labels=(("team", "a"),)), node_group("unknown"), limits=(limit,))
    assert [one[2] for one in _told(cluster, rules, "LimitBelowGroups")] == found


def test_mixed_sizes_in_one_group() -> None:
    """Of ready nodes alone, and of what the target says that may come."""
    cluster = _general(1)
    _member(cluster, "big", "8")
    assert [one[2] for one in _told(cluster, None, "MixedSizes")] == ["its nodes have 2 sizes: cpu 4 and 8"]
    assert _told(_down(cluster, "big"), None, "MixedSizes") == []
    world = _general(1).world()
    (facts,) = world.targets
    assert facts.template.capacity is not None
    small = msgspec.structs.replace(facts.template.capacity, cpu_milli=2000)
    facts = msgspec.structs.replace(facts, template=msgspec.structs.replace(facts.template, sizes=(small,)))
    world = msgspec.structs.replace(world, targets=(facts,))
    assert [one[2] for one in _told(world, None, "MixedSizes")] == ["its nodes have 2 sizes: cpu 2 and 4"]


def test_nodes_of_another_size_than_a_new_one() -> None:
    """A new one is written to have 4 cores: one has 2, two have 8, one that is not ready does not count."""
    cluster = _general(1)
    for name, cpu in (("small", "2"), ("b", "8"), ("a", "8"), ("down", "16")):
        _member(cluster, name, cpu)
    written = Template(capacity=(("cpu", 4000), ("memory", 16 * GI)))
    rules = policy(node_group("general", template=written))
    told = _told(_down(cluster, "down"), rules, "SmallerThanTemplate", "LargerThanTemplate")
    taken = "a size that differs from the template"
    assert told == [
        ("LargerThanTemplate", GROUP, f"2 nodes have {taken}: cpu 4 and 8", ("a", "b")),
        ("SmallerThanTemplate", GROUP, f"1 node has {taken}: cpu 4 and 2", ("small",)),
    ]
    every = findings(View.of(_down(cluster, "down"), rules, Memory(), NOW, Work(10_000)))
    advice = {one.code: one.advice.split(":")[0] for one in every}
    assert advice["LargerThanTemplate"] == "you pay for larger machines, but plans do not use the difference"
    assert advice["SmallerThanTemplate"] == "pods may not fit on new nodes"


@pytest.mark.parametrize(
    ("labels", "limit", "found"),
    [
        ({CARDS: "h100"}, {CARDS: "h100"}, []),
        ({CARDS: "h100"}, {CARDS: "a100"}, [f"{NO_SUCH}, there are h100: the limit counts nothing"]),
        ({}, {CARDS: "a100"}, [f"{NO_SUCH}, no node carries that label: the limit counts nothing"]),
        ({}, {"pool": "x"}, []),
    ],
)  # fmt: skip
def test_limits_on_accelerators_that_nothing_carries(labels: dict[str, str], limit: dict[str, str], found: list[str]) -> None:
    """By the labels of nodes and of what may come; any other label is nobody's business."""
    for nodes in (0, 1):
        cluster = _general(nodes, labels=labels)
        cluster.target("unknown", 0)
        limits = (Limit(name="cards", nodes=Selector(match_labels=tuple(limit.items())), max=(("nodes", 9),)), Limit(name="all"))
        rules = policy(node_group("general"), node_group("unknown"), limits=limits)
        assert [one[2] for one in _told(cluster, rules, "AcceleratorTypeUnknown")] == found


@pytest.mark.parametrize(("base", "found"), [(0, []), (1, ["its first 1 machine are on demand, the others spot"])])
def test_an_on_demand_base(base: int, found: list[str]) -> None:
    """Some of a group's machines are on demand."""
    world = _general(1).world()
    world = msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], on_demand_base=base),))
    assert [one[2] for one in _told(world, None, "OnDemandBase")] == found


@pytest.mark.parametrize(
    ("taints", "found"),
    [
        (("t=a", "t=b", "t=c", "t=d"), ["g0, g1, g2, g3 differ only in the value of taint t"]),
        (("t=a", "t=b", "t=c", "t=c"), []),
        (("t=a", "t=b", "t=c", "u=d"), []),
        (("t=a", "t=b", "t=c"), []),
        (("t=", "t=b", "t=c", "t=d"), []),
    ],
)
def test_a_group_for_each_tenant(taints: tuple[str, ...], found: list[str]) -> None:
    """Four groups of one size that differ in the value of one taint."""
    cluster = ClusterBuilder()
    cluster.target("unknown", 0)
    groups = [node_group("unknown")]
    for number, text in enumerate(taints):
        key, _, value = text.partition("=")
        cluster.group(f"g{number}", nodes=0)
        template = Template(taints=(TaintSpec(key=key, value=value, effect="NoSchedule"),))
        groups.append(node_group(f"g{number}", template=template))
    assert [one[2] for one in _told(cluster, policy(*groups), "GroupPerTenant")] == found


def test_a_target_that_is_not_there_has_nothing_to_mend() -> None:
    """Nor do its nodes, which are known by their labels."""
    cluster = ClusterBuilder()
    cluster.node("n1", labels={"pool": "general"})
    nodes = Selector(match_labels=(("pool", "general"),))
    assert _told(cluster, policy(node_group("general", nodes=nodes))) == []
