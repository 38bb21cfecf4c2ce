"""The provider on a running service, and what a decision would have judged there."""

from collections.abc import Callable
from functools import cache

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.owner import POLICY_MARK, Terms, judge
from reconciler.plan.plan import Bound
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import Aws
from reconciler.platforms.aws.writing.client import BotoAws
from reconciler.platforms.aws.writing.fresh import read
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.providers.contract import LeavingMachine, TargetRemoval
from tests.aws.documents import REGION
from tests.aws.service.server import Service
from tests.aws.service.state import Group

MARK = {POLICY_MARK: "prod"}


def workers(name: str = "workers", *, desired: int = 2, zones: int = 1, **rest: object) -> Group:
    """A group in so many zones."""
    sizes = {"min_size": 0, "max_size": 20, **rest}
    return Group(name=name, region=REGION, desired=desired, zones=[f"{REGION}{letter}" for letter in "abc"[:zones]], **sizes)  # type: ignore[arg-type]


def ref(group: Group) -> TargetRef:
    return TargetRef(kind=AUTO_SCALING_GROUP, region=group.region, name=group.name)


@cache
def client(region: str, role: str, url: str) -> BotoAws:
    """A client is the same for all tests; what counts and throttles is not."""
    return BotoAws(region, role, url)


def bound_by(aws: Aws, target: TargetRef) -> Bound:
    """What a decision of this moment would bind its action to."""
    reading = read(aws, target)
    assert reading is not None
    judged = judge(reading.facts, Terms(now_seconds=1_900_000_000, first_seen_seconds=0, human_hold_seconds=0))
    desired = reading.item.desired_capacity
    return Bound(resource_version="", replicas=desired, owner_digest=judged.digest, policy_digest="sha256:p")


class Writer:
    """One process that writes. `bound` is what a decision would bind its action to, judged now."""

    def __init__(
        self, service: Service, guard: Callable[[], None] = lambda: None, role: str = "", accounts: Accounts | None = None
    ) -> None:
        """`accounts`: those that a poll shares with it, as in a process."""
        self.service = service
        self.accounts = accounts or Accounts(lambda region, as_role: client(region, as_role, service.url))
        self.provider = AwsProvider(self.accounts, lambda _: role, guard)

    def bound(self, group: Group) -> Bound:
        return bound_by(client(group.region, "", self.service.url), ref(group))

    def remove(self, group: Group, *machines: str, floor: int = 0) -> tuple[TargetRemoval, ...]:
        leaving = tuple(LeavingMachine(machine=machine, node=f"node-{machine}") for machine in machines)
        return self.provider.step(ref(group), leaving, floor)
