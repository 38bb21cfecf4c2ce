"""How many calls a minute the loop makes of AWS in four scenes: `python -m tests.aws.call_rates` prints them as a table.

The service is the one of the tests, with its drawn latency and lag; the loop takes a turn every 5 s of the service's clock.
"""

import os
from collections import Counter
from collections.abc import Callable

from docs.generator.table import table
from tests.aws.documents import TEMPLATE
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.test_bursts import GROUPS, HEAD, burst, named, pods
from tests.aws.test_loop import Loop
from tests.aws.writes import workers

_TURN_SECONDS = 5
_MANY = 112


def _resting(service: Service, count: int) -> Loop:
    """Groups of one instance each, which have been read before."""
    loop = Loop(service)
    service.account.groups.clear()
    loop.groups.clear()
    for number in range(count):
        group = workers(f"spot-{number}", desired=1, max_size=5, min_size=1, tags={f"{TEMPLATE}label/n{number}": "a"})
        loop.groups[group.name] = service.account.add(group)
    loop.restart(HEAD + "".join(named(name, "spot") for name in loop.groups))
    _minutes(loop, 5)
    return loop


def _minutes(loop: Loop, count: int) -> Counter[str]:
    """The calls of so many minutes."""
    loop.cluster.service.account.calls.clear()
    for _ in range(count * 60 // _TURN_SECONDS):
        loop.turn(_TURN_SECONDS)
    return Counter(action for action, _ in loop.cluster.service.account.calls)


def steady(service: Service, count: int = _MANY) -> float:
    """Calls a minute of groups in which nothing happens, over half an hour."""
    service.at_once()
    return sum(_minutes(_resting(service, count), 30).values()) / 30


def growing(service: Service) -> int:
    """Calls of the minute in which each of 12 groups grows by one instance that comes."""
    loop = burst(service)
    service.account.stock.clear()
    loop.cluster.pods = pods()
    return sum(_minutes(loop, 1).values())


def falling_back(service: Service) -> int:
    """Calls of the minute in which 12 groups are asked, have no stock, and the next tier takes their pods."""
    loop = burst(service)
    loop.cluster.pods = pods()
    calls = _minutes(loop, 1)
    assert loop.groups["general"].desired == GROUPS, loop.groups["general"].desired
    return sum(calls.values())


def storm(service: Service) -> int:
    """Calls of a minute in which AWS refuses every one of them as too many, while 12 pods wait."""
    loop = burst(service)
    loop.cluster.pods = pods()
    throttled = ServiceError("Throttling", "Rate exceeded")
    actions = ("DescribeAutoScalingGroups", "SetDesiredCapacity", "DescribePolicies", "DescribeScheduledActions",
               "DescribeInstanceRefreshes", "DescribeScalingActivities", "CreateOrUpdateTags", "SetInstanceProtection",
               "DescribeLaunchTemplateVersions", "DescribeInstanceTypes")  # fmt: skip
    service.account.faults.update({action: [throttled] * 999 for action in actions})
    return sum(_minutes(loop, 1).values())


SCENES: dict[str, Callable[[Service], float]] = {
    f"steady state, {_MANY} groups": steady,
    f"steady state, {GROUPS} groups": lambda service: steady(service, GROUPS),
    f"burst: {GROUPS} groups grow by one": growing,
    f"fallback: {GROUPS} groups have no stock": falling_back,
    "storm: every call is throttled": storm,
}


def rates() -> dict[str, float]:
    """Calls a minute by scene."""
    os.environ.update({"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"})
    service = Service()
    try:
        found = {}
        for name, scene in SCENES.items():
            service.reset()
            found[name] = scene(service)
        return found
    finally:
        service.stop()


if __name__ == "__main__":
    print(table(["scene", "calls a minute"], ((name, f"{rate:.1f}") for name, rate in rates().items())))
