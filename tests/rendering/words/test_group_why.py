"""Each line of a group that changes says why and what bounds it, in every format."""

import re

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.cost_choices import LeastCostMix
from reconciler.plan.picture import Picture, Pictures
from reconciler.plan.plan import Plan
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Budget, GroupFields, Hold, Limit, PolicySet, ScaleDown
from reconciler.rendering.printers.html.plan import plan_html
from reconciler.rendering.printers.markdown.plan import plan_markdown
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.rendering.words.group_whys import further_reasons
from tests.builders import NOW, ClusterBuilder, node_group, policy

NO_PICTURES = Pictures(now=Picture(nodes=(), waiting=0))
AT_ONCE = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0))
LATER = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=600))


def grown(pods: int, rules: PolicySet) -> Plan:
    """One full node of four cores, and pods of four cores that wait."""
    cluster = ClusterBuilder()
    cluster.group("web", nodes=1)
    cluster.pods("full", 1, cpu="4", on="web-1")
    cluster.pods("new", pods, cpu="4")
    return decide(cluster.world(), rules, Memory(), NOW)[0]


def shrunk(rules: PolicySet) -> Plan:
    """Four empty nodes and a full one."""
    cluster = ClusterBuilder()
    cluster.group("web", nodes=5)
    cluster.pods("full", 1, cpu="4", on="web-1")
    return decide(cluster.world(), rules, Memory(), NOW)[0]


def at_rest(plan: Plan, size: int) -> Plan:
    """The plan with the size at which its group comes to rest."""
    return msgspec.structs.replace(plan, groups=(msgspec.structs.replace(plan.groups[0], settled=size),))


CPU = Limit(name="cores", max=(("cpu", 12_000),))
KEPT = Limit(name="least", min=(("cpu", 8_000),))
CASES = {
    # What the pods ask for is had.
    "pods": (grown(2, policy(node_group("web"))), "2 pending pods", ""),
    # Five are asked for, the range ends at three.
    "max": (grown(4, policy(node_group("web", max=3))), "2 pending pods", "at max 3"),
    # Twelve cores are three nodes.
    "limit": (grown(4, policy(node_group("web"), limits=(CPU,))), "2 pending pods", "limit cores"),
    "empty": (shrunk(policy(node_group("web"), budgets=(Budget(percent=100),), defaults=AT_ONCE)), "4 empty", ""),
    "min": (shrunk(policy(node_group("web", min=3), budgets=(Budget(percent=100),), defaults=AT_ONCE)), "2 empty", "at min 3"),
    "budget": (shrunk(policy(node_group("web"), budgets=(Budget(nodes=1),), defaults=AT_ONCE)), "1 empty", "budget used up"),
    # Eight cores are two nodes.
    "limit's minimum": (
        shrunk(policy(node_group("web"), limits=(KEPT,), budgets=(Budget(percent=100),), defaults=AT_ONCE)),
        "3 empty",
        "minimum of a limit",
    ),
    "below min": (grown(0, policy(node_group("web", min=2))), "below min 2", ""),
    "timer": (at_rest(shrunk(policy(node_group("web"), defaults=LATER)), 1), "4 empty nodes wait", ""),
    "hold": (grown(1, policy(node_group("web", hold=Hold(reason="repair", until_seconds=NOW + 60)))), "held, would go to 2", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_reason_and_bound(case: str):
    """The row of the text, the line and the row of the markdown, and the cell of the page."""
    plan, cause, bound = CASES[case]
    said = f"{cause}, {bound}" if bound else cause
    (row,) = (line for line in plan_text(plan, width=0).splitlines() if re.match(r"  . web +\d", line))
    assert row.endswith(f"  {said}")
    markdown = plan_markdown(plan)
    assert f"| `{said}` |" in markdown
    (line,) = (line for line in markdown.split("```diff")[1].split("```")[0].splitlines() if line[2:5] == "web")
    (cell,) = re.findall(r'data-as="Why"[^>]*>(.*?)</td>', plan_html(plan, NO_PICTURES), re.DOTALL)
    number, _, code = cause.partition(" ")
    for told in (line, cell):
        assert bound in told
        assert (number if number.isdigit() else "") in told
        assert (code if code in ("empty", "empty nodes wait", "pending pods") else "") in told


def test_a_sentence_goes_on_below_itself():
    """Where the row is too narrow its reason takes more lines, under the same heading, and no name is shortened for it."""
    plan = CASES["limit's minimum"][0]
    lines = plan_text(plan, width=60).split("\n\n")[1].splitlines()[1:]
    at = lines[0].index("why")
    assert [line[at:] for line in lines[1:]] == ["3 empty, minimum of a", "limit"]
    assert not lines[2][:at].strip()
    assert max(map(len, lines)) <= 60


def test_a_mix_by_cost_is_told_once():
    """In the reason of what is bought; where the solver is missing, or nothing is bought by cost, the note stands."""
    plan = CASES["pods"][0]
    mix = LeastCostMix(
        mix="2 x web", cost_per_hour="1", new_nodes=2, one_by_one="one group after another", one_by_one_per_hour="2",
        one_by_one_nodes=3, solver=True,
    )  # fmt: skip
    (group,) = plan.groups
    noted = msgspec.structs.replace(group, reasons=(mix.reason(),))
    (bought,) = plan.actions
    by_cost = msgspec.structs.replace(bought, reason=Reason("PendingPods", "2 pods", {"expander": "LeastCost"}))
    greedy = msgspec.structs.replace(noted, reasons=(msgspec.structs.replace(mix, solver=False).reason(),))
    assert further_reasons(noted, (by_cost,)) == ()
    assert further_reasons(noted, (bought,)) == noted.reasons
    assert further_reasons(greedy, (by_cost,)) == greedy.reasons
