"""Taking over, letting go, and what is remembered."""

import html

import msgspec
import pytest
import yaml

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.picture import Picture, Pictures
from reconciler.plan.plan import ActionKind, GroupLine, OwnerState
from reconciler.policy.documents import Discovery, Hold
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.html.plan import plan_html
from reconciler.rendering.printers.text.explanation.group import explain_group
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.rendering.words.next_step import next_block, next_step
from reconciler.rendering.words.wording import held_words
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, of_kind, plan_of

_DECLARED = OwnerEvidence(
    owners=(FieldOwner(manager="capi-topology", operation="Apply"),),
    topology_owned=True,
    topology_deployment="fixed",
    topology_replicas=1,
)

KUBECTL = (FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 9999),)


def test_adoption_is_an_action_of_its_own() -> None:
    """adoptFrom kubectl: Adopt with the manager, before anything else of the group."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=KUBECTL)
    cluster.pods("web", 2, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general"), adopt_from=("kubectl",)))
    assert [action.kind for action in plan.actions] == [ActionKind.ADOPT, ActionKind.RESIZE]
    (adopt,) = of_kind(plan, ActionKind.ADOPT)
    assert (adopt.from_, adopt.to, adopt.reason.data["manager"]) == (1, 1, "kubectl")
    assert group(plan, "general").owner.state is OwnerState.ADOPTABLE


def test_actions_are_bound_to_what_was_judged() -> None:
    """resourceVersion, replicas, the evidence's digest and the policy's digest."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 2, cpu="4")
    (action,) = plan_of(cluster.world(), policy(node_group("general"))).actions
    assert (action.bound.resource_version, action.bound.replicas, action.bound.policy_digest) == ("1", 1, "sha256:test")
    assert action.bound.owner_digest.startswith("sha256:")


def test_a_group_that_left_the_policy_is_released_once() -> None:
    """The target keeps its size; after the release nothing is left to do."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    cluster.group("old", nodes=2, owners=())
    both = policy(node_group("general", min=1), node_group("old", min=2))
    _, memory = decide(cluster.world(), both, Memory(), NOW)
    only = policy(node_group("general", min=1))
    plan, memory = decide(cluster.world(), only, memory, NOW + 10)
    (release,) = plan.actions
    assert (release.kind, release.group, release.from_, release.to) == (ActionKind.RELEASE, "old", 2, 2)
    done = Outcome(kind="Release", group="old", target=release.target, to=2, done=True, at_seconds=NOW + 10)
    plan, _ = decide(cluster.world(), only, settle(memory, (done,)), NOW + 20)
    assert not plan.actions


@pytest.mark.parametrize(("annotations", "released"), [({"reconciler.dev/policy": "test"}, ["old"]), ({}, [])])
def test_our_marks_on_a_target_without_group_are_released_without_memory(
    annotations: dict[str, str], released: list[str]
) -> None:
    """After the loss of the memory the object itself says whose it was; where it does not, nothing is taken off it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    cluster.target("old", 2, annotations=tuple(annotations.items()))
    plan = plan_of(cluster.world(), policy(node_group("general", min=1)))
    assert [(action.kind, action.group) for action in plan.actions] == [(ActionKind.RELEASE, name) for name in released]


def test_a_target_of_another_policy_is_not_released() -> None:
    """Two policies write under one field manager: a target that moved to the other one is left to it, remembered or not."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    cluster.group("old", nodes=2, owners=())
    _, memory = decide(cluster.world(), policy(node_group("general"), node_group("old", min=2)), Memory(), NOW)
    assert len(memory.known_groups) == 2
    cluster.target("old", 2, annotations=(("reconciler.dev/policy", "other"),))
    for known in (memory, Memory()):
        plan, _ = decide(cluster.world(), policy(node_group("general")), known, NOW + 10)
        assert not plan.actions


def test_an_emptied_policy_releases_nothing() -> None:
    """Zero groups where there were some: refused, and said."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    _, memory = decide(cluster.world(), policy(node_group("general")), Memory(), NOW)
    plan, after = decide(cluster.world(), policy(), memory, NOW)
    assert not plan.actions
    assert [problem.code for problem in plan.problems] == ["AllGroupsGone"]
    assert after.known_groups == memory.known_groups


