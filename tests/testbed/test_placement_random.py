"""Our placement against the real kube-scheduler on seeded random crowds: is anything that we predict to fit left pending?

kube-scheduler chooses among fitting nodes by score and by lot, so that after a few hundred unlike pods two correct
placements can leave different pods over. So pods come in the order in which demand is served, and before each step our state
takes over where kube-scheduler put the earlier pods (`lockstep`): a prediction is always made for the cluster that
kube-scheduler then sees. What is compared does not hang on which of several fitting nodes it chooses:

- Under node-local rules a step is all pods of one kind. However they are dealt out, the number of equal pods that fit is
  the same: the sum over nodes of what each takes. So that many must be bound, by our `place`, neither more nor less.
- Under spread and anti-affinity a step is one pod: it fits somewhere or it does not. Pods that are refused are deleted, so
  that none of them comes back when a later pod has moved a floor. Where one rule alone counts, the total of all pods of the
  kind is independent of the choices as well, and is compared with what `place` said at its beginning.
- Both ways: a bound pod is on a node where our verdict in that state was yes, and after everything has settled no pod that
  is left pending fits anywhere by our verdict on the captured cluster, while every bound pod fits where it is, were it not
  there yet. (Room only shrinks under node-local rules, so what was refused at any time is refused in the end.)
"""

from typing import NamedTuple

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.scheduling.fit import fit
from reconciler.scheduling.state import SchedulingState
from tests.differential.generator.draft import ZONE
from tests.testbed.capture import captured
from tests.testbed.control_plane import ControlPlane
from tests.testbed.counting_crowd import counting_crowd
from tests.testbed.crowd import node_local_crowd
from tests.testbed.lockstep import Lockstep, Step, lockstep

_CROWD, _COUNTING = "crowd", "counting"
_KINDS, _OF_EACH_KIND = 80, 25
_APPS, _OF_EACH_APP = 24, 16


class NodeLocal(NamedTuple):
    """One step a kind, and the cluster after all of them."""

    steps: list[Step]
    settled: World


class Total(NamedTuple):
    """What `place` said of all pods of one app at the beginning, and how many were bound in the end."""

    app: str
    predicted: int
    bound: int


class Counting(NamedTuple):
    """One step a pod (those after a refused one of the same app together), and totals where they hang on no choice."""

    steps: list[Step]
    totals: list[Total]


@pytest.fixture(scope="module")
def node_local(control_plane: ControlPlane) -> NodeLocal:
    """2,000 pods that look at nothing but the node, on about 200 nodes that they nearly fill."""
    with lockstep(control_plane, _CROWD, node_local_crowd(_CROWD, _KINDS, _OF_EACH_KIND)) as together:
        steps = [together.step(shape, names) for shape, names in together.kinds()]
        return NodeLocal(steps, read_snapshot(captured(control_plane.api)))


@pytest.fixture(scope="module")
def counting(control_plane: ControlPlane) -> Counting:
    """Several hundred pods under spread and anti-affinity, one after the other."""
    with lockstep(control_plane, _COUNTING, counting_crowd(_COUNTING, _APPS, _OF_EACH_APP)) as together:
        steps: list[Step] = []
        totals = []
        for shape, names in together.kinds():
            predicted = together.predicted(shape, len(names))
            taken = _one_by_one(together, shape, names)
            steps += taken
            if _hangs_on_no_choice(together, shape):
                totals.append(Total(names[0], predicted, sum(len(step.bound) for step in taken)))
        return Counting(steps, totals)


def _one_by_one(together: Lockstep, shape: int, names: list[str]) -> list[Step]:
    steps = []
    for index, name in enumerate(names):
        steps.append(together.step(shape, [name]))
        if not steps[-1].bound:
            # Nothing has changed for the others of the app: no pod of it fits now.
            if names[index + 1 :]:
                steps.append(together.step(shape, names[index + 1 :]))
            together.remove(names[index:])
            break
    return steps


def _hangs_on_no_choice(together: Lockstep, shape: int) -> bool:
    """One rule of its own; or spread over zones where each host takes one pod, so that a zone has room for a fixed number."""
    pod = together.shape(shape)
    if len(pod.spread) + len(pod.anti_affinity) == 1:
        return True
    return len(pod.spread) == 1 and pod.spread[0].topology_key == ZONE and pod.anti_affinity[0].topology_key != ZONE


