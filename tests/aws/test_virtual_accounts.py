"""Random accounts in virtual time: zone-pinned pods, stock that ends, slow answers, old reads, refusals, restarts. Invariants are
checked at every iteration. A failing seed gives the same run again."""

import os
import random
from collections import Counter

import msgspec

from tests.aws.documents import REGION
from tests.aws.service.answering import LOST
from tests.aws.service.protocol import ServiceError
from tests.aws.service.state import Group, Instance
from tests.aws.virtual_world import ZONE, VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers

_RUNS = int(os.environ.get("AWS_RUNS", "1"))
_FIRST = int(os.environ.get("AWS_SEED", "1"))
_MOST_STATE_BYTES, _MOST_CALLS = 60_000, 120
_WRITES = ("SetDesiredCapacity", "CreateOrUpdateTags", "TerminateInstanceInAutoScalingGroup", "SetInstanceProtection")


def account(seed: int) -> tuple[VirtualWorld, list[str]]:
    """A world that changes by the dice of this seed, and what went wrong in it."""
    dice, wrong = random.Random(seed), list[str]()
    groups = [workers(name, desired=0, max_size=dice.randint(3, 12), zones=dice.randint(1, 2)) for name in ("spot", "general")]
    for group in groups:
        # Auto Scaling ends instances to even out zones, and drains no node.
        group.suspended.add("AZRebalance")
    policy = policy_text(group_policy("spot", tier="spot"), group_policy("general"), tiers="spot general")
    world = VirtualWorld(policy, *groups, interval_seconds=dice.choice((5, 10, 30)))
    slowest, oldest = dice.uniform(0, 2), dice.uniform(0, 25)
    world.service.latency, world.service.lag = (lambda: dice.uniform(0, slowest)), (lambda: dice.uniform(0, oldest))
    world.joins_after_seconds = dice.uniform(10, 90)
    refuses = dice.choice((0, 0, 0.03))

    def happen() -> None:
        if dice.random() < 0.1:
            pinned = {"nodeSelector": {ZONE: f"{REGION}{dice.choice('ab')}"}} if dice.random() < 0.4 else {}
            world.add_pods(f"app{dice.randrange(6)}", dice.randint(1, 2), **pinned)
        if dice.random() < 0.04:
            world.remove_pods(f"app{dice.randrange(6)}")
        if dice.random() < 0.05:
            zone = f"{REGION}{dice.choice('ab')}"
            if world.account.stock.pop((zone, "m5.large"), None) is None:
                world.account.stock[zone, "m5.large"] = dice.randint(0, 2)
        if dice.random() < refuses:
            fault = dice.choice((LOST, ServiceError("Throttling", "Rate exceeded"), ServiceError("ExpiredToken", "dead", 403)))
            world.account.faults[dice.choice(_WRITES)] = [fault]
        if dice.random() < 0.02:
            world.start()
        state = len(msgspec.json.encode(world.store.load()))
        if state > _MOST_STATE_BYTES:
            wrong.append(f"the state has {state} bytes")
        over = [group for group in world.groups.values() if group.desired > group.max_size]
        wrong.extend(f"{group.name} has {group.desired} of {group.max_size}" for group in over)

    def gone(group: Group, instance: Instance) -> None:
        node = f"n-{instance.instance_id}"
        if node not in world.leaving and any(item["spec"].get("nodeName") == node for item in world.pods):
            wrong.append(f"{node} of {group.name} ended with pods, undrained")

    def judge() -> None:
        plan = world.reports[-1].plan if world.reports else None
        for line in plan.groups if plan is not None else ():
            if "writer" in (line.owner.by or ""):
                wrong.append(f"{line.name} is held: {line.owner.evidence}")

    world.events += [happen, judge]
    world.account.gone.append(gone)
    return world, wrong


def test_random_accounts() -> None:
    for seed in range(_FIRST, _FIRST + _RUNS):
        world, wrong = account(seed)
        for _ in range(10):
            world.account.calls.clear()
            world.run(60)
            calls = Counter(action for action, _ in world.account.calls)
            if sum(calls.values()) > _MOST_CALLS:
                wrong.append(f"{sum(calls.values())} calls in a minute: {calls}")
        assert not wrong, f"seed {seed}: {wrong[:3]}"


def test_the_same_seed_gives_the_same_bytes() -> None:
    def memory() -> bytes:
        world, _ = account(7)
        world.run(200)
        return msgspec.json.encode(world.store.load(), order="sorted")

    assert memory() == memory()