def test_the_same_target_under_a_new_name_keeps_its_timers() -> None:
    """Timers are kept by node, not by group."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    _, memory = decide(cluster.world(), policy(node_group("general")), Memory(), NOW)
    renamed = node_group("renamed", target=node_group("general").target)
    plan, memory = decide(cluster.world(), policy(renamed), memory, NOW + 600)
    assert [action.kind for action in plan.actions] == [ActionKind.REMOVE_NODE]


def test_discovered_groups_need_both_size_annotations_and_an_explicit_group_wins() -> None:
    """Of three targets one has sizes, one has none, one has a document of its own."""
    cluster = ClusterBuilder()
    cluster.target("sized", 1, min_size=1, max_size=4, size_origin="annotations", owners=())
    cluster.target("bare", 1, owners=())
    cluster.target("written", 1, min_size=0, max_size=9, size_origin="annotations", owners=())
    rules = policy(node_group("written", max=2), discovery=(Discovery(name="all", provider="clusterAPI"),))
    plan = plan_of(cluster.world(), rules)
    assert [(line.name, line.min, line.max) for line in plan.groups] == [("sized", 1, 4), ("written", 0, 2)]


def _declared_by_topology(pods: int, **fields: object) -> GroupLine:
    """The group of one full node whose topology declares one replica, with pods of one node each that wait."""
    cluster = ClusterBuilder()
    cluster.group("fixed", nodes=1, evidence=_DECLARED)
    cluster.pods("full", 1, cpu="4", on="fixed-1")
    cluster.pods("web", pods, cpu="3")
    return group(plan_of(cluster.world(), policy(node_group("fixed", max=7, **fields))), "fixed")


def test_a_group_that_its_topology_keeps_from_growing_says_how_to_hand_it_over() -> None:
    """Where to write, the two lines with the bounds of the group, and that one replica stays one."""
    reason = next(reason for reason in _declared_by_topology(2).reasons if reason.code == "FromTopology")
    assert reason.data["where"] == "its Cluster, spec.topology.workers.machineDeployments[name=fixed]"
    assert reason.data["lines"] == (
        "metadata:",
        "  annotations:",
        '    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "0"',
        '    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "7"',
    )
    assert (reason.data["before"], reason.data["after"], reason.data["alone"]) == (1, 1, 1)
    annotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    entry = {"name": "fixed", "metadata": {"annotations": {f"{annotation}-min-size": "0", f"{annotation}-max-size": "7"}}}
    assert yaml.safe_load("\n".join(reason.data["block"])) == {"spec": {"topology": {"workers": {"machineDeployments": [entry]}}}}


@pytest.mark.parametrize("line", [_declared_by_topology(0), _declared_by_topology(2, hold=Hold(reason="being repaired"))])
def test_a_hand_over_is_said_wherever_the_topology_holds(line: GroupLine) -> None:
    """No pods, so that the size would stay; or the group is on hold besides. To adopt from the topology would change nothing."""
    assert "FromTopology" in codes(line)
    assert not any("adoptFrom" in sentence for sentence in (*held_words(line), next_step(line)))
    assert next_block(line)[1:] == (
        "spec:",
        "  topology:",
        "    workers:",
        "      machineDeployments:",
        '        - name: "fixed"',
        "          metadata:",
        "            annotations:",
        '              cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "0"',
        '              cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "7"',
    )


def test_the_block_is_printed_as_it_is_copied() -> None:
    """In a plan of a narrow terminal, on the page, by `explain group` and in the status: whole lines, no word broken."""
    cluster = ClusterBuilder()
    cluster.group("fixed", nodes=1, evidence=_DECLARED)
    world, rules = cluster.world(), policy(node_group("fixed", max=7))
    plan, memory = decide(world, rules, Memory(), NOW)
    (line,) = plan.groups
    page = plan_html(plan, Pictures(now=Picture(nodes=(), waiting=0)))
    explained = "\n".join(explain_group(Case.of(world, rules, plan, NOW, memory), "fixed", 40))
    for text in (plan_text(plan, width=40), explained, html.unescape(page)):
        at = [text.index(part) for part in next_block(line)]
        assert at == sorted(at)
        assert "adoptFrom" not in text


def test_a_topology_declared_group_is_held_with_its_evidence() -> None:
    """Label, managed field and the Cluster's entry, each a sentence."""
    cluster = ClusterBuilder()
    cluster.group("fixed", nodes=1, evidence=_DECLARED)
    cluster.pods("web", 3, cpu="3")
    line = group(plan_of(cluster.world(), policy(node_group("fixed"))), "fixed")
    assert (line.owner.by, line.desired, line.wanted) == ("topology controller", 1, 3)
    assert line.owner.evidence == (
        "label topology.cluster.x-k8s.io/owned is set",
        "managedFields: capi-topology (Apply) owns spec.replicas",
        "Cluster topology machineDeployments[fixed] declares replicas 1",
    )


