"""A policy that allows more than the group's own MaxSize, as one that was imported from `--nodes=1:10:asg` does."""

from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import ActionKind
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.test_loop import POLICY, Loop, pending, sizes, told

_SIZED = POLICY.replace("tier: spot,", "tier: spot, size: {min: 0, max: 10},")


def _loop(service: Service, most: int) -> Loop:
    loop = Loop(service)
    loop.groups["spot"].max_size = most
    loop.restart(_SIZED)
    return loop


def test_the_group_grows_to_its_own_maximum_and_the_next_tier_takes_the_rest(service: Service) -> None:
    """Five pods, three places in the first tier: nothing is refused, and the other two run in the second."""
    loop = _loop(service, 3)
    loop.cluster.pods = pending(5)
    report = loop.turns(3)
    assert sizes(loop) == (3, 2), told(report)
    assert service.count("SetDesiredCapacity") == 2
    view = View.of(loop.cluster.observe(), loop.cluster.policy, Memory(), loop.cluster.now(), Work(10_000))
    assert [one.object for one in findings(view) if one.code == "PlatformBound"] == ["NodeGroup spot"]


def _refuse(service: Service) -> None:
    refusal = "New SetDesiredCapacity value 9 is above max value 8 for the AutoScalingGroup."
    service.account.faults["SetDesiredCapacity"] = [ServiceError("ValidationError", refusal) for _ in range(50)]


def test_calls_stay_few_while_every_resize_is_refused(service: Service) -> None:
    """Two groups of which each refuses: a try each, and then the back-off of five minutes."""
    loop = _loop(service, 20)
    _refuse(service)
    loop.cluster.pods = pending(2)
    report = loop.turns(20)
    assert service.count("SetDesiredCapacity") == 2, told(report)
    assert {name: one.failures for name, one in loop.store.load().backoffs.items()} == {"spot": 1, "general": 1}
    assert report.plan is not None
    assert not [one for one in report.plan.actions if one.kind is ActionKind.RESIZE]
