"""Room for CapacityBuffers: after all pods, on any group that can run their pods, within every bound, and kept from removal."""

import json
from collections.abc import Sequence

import msgspec
import pytest

from reconciler.cluster.pods.pod import ClaimUse, Toleration
from reconciler.cluster.world import BufferProblem, World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.gitops.preview import compare
from reconciler.plan.plan import ActionKind, BufferLine, BufferState, Plan
from reconciler.plan.preview import PreviewSide
from reconciler.plan.summary import canonical_json
from reconciler.policy.documents import BufferReading, Expander, Headroom, HeadroomFrom, Hold, Limit, NodeGroup, PolicySet
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code
from reconciler.rendering.printers.html.plan import buffer_section
from reconciler.rendering.printers.markdown.plan import plan_comment
from reconciler.rendering.printers.text.explanation.group import explain_group
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.rendering.printers.text.preview import preview_text
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import codes, group, node, of_kind, plan_of, pod

READ = HeadroomFrom(capacity_buffers=BufferReading.READ)


def _rules(*groups: NodeGroup, **fields: object) -> PolicySet:
    return policy(*groups, **{"headroom_from": READ, **fields})


def _line(plan: Plan, name: str = "shop/spare") -> BufferLine:
    return next(line for line in plan.buffer_lines if line.buffer == name)


def _said(line: BufferLine) -> list[str]:
    return [reason.code for reason in line.reasons]


def _one_node(used: str = "1") -> ClusterBuilder:
    """A node of 4 cores with a pod that keeps it."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    cluster.pods("web", 1, cpu=used, on="a-1", traits={"safe_to_evict": "false"})
    return cluster


def test_what_does_not_fit_gets_nodes() -> None:
    """Of five of a core, three fit on the node that is there, and two on a new one."""
    cluster = _one_node()
    cluster.buffer("spare", 5, cpu="1")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    line = group(plan, "a")
    assert (line.desired, codes(line)) == (2, ["Headroom"])
    told = line.reasons[0]
    assert (told.data["wanted"], told.data["free"], told.data["nodes"]) == (5, 3, 1)
    assert told.message == "headroom of 5 pods of CapacityBuffer shop/spare has 3 free: 1 node more"
    assert plan.actions[0].reason.message == told.message
    buffer = _line(plan)
    assert (buffer.state, buffer.pods, buffer.fits, buffer.upcoming, buffer.requested) == (BufferState.WAITING, 5, 3, 0, 2)
    assert [reason.message for reason in buffer.reasons] == ["3 pods would run now", "a grows for 2 pods"]


def test_without_the_field_they_do_not_count() -> None:
    """Nor does the plan have a place for them."""
    cluster = _one_node()
    cluster.buffer("spare", 5, cpu="1")
    plan = plan_of(cluster.world(), policy(node_group("a", max=9)))
    assert group(plan, "a").desired == 1
    assert "buffers" not in json.loads(canonical_json(plan))
    assert plan.buffer_lines == ()


def test_what_fits_changes_nothing() -> None:
    cluster = _one_node()
    cluster.buffer("spare", 3, cpu="1")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    assert not plan.changes
    assert (_line(plan).state, _said(_line(plan))) == (BufferState.FITS, ["BufferFits"])


@pytest.mark.parametrize(("arrived", "size", "fits"), [(0, 1, 3), (2, 2, 1), (3, 2, 0)])
def test_pods_take_the_room_first_and_it_is_filled_again(arrived: int, size: int, fits: int) -> None:
    """A node has room for three. Two pods come: they take it, and two of the three get a node again."""
    cluster = _one_node()
    cluster.pods("new", arrived, cpu="1")
    cluster.buffer("spare", 3, cpu="1", shape={"priority": 1_000})
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    assert group(plan, "a").desired == size
    assert [line.outcome.value for line in plan.pods] == ["FitsExisting"] * arrived
    assert (_line(plan).fits, _line(plan).requested) == (fits, 3 - fits)


def test_requested_nodes_are_waited_for() -> None:
    """The group has been asked for one node more, which is not there yet."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1, replicas=2)
    cluster.machine("a-2", machine_deployment("a"), created=NOW - 60)
    cluster.pods("web", 1, cpu="4", on="a-1", traits={"safe_to_evict": "false"})
    cluster.buffer("spare", 2, cpu="2")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    assert group(plan, "a").desired == 2
    assert (_line(plan).state, _line(plan).upcoming) == (BufferState.WAITING, 2)
    assert _line(plan).reasons[0].message == "2 pods would run on nodes of a that are on their way"


