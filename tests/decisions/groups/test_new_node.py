"""What one new node of a group is taken to offer, from each source and from several of them; and which values a group has."""

from collections.abc import Callable
from functools import partial

import pytest

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.target import OwnerEvidence, TargetOption, TargetTemplate
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.effective_values import Sources
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.new_node import TemplateResult, new_node_shape
from reconciler.decisions.groups.passing_taints import transient
from reconciler.decisions.groups.similar_groups import difference, size_difference
from reconciler.policy.documents import (
    Counting,
    GroupFields,
    Hold,
    NodeGroupPolicy,
    ScaleDown,
    Size,
    TaintSpec,
    Template,
    Tier,
    TierMatch,
    Toggle,
    Window,
    WithoutMachines,
)
from reconciler.policy.place import Place
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, taint
from tests.decisions.deciding import plan_of

GI = 1 << 30
LINUX = (("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux"))
BIG = amounts("16", "64Gi", 200)
OFFERED = amounts("15", "60Gi", 200)
WRITTEN = Template(capacity=(("cpu", 8000), ("memory", 32 * GI)))
LIVE = "the ready nodes of the group"


def _made(*levels: Template, target: TargetTemplate | None = None, nodes: ClusterBuilder | None = None) -> TemplateResult:
    world = (nodes or ClusterBuilder()).world()
    written = tuple(GroupFields(template=level) for level in levels)
    return new_node_shape(written, "here {}".format, target or TargetTemplate(), world, world.nodes)


def _node(**fields: object) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.node("n1", **{"cpu": "4", "memory": "16Gi", **fields})
    return cluster


def _size(made: TemplateResult) -> tuple[Resources, Resources] | None:
    return None if made.shape is None else (made.shape.capacity, made.shape.allocatable)


AMOUNTS = {
    "nothing is known": (partial(_made), None, ()),
    "written in the policy": (
        partial(_made, WRITTEN),
        (amounts("8", "32Gi", 110), amounts("8", "32Gi", 110)),
        ("here 0",),
    ),
    "written in a further level": (
        partial(_made, Template(), WRITTEN),
        (amounts("8", "32Gi", 110), amounts("8", "32Gi", 110)),
        ("here 1",),
    ),
    "written twice: the nearer level": (
        partial(_made, WRITTEN, Template(capacity=(("cpu", 1),))),
        (amounts("8", "32Gi", 110), amounts("8", "32Gi", 110)),
        ("here 0",),
    ),
    "written with pods": (
        partial(_made, Template(capacity=(("cpu", 8000), ("memory", 32 * GI), ("pods", 30)))),
        (amounts("8", "32Gi", 30), amounts("8", "32Gi", 30)),
        ("here 0",),
    ),
    "written without memory, which nothing else tells": (partial(_made, Template(capacity=(("cpu", 8000),))), None, ()),
    "pods written, the rest said by the target": (
        partial(
            _made,
            Template(capacity=(("pods", 30),)),
            target=TargetTemplate(capacity=BIG, allocatable=OFFERED, origins=("annotations",)),
        ),
        (amounts("16", "64Gi", 30), amounts("15", "60Gi", 30)),
        ("here 0", "annotations"),
    ),
    "pods written, the rest seen on its node": (
        partial(_made, Template(capacity=(("pods", 30),)), nodes=_node(gpu=2)),
        (amounts("4", "16Gi", 30, gpu=2),) * 2,
        ("here 0", LIVE),
    ),
    "a device written, the rest seen on its node": (
        partial(_made, Template(capacity=(("nvidia.com/gpu", 2),)), nodes=_node()),
        (amounts("4", "16Gi", 110, gpu=2),) * 2,
        ("here 0", LIVE),
    ),
    "cpu written, of which the target keeps one core": (
        partial(_made, Template(capacity=(("cpu", 8000),)), target=TargetTemplate(capacity=BIG, allocatable=OFFERED)),
        (amounts("8", "64Gi", 200), amounts("7", "60Gi", 200)),
        ("here 0",),
    ),
    "another machine written: no device of its node": (
        partial(_made, WRITTEN, nodes=_node(gpu=2)),
        (amounts("8", "32Gi", 110), amounts("8", "32Gi", 110)),
        ("here 0",),
    ),
    "a resource in each of two levels": (
        partial(_made, Template(capacity=(("pods", 30),)), WRITTEN),
        (amounts("8", "32Gi", 30), amounts("8", "32Gi", 30)),
        ("here 0", "here 1"),
    ),
    "written with what is reserved": (
        partial(_made, Template(reserved=(("cpu", 500), ("memory", 4 * GI))), WRITTEN),
        (amounts("8", "32Gi", 110), amounts("7500m", "28Gi", 110)),
        ("here 1",),
    ),
    "said by the target": (
        partial(_made, target=TargetTemplate(capacity=BIG, allocatable=OFFERED, origins=("annotations", "type"))),
        (BIG, OFFERED),
        ("annotations", "type"),
    ),
    "said by the target, what is reserved by the policy": (
        partial(_made, Template(reserved=(("cpu", 500),)), target=TargetTemplate(capacity=BIG, allocatable=OFFERED)),
        (BIG, amounts("15500m", "64Gi", 200)),
        (),
    ),
    "reserved is more than there is, and what nobody lists": (
        partial(_made, Template(reserved=(("cpu", 17_000), ("ephemeral-storage", GI))), target=TargetTemplate(capacity=BIG)),
        (BIG, amounts("0", "64Gi", 200)),
        (),
    ),
    "said by the target without what it offers": (partial(_made, target=TargetTemplate(capacity=BIG)), (BIG, BIG), ()),
    "said by the target with pods on one side": (
        partial(_made, target=TargetTemplate(capacity=BIG, allocatable=amounts("15", "60Gi"))),
        (BIG, OFFERED),
        (),
    ),
    "said by both: the policy, and how many pods the target": (
        partial(_made, WRITTEN, target=TargetTemplate(capacity=BIG, allocatable=OFFERED)),
        (amounts("8", "32Gi", 200), amounts("8", "32Gi", 200)),
        ("here 0",),
    ),
    "seen on its node": (partial(_made, nodes=_node()), (amounts("4", "16Gi", 110), amounts("4", "16Gi", 110)), (LIVE,)),
    "the pods of its node": (
        partial(_made, WRITTEN, nodes=_node(max_pods=58)),
        (amounts("8", "32Gi", 58), amounts("8", "32Gi", 58)),
        ("here 0",),
    ),
}


