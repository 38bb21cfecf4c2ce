"""Nodes that have less than their group's template says: a pod that fits none of them buys none of their kind."""

import msgspec
import pytest

from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import Came, Memory
from reconciler.decisions.situation.evidence import made_of
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.policy.documents import Size, Template
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy
from tests.decisions.deciding import codes, group, of_kind, plan_of, pod

GI = 1 << 30
FOUR = amounts("4", "16Gi", 110)
TYPE = "node.kubernetes.io/instance-type"
NEW = NOW - 299


def world(
    *cpus: str,
    pods: int = 1,
    ask: str = "3",
    gpus: int = 0,
    stated: Resources = FOUR,
    created: int | None = None,
    outdated: bool | None = None,
    label: str = "",
    template_label: str = "",
    waiting: int = 0,
    extended: int = 0,
    **fields: object,
) -> World:
    """A group whose template says 4 processors, with nodes that have `cpus`, and pods that ask for 3 each."""
    made = ClusterBuilder()
    labels = ((TYPE, template_label),) if template_label else ()
    template = TargetTemplate(capacity=stated, allocatable=stated, labels=labels, origins=("tags",))
    ref = made.target("general", len(cpus) + waiting, template=template, **fields)
    for number, cpu in enumerate(cpus):
        devices = {"gpu": extended} if extended else {}
        name = made.node(f"n{number}", cpu, labels={TYPE: label} if label else {}, created=created, **devices)
        made.machine(name, ref, node=name, created=created)
    for number in range(waiting):
        made.machine(f"w{number}", ref, created=NOW - 10)
    made.pods("web", pods, cpu=ask, **({"gpu": gpus} if gpus else {}))
    found = made.world()
    machines = tuple(msgspec.structs.replace(one, outdated=outdated if one.node else None) for one in found.machines)
    return msgspec.structs.replace(found, machines=machines)


def decided(seen: World, *, template: Template | None = None, least: int = 0) -> Plan:
    written = {"template": template} if template is not None else {}
    return plan_of(seen, policy(node_group("general", size=Size(min=least, max=20), **written)))


def bought(plan: Plan) -> int:
    return sum(action.to - action.from_ for action in of_kind(plan, ActionKind.RESIZE))


@pytest.mark.parametrize("pods", [1, 2, 9])
def test_a_pod_that_no_node_of_the_group_could_take(pods: int) -> None:
    """The template says 4 processors, the node has 2: nothing is bought for pods of 3, and the plan says why."""
    plan = decided(world("2", pods=pods, created=NEW))
    assert bought(plan) == 0
    assert {line.outcome for line in plan.pods} == {PodOutcome.UNPLACEABLE}
    said = next(reason for reason in group(plan, "general").reasons if reason.code == "SmallerThanTemplate")
    assert "cpu 4 and 2" in said.message
    assert "n0" in said.message


def test_what_the_policy_writes_is_no_better_evidence() -> None:
    assert bought(decided(world("2", created=NEW), template=Template(capacity=(("cpu", 4000), ("memory", 16 * GI))))) == 0


def test_as_many_as_the_nodes_show() -> None:
    """Two pods of 1 would fit one node of 4 twice over; of nodes that have 1 each takes one."""
    assert bought(decided(world("1", pods=4, ask="900m"))) == 3


def test_nodes_that_keep_the_word() -> None:
    """Memory that differs by as little as machines of one type do says nothing, and a larger node makes no pod fit that is too
    large for the template."""
    assert bought(decided(world("4", pods=2))) == 1
    plan = decided(world("8", "8", pods=3, ask="5"))
    assert bought(plan) == 0
    assert "SmallerThanTemplate" not in codes(group(plan, "general"))


def test_the_smallest_of_several_counts() -> None:
    """With nodes of 4 and of 2 nobody can say which one comes."""
    assert bought(decided(world("4", "2", pods=2, created=NEW))) == 0


def test_without_nodes_the_template_is_all_there_is() -> None:
    assert bought(decided(world(pods=3))) == 3


def test_a_node_that_is_not_ready_says_nothing() -> None:
    seen = world("2")
    seen = msgspec.structs.replace(seen, nodes=tuple(msgspec.structs.replace(one, ready=False) for one in seen.nodes))
    assert bought(decided(seen)) == 1


@pytest.mark.parametrize(("seconds", "nodes", "more"), [(30, 1, 1), (30, 2, 1), (3600, 1, 3), (3600, 2, 0)])
def test_devices_that_are_still_to_come(seconds: int, nodes: int, more: int) -> None:
    """A driver installs itself for minutes: only nodes that had the time for it say that there is none. One may be broken, and
    its pod gets another; two are no chance."""
    stated = amounts("4", "16Gi", 110, gpu=1)
    # A node that waits for its device is counted as one on its way.
    pods = nodes + 1 if seconds == 30 else 3
    assert bought(decided(world(*["4"] * nodes, stated=stated, created=NOW - seconds, ask="1", gpus=1, pods=pods))) == more