@pytest.mark.parametrize("pods", [1, 4, 5, 11])
def test_a_buffer_gets_the_nodes_that_its_pods_would_get(pods: int) -> None:
    """The same rule decides for both: tiers, expanders, bounds."""
    sizes = []
    for pending in (True, False):
        cluster = ClusterBuilder()
        for name, cpu in (("small", "2"), ("large", "8")):
            cluster.group(name, nodes=1, cpu=cpu)
            cluster.pods(f"full-{name}", 1, cpu=cpu, on=f"{name}-1", traits={"safe_to_evict": "false"})
        if pending:
            cluster.pods("new", pods, cpu="1500m")
        else:
            cluster.buffer("spare", pods, cpu="1500m")
        groups = (node_group("small", max=3, price_per_hour="0.10"), node_group("large", max=9, price_per_hour="0.50"))
        plan = plan_of(cluster.world(), _rules(*groups, expanders=(Expander.LEAST_COST,)))
        sizes.append([line.desired for line in plan.groups])
    assert sizes[0] == sizes[1]
    assert sum(sizes[0]) > 2


def test_templates_go_where_their_pods_would_go() -> None:
    """A selector for b, whose taint is tolerated; a has room that does not count."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    cluster.group("b", nodes=0, taints=["card:NoSchedule"])
    cluster.pods("web", 1, cpu="1", on="a-1", traits={"safe_to_evict": "false"})
    wants = {"node_selector": (("pool", "b"),)}
    cluster.buffer("fits", 1, cpu="1", shape={**wants, "tolerations": (Toleration("card", "Exists", "", ""),)})
    cluster.buffer("never", 1, cpu="1", shape=wants)
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9), node_group("b", max=9)))
    assert (group(plan, "a").desired, group(plan, "b").desired) == (1, 1)
    assert _line(plan, "shop/fits").requested == 1
    refused = _line(plan, "shop/never")
    assert (refused.state, refused.requested) == (BufferState.SHORT, 0)
    assert _said(refused)[:2] == ["BufferShort", "NoGroupFits"]
    assert any("card" in reason.message for reason in refused.reasons)


@pytest.mark.parametrize(
    ("most", "limits", "word"), [(3, (), "AtMaxSize"), (9, (Limit(name="n", max=(("nodes", 3),)),), "LimitReached")]
)
def test_no_bound_is_passed(most: int, limits: tuple[Limit, ...], word: str) -> None:
    """Nine pods of one node each: two nodes more are allowed."""
    cluster = _one_node("4")
    cluster.buffer("spare", 9, cpu="4")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=most), limits=limits))
    assert group(plan, "a").desired == 3
    line = _line(plan)
    assert (line.state, line.requested) == (BufferState.SHORT, 2)
    assert _said(line)[:2] == ["BufferRequested", "BufferShort"]
    assert line.reasons[1].data["pods"] == 7
    assert word in _said(line)


def test_of_two_buffers_the_older_comes_first() -> None:
    cluster = _one_node("4")
    cluster.buffer("a", 1, cpu="4", created=NOW - 60)
    cluster.buffer("b", 1, cpu="4", created=NOW - 120, shape={"labels": (("app", "a"),)})
    plan = plan_of(cluster.world(), _rules(node_group("a", max=2)))
    assert (_line(plan, "shop/a").requested, _line(plan, "shop/b").requested) == (0, 1)
    assert group(plan, "a").reasons[0].data["buffers"] == ("shop/b",)


def test_headroom_of_the_policy_comes_in_addition() -> None:
    """One empty node for the policy beside the one for the buffer."""
    cluster = _one_node("4")
    cluster.buffer("spare", 1, cpu="1")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9, headroom=Headroom(nodes=1))))
    assert (group(plan, "a").desired, codes(group(plan, "a"))) == (3, ["Headroom", "Headroom"])


def test_nodes_with_the_room_stay() -> None:
    """Two empty nodes of four cores: a buffer of four pods of a core keeps one of them."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=2)
    cluster.buffer("spare", 4, cpu="1")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)), Memory(unneeded_since={"a-1": NOW - 3600, "a-2": NOW - 3600}))
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("a-2",)]
    assert [blocker.message for blocker in node(plan, "a-1").blockers] == ["it has room for CapacityBuffer shop/spare"]


