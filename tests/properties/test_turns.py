"""Pods that a healthy group of any tier can serve are served within the bound that `explain pod` states."""

import json
import random
from pathlib import Path

import pytest

from reconciler.cli.inputs.plan_inputs import read_policy
from reconciler.control.simulated_run import SimulatedRun
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.turns import turns_of
from reconciler.simulation.scenarios.scenario import read_scenario
from reconciler.simulation.scenarios.start_world import start_world

HOURS, LAST_DEMAND_HOURS = 24, 6


def _pick(rng: random.Random, *values: object) -> object:
    return rng.choice(values)


def _scenario(seed: int) -> list[dict[str, object]]:
    """One to three tiers of one to eight groups with timers at their extremes. One group always has machines; the others are out
    of stock for a while, or for ever. Three times, pods are asked for that fill a node each."""
    rng = random.Random(seed)
    tiers, documents, starts, machines = [], [], [], []
    for tier in range(rng.randint(1, 3)):
        name = f"t{tier}"
        tiers.append({"name": name})
        if rng.random() < 0.3:
            tiers[-1]["returnAfter"] = _pick(rng, "1m", "30m", "24h")
        if rng.random() < 0.2:
            tiers[-1]["share"] = _pick(rng, 20, 33)  # of three tiers 99 at most
        starts += [(name, f"{name}-g{number}") for number in range(rng.randint(1, 8))]
    healthy = rng.choice(starts)[1]
    for tier, name in starts:
        scale_up: dict[str, object] = {}
        if rng.random() < 0.5:
            scale_up["maxNodeProvisionTime"] = _pick(rng, "1m", "5m", "15m", "40m")
        if rng.random() < 0.5:
            first, longest = _pick(rng, ("1s", "1s"), ("5s", "10m"), ("20m", "20m"), ("30m", "2h"))
            scale_up["backoff"] = {"initial": first, "max": longest, "reset": _pick(rng, "1s", "30m", "3h", "48h")}
        size = {"min": _pick(rng, 0, 0, 0, 1, 2), "max": 12}
        target = {"clusterAPI": {"kind": "MachineDeployment", "namespace": "prod", "name": name}}
        documents.append(
            {
                "apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroup",
                "metadata": {"name": name, "namespace": "reconciler"},
                "spec": {"policyRef": {"name": "p"}, "target": target, "tier": tier, "size": size, "scaleUp": scale_up},
            }
        )  # fmt: skip
        begin, end = sorted(rng.sample(range(HOURS + 1), 2))
        gap = _pick(rng, ("0s", "100h"), (f"{begin}h", f"{end}h"))
        stock = [] if name == healthy else [{"from": gap[0], "to": gap[1]}]
        machines.append({"group": name, "joinAfter": "30s", "outOfStock": stock})
    at = sorted(rng.sample(range(1, LAST_DEMAND_HOURS * 60), 3))
    events = [{"at": f"{minute}m", "scale": {"workload": "b/w", "replicas": 2 * number + 3}} for number, minute in enumerate(at)]
    scenario = {
        "apiVersion": "simulation.reconciler.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "turns"},
        "spec": {
            "description": "x", "until": f"{HOURS}h", "interval": "10s", "machines": machines, "events": events,
            "start": {
                "groups": [{"name": name, "nodes": int(name == healthy), "cpu": "4", "memory": "16Gi"} for _, name in starts],
                "workloads": [{"name": "b/w", "replicas": 1, "cpu": 3, "memory": "1Gi"}],
            },
        },
    }  # fmt: skip
    policy = {
        "apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroupPolicy", "metadata": {"name": "p"},
        "spec": {"mode": "Enforce", "tiers": tiers},
    }  # fmt: skip
    return [scenario, policy, *documents]


def longest_wait(seed: int, folder: Path) -> tuple[int, int]:
    """The longest wait of a pod in seconds, and the bound before anything was learned, which only shortens it."""
    path = folder / "scenario.yaml"
    path.write_text("\n---\n".join(json.dumps(document) for document in _scenario(seed)))
    text = read_scenario(path.as_posix(), path.read_bytes())
    world = start_world(text.scenario.spec.start)
    run = SimulatedRun(text, world, read_policy(path, None, world.captured_seconds), {})
    groups = effective_groups(run.cluster.world(), run.current(), run.start_seconds)
    bound = turns_of(groups, Memory()).within_seconds
    for turn in run.turns():
        asked = turn.at_seconds - run.start_seconds > LAST_DEMAND_HOURS * 3600
        if asked and not any(True for _ in run.cluster.objects.pending()):
            break
    pending = [run.cluster.now_seconds - pod.created for pod in run.cluster.objects.pending()]
    return max((run.summary().wait_max_seconds, *pending)), bound


@pytest.mark.seeds(1)
def test_no_pod_waits_longer_than_stated(seed: int, tmp_path: Path):
    longest, bound = longest_wait(seed, tmp_path)
    assert longest <= bound
