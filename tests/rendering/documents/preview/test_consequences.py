"""What a reviewer is told first of a policy change, and how grave each of it is."""

import msgspec
import pytest

from reconciler.plan.comparison import compare_plans
from reconciler.plan.impact import Impact
from reconciler.plan.plan import Action, ActionKind, GroupLine, NodeLine, NodeState, Plan, PlanProblem
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.changes.loosening import Loosened
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.preview.change_figures import change_figures
from reconciler.rendering.documents.preview.consequence_lines import consequence_alarms
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Grade
from reconciler.rendering.documents.preview.headline import headline
from reconciler.rendering.printers.markdown.preview import preview_markdown
from reconciler.rendering.printers.text.preview import preview_text
from reconciler.rendering.words.wording import rest_words
from tests.rendering.conftest import BOUND


def looser(path: str, before: str, after: str, *groups: str, certain: bool = True) -> Loosened:
    """One value that lets more happen."""
    return Loosened(path=path, before=before, after=after, certain=certain, groups=groups)


def told(plan: Plan, *values: Loosened, before: Plan | None = None) -> tuple[str, ...]:
    """The sentences about a change of policy; without `before` it changes no decision."""
    return tuple(one.message for one in consequences(preview(plan, *values, before=before)))


def preview(plan: Plan, *values: Loosened, before: Plan | None = None, **changed: object) -> Preview:
    """The plan under two policies."""
    side = PreviewSide(source="x")
    shown = Preview(base=side, head=side, plan=plan, loosened=values, comparison=compare_plans(before or plan, plan))
    return msgspec.structs.replace(shown, **changed)


def graded(shown: Preview) -> list[tuple[str, str]]:
    return [(one.grade.value, one.code.value) for one in consequences(shown)]


def with_group(plan: Plan, group: str, /, **changed: object) -> Plan:
    """The plan with other facts of one group."""
    return msgspec.structs.replace(
        plan, groups=tuple(msgspec.structs.replace(line, **changed) if line.name == group else line for line in plan.groups)
    )


MODE = looser("mode", "Observe", "Enforce")


def test_it_starts_writing(mixed_plan: Plan):
    """Observe -> Enforce comes before values that loosen, with the number of actions that follow now and of nodes that move."""
    shown = preview(
        mixed_plan, looser("size.max", "4", "5", "big"), MODE, impact_after=Impact(nodes_gone=("a", "b"), nodes_joined={"g": 1})
    )
    first = consequences(shown)[0]
    assert first.message == (
        "This turns writing on, mode Observe -> Enforce. 2 actions follow now. Until the steady state, 2 nodes removed and "
        "1 node added."
    )
    assert first.data == {"groups": (), "discovered": False, "actions": 2, "nodesAdded": 1, "nodesRemoved": 2}
    assert plain_sentence(headline(shown)) == "Turns writing on: 2 nodes removed and 1 node added"
    quiet = msgspec.structs.replace(mixed_plan, actions=())
    one = looser("mode", "Observe", "Enforce", "big")
    assert told(quiet, one) == (
        "This turns writing on for big, mode Observe -> Enforce. No action follows now. Until the steady state, no node comes or "
        "goes.",
    )


def test_above_everything_in_a_pull_request(mixed_plan: Plan):
    """In markdown the sentence is an alert above the figures; on a terminal it is marked."""
    shown = preview(mixed_plan, MODE)
    text = preview_markdown(shown)
    assert text.index("> [!CAUTION]\n> - This turns writing on") < text.index("Unchanged: nodes in steady state (")
    assert "\n  ! This turns writing on, mode Observe -> Enforce." in preview_text(shown)


def test_a_caution_names_the_values_that_may_cause_it(mixed_plan: Plan):
    """Next to the first caution, those of its groups first; two are cut and counted. JSON has the sentence without them."""
    changes = [PolicyChange(kind="NodeGroupPolicy", name="prod", path=f"pace.x{at}", before="1", after="2") for at in range(4)]
    own = PolicyChange(kind="NodeGroup", name="small", path="scaleDown.unneededTime", before="10m")
    gone = Impact(nodes_gone=("s1",))
    lines = (NodeLine(node="s1", group="small", state=NodeState.EMPTY, removable=True, utilization_permille=0),)
    shown = msgspec.structs.replace(
        preview(msgspec.structs.replace(mixed_plan, nodes=lines)), impact_after=gone, changes=(*changes, own)
    )
    cause = (
        " This PR changes scaleDown.unneededTime 10m -> unset (inherited) (small), pace.x0 1 -> 2, pace.x1 1 -> 2 and 2 "
        "more values."
    )
    (caution, *_) = consequence_alarms(shown)
    assert [plain_sentence(line) for line in caution.lines] == [f"Removed nodes: small (1).{cause}"]
    assert consequences(shown)[0].message == "1 more node is removed (0 -> 1): small (1)."