def test_failures_back_off_by_doubling() -> None:
    """5, 10, 20, 30, 30 minutes, each failure as soon as the wait before is over; during a wait nothing is added."""
    memory = Memory()
    waits = []
    at = NOW
    for _ in range(5):
        failed = Outcome(kind="Resize", group="spot", target="x", to=3, done=False, code="Failed", at_seconds=at)
        memory = settle(memory, (failed,))
        again = settle(memory, (msgspec.structs.replace(failed, at_seconds=at + 1),))
        assert again.backoffs == memory.backoffs
        waits.append(memory.backoffs["spot"].until_seconds - at)
        at = memory.backoffs["spot"].until_seconds
    assert waits == [300, 600, 1200, 1800, 1800]


def test_a_release_says_how_the_topology_takes_replicas_over_again() -> None:
    """Where to write which value, and what another one does; nothing of it where the topology declares replicas already, or where
    no annotations stand for them."""
    ours = (FieldOwner(manager="nodegroup-reconciler", operation="Apply"),)
    owned = OwnerEvidence(topology_owned=True, topology_deployment="old", owners=ours)
    told = []
    for evidence in (owned, msgspec.structs.replace(owned, topology_replicas=2), OwnerEvidence(owners=ours)):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=1, owners=())
        cluster.target("old", 2, evidence=evidence, annotations=(("reconciler.dev/policy", "test"),))
        (release,) = plan_of(cluster.world(), policy(node_group("general", min=1))).actions
        told.append(release.reason.message.partition(". To declare replicas again, ")[2])
    assert told[0] == (
        "in one change of its Cluster, spec.topology.workers.machineDeployments[name=old], remove both size annotations and "
        "declare replicas: 2 (another value is overwritten by the topology controller)"
    )
    assert told[1:] == ["", ""]


def test_a_group_on_hold_is_not_adopted() -> None:
    """It may be, and is once the hold ends."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=KUBECTL)
    held = node_group("general", hold=Hold(reason="repair"))
    plan = plan_of(cluster.world(), policy(held, adopt_from=("kubectl",)))
    assert (plan.actions, group(plan, "general").owner.state) == ((), OwnerState.ADOPTABLE)
    assert len(of_kind(plan_of(cluster.world(), policy(node_group("general"), adopt_from=("kubectl",))), ActionKind.ADOPT)) == 1


@pytest.mark.parametrize(
    ("changed", "state", "said"),
    [
        ({}, OwnerState.HELD, True),
        ({"owners": ()}, OwnerState.UNKNOWN, False),
        ({"deleting": True}, OwnerState.HELD, False),
        ({"paused": "its Cluster is paused"}, OwnerState.HELD, False),
    ],
)
def test_a_hand_over_is_said_where_the_topology_is_what_holds(changed: dict[str, object], state: OwnerState, said: bool) -> None:
    """Not where its controller does not own the field yet, nor on the way out or under a pause; without a hold two nodes more
    would come in every case."""
    cluster = ClusterBuilder()
    cluster.pods("full", 1, cpu="4", on=cluster.group("fixed", nodes=1, evidence=msgspec.structs.replace(_DECLARED, **changed)))
    cluster.pods("web", 2, cpu="3")
    line = group(plan_of(cluster.world(), policy(node_group("fixed"))), "fixed")
    assert (line.owner.state, line.wanted, "FromTopology" in codes(line)) == (state, 3, said)
