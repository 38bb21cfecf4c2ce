"""An empty node of a group that rejects a pod refutes the template that accepts it: another node would not help either."""

from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.demand.remembered_refutations import MOST_REMEMBERED
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import Budget, Expander, PolicySet, Template
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy
from tests.decisions.deciding import codes, group, node, plan_of, pod

WRITTEN = (("cpu", 4000), ("memory", 16 << 30))


def _cluster() -> ClusterBuilder:
    """One group with one empty node of 4 cpu, and a pod that waits for the disk that its template promises."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", memory="16Gi")
    cluster.pods("web", 1, cpu="1", node_selector={"disk": "fast"})
    return cluster


def _grown(cluster: ClusterBuilder, template: Template, *expanders: Expander) -> tuple[int, list[str], str]:
    rules = policy(
        node_group("general", template=template), budgets=(Budget(nodes=0),), expanders=expanders or (Expander.LEAST_WASTE,)
    )
    plan = plan_of(cluster.world(), rules, Memory())
    line = pod(plan, "shop/web-1")
    return group(plan, "general").desired, codes(line), line.reasons[-1].message


FAST = Template(capacity=WRITTEN, labels=(("disk", "fast"),))


@pytest.mark.parametrize("expander", [Expander.LEAST_WASTE, Expander.LEAST_COST])
def test_a_label_that_the_empty_node_lacks(expander: Expander) -> None:
    desired, told, message = _grown(_cluster(), FAST, expander)
    assert (desired, told) == (1, ["NoGroupFits", "TemplateRefuted"])
    assert message == (
        "general would not help: its template accepts the pod, but its empty node general-1 rejects it: "
        "wants disk=fast, but the node has no disk"
    )


def test_a_node_with_pods_refutes_nothing() -> None:
    """Its template may be another one by now: one try is due."""
    cluster = _cluster()
    cluster.pods("base", 1, cpu="3", on="general-1")
    assert _grown(cluster, FAST)[0] == 2


def test_what_goes_with_every_node_takes_its_room() -> None:
    """A static pod of 2 cpu, which the newest node has not: 2 of 4 are left, and the pod needs 3."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4", memory="16Gi")
    cluster.pods("static", 1, cpu="2", on="general-1", owner=None, traits={"mirror": True})
    cluster.pods("full", 1, cpu="4", on="general-2")
    cluster.pods("web", 1, cpu="3")
    desired, told, message = _grown(cluster, Template())
    assert (desired, told) == (2, ["NoGroupFits", "TemplateRefuted"])
    assert message.endswith("needs 3 cpu (2 free)")