def test_one_node_without_its_device() -> None:
    """What other nodes have is to be had; that one of them lacks it is the trouble of that node."""
    stated = amounts("4", "16Gi", 110, gpu=1)
    seen = world("4", "4", stated=stated, extended=1, ask="4", gpus=1, pods=3)
    bare = msgspec.structs.replace(seen.node_shapes[0], capacity=FOUR, allocatable=FOUR)
    first = msgspec.structs.replace(seen.nodes[0], shape=len(seen.node_shapes))
    seen = msgspec.structs.replace(seen, node_shapes=(*seen.node_shapes, bare), nodes=(first, *seen.nodes[1:]))
    assert bought(decided(seen)) == 2


@pytest.mark.parametrize(
    "known", [{"outdated": True}, {"label": "m5.large", "template_label": "m5.xlarge"}], ids=["version", "machine type"]
)
def test_a_template_that_was_changed_since(known: dict[str, object]) -> None:
    """The present one may be right: one node is bought, and no other before something has come of it."""
    plan = decided(world("2", pods=3, **known))
    assert bought(plan) == 1
    assert "SmallerThanTemplate" not in codes(group(plan, "general"))
    assert "TemplateUntried" in str(plan.pods)
    assert bought(decided(world("2", pods=3, waiting=1, **known))) == 0


def test_a_new_template_that_keeps_its_word() -> None:
    """One of the new kind is there: the older nodes say nothing any more."""
    seen = world("2", "4", pods=4)
    machines = tuple(msgspec.structs.replace(one, outdated=one.node == "n0") for one in seen.machines)
    assert bought(decided(msgspec.structs.replace(seen, machines=machines))) == 3


def test_a_new_template_that_does_not() -> None:
    seen = world("2", "2", pods=4)
    machines = tuple(msgspec.structs.replace(one, outdated=one.node == "n0") for one in seen.machines)
    assert bought(decided(msgspec.structs.replace(seen, machines=machines))) == 0


@pytest.mark.parametrize(
    ("cpus", "ages", "outdated", "nodes", "code"),
    [
        ("2", (299,), None, 0, "SmallerThanTemplate"),
        ("2", (300,), None, 1, "Probing"),
        ("22", (90_000, 86_399), None, 0, "SmallerThanTemplate"),
        ("22", (90_000, 86_400), None, 1, "Probing"),
        ("24", (600, 599), None, 9, "PendingPods"),
        ("42", (600, 599), None, 1, "Probing"),
        ("2", (90_000,), False, 0, "SmallerThanTemplate"),
    ],
)
def test_smaller_nodes_count_for_a_while(cpus: str, ages: tuple[int, ...], outdated: bool | None, nodes: int, code: str) -> None:
    """One for five minutes and two for a day, until a probe is added; a later node as declared overrules them at once. What
    certainly came of the present template counts as long as it is there."""
    seen = world(*cpus, pods=10, outdated=outdated)
    aged = tuple(msgspec.structs.replace(one, created_seconds=NOW - age) for one, age in zip(seen.nodes, ages, strict=True))
    plan = decided(msgspec.structs.replace(seen, nodes=aged))
    assert bought(plan) == nodes
    assert code in codes(group(plan, "general"))
    assert ("SizeDoubtful" in codes(plan.pods[-1])) == (code == "Probing")


def test_a_changed_template_is_tried_at_once() -> None:
    """Two nodes of a purchase came smaller a minute ago. The template that was read then says the same, or another digest."""
    seen, rules = world("2", "2", pods=10, created=NOW - 60), policy(node_group("general", size=Size(max=20)))
    (facts,) = seen.targets
    for template, nodes in ((made_of(rules.digest, facts), 0), ("another", 1)):
        came = Came(asked_seconds=NOW - 99, template=template)
        assert bought(plan_of(seen, rules, Memory(purchases={str(facts.ref): came}))) == nodes


@pytest.mark.parametrize(("newest", "nodes"), [("4", 2), ("2", 0)])
def test_while_a_rollout_runs(newest: str, nodes: int) -> None:
    """Which nodes are of the new revision nobody tells: the newest speaks for it."""
    seen = world("2", newest, pods=3, rolling_out=True)
    aged = tuple(msgspec.structs.replace(one, created_seconds=NOW - 7200 + 60 * number) for number, one in enumerate(seen.nodes))
    assert bought(decided(msgspec.structs.replace(seen, nodes=aged))) == nodes


def test_doctor_still_names_the_nodes() -> None:
    """What `doctor` compares is what was stated."""
    view = View.of(world("2"), policy(node_group("general")), Memory(), NOW, Work(10_000))
    assert "SmallerThanTemplate" in {finding.code for finding in findings(view)}
    assert pod(decided(world("2")), "shop/web-1").outcome is PodOutcome.UNPLACEABLE