@pytest.mark.parametrize("name", AMOUNTS)
def test_capacity_and_what_is_offered_of_it(name: str) -> None:
    """By the first source that says it."""
    make, size, sources = AMOUNTS[name]
    made = make()
    assert _size(made) == size
    assert made.sources == sources
    assert bool(made.problem) is (size is None)


def _reserving(capacity: str, offered: str) -> ClusterBuilder:
    """One node of that many cores, of which so many are offered."""
    cluster = _node(cpu=capacity)
    node, shape = cluster._nodes["n1"]
    small = NodeShape(labels=shape.labels, capacity=shape.capacity, allocatable=amounts(offered, "12Gi", 110))
    cluster._nodes["n1"] = (node, small)
    return cluster


@pytest.mark.parametrize(("cpu", "offered"), [(8000, amounts("7", "12Gi", 110)), (4000, amounts("4", "16Gi", 110))])
def test_a_capacity_that_the_nodes_have_offers_what_they_offer(cpu: int, offered: Resources) -> None:
    """Eight cores, of which the node that is there offers seven; of another size nothing is known but the capacity."""
    made = _made(Template(capacity=(("cpu", cpu), ("memory", 16 * GI))), nodes=_reserving("8", "7"))
    assert made.shape is not None
    assert made.shape.allocatable == offered


@pytest.mark.parametrize(("kind", "other", "cpu"), [("m5", None, "4"), ("c5", None, "16"), ("m5", "c5", "16"), ("", None, "16")])
def test_a_computed_template_yields_to_nodes_of_its_type(kind: str, other: str | None, cpu: str) -> None:
    """Sixteen cores are computed for m5; where all nodes are of that type, theirs count."""
    label = "node.kubernetes.io/instance-type"
    cluster = _node(labels={label: kind} if kind else {})
    if other is not None:
        cluster.node("n2", "4", "16Gi", labels={label: other})
    target = TargetTemplate(capacity=BIG, allocatable=BIG, labels=((label, "m5"),), estimated=True)
    made = _made(target=target, nodes=cluster)
    assert made.shape is not None
    assert made.shape.capacity.cpu_milli == amounts(cpu).cpu_milli