def test_what_is_needed_never_looks_like_what_is_free() -> None:
    """A static pod of 8202 of 16384 Mi leaves 8182 Mi, which are 7.99 Gi, and the pod needs 8192."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4", memory="16Gi")
    cluster.pods("static", 1, memory="8202Mi", on="general-1", owner=None, traits={"mirror": True})
    cluster.pods("full", 1, memory="16Gi", on="general-2")
    cluster.pods("web", 1, memory="8Gi")
    assert _grown(cluster, Template())[2].endswith("needs 8Gi memory (7.99Gi free)")


def test_another_group_serves_the_pod() -> None:
    """Its nodes have the disk; the one with the empty node would have come first by name."""
    cluster = _cluster()
    cluster.group("other", nodes=0, cpu="4", memory="16Gi")
    rules = policy(node_group("general", template=FAST), node_group("other", template=FAST), budgets=(Budget(nodes=0),))
    plan = plan_of(cluster.world(), rules, Memory())
    assert (group(plan, "general").desired, group(plan, "other").desired) == (1, 1)
    assert pod(plan, "shop/web-1").outcome is PodOutcome.TRIGGERS_SCALE_UP


# The node is gone, the pod still waits: what is remembered.


def _template(disk: str = "fast", size: str = "4") -> TargetTemplate:
    amount = amounts(size, "16Gi", 110)
    return TargetTemplate(capacity=amount, allocatable=amount, labels=(("disk", disk),), origins=("tags",))


def _seen(
    *,
    node_cpu: str | None,
    promised: str = "4",
    template: TargetTemplate | None = None,
    cpu: str = "1",
    created: int | None = None,
) -> World:
    """A group that promises a disk, with one node that lacks it (None: with none), and a pod that asks for it."""
    cluster = ClusterBuilder()
    ref = cluster.target("general", int(node_cpu is not None), template=template or _template(size=promised))
    if node_cpu is not None:
        labels = {"disk": "fast"} if node_cpu != "4" else {}
        cluster.machine(
            "general-1", ref, node=cluster.node("general-1", node_cpu, "16Gi", labels=labels, created=created or None)
        )
    cluster.pods("web", 1, cpu=cpu, node_selector={"disk": "fast"})
    return cluster.world()


RULES = policy(node_group("general"))
DAY = 86_400


def _again(first: World, then: World, *, rules: PolicySet = RULES, later: int = 60) -> Plan:
    _, memory = decide(first, RULES, Memory(), NOW)
    return plan_of(then, rules, memory, NOW + later)


def test_what_did_not_help_is_not_bought_again_when_the_node_is_gone() -> None:
    plan = _again(_seen(node_cpu="4"), _seen(node_cpu=None))
    line = pod(plan, "shop/web-1")
    assert (group(plan, "general").desired, codes(line)) == (0, ["NoGroupFits", "TemplateRefutedBefore"])
    assert line.reasons[1].message == (
        "general did not help such a pod: its node general-1 rejected it: wants disk=fast, but the node has no disk. "
        "The group is tried again from 2027-01-15T08:05:00Z, or after a change of the policy or the target"
    )


@pytest.mark.parametrize(
    ("seen", "lasts"),
    [((("1",),), 300), ((("1",), ("1",)), 300), ((("1",), ("2",)), DAY), ((("1", "2"),), DAY), ((("1", "2"), ("2",)), DAY)],
    ids=["one node", "one in two turns", "another after it", "two at once", "one of them left"],
)
@pytest.mark.parametrize(("cpu", "size"), [("1", "4"), ("6", "8")], ids=["a label", "the size"])
def test_one_node_counts_for_five_minutes_two_for_a_day(
    seen: tuple[tuple[str, ...], ...], lasts: int, cpu: str, size: str
) -> None:
    """From the last turn in which one was there. In each turn the nodes of `seen` are; none has the disk, nor more than 4 cpu."""
    memory, last = Memory(), NOW + 60 * (len(seen) - 1)
    for turn, numbers in enumerate(seen):
        cluster = ClusterBuilder()
        ref = cluster.target("general", len(numbers), template=_template(size=size))
        for number in numbers:
            labels = {"disk": "fast"} if size == "8" else {}
            name = cluster.node(f"general-{number}", "4", "16Gi", labels=labels, created=NOW)
            cluster.machine(f"general-{number}", ref, node=name)
        cluster.pods("web", 1, cpu=cpu, node_selector={"disk": "fast"})
        _, memory = decide(cluster.world(), RULES, memory, NOW + 60 * turn)
    gone = _seen(node_cpu=None, promised=size, cpu=cpu)
    early, due = (plan_of(gone, RULES, memory, last + lasts + more) for more in (-1, 0))
    assert (group(early, "general").desired, group(due, "general").desired) == (0, 1)


def test_a_node_smaller_than_promised_is_not_bought_again() -> None:
    """8 cpu are promised, 3 came: the pod of 6 fits the template again once the node is gone."""
    plan = _again(_seen(node_cpu="3", promised="8", cpu="6"), _seen(node_cpu=None, promised="8", cpu="6"))
    assert (group(plan, "general").desired, codes(pod(plan, "shop/web-1"))) == (0, ["NoGroupFits", "TemplateRefutedBefore"])


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(lambda: _again(_seen(node_cpu=None), _seen(node_cpu=None)), id="no node came"),
        pytest.param(lambda: _again(_seen(node_cpu="4"), _seen(node_cpu=None), later=DAY), id="a day later"),
        pytest.param(lambda: _again(_seen(node_cpu="4"), _seen(node_cpu=None, cpu="2")), id="another kind of pod"),
        pytest.param(
            lambda: _again(_seen(node_cpu="4"), _seen(node_cpu=None), rules=msgspec.structs.replace(RULES, digest="other")),
            id="another policy",
        ),
        pytest.param(
            lambda: _again(_seen(node_cpu="4"), _seen(node_cpu=None, template=_template(size="5"))), id="another template"
        ),
    ],
)
def test_when_it_is_tried(plan: Callable[[], Plan]) -> None:
    assert group(plan(), "general").desired == 1


@pytest.mark.parametrize(("created", "size"), [(NOW, 1), (NOW + 30, 2)])
@pytest.mark.parametrize("beside", [False, True])
def test_a_later_node_that_would_run_the_pod_counts_more(created: int, size: int, *, beside: bool) -> None:
    """It is full with other pods; the one that refuted the template is gone, or still there."""
    cluster = ClusterBuilder()
    ref = cluster.target("general", 1 + beside, template=_template())
    if beside:
        cluster.machine("general-1", ref, node=cluster.node("general-1", "4", "16Gi", created=NOW))
    name = cluster.node("general-2", "4", "16Gi", labels={"disk": "fast"}, created=created)
    cluster.machine("general-2", ref, node=name)
    cluster.pods("full", 1, cpu="4", on=name)
    cluster.pods("web", 1, cpu="1", node_selector={"disk": "fast"})
    assert group(_again(_seen(node_cpu="4"), cluster.world()), "general").desired == size + beside


def test_what_is_remembered_is_bounded() -> None:
    cluster = ClusterBuilder()
    ref = cluster.target("general", 1, template=_template())
    cluster.machine("general-1", ref, node=cluster.node("general-1", "4", "16Gi"))
    for number in range(MOST_REMEMBERED + 5):
        cluster.pods(f"web-{number}", 1, cpu=f"{number + 1}m", node_selector={"disk": "fast"})
    _, memory = decide(cluster.world(), RULES, Memory(), NOW)
    assert len(memory.refuted) == MOST_REMEMBERED
    assert len(msgspec.json.encode(memory.refuted)) < 50_000


def test_a_node_that_did_not_help_may_go_after_the_usual_time() -> None:
    _, bought = decide(_seen(node_cpu=None), RULES, Memory(), NOW)
    assert bought.purchase is not None
    came = _seen(node_cpu="4", created=NOW + 60)
    _, seen = decide(came, RULES, bought, NOW + 1000)
    plan = plan_of(came, RULES, seen, NOW + 1000 + 600)
    assert node(plan, "general-1").removable