def test_loosened(mixed_plan: Plan):
    """What loosens comes before what may; each with the groups that it reaches."""
    assert told(
        mixed_plan,
        looser("budgets[a].nodes", "1", "2"),
        looser("size.max", "40", "60", "big", "small"),
        looser("limits[cluster].max.nodes", "9", "unset"),
        looser("windows[0 7 * * *].duration", "1h", "2h", "big", certain=False),
        looser("brandNew", "1", "2"),
    ) == (
        "This loosens brandNew 1 -> 2.",
        "This loosens limits[cluster].max.nodes 9 -> unset.",
        "big, small may grow to 60 nodes (was 40).",
        "Budget a lets 2 nodes leave at a time (was 1).",
        "This may loosen windows[0 7 * * *].duration 1h -> 2h (big).",
    )


@pytest.mark.parametrize(("value", "words"), [
    (looser("hold", "recovering disk", "unset", "big"), "The hold of big is removed (recovering disk)."),
    (looser("windows[night]", "absent", "added", "big", certain=False), "Window night of big is added."),
    (looser("limits[cluster].max.cpu", "10", "20"), "Limit cluster allows 20 cpu (was 10)."),
    (looser("discovery[all].clusterAPI.namespaces", "[capi]", "unset", certain=False),
     "Discovery rule all finds targets in all namespaces (was [capi])."),
    (looser("discovery[all].clusterAPI.namespaces", "[a]", "[b]", certain=False),
     "This may loosen discovery[all].clusterAPI.namespaces [a] -> [b]."),
])  # fmt: skip
def test_what_may_happen_from_now_on(mixed_plan: Plan, value: Loosened, words: str):
    """In words of a reviewer, where a value has some."""
    assert told(mixed_plan, value) == (words,)
    if value.certain:
        line = plain_sentence(headline(preview(mixed_plan, value)))
        assert line == f"{words[:-1]}: no decision changes"


def test_budgets_that_are_removed_are_one_line(mixed_plan: Plan):
    """Where none is left, the built-in one applies, as the reference of policies says: a tenth drained at a time."""
    lost = [looser(f"budgets[{name}]", "present", "removed", certain=False) for name in ("empty", "drained")]
    shown = preview(mixed_plan, *lost)
    (warnings,) = consequence_alarms(shown)
    assert [plain_sentence(line) for line in warnings.lines] == [
        "Budgets drained, empty are removed, and all empty nodes may be removed."
    ]
    assert (
        plain_sentence(headline(shown)) == "Without budgets, up to 10% of the nodes may be drained at a time: no decision changes"
    )


def test_another_price_of_the_same_nodes_is_no_decision(mixed_plan: Plan):
    """The figures tell the cost, the headline does not."""
    cost = msgspec.structs.replace(mixed_plan.cost, settled_per_hour="9.00")
    after = msgspec.structs.replace(with_group(mixed_plan, "general-a", price_per_hour="0.9"), cost=cost)
    shown = preview(after, before=with_group(mixed_plan, "general-a", price_per_hour="0.6"))
    assert plain_sentence(headline(shown)) == "Price of general-a corrected from 0.6 to 0.9: no decision changes"


def test_of_one_field_the_value_that_goes_furthest_comes_first(mixed_plan: Plan):
    """Twelve groups get one node more, and between them one gets 9000 and one has no unneeded time left."""
    values = [looser("size.max", f"{most}", f"{most + 1}", f"a{most}") for most in range(10, 22)]
    values += [looser("scaleDown.unneededTime", f"{most}m", f"{most - 1}m", f"a{most}") for most in range(10, 22)]
    values += [looser("size.max", "17", "9000", "z"), looser("scaleDown.unneededTime", "30m", "0s", "z")]
    (warnings,) = consequence_alarms(preview(mixed_plan, *values))
    assert [plain_sentence(line) for line in warnings.lines] == [
        "This loosens 13 values of size.max, such as: z may grow to 9000 nodes (was 17).",
        "This loosens 13 values of scaleDown.unneededTime, such as: nodes of z may be removed after 0s unneeded (was 30m).",
    ]