def test_room_on_nodes_that_stay_lets_empty_nodes_leave() -> None:
    """`a-1` is empty, and `a-2` has a pod and room for three."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=2)
    cluster.pods("web", 1, cpu="1", on="a-2", traits={"safe_to_evict": "false"})
    cluster.buffer("spare", 3, cpu="1")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)), Memory(unneeded_since={"a-1": NOW - 3600}))
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("a-1",)]


def test_the_fullest_node_gives_its_room_first() -> None:
    """The room of one core on the fuller node is used up, and not that of the emptier one, which pods may still move to."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=2)
    cluster.pods("web", 2, cpu="1", on=["a-1", "a-1"], traits={"safe_to_evict": "false"})
    cluster.pods("big", 1, cpu="3", on="a-2", traits={"safe_to_evict": "false"})
    cluster.buffer("spare", 1, cpu="1")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    assert not plan.changes
    kept = [
        line.node for line in plan.nodes if any(one.code == "Headroom" and "has room for" in one.message for one in line.blockers)
    ]
    assert kept in ([], ["a-2"])


def test_who_answers_a_buffer_serves_it() -> None:
    """Another program writes its status: it is left alone, unless the policy takes over from that program."""
    for adopted, size in (((), 1), (("cluster-autoscaler",), 2)):
        cluster = _one_node("4")
        cluster.buffer("spare", 1, cpu="1", writers=("cluster-autoscaler", "nodegroup-reconciler"))
        plan = plan_of(cluster.world(), _rules(node_group("a", max=9), adopt_from=adopted))
        assert group(plan, "a").desired == size
        assert (_line(plan).state is BufferState.IGNORED) == (size == 1)
    told = _line(plan_of(cluster.world(), _rules(node_group("a", max=9)))).reasons
    assert [reason.message for reason in told] == ["cluster-autoscaler answers it, so no room is kept for it here"]


def test_what_cannot_be_told_says_why() -> None:
    cluster = _one_node("4")
    cluster.buffer("spare", 0, shape={}, code=BufferProblem.NOT_FOUND, problem="there is no PodTemplate small")
    world = cluster.world()
    world = msgspec.structs.replace(world, buffers=tuple(msgspec.structs.replace(one, shape=-1) for one in world.buffers))
    plan = plan_of(world, _rules(node_group("a", max=9)))
    line = _line(plan)
    assert (line.state, _said(line)) == (BufferState.IGNORED, ["BufferRefused"])
    assert line.reasons[0].message == "no room is kept for it: there is no PodTemplate small"


def test_a_quota_that_allows_none_leaves_nothing_to_do() -> None:
    cluster = _one_node("4")
    cluster.buffer("spare", 0, asked=4, limited_by=("team",))
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    assert not plan.changes
    assert (_line(plan).state, _said(_line(plan))) == (BufferState.FITS, ["BufferLimited"])
    assert _line(plan).reasons[0].message == "it asks for 4 pods, of which team allow 0"


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
    cluster.buffer("spare", 2, cpu="1", shape=shape)
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    assert group(plan, "a").desired == 1
    assert (_line(plan).state, _said(_line(plan))) == (BufferState.SHORT, ["BufferShort", code])