def test_nodes_of_the_same_machine_have_what_the_target_does_not_name() -> None:
    """An infrastructure template says cpu and memory; the disk of its nodes is there all the same."""
    for cpu, there in (("4", 2), ("8", 0)):
        target = TargetTemplate(capacity=amounts(cpu, "16Gi", 110), origins=("status of SimMachineTemplate a",))
        made = _made(target=target, nodes=_node(**{"example.com/disk": 2}))
        assert made.shape is not None
        assert (made.shape.capacity.get("example.com/disk"), made.shape.allocatable.get("example.com/disk")) == (there, there)


def test_the_usual_kinds_of_resources_count() -> None:
    """Of three nodes one lacks its device: two with it are the usual ones; of one each, the one with more kinds."""
    cluster = ClusterBuilder()
    for name, cpu, gpu in (("a", "4", 1), ("b", "6", 1), ("c", "2", 0)):
        cluster.node(name, cpu, "16Gi", gpu=gpu)
    made = _made(nodes=cluster)
    assert _size(made) == (amounts("4", "16Gi", 110, gpu=1),) * 2
    pair = ClusterBuilder()
    pair.node("a", "4", "16Gi", gpu=1)
    pair.node("b", "2", "16Gi")
    assert _size(_made(nodes=pair)) == (amounts("4", "16Gi", 110, gpu=1),) * 2
    bare = ClusterBuilder()
    for name, cpu, gpu in (("a", "4", 1), ("b", "2", 0), ("c", "2", 0)):
        bare.node(name, cpu, "16Gi", gpu=gpu)
    assert _size(_made(nodes=bare)) == (amounts("2", "16Gi", 110),) * 2


ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
LABELS = {
    "of a first node": (partial(_made, WRITTEN), LINUX),
    "of the target": (
        partial(_made, WRITTEN, target=TargetTemplate(architecture="arm64", zone="a", labels=(("x", "1"),))),
        (("kubernetes.io/arch", "arm64"), ("kubernetes.io/os", "linux"), (ZONE, "a"), ("x", "1")),
    ),
    "of a nearer architecture over a label that is farther": (
        partial(_made, WRITTEN, Template(architecture="arm64"), Template(labels=(("kubernetes.io/arch", "amd64"),))),
        (("kubernetes.io/arch", "arm64"), ("kubernetes.io/os", "linux")),
    ),
    "of a nearer label over an architecture that is farther": (
        partial(_made, WRITTEN, Template(labels=(("kubernetes.io/arch", "arm64"),)), Template(architecture="amd64")),
        (("kubernetes.io/arch", "arm64"), ("kubernetes.io/os", "linux")),
    ),
    "of the policy over the target": (
        partial(
            _made,
            Template(labels=(("x", "2"),), architecture="arm64"),
            Template(labels=(("x", "3"), ("y", "3")), architecture="amd64"),
            WRITTEN,
            target=TargetTemplate(labels=(("x", "1"), ("z", "1"))),
        ),
        (("kubernetes.io/arch", "arm64"), ("kubernetes.io/os", "linux"), ("x", "2"), ("y", "3"), ("z", "1")),
    ),
    "of a node, without its own name": (
        partial(
            _made,
            nodes=_node(
                labels={
                    "pool": "a",
                    "kubernetes.io/hostname": "n1",
                    "node.kubernetes.io/exclude-from-external-load-balancers": "",
                }
            ),
        ),
        (*LINUX, ("pool", "a")),
    ),
    "of the target over the node": (
        partial(_made, target=TargetTemplate(labels=(("pool", "b"),)), nodes=_node(labels={"pool": "a"})),
        (*LINUX, ("pool", "b")),
    ),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels(name: str) -> None:
    """What all nodes share, overlaid by the target's, overlaid by the policy's."""
    make, labels = LABELS[name]
    made = make()
    assert made.shape is not None
    assert made.shape.labels == tuple(sorted(labels))


def test_only_labels_and_taints_that_all_nodes_share() -> None:
    """Two nodes differ in one of two labels, and in one of two taints."""
    cluster = ClusterBuilder()
    cluster.node("a", labels={"pool": "p", "rack": "1"}, taints=("dedicated=x:NoSchedule", "own=1:NoSchedule"))
    cluster.node("b", labels={"pool": "p", "rack": "2"}, taints=("dedicated=x:NoSchedule",))
    made = _made(nodes=cluster)
    assert made.shape is not None
    assert made.shape.labels == (*LINUX, ("pool", "p"))
    assert made.shape.taints == (taint("dedicated=x:NoSchedule"),)


def test_a_renamed_label_comes_with_its_old_name_where_nodes_have_both() -> None:
    """With one value; where no node has the old one, another value or neither, new ones will not."""
    target = TargetTemplate(zone="b")
    for labels, old in (({ZONE: "a", OLD_ZONE: "a"}, "b"), ({ZONE: "a"}, None), ({ZONE: "a", OLD_ZONE: "x"}, None), ({}, None)):
        cluster = ClusterBuilder()
        cluster.node("of another group", labels=labels)
        made = new_node_shape((GroupFields(template=WRITTEN),), str, target, cluster.world(), ())
        assert made.shape is not None
        assert made.shape.label(OLD_ZONE) == old


GUESSED = TargetTemplate(capacity=amounts("4", "16Gi", 110), pods_guessed=True)
TOLD = TargetTemplate(capacity=amounts("4", "16Gi", 58))
PODS = Template(capacity=(("pods", 30),))


@pytest.mark.parametrize(
    ("make", "guessed"),
    [
        (partial(_made, target=GUESSED), True),
        (partial(_made, target=TOLD), False),
        (partial(_made, PODS, target=GUESSED), False),
        (partial(_made, WRITTEN), True),
        (partial(_made, WRITTEN, target=TOLD), False),
        (partial(_made, Template(capacity=(*WRITTEN.capacity, ("pods", 30)))), False),
        (partial(_made, target=GUESSED, nodes=_node()), False),
        (partial(_made, nodes=_node()), False),
    ],
)
def test_how_many_pods_is_a_guess_where_nothing_states_it(make: Callable[[], TemplateResult], *, guessed: bool) -> None:
    """Neither the policy, nor the target, nor a node that is there."""
    assert make().pods_guessed is guessed


@pytest.mark.parametrize(("target", "pods"), [(GUESSED, 1), (TOLD, 1), (GUESSED, 0)])
def test_the_plan_says_that_it_is_a_guess_where_the_group_grows(target: TargetTemplate, pods: int) -> None:
    cluster = ClusterBuilder()
    cluster.target("general", 0, template=target)
    cluster.pods("web", pods, cpu="1")
    (line,) = plan_of(cluster.world(), policy(node_group("general"))).groups
    told = [reason.message for reason in line.reasons if reason.code == "MaxPodsGuessed"]
    expected = target.pods_guessed and pods > 0
    assert bool(told) is expected
    assert not told or told[0].startswith("110 pods on a new node is a guess")


OF_NODE = ("a=0:NoSchedule", "b=0:NoSchedule")
STARTING = ("agent=x:NoExecute", "agent=x:NoSchedule", "b=0:NoSchedule")
STARTUP = TaintSpec(key="agent", effect="NoExecute")
TAINTS = {
    "none": (partial(_made, WRITTEN), ()),
    "of the target": (
        partial(_made, target=TargetTemplate(capacity=BIG, taints=(taint("a=1:NoSchedule"),)), nodes=_node(taints=OF_NODE)),
        ("a=1:NoSchedule", "b=0:NoSchedule"),
    ),
    "of the policy alone": (
        partial(
            _made,
            Template(taints=(TaintSpec(key="c", value="2", effect="NoSchedule"),)),
            WRITTEN,
            target=TargetTemplate(taints=(taint("a=1:NoSchedule"),)),
        ),
        ("c=2:NoSchedule",),
    ),
    "none, by the policy": (
        partial(_made, Template(taints=()), WRITTEN, target=TargetTemplate(taints=(taint("a=1:NoSchedule"),))),
        (),
    ),
    "but those of a start": (
        partial(_made, Template(startup_taints=(STARTUP,)), nodes=_node(taints=STARTING)),
        ("agent=x:NoSchedule", "b=0:NoSchedule"),
    ),
    "but those of a start by their beginning": (
        partial(
            _made,
            Template(startup_taints=(TaintSpec(key="start.example.com/*", effect="NoSchedule"),)),
            nodes=_node(
                taints=("start.example.com/net:NoSchedule", "start.example.com/net:NoExecute", "start.example:NoSchedule")
            ),
        ),
        ("start.example.com/net:NoExecute", "start.example:NoSchedule"),
    ),
    "but those of the target that a new node bears until it is usable": (
        partial(
            _made, WRITTEN, target=TargetTemplate(taints=(taint("readiness.k8s.io/net=x:NoSchedule"), taint("a=1:NoSchedule")))
        ),
        ("a=1:NoSchedule",),
    ),
    "but those of the moment": (
        partial(_made, nodes=_node(taints=("node.kubernetes.io/not-ready=:NoExecute", "b=0:NoSchedule"))),
        ("b=0:NoSchedule",),
    ),
}


@pytest.mark.parametrize("name", TAINTS)
def test_taints(name: str) -> None:
    """The policy's where it says any, else what nodes share and what the target says."""
    make, taints = TAINTS[name]
    made = make()
    assert made.shape is not None
    assert made.shape.taints == tuple(sorted(taint(text) for text in taints))


@pytest.mark.parametrize(
    ("key", "passing"),
    [
        ("node.kubernetes.io/not-ready", True),
        ("node.cloudprovider.kubernetes.io/uninitialized", True),
        ("reconciler.dev/deleting", True),
        ("startup-taint.cluster-autoscaler.kubernetes.io/x", True),
        ("status-taint.cluster-autoscaler.kubernetes.io/x", True),
        ("ignore-taint.cluster-autoscaler.kubernetes.io/x", True),
        ("ToBeDeletedByClusterAutoscaler", True),
        ("DeletionCandidateOfClusterAutoscaler", True),
        ("readiness.k8s.io/net", True),
        ("ebs.csi.aws.com/agent-not-ready", True),
        ("cloud.google.com/impending-node-termination", True),
        ("aws-node-termination-handler/spot-itn", True),
        ("karpenter.sh/disrupted", True),
        ("fsx.csi.aws.com/agent-not-ready", True),
        ("s3.csi.aws.com/agent-not-ready", True),
        ("disk.csi.azure.com/agent-not-ready", True),
        ("remediator.kubernetes.azure.com/unschedulable", True),
        ("kubernetes.azure.com/scalesetpriority", False),
        ("dedicated", False),
        ("ebs.csi.aws.com/other", False),
    ],
)
def test_taints_of_the_moment(key: str, passing: bool) -> None:
    """Set by kubelet, the cloud, the node lifecycle controller or autoscalers: a new node will not have them."""
    assert transient(Taint(key, "", "NoSchedule")) is passing
    # A snapshot that leaves the house keeps what the answer depends on.
    assert transient(Taint(Pseudonyms(b"s" * 32).word(key), "", "NoSchedule")) is passing


def _alike(**fields: object) -> NodeShape:
    size = amounts("4", "16Gi", 110)
    return NodeShape(**{"capacity": size, "allocatable": size, **fields})


DIFFERENCES = [
    (_alike(), ""),
    (_alike(capacity=amounts("8", "16Gi", 110)), "cpu 4 and 8"),
    (_alike(capacity=amounts("4001m", "16Gi", 110)), "cpu 4 and 4.001"),
    (_alike(capacity=amounts("4", "16Gi", 109)), "pods 110 and 109"),
    (_alike(capacity=amounts("4", "16Gi", 110, gpu=1)), "nvidia.com/gpu 0 and 1"),
    # 1.5 % of the larger one, 16,384 MiB, are 245.76.
    (_alike(capacity=amounts("4", "16139Mi", 110)), ""),
    (_alike(capacity=amounts("4", "16138Mi", 110)), "memory 16Gi and 15.8Gi"),
    (_alike(allocatable=amounts("3800m", "16Gi", 110)), ""),
    (_alike(allocatable=amounts("3799m", "16Gi", 110)), "allocatable cpu 4 and 3.799"),
    (_alike(labels=(("a", "1"),)), "label a: none and 1"),
    (_alike(labels=(("ignored", "1"), ("beta.kubernetes.io/arch", "x"))), ""),
    (_alike(taints=(taint("a=1:NoSchedule"),)), "taints"),
]


@pytest.mark.parametrize(("other", "said"), DIFFERENCES)
def test_in_what_two_new_nodes_differ(other: NodeShape, said: str) -> None:
    """The first thing that differs too much: capacity exactly but for 1.5 % of memory, 5 % of what is offered, labels, taints."""
    assert difference(_alike(), other, frozenset({"ignored"})) == said


def test_sizes_differ_both_ways() -> None:
    """Whichever is named first."""
    assert size_difference(amounts("8", "16Gi"), amounts("4", "16Gi")) == "cpu 8 and 4"
    assert size_difference(amounts("4", "16Gi"), amounts("4", "16Gi")) == ""


def _group(rules: object, **target: object) -> EffectiveGroup:
    cluster = ClusterBuilder()
    cluster.target("general", 3, **target)
    return effective_groups(cluster.world(), rules, NOW)[0]


DAILY = {"schedule": "0 7 * * *", "duration_seconds": 7200}


@pytest.mark.parametrize(
    ("own", "windows", "size"),
    [
        ((1, 10), (Size(min=3),), (3, 10)),
        ((4, 10), (Size(min=3),), (4, 10)),
        ((1, 10), (Size(max=5),), (1, 5)),
        ((1, 4), (Size(max=5),), (1, 4)),
        ((1, 10), (Size(max=0),), (1, 0)),
        ((1, 10), (Size(min=0),), (1, 10)),
        ((None, None), (), (0, 3)),
        ((5, None), (), (5, 5)),
        ((None, 0), (), (0, 0)),
    ],
)
def test_ranges(own: tuple[int | None, int | None], windows: tuple[Size, ...], size: tuple[int, int]) -> None:
    """Windows only narrow what is written; without a maximum the three replicas, or the minimum, are the most."""
    opened = tuple(Window(size=one, **DAILY) for one in windows)
    found = _group(policy(node_group("general", min=own[0], max=own[1], windows=opened)))
    assert (found.min_size, found.max_size) == size


@pytest.mark.parametrize(("least", "most", "size"), [(2, 7, (2, 7)), (2, None, (0, 3)), (None, 7, (0, 3))])
def test_the_annotations_of_a_target_count_together(least: int | None, most: int | None, size: tuple[int, int]) -> None:
    """One alone is no bound."""
    silent = policy(node_group("general", min=None, max=None))
    found = _group(silent, min_size=least, max_size=most, size_origin="its annotations")
    assert (found.min_size, found.max_size) == size


@pytest.mark.parametrize(
    ("until", "held"), [(None, "repair (policies/test.yaml:1:1)"), (NOW + 1, "repair (policies/test.yaml:1:1)"), (NOW, "")]
)
def test_a_hold_ends_at_its_instant(until: int | None, held: str) -> None:
    """And says where it stands."""
    found = _group(policy(node_group("general", hold=Hold(reason="repair", until_seconds=until))))
    assert (found.hold, found.hold_until_seconds) == (held, until if held else None)


def test_a_hold_of_the_group_comes_before_those_of_its_tier_and_target() -> None:
    """An ended one gives way to the next."""
    tiers = (Tier(name="t", defaults=GroupFields(hold=Hold(reason="tier"))),)
    for until, held in ((None, "own (policies/test.yaml:1:1)"), (NOW, "tier (policies/test.yaml:1:1 (tier t))")):
        document = node_group("general", tier="t", hold=Hold(reason="own", until_seconds=until))
        assert _group(policy(document, tiers=tiers), evidence=OwnerEvidence(hold="target")).hold == held


def test_choices_of_a_group() -> None:
    """Each as written, and what is built in."""
    quiet = _group(policy(node_group("general")))
    assert (quiet.scale_down.daemon_set_utilization, quiet.scale_down.mirror_pod_utilization) == ("Count", "Count")
    assert (quiet.scale_down.consolidation.mode, quiet.scale_down.mode) == (Toggle.DISABLED, Toggle.ENABLED)
    assert (quiet.platform_chooses, quiet.whole, quiet.price_micros) == (False, False, None)
    down = ScaleDown[None](
        mode=Toggle.DISABLED, daemon_set_utilization=Counting.IGNORE, mirror_pod_utilization=Counting.IGNORE,
        without_machines=WithoutMachines.PLATFORM_CHOOSES,
    )  # fmt: skip
    told = _group(policy(node_group("general", scale_down=down)))
    assert (told.scale_down.daemon_set_utilization, told.scale_down.mirror_pod_utilization) == (Counting.IGNORE, Counting.IGNORE)
    assert (told.scale_down.mode, told.platform_chooses) == (Toggle.DISABLED, True)


@pytest.mark.parametrize(("value", "ignores"), [(1, True), (0, False)])
def test_the_target_may_say_that_daemonsets_do_not_count(value: int, ignores: bool) -> None:
    """By its own option."""
    option = TargetOption(key="scaleDown.daemonSetUtilization", value=value, origin="annotation x")
    assert _group(policy(node_group("general")), options=(option,)).scale_down.daemon_set_utilization is (
        Counting.IGNORE if ignores else Counting.COUNT
    )


@pytest.mark.parametrize(("own", "listed", "micros"), [("0.50", "0.70", 500_000), ("", "0.70", 700_000), ("", "", None)])
def test_prices(own: str, listed: str, micros: int | None) -> None:
    """The policy's, else that of the platform's list."""
    document = node_group("general", price_per_hour=own or None)
    found = _group(policy(document), price_per_hour=listed, price_origin="list" if listed else "")
    assert found.price_micros == micros


def test_where_a_value_stands() -> None:
    """The field itself, else the next one around it that was written, else the document."""
    places = {"spec.scaleDown": Place("a.yaml", 3, 1), "spec.scaleDown.mode": Place("a.yaml", 4, 2)}
    document = node_group("general", places=places)
    tier = Tier(name="t")
    of_tier = {"spec.tiers[1].defaults.scaleDown": Place("p.yaml", 9, 1), "spec.mode": Place("p.yaml", 2, 2)}
    rules = NodeGroupPolicy(name="p", place=Place("p.yaml", 1, 1), places=of_tier)
    sources = Sources(document=document, facts=None, policy=rules, tier=tier, tier_index=1)
    assert [sources.place(0, path) for path in ("scaleDown.mode", "scaleDown.unneededTime", "size.min")] == [
        "a.yaml:4:2", "a.yaml:3:1", "policies/test.yaml:1:1",
    ]  # fmt: skip
    assert sources.place(1, "scaleDown.mode") == "p.yaml:9:1 (tier t)"
    assert sources.place(2, "scaleDown.mode") == "p.yaml:1:1 (policy defaults)"
    found = Sources(document=None, facts=None, policy=rules, tier=tier, tier_index=1)
    assert [found.place(level, "scaleDown.mode") for level in (0, 1)] == ["p.yaml:9:1 (tier t)", "p.yaml:1:1 (policy defaults)"]
    assert (found.of_policy("mode"), found.of_policy("currency")) == ("p.yaml:2:2 (policy)", "built-in")


@pytest.mark.parametrize(
    ("match", "rank"),
    [
        (TierMatch(names=("^gen",)), 0),
        (TierMatch(names=("^x", "eral$")), 0),
        (TierMatch(names=("^x",)), 1),
        (TierMatch(labels=Selector(match_labels=(("team", "a"),))), 0),
        (TierMatch(labels=Selector(match_labels=(("team", "b"),))), 1),
        (TierMatch(), 1),
    ],
)
def test_which_tier_takes_a_group(match: TierMatch, rank: int) -> None:
    """The first that matches it by name or labels; none: behind all of them. One that the group names comes before."""
    tiers = (Tier(name="first", match=match),)
    found = _group(policy(node_group("general", labels=(("team", "a"),)), tiers=tiers))
    assert (found.tier_rank, found.tier) == (rank, "" if rank else "first")
    two = (*tiers, Tier(name="second"))
    assert _group(policy(node_group("general", tier="second"), tiers=two)).tier_rank == 1