def _wrongly_predicted(steps: list[Step]) -> list[tuple[str, int, int]]:
    return [(step.pods[0], step.predicted, len(step.bound)) for step in steps if step.predicted > len(step.bound)]


def _decisive(steps: list[Step]) -> set[str]:
    return {plugin for step in steps for plugin in step.decisive}


def test_node_local_crowd_nearly_fills_the_nodes(node_local: NodeLocal) -> None:
    """2,000 pods were decided, some hundred of them stay pending, and each rule is what alone keeps some pod off some node."""
    assert sum(len(step.pods) for step in node_local.steps) == 2000
    assert 200 <= 2000 - sum(len(step.bound) for step in node_local.steps) <= 800
    assert _decisive(node_local.steps) >= {"NodeAffinity", "NodePorts", "NodeResourcesFit", "TaintToleration"}


def test_nothing_predicted_to_fit_is_left_pending_under_node_local_rules(node_local: NodeLocal) -> None:
    """Of 2,000 pods none that our placement finds room for is left pending by kube-scheduler."""
    assert _wrongly_predicted(node_local.steps) == []


def test_nothing_bound_was_predicted_to_wait_under_node_local_rules(node_local: NodeLocal) -> None:
    """kube-scheduler binds no pod more than our placement does, and none where our verdict is no."""
    assert [step.pods[0] for step in node_local.steps if len(step.bound) > step.predicted or step.against_us] == []


def test_what_is_left_pending_fits_nowhere_in_the_settled_cluster(node_local: NodeLocal) -> None:
    """By our verdict on the captured cluster no pod that kube-scheduler left pending fits on any node."""
    bound = {name for step in node_local.steps for name in step.bound}
    answers = {item.pod: item for item in fit(node_local.settled, messages=False) if item.pod.startswith(f"{_CROWD}/")}
    assert len(answers) == 2000 - len(bound)
    assert [pod for pod, item in answers.items() if not all(node.rejections for node in item.nodes)] == []


def test_what_is_bound_fits_where_it_is_in_the_settled_cluster(node_local: NodeLocal) -> None:
    """By our verdict on the captured cluster without it, every pod that kube-scheduler bound fits on its node."""
    world, state = node_local.settled, SchedulingState(node_local.settled)
    bound = [pod for pod in range(len(world.pods)) if world.pods.namespace[pod] == _CROWD and world.pods.node[pod] >= 0]
    assert len(bound) == sum(len(step.bound) for step in node_local.steps)
    misfits = []
    for pod in bound:
        mark = state.mark()
        state.unbind(world.pods.shape[pod], world.pods.node[pod])
        if not state.fits(world.pods.shape[pod], world.pods.node[pod]):
            misfits.append(world.pods.name[pod])
        state.undo(mark)
    assert misfits == []


def test_counting_crowd_waits_for_its_rules(counting: Counting) -> None:
    """Several hundred pods were decided, many of them refused, spread and anti-affinity each alone keeping some off a node."""
    assert sum(len(step.pods) for step in counting.steps) == _APPS * _OF_EACH_APP
    assert 50 <= sum(len(step.pods) - len(step.bound) for step in counting.steps) <= 300
    assert _decisive(counting.steps) >= {"InterPodAffinity", "PodTopologySpread"}


def test_nothing_predicted_to_fit_is_left_pending_under_spread_and_anti_affinity(counting: Counting) -> None:
    """Placed in our order, no pod that we find a node for is left pending by kube-scheduler."""
    assert _wrongly_predicted(counting.steps) == []


def test_nothing_bound_was_predicted_to_wait_under_spread_and_anti_affinity(counting: Counting) -> None:
    """Placed in our order, no pod is bound that we find no node for, and none where our verdict is no."""
    assert [step.pods[0] for step in counting.steps if len(step.bound) > step.predicted or step.against_us] == []


def test_as_many_pods_of_an_app_are_bound_as_one_placement_says(counting: Counting) -> None:
    """Where the total hangs on no choice of nodes, it is what `place` says of all pods of the app at once."""
    assert len(counting.totals) >= _APPS // 2
    assert [total for total in counting.totals if total.predicted != total.bound] == []