def test_buffers_that_nobody_has_read_stop_removals() -> None:
    """An empty node may be the room of one of them. Growth goes on."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=2)
    world, memory = cluster.world(), Memory(unneeded_since={"a-1": NOW - 3600, "a-2": NOW - 3600})
    plan = plan_of(world, _rules(node_group("a", max=9)), memory)
    assert plan.not_captured == ("CapacityBuffer",)
    assert not plan.changes
    assert any("CapacityBuffer" in problem.message for problem in plan.problems)
    assert plan_of(world, policy(node_group("a", max=9)), memory).changes


def test_a_held_group_tells_what_it_would_do() -> None:
    cluster = _one_node("4")
    cluster.buffer("spare", 1, cpu="1")
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9, hold=Hold(reason="repair"))))
    assert (group(plan, "a").desired, group(plan, "a").wanted) == (1, 2)
    assert _line(plan).state is BufferState.SHORT
    assert "GroupHeld" in _said(_line(plan))


def _settled(world: World, rules: PolicySet) -> Plan:
    plan, memory = decide(world, rules, Memory(), NOW)
    return settled(world, rules, memory, NOW, plan)


def test_the_steady_state_keeps_the_room() -> None:
    """Five pods of a core beside one: two nodes, and no third one comes or goes."""
    cluster = _one_node()
    cluster.buffer("spare", 5, cpu="1")
    plan = _settled(cluster.world(), _rules(node_group("a", max=9)))
    assert (group(plan, "a").desired, group(plan, "a").settled) == (2, 2)


def test_a_smaller_buffer_ends_the_demand_for_its_nodes() -> None:
    """Nodes that were added for a buffer stay while it asks for them, and may leave when it asks for less."""
    sizes = []
    for pods in (8, 1):
        cluster = _one_node()
        cluster.buffer("spare", 8, cpu="1")
        rules = _rules(node_group("a", max=9))
        _, memory = decide(cluster.world(), rules, Memory(), NOW)
        assert memory.purchase is not None
        later = ClusterBuilder(now=NOW + 7200)
        later.group("a", nodes=3, created=NOW + 60)
        later.pods("web", 1, cpu="1", on="a-1", traits={"safe_to_evict": "false"})
        later.buffer("spare", pods, cpu="1")
        unneeded = dict.fromkeys(("a-2", "a-3"), NOW + 600)
        memory = msgspec.structs.replace(memory, unneeded_since=unneeded)
        sizes.append(group(plan_of(later.world(), rules, memory, NOW + 7200), "a").desired)
    assert sizes == [3, 1]


def test_a_preview_shows_what_reading_them_causes() -> None:
    cluster = _one_node("4")
    cluster.buffer("spare", 8, cpu="1")
    sides = [
        (PreviewSide(source=source), policy(node_group("a", max=9), headroom_from=HeadroomFrom(capacity_buffers=reading)))
        for source, reading in (("main", BufferReading.IGNORE), ("pr", BufferReading.READ))
    ]
    preview = compare(cluster.world(), NOW, sides[0], sides[1], DEFAULT_WORK_BUDGET)
    assert group(preview.plan, "a").desired == 3
    assert Code.NODES_IN_STEADY_STATE in {one.code for one in consequences(preview)}
    text = preview_text(preview)
    assert "headroomFrom.capacityBuffers" in text
    assert "shop/spare" in text


def test_pods_of_others_keep_their_outcome() -> None:
    """A buffer that takes everything takes nothing from pods that wait."""
    cluster = _one_node("4")
    cluster.pods("new", 2, cpu="4")
    cluster.buffer("spare", 9, cpu="4", shape={"priority": 10_000})
    plan = plan_of(cluster.world(), _rules(node_group("a", max=3)))
    assert [pod(plan, f"shop/new-{number}").outcome.value for number in (1, 2)] == ["TriggersScaleUp"] * 2
    assert (_line(plan).requested, _line(plan).state) == (0, BufferState.SHORT)


def test_many_buffers_are_counted_in_words() -> None:
    cluster = _one_node("4")
    names: Sequence[str] = [cluster.buffer(f"b{number}", 1, cpu="1") for number in range(5)]
    plan = plan_of(cluster.world(), _rules(node_group("a", max=9)))
    assert group(plan, "a").desired == 3
    told = group(plan, "a").reasons[0].message
    assert all(name in told for name in names[:3])
    assert "and 2 others" in told


def test_a_plan_tells_of_each_buffer() -> None:
    """As text, in a pull request, on a page."""
    cluster = _one_node("3")
    cluster.buffer("spare", 9, cpu="1")
    cluster.buffer("bad", 0, code=BufferProblem.NOT_FOUND, problem="there is no PodTemplate small", shape=None)
    world = cluster.world()
    world = msgspec.structs.replace(world, buffers=(msgspec.structs.replace(world.buffers[0], shape=-1), *world.buffers[1:]))
    plan = plan_of(world, _rules(node_group("a", max=2)))
    lines = plan_text(plan).splitlines()
    start = lines.index("Room for CapacityBuffers: 2")
    assert lines[start + 1 : start + 3] == [
        "  shop/bad: no room is kept",
        "    - no room is kept for it: there is no PodTemplate small",
    ]
    assert lines[start + 3] == "  shop/spare: room for 9 pods, 1 now, 4 later, 4 lacking"
    for text in (str(plan_comment(plan)), str(buffer_section(plan))):
        assert "room for 9 pods, 1 now, 4 later, 4 lacking" in text
    assert [problem.object for problem in plan.problems] == ["CapacityBuffer shop/bad"]
    assert plan.summary == "Plan: 1 group up (+1 node), 1 problem."


def test_explain_names_the_buffer_as_the_cause() -> None:
    """Of a group that grows for it."""
    cluster = _one_node()
    cluster.buffer("spare", 5, cpu="1")
    world, rules = cluster.world(), _rules(node_group("a", max=9))
    plan, memory = decide(world, rules, Memory(), NOW)
    case = Case.of(world, rules, plan, NOW, memory)
    assert any("CapacityBuffer shop/spare" in line for line in explain_group(case, "a", 120))
