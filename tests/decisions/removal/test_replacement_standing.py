"""Which replacement a node is part of, or what keeps it out of every one."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.replacements.standing import replacement_standing
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Budget, Consolidation, Disruption, PodWeight, PolicySet, ScaleDown, Toggle
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.text.explanation.node import explain_node
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import node

ON = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
LATER = ScaleDown(unneeded_time_seconds=600, consolidation=Consolidation(mode=Toggle.ENABLED))
PICKY = ScaleDown(
    unneeded_time_seconds=0,
    consolidation=Consolidation(mode=Toggle.ENABLED, min_saving_percent=60, min_saving_per_moved_pod="0.01"),
)
OFF = ScaleDown(unneeded_time_seconds=0)


def _cluster(pods: int = 2, **traits: str) -> ClusterBuilder:
    """A node of 16 cores with pods of 3. Two of them need two nodes of 4 for half of the price."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=0, cpu="4")
    cluster.group("big", nodes=1, cpu="16")
    if pods:
        cluster.pods("web", pods, cpu="3", on="big-1", traits=traits)
    return cluster


def _rules(scale_down: ScaleDown, price: str | None = "0.80") -> PolicySet:
    big = node_group("big", price_per_hour=price, scale_down=scale_down)
    return policy(
        node_group("small", price_per_hour="0.20", scale_down=scale_down), big, budgets=(Budget(nodes=100),)
    )  # fmt: skip


def _standing(cluster: ClusterBuilder, rules: PolicySet, memory: Memory | None = None, name: str = "big-1") -> tuple[Reason, ...]:
    world = cluster.world()
    plan, after = decide(world, rules, memory or Memory(), NOW)
    line = node(plan, name)
    group = next((one for one in effective_groups(world, rules, NOW) if one.name == line.group), None)
    return replacement_standing(plan, after, group, line)


def test_a_replacement_of_this_plan() -> None:
    (reason,) = _standing(_cluster(), _rules(ON))
    assert (reason.code, reason.data["savingPercent"]) == ("Repack", 50)


def test_a_replacement_that_waits() -> None:
    (reason,) = _standing(_cluster(), _rules(LATER))
    assert (reason.code, reason.data["nodes"]) == ("CouldBeRepacked", ("big-1",))


@pytest.mark.parametrize(
    ("rules", "traits", "codes"),
    [
        (_rules(OFF), {}, ["ReplacementDisabled"]),
        (_rules(OFF, None), {}, ["ReplacementDisabled", "ReplacementWithoutPrice"]),
        (_rules(ON, None), {}, ["ReplacementWithoutPrice"]),
        (_rules(ON), {"safe_to_evict": "false"}, ["ReplacementBlocked"]),
        (_rules(PICKY), {}, ["ReplacementSavesTooLittle"]),
    ],
)
def test_what_is_missing(rules: PolicySet, traits: dict[str, str], codes: list[str]) -> None:
    assert [one.code for one in _standing(_cluster(**traits), rules)] == codes


def test_the_words_have_the_figures() -> None:
    """The threshold as the policy has it, and the pod that blocks."""
    (reason,) = _standing(_cluster(), _rules(PICKY))
    assert "save 60% (minSavingPercent) and 0.01/h for each moved pod (minSavingPerMovedPod)" in reason.message
    assert "Balanced" not in reason.message
    picky = msgspec.structs.replace(PICKY.consolidation, disruption=Disruption.BALANCED)
    (reason,) = _standing(_cluster(), _rules(msgspec.structs.replace(PICKY, consolidation=picky)))
    assert reason.message.endswith("and as much as the moved pods weigh (disruption: Balanced)")
    (reason,) = _standing(_cluster(safe_to_evict="false"), _rules(ON))
    assert (reason.data["codes"], "web" in reason.message) == (("NotSafeToEvict",), True)


def test_a_replacement_that_pays_too_late() -> None:
    """Two nodes of 0.20 for one of 0.405 save 0.005. Old and new run for 1830 s, and 0.40 x 1830 s / 0.005 are 146400 s."""
    asks = Consolidation(
        mode=Toggle.ENABLED,
        min_saving_percent=1,
        disruption=Disruption.BALANCED,
        pod_weights=(PodWeight(labels=(("app", "web"),), weight=0),),
    )
    (reason,) = _standing(_cluster(), _rules(ScaleDown(unneeded_time_seconds=0, consolidation=asks), "0.405"))
    assert (reason.code, reason.data) == ("ReplacementPaysLate", {"nodes": ("big-1",), "paybackSeconds": 146_400})
    assert reason.message == "the replacement of big-1 does not begin: it pays back in 40h40m, and Balanced allows 24h"


def test_what_was_tried_within_a_day() -> None:
    """Given up: nothing replaces it. New itself: only one new node alone may."""
    (reason,) = _standing(_cluster(), _rules(ON), Memory(given_up={"big-1": NOW - 60}))
    assert (reason.code, reason.data["until"]) == ("ReplacedBefore", "2027-01-16T07:59:00Z")
    codes = [one.code for one in _standing(_cluster(), _rules(ON), Memory(repacked={"big-1": NOW - 60}))]
    assert codes == ["ReplacementSavesTooLittle", "RepackedBefore"]


def _told(rules: PolicySet) -> str:
    world = _cluster().world()
    plan, after = decide(world, rules, Memory(), NOW)
    return "\n".join(explain_node(Case.of(world, rules, plan, NOW, after), "big-1", 0))


def test_explain_node_tells_it() -> None:
    """Once, and nothing where nobody asked for replacements."""
    assert _told(_rules(ON)).count("saves 292.00 a month") == 1
    assert "a replacement with it was found:\n  - big-1 could be replaced by 2 x small" in _told(_rules(LATER))
    assert "it is in no replacement:\n  - no new nodes were found that save 60%" in _told(_rules(PICKY))
    assert "replacement" not in _told(_rules(OFF))


def test_an_empty_node_and_one_of_nobody_are_no_question() -> None:
    cluster = _cluster(0)
    cluster.node("alone")
    assert _standing(cluster, _rules(ON)) == ()
    assert _standing(cluster, _rules(ON), name="alone") == ()


def test_a_search_that_was_cut_short_is_told() -> None:
    """The node may be part of a replacement that nobody looked for."""
    world, rules = _cluster().world(), _rules(ON)
    plan, memory = decide(world, rules, Memory(), NOW, 1)
    groups = tuple(
        msgspec.structs.replace(one, reasons=(Reason("ReplacementsNotExamined", "not compared"),)) for one in plan.groups
    )
    plan = msgspec.structs.replace(plan, groups=groups, actions=())
    group = next(one for one in effective_groups(world, rules, NOW) if one.name == "big")
    line = msgspec.structs.replace(node(plan, "big-1"), blockers=())
    codes = [one.code for one in replacement_standing(plan, memory, group, line)]
    assert codes == ["ReplacementSavesTooLittle", "ReplacementsNotExamined"]
