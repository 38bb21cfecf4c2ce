"""`explain node` names the threshold and the use that the decision went by."""

import random
import secrets

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import ScaleDown
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.nodes import node_findings
from tests.builders import NOW, ClusterBuilder, node_group, policy


@pytest.mark.parametrize("run", range(30))
def test_the_threshold_is_the_one_of_the_decision(run: int) -> None:
    """Random groups with and without accelerators, each with two random thresholds: a node that is used above one of them
    carries both figures as data, and they are those that the explanation shows."""
    seed = secrets.randbits(32)
    draw = random.Random(seed)
    cluster, groups = ClusterBuilder(), []
    for number in range(4):
        gpu = draw.choice((0, 2, 4))
        name = f"group{number}"
        for node in cluster.group(name, nodes=3, gpu=gpu):
            cluster.pods(f"web-{node}", 1, cpu=f"{draw.randrange(1, 40) * 100}m", gpu=draw.randrange(gpu + 1), on=node)
        rules = ScaleDown(
            utilization_threshold_percent=draw.randrange(0, 60), gpu_utilization_threshold_percent=draw.randrange(0, 60)
        )
        groups.append(node_group(name, scale_down=rules))
    world, rules_of_all = cluster.world(), policy(*groups)
    plan, memory = decide(world, rules_of_all, Memory(), NOW)
    case = Case.of(world, rules_of_all, plan, NOW, memory)
    used = 0
    for line in plan.nodes:
        for blocker in line.blockers:
            if blocker.code == "NotUnderutilized":
                used += 1
                explanation = node_findings(case, line.node)
                assert explanation.threshold_percent == blocker.data["thresholdPercent"], seed
                assert max(one.permille for one in explanation.used) == blocker.data["utilizationPermille"], seed
    assert used, seed