def test_further_is_told_by_the_ratio(mixed_plan: Plan):
    """From nothing and to nothing is further than any number; a percentage is as far as a number."""
    values = [
        looser("budgets[b].nodes", "10%", "20%"), looser("budgets[a].nodes", "10", "11"), looser("budgets[d].nodes", "0", "1"),
        looser("budgets[c].nodes", "1", "5"),
    ]  # fmt: skip
    assert told(mixed_plan, *values) == (
        "Budget d lets 1 node leave at a time (was 0).",
        "Budget c lets 5 nodes leave at a time (was 1).",
        "Budget b lets 20% of the nodes leave at a time (was 10%).",
        "Budget a lets 11 nodes leave at a time (was 10).",
    )


def test_values_that_reach_no_group_are_notes(mixed_plan: Plan):
    empty = msgspec.structs.replace(mixed_plan, groups=())
    value = looser("limits[cluster].max.nodes", "9", "unset")
    assert graded(preview(mixed_plan, value)) == [("warning", "Loosens")]
    assert graded(preview(empty, value)) == [("note", "Loosens")]
    assert graded(preview(empty, looser("adoptFrom", "unset", "[kubectl]"))) == [("note", "TakesOver")]


def test_groups_that_discovery_finds(mixed_plan: Plan):
    begins = msgspec.structs.replace(looser("mode", "Observe", "Enforce"), discovered=True)
    assert told(mixed_plan, begins)[0].startswith("This turns writing on for what discovery finds, mode Observe -> Enforce.")
    value = msgspec.structs.replace(looser("size.max", "4", "5", "big"), discovered=True)
    assert told(mixed_plan, value) == ("big and what discovery finds may grow to 5 nodes (was 4).",)


def test_takes_over(mixed_plan: Plan):
    """A caution where a group is taken over that is not today, whatever lets it; a warning where none is."""
    value = looser("adoptFrom", "unset", "[kubectl]")
    assert graded(preview(mixed_plan, value)) == [("warning", "TakesOver")]
    spot = next(line for line in mixed_plan.groups if line.name == "spot-b")
    held = with_group(mixed_plan, "spot-b", owner=mixed_plan.groups[0].owner, held=True)
    found = consequences(preview(mixed_plan, value, before=held))[0]
    assert (found.grade, found.code, found.data["groups"]) == (Grade.CAUTION, Code.TAKES_OVER, ("spot-b",))
    assert found.message == "This takes over spot-b from kubectl, kubectl-scale."
    adopt = Action(
        kind=ActionKind.ADOPT, group="spot-b", target=spot.target, from_=3, to=3, bound=BOUND, reason=mixed_plan.actions[0].reason
    )
    adopts = msgspec.structs.replace(mixed_plan, actions=(adopt, *mixed_plan.actions))
    assert graded(preview(adopts, before=mixed_plan)) == [("caution", "TakesOver")]
    assert graded(preview(mixed_plan, before=adopts)) == []


def test_the_steady_state_is_held_against_today(mixed_plan: Plan):
    """The same steady state is no consequence, however far it is from now. 10 nodes settle, 3 more in the other plan."""
    assert told(mixed_plan) == ()
    first = mixed_plan.groups[0]
    before = with_group(mixed_plan, first.name, settled=(first.settled or 0) + 3)
    assert told(mixed_plan, before=before) == ("10 nodes in steady state instead of 13.",)
    assert told(before, before=mixed_plan) == ("13 nodes in steady state instead of 10.",)
    assert graded(preview(before, before=mixed_plan)) == [("note", "NodesInSteadyState")]


def test_a_huge_steady_state_is_in_the_headline(mixed_plan: Plan):
    """Where the cost makes the line too long, the nodes are told without it: 10 nodes settle, 100,000 more in this PR."""
    first = mixed_plan.groups[0]
    cost = msgspec.structs.replace(mixed_plan.cost, settled_per_hour="90000000.00")
    after = msgspec.structs.replace(with_group(mixed_plan, first.name, settled=(first.settled or 0) + 100_000), cost=cost)
    shown = preview(after, looser("size.max", "4", "100000", "big"), before=mixed_plan)
    assert plain_sentence(headline(shown)) == "big may grow to 100000 nodes (was 4): h100 2 -> 100002 nodes"


