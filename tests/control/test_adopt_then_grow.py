"""A group that is adopted and grows: what the plan lists, what a turn does and what `apply` says of it follow one rule."""

from reconciler.cli.outputs.run_lines import turn_lines
from reconciler.cluster.target import FieldOwner
from reconciler.control.saved_plans.apply_document import apply_document
from reconciler.control.saved_plans.simulated_apply import SimulatedApply
from reconciler.control.simulated_run import Turn
from reconciler.control.simulated_run_document import run_turn
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, settle
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet
from reconciler.providers.simulated import SimulatedPort
from reconciler.rendering.printers.text.apply import apply_text
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from tests.builders import NOW, ClusterBuilder, node_group, policy

RULES = policy(node_group("general"), adopt_from=("kubectl",))
KUBECTL = FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 9999)


class Source:
    """The policy in force."""

    def current(self) -> PolicySet:
        """Always the same."""
        return RULES


def _cluster() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=(KUBECTL,))
    cluster.pods("web", 2, cpu="4")
    return cluster


def _plan() -> Plan:
    return decide(_cluster().world(), RULES, Memory(), NOW)[0]


def test_the_plan_lists_both_and_says_which_is_the_next_turns() -> None:
    """The size comes one turn after the adoption."""
    text = " ".join(plan_text(_plan()).split())
    assert "adopt MachineDeployment prod/general at 1 replica" in text
    assert "resize 1 -> 2" in text
    assert "the group is adopted first. The next iteration decides its size" in text


def test_a_look_ahead_leaves_growth_to_the_next_turn() -> None:
    """As the loop does: one node is there after the first turn, and the next plan grows the group alone."""
    cluster = SimulatedCluster(_cluster().world(), RULES, NOW)
    writes = SimulatedWrites(cluster)
    plan, memory = decide(cluster.world(), RULES, Memory(), NOW)
    outcomes = execute(plan, cluster, writes)
    assert [(one.kind, one.done) for one in outcomes] == [("Adopt", True)]
    assert [facts.replicas for facts in cluster.world().targets] == [1]
    plan, memory = decide(cluster.world(), RULES, settle(memory, outcomes), NOW + 10)
    outcomes = execute(plan, cluster, writes)
    assert [(one.kind, one.done) for one in outcomes] == [("Resize", True)]
    assert [facts.replicas for facts in cluster.world().targets] == [2]


def test_a_turn_of_the_loop_says_that_growth_is_the_next_ones() -> None:
    """It is no failure, and nothing is skipped for good."""
    cluster = SimulatedCluster(_cluster().world(), RULES, NOW)
    loop = ControlLoop(SimulatedPort(cluster), Source(), InMemoryStore())
    told = run_turn(Turn(at_seconds=NOW, report=loop.turn(), events=(), violations=()), NOW)
    assert told is not None
    lines = list(turn_lines(told))
    assert "adopt general" in lines[0]
    assert "resize general 1 -> 2" in lines[1]
    assert "[Next turn: this iteration has just written MachineDeployment prod/general. The next one decides on it]" in lines[1]


def test_apply_takes_a_further_turn_and_says_so() -> None:
    """Both are done; the second one is told to be of a further turn, in the line and in the count."""
    applied, happened = SimulatedApply(_cluster().world(), RULES, NOW, _plan(), None, DEFAULT_WORK_BUDGET).run()
    document = apply_document(_plan(), applied, NOW, happened)
    assert [(action.kind, action.state, action.later) for action in document.actions] == [
        ("Adopt", "Done", False),
        ("Resize", "Done", True),
    ]
    text = apply_text(document)
    assert "general: resize 1 -> 2, in a further turn" in text
    assert "Applied: 2 of 2 actions, 1 of them in a further turn." in text