def test_a_group_that_leaves_keeps_its_size_and_its_cost(mixed_plan: Plan):
    """Its target is no longer sized: it stays at its 4 nodes. Where 6 would settle, two are fewer: 2 x 0.5 x 730 h = 730."""
    leaving = msgspec.structs.replace(
        mixed_plan.groups[1], name="leaving", target="MachineDeployment prod/leaving", current=4, desired=6, settled=6,
        price_per_hour="0.5",
    )  # fmt: skip
    cost = msgspec.structs.replace(mixed_plan.cost, settled_per_hour="8.028")
    before = msgspec.structs.replace(mixed_plan, groups=(leaving, *mixed_plan.groups), cost=cost)
    shown = preview(mixed_plan, before=before)
    assert graded(shown) == [("warning", "GroupsLeave"), ("note", "NodesInSteadyState"), ("note", "CostPerMonth")]
    assert consequences(shown)[0].message == "leaving leaves the policy: its target keeps its size, and nothing scales it."
    nodes, *_, cost_row = change_figures(shown)
    assert (nodes.today, nodes.after, nodes.change) == (16, 14, -2)
    assert (cost_row.today, cost_row.after, cost_row.change) == ("5860.44", "5130.44", "-730.00")
    assert cost_row.cells() == ("$5,860.44", "$5,130.44", "-$730.00")
    told = "leaving leaves the policy, 14 nodes in steady state instead of 16, -$730.00 per month"
    assert plain_sentence(headline(shown)) == told


def test_a_request_that_is_taken_back_is_no_node(mixed_plan: Plan):
    """Of 4 replicas of general-a one is a request that never became a node. Today it stays, after the change it is taken back:
    the same 3 nodes are there, at the same cost, and none joins or goes."""
    before = with_group(mixed_plan, "general-a", desired=4, settled=4)
    back = Action(
        kind=ActionKind.CANCEL, group="general-a", target="x", from_=4, to=3, bound=BOUND, reason=mixed_plan.actions[0].reason
    )
    after = with_group(mixed_plan, "general-a", desired=3, settled=3)
    after = msgspec.structs.replace(
        after, actions=(back, *mixed_plan.actions), cost=msgspec.structs.replace(mixed_plan.cost, settled_per_hour="4.26")
    )
    shown = preview(after, before=before, impact_before=Impact(nodes_joined={"general-a": 1}))
    assert [(figure.today, figure.after) for figure in change_figures(shown)] == [
        (7, 7), (0, 0), (0, 0), ("3109.80", "3109.80"),
    ]  # fmt: skip
    assert graded(shown) == []
    assert "general-a: new nodes" not in preview_text(shown)


def test_a_renamed_group_neither_comes_nor_leaves(mixed_plan: Plan):
    renamed = with_group(mixed_plan, "quiet", name="calm")
    assert graded(preview(renamed, before=mixed_plan)) == []
    assert change_figures(preview(renamed, before=mixed_plan))[0].change == 0


@pytest.mark.parametrize(("mode", "grade"), [("Observe", "note"), ("Enforce", "warning")])
def test_a_group_that_comes_is_written_to_where_the_policy_writes(mixed_plan: Plan, mode: str, grade: str):
    new = GroupLine(name="new", target="x/new", tier="", current=2, desired=2, min=0, max=4, owner=mixed_plan.groups[1].owner)
    after = msgspec.structs.replace(mixed_plan, mode=mode, groups=(*mixed_plan.groups, new))
    assert graded(preview(after, before=mixed_plan)) == [(grade, "GroupsCome")]


def test_held_groups_and_new_problems_are_warnings(mixed_plan: Plan):
    problem = PlanProblem(code="X", object="Pod a/b", message="something is wrong")
    after = msgspec.structs.replace(with_group(mixed_plan, "quiet", held=True), problems=(*mixed_plan.problems, problem))
    assert [(one.grade, one.message) for one in consequences(preview(after, before=mixed_plan))] == [
        (Grade.WARNING, "quiet becomes held: nothing is written to it."),
        (Grade.WARNING, "1 new problem: Pod a/b: something is wrong [X]"),
    ]


def test_more_pods_without_a_node_and_more_evictions(mixed_plan: Plan):
    shown = preview(
        mixed_plan,
        impact_before=Impact(waiting=("a/1",), evicted_settled=("a/1",)),
        impact_after=Impact(waiting=("a/1", "a/2"), evicted_settled=("a/1", "a/2", "a/3")),
    )
    assert [(one.grade, one.message) for one in consequences(shown)] == [
        (Grade.CAUTION, "1 more pod has nowhere to run (1 -> 2): a/2."),
        (Grade.CAUTION, "2 more evictions (1 -> 3): a/2, a/3."),
    ]
    assert plain_sentence(headline(shown)) == "1 more pod has nowhere to run, 2 more evictions"
    calmer = msgspec.structs.replace(shown, impact_before=shown.impact_after, impact_after=shown.impact_before)
    assert graded(calmer) == [("note", "PodsPlaced")]


def test_data_that_an_eviction_loses(mixed_plan: Plan):
    """Evictions that lose nothing are told after those that do."""
    shown = preview(
        mixed_plan,
        impact_before=Impact(evicted_settled=("a/1",), data_lost=("a/1",)),
        impact_after=Impact(evicted_settled=("a/1", "a/2", "a/3"), data_lost=("a/1", "a/3")),
    )
    assert [(one.code, one.message) for one in consequences(shown)] == [
        ("DataLost", "1 more pod loses data on its node (emptyDir, hostPath): a/3."),
        ("Evictions", "2 more evictions (1 -> 3): a/2, a/3."),
    ]


def test_a_pod_that_loses_its_place_to_another_is_a_caution(mixed_plan: Plan):
    """As many wait as today, but others."""
    shown = preview(mixed_plan, impact_before=Impact(waiting=("a/1", "a/2")), impact_after=Impact(waiting=("b/1",)))
    assert [(one.grade, one.message) for one in consequences(shown)] == [
        (Grade.CAUTION, "1 pod loses its place, 2 get one (2 -> 1): b/1."),
    ]


def test_removed_nodes(mixed_plan: Plan):
    """More than today are a caution, others instead of those of today a warning, fewer nothing to fear."""
    shown = preview(mixed_plan, impact_before=Impact(nodes_gone=("n1",)), impact_after=Impact(nodes_gone=("n1", "spot-b-x1")))
    assert [(one.grade, one.message) for one in consequences(shown)] == [
        (Grade.CAUTION, "1 more node is removed (1 -> 2): spot-b (1)."),
    ]
    other = msgspec.structs.replace(shown, impact_after=Impact(nodes_gone=("spot-b-x1",)))
    assert graded(other) == [("warning", "OtherNodesRemoved")]
    fewer = msgspec.structs.replace(shown, impact_before=shown.impact_after, impact_after=shown.impact_before)
    assert graded(fewer) == []


def test_warnings_about_the_policy_are_on_the_first_screen(mixed_plan: Plan):
    """What the files of the change say may be graver than what it does: all of it is below, the first of it here."""
    words = "this change takes replicas 2 out of MachineDeployment capi/general, and they become 1"
    warning = Problem(place=Place("a.yaml", 3, 1), code="ReplicasDropped", message=words, severity=Severity.WARNING)
    shown = preview(mixed_plan, warnings=(warning, warning))
    assert graded(shown) == [("warning", "PolicyWarnings")]
    assert consequences(shown)[0].message == f"2 warnings about the policy, the first: a.yaml:3:1: {words} [ReplicasDropped]"
    assert plain_sentence(headline(shown)) == "2 warnings about the policy, no decision changes"


def test_no_effect(mixed_plan: Plan):
    assert plain_sentence(headline(preview(mixed_plan))) == "No effect: neither the policy nor the decision differs"
    value = looser("size.max", "4", "5", "big")
    assert plain_sentence(headline(preview(mixed_plan, value))) == "big may grow to 5 nodes (was 4): no decision changes"


def test_two_currencies_are_not_compared(mixed_plan: Plan):
    before = msgspec.structs.replace(mixed_plan, cost=msgspec.structs.replace(mixed_plan.cost, currency="EUR"))
    assert change_figures(preview(mixed_plan, before=before))[-1].cells() == ("€3,670.44", "$3,670.44", "unknown")


def test_rest(mixed_plan: Plan):
    """Sizes of 11 are desired and 10 come to rest, as the conftest has them; without settled sizes nothing is said, and nothing
    beside a summary of no action, which says it by itself."""
    assert rest_words(mixed_plan) == "In steady state, 1 node fewer (11 -> 10)."
    quiet = msgspec.structs.replace(mixed_plan, actions=())
    assert rest_words(quiet) == ""
    unknown = tuple(msgspec.structs.replace(group, settled=None) for group in mixed_plan.groups)
    assert rest_words(msgspec.structs.replace(mixed_plan, groups=unknown)) == ""
