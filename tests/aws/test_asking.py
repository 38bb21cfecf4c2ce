"""What is asked of AWS, how often, and what is known while it does not answer."""

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest

from reconciler.cluster.snapshots.intake import Intake
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.kube.watching.stream_state import Phase
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region, filters
from reconciler.platforms.aws.writing.call_rate import BURST, Bucket, Metered
from reconciler.platforms.aws.writing.calls import Answer, AwsError
from reconciler.platforms.aws.writing.client import BotoAws
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.aws.writing.wanted_groups import Wanted, role_of, wanted
from reconciler.policy.documents import PolicySet
from tests.aws.documents import REGION, read
from tests.aws.policies import policy_set
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.writes import client, workers
from tests.benchmarks.yardstick import yardstick_seconds

_MOST_YARDSTICKS = 3 / 0.42
_MEASUREMENTS = 4
TAG = "k8s.io/cluster-autoscaler/prod"
POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  discovery:
    - {{name: eks, aws: {{region: {REGION}, tags: {{{TAG}: owned}}}}}}
"""
NAMED = (
    POLICY
    + f"""
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: special, namespace: r}}
spec:
  policyRef: {{name: prod}}
  target: {{aws: {{autoScalingGroup: special, region: {REGION}, roleARN: "arn:aws:iam::123456789012:role/other"}}}}
"""
)


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Polled:
    """A poll of the service, on a clock that the test moves."""

    def __init__(self, service: Service, policy: PolicySet | None, remembered: Callable[[], Iterable[str]] | None = None) -> None:
        self.service = service
        self.policy = policy
        self.clock = Clock()
        self.accounts = Accounts(lambda region, role: client(region, role, service.url))
        for region, role in ((REGION, ""), (REGION, "arn:aws:iam::123456789012:role/other")):
            metered = Metered(client(region, role, service.url), monotonic=self.clock, sleep=self.clock.sleep)
            self.accounts.put(region, role, metered)
        self.poll = AwsPoll(self.accounts, lambda: self.policy, self.clock, remembered, lambda: service.account.now)

    def turn(self, seconds: float = 10) -> bool:
        """One round, after so many seconds for both."""
        self.clock.seconds += seconds
        self.service.advance(seconds)
        return self.poll.ask()

    def world(self) -> Any:
        intake = Intake()
        for document in self.poll.documents():
            intake.read(document, stamps=False)
        return read(intake)


def many(service: Service, groups: int, instances: int) -> None:
    for number in range(groups):
        service.account.add(workers(f"g{number:03}", desired=instances, max_size=100, tags={TAG: "owned"}))


def test_s78_a_hundred_groups_at_rest(service: Service) -> None:
    """S78, incident 19: 100 groups, a turn every 10 s, an hour: at most 60 Describe calls, of everything."""
    many(service, 100, 2)
    polled = Polled(service, policy_set(POLICY))
    for _ in range(360):
        polled.turn()
    assert service.count("Describe") <= 60
    assert service.count() == service.count("Describe")
    assert len(polled.world().targets) == 100


def functions_called(work: Callable[[], object]) -> int:
    """How many calls of Python functions a piece of work makes in this thread: the same number on any machine, however busy."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_five_hundred_groups(service: Service) -> None:
    """15,000 instances: below 100 calls from nothing, below 25 calls afterwards, and below 120 functions for each instance."""
    many(service, 500, 30)
    polled = Polled(service, policy_set(POLICY))
    functions = functions_called(polled.poll.ask)
    cold = service.count()
    world = polled.world()
    assert (len(world.targets), len(world.machines)) == (500, 15000)
    assert cold < 100
    assert functions < 120 * 15_000
    polled.clock.seconds += 90
    polled.poll.ask()
    assert service.count() - cold < 25


def test_five_hundred_groups_take_three_seconds(service: Service) -> None:
    """Of the asking thread, on a machine that does the yardstick's work in 0.42 s of processor time. A busy machine only adds to
    what is measured, so one good measurement of several is enough. What other tests have left in memory is no part of it: the
    garbage collector would look through all of that, for seconds."""
    many(service, 500, 30)
    measured = []
    gc.collect()
    gc.freeze()
    try:
        while len(measured) < _MEASUREMENTS and min(measured, default=_MOST_YARDSTICKS) >= _MOST_YARDSTICKS:
            yardstick = yardstick_seconds(1)
            polled = Polled(service, policy_set(POLICY))
            began = time.thread_time()
            polled.poll.ask()
            measured.append((time.thread_time() - began) / yardstick)
    finally:
        gc.unfreeze()
    assert min(measured) < _MOST_YARDSTICKS, measured


@pytest.mark.usefixtures("at_once")
def test_what_moves_is_asked_often(service: Service) -> None:
    """A group that misses instances is asked for every turn, alone, and told of when they come."""
    many(service, 50, 1)
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    service.account.groups[REGION, "g007"].desired = 2
    polled.accounts.wrote(REGION, "g007")
    assert polled.turn()
    before = len(service.account.calls)
    polled.turn(5)
    asked = [
        parameters.get("AutoScalingGroupNames") for action, parameters in service.account.calls[before:] if "Groups" in action
    ]
    assert asked == [["g007"]]
    for _ in range(8):
        polled.turn()
    assert [one.phase for one in polled.world().machines if one.target.name == "g007"] == ["InService", "InService"]
    assert not polled.turn()


@pytest.mark.usefixtures("at_once")
def test_stock_out_is_seen(service: Service) -> None:
    """S85: the activities of a group that misses instances say why."""
    many(service, 3, 1)
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    service.account.stock[f"{REGION}a", "m5.large"] = 0
    service.account.groups[REGION, "g001"].desired = 2
    polled.accounts.wrote(REGION, "g001")
    polled.turn()
    polled.turn()
    failures = {item.ref.name: item.launch_failure for item in polled.world().targets}
    assert failures["g001"] is not None
    assert failures["g001"].kind == "Stock"
    assert (failures["g000"], failures["g002"]) == (None, None)


def test_shapes_live_are_those_of_files(service: Service) -> None:
    """The same code reads both: a group at zero has the shape of its launch template's type."""
    service.account.add(workers("zero", desired=0, tags={TAG: "owned"}))
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    (found,) = polled.world().targets
    assert found.template.allocatable is not None
    assert (found.template.allocatable.cpu_milli, found.template.allocatable.memory_bytes >> 20) == (1930, 6903)


def test_s44_untagged_groups_stay_out(service: Service) -> None:
    """S44: of an account only what the policy takes is read."""
    many(service, 1, 1)
    service.account.add(workers("foreign"))
    service.account.add(workers("other-cluster", tags={TAG: "shared"}))
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    assert [item.ref.name for item in polled.world().targets] == ["g000"]


def test_named_groups_as_their_role(service: Service) -> None:
    """A NodeGroup names its group and the role that asks for it."""
    service.account.add(workers("special"))
    policy = policy_set(NAMED)
    assert role_of(policy, REGION, "special").endswith("role/other")
    assert [(one.role, one.names) for one in wanted(policy)] == [("", ()), ("arn:aws:iam::123456789012:role/other", ("special",))]
    polled = Polled(service, policy)
    polled.turn()
    assert [item.ref.name for item in polled.world().targets] == ["special"]


def test_throttled(service: Service) -> None:
    """Incident 19: what is known stays, with its age; AWS is left alone for a while, and asked again by itself."""
    many(service, 3, 1)
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    documents = polled.poll.documents()
    service.account.throttle.capacity = 1
    for _ in range(12):
        polled.turn()
    (state,) = polled.poll.states()
    assert service.account.throttled
    assert service.account.throttled <= 4, "a throttled account is not asked every turn"
    assert polled.poll.documents() == documents
    assert state.heard_seconds >= 30
    service.account.throttle.capacity = 0
    for _ in range(10):
        polled.turn()
    assert polled.poll.states()[0].heard_seconds < 90


def test_throttled_from_the_start(service: Service) -> None:
    """#252: nothing is decided before a first whole answer, and nothing ends."""
    many(service, 1, 1)
    service.account.faults["DescribeAutoScalingGroups"] = [ServiceError("Throttling", "Rate exceeded")]
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    (state,) = polled.poll.states()
    assert state.phase is Phase.WAITING
    assert "Rate exceeded" in state.doubt(120)
    assert polled.poll.documents() == ()
    polled.turn()
    polled.turn()
    assert polled.poll.states()[0].doubt(120) == ""


def test_silent_for_too_long(service: Service) -> None:
    """An answer of AWS that is minutes old is no view to trust."""
    many(service, 1, 1)
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    service.account.faults["DescribeAutoScalingGroups"] = [ServiceError("InternalFailure", "x", 500)] * 99
    for _ in range(20):
        polled.turn()
    assert "silent" in polled.poll.states()[0].doubt(120)


def test_half_an_answer_is_no_view(service: Service) -> None:
    """While the first round is under way its groups are not yet in the view, and nothing is decided without them."""
    many(service, 1, 1)
    polled = Polled(service, policy_set(POLICY))
    seen: list[tuple[str, Phase, int]] = []

    def look(action: str, _: dict[str, Any]) -> None:
        (state,) = polled.poll.states()
        seen.append((action, state.phase, len(polled.poll.documents())))

    service.account.before.append(look)
    polled.turn()
    assert "DescribePolicies" in {action for action, _, _ in seen}
    assert {(phase, documents) for _, phase, documents in seen} == {(Phase.WAITING, 0)}
    assert [state.phase for state in polled.poll.states()] == [Phase.SYNCED]


def test_no_policy(service: Service) -> None:
    """Nothing of AWS is asked, and nothing waited for, where no policy names any."""
    polled = Polled(service, None)
    polled.turn()
    assert (polled.poll.states(), polled.poll.documents(), service.count()) == ((), (), 0)
    polled.policy = policy_set("apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: p}\nspec: {}\n")
    polled.turn()
    assert (polled.poll.states(), service.count()) == ((), 0)


def test_managed_node_group_at_zero(service: Service) -> None:
    """#6481: labels and taints of an empty managed node group are asked of EKS, once an hour; one with nodes is not asked for."""
    tags = {TAG: "owned", "eks:cluster-name": "prod"}
    service.account.add(workers("zero", desired=0, tags={**tags, "eks:nodegroup-name": "zero"}))
    service.account.add(workers("full", desired=1, tags={**tags, "eks:nodegroup-name": "full"}))
    taint = {"key": "dedicated", "value": "x", "effect": "NO_SCHEDULE"}
    resources = {"autoScalingGroups": [{"name": "zero"}]}
    service.account.nodegroups["zero"] = {"labels": {"team": "a"}, "taints": [taint], "status": "ACTIVE", "resources": resources}
    polled = Polled(service, policy_set(POLICY))
    for _ in range(60):
        polled.turn()
    found = next(item for item in polled.world().targets if item.ref.name == "zero")
    assert dict(found.template.labels)["team"] == "a"
    assert [(taint.key, taint.effect) for taint in found.template.taints] == [("dedicated", "NoSchedule")]
    assert service.count("DescribeNodegroup") == 1


def test_not_allowed_to_see_who_else_writes(service: Service) -> None:
    """What is missing is said; the groups are read all the same."""
    many(service, 1, 1)
    allowed = {"Effect": "Allow", "Action": ["autoscaling:DescribeAutoScalingGroups", "ec2:Describe*"], "Resource": "*"}
    service.account.policies["AKIATEST"] = [allowed]
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    assert len(polled.world().targets) == 1
    assert "DescribePolicies" in polled.poll.problems[0]


def test_filters() -> None:
    """An empty value takes any."""
    assert filters((("a", "x"), ("b", ""))) == [{"Name": "tag:a", "Values": ["x"]}, {"Name": "tag-key", "Values": ["b"]}]


class Nothing:
    """An account that answers nothing, and counts."""

    def __init__(self) -> None:
        self.calls = 0
        self.error: AwsError | None = None

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return Answer({})


def test_one_bucket() -> None:
    """A burst, then five a second: the caller waits, and AWS need not say it."""
    clock, aws = Clock(), Nothing()
    metered = Metered(aws, monotonic=clock, sleep=clock.sleep)
    for _ in range(BURST + 10):
        metered.call("autoscaling", "DescribePolicies")
    assert clock.seconds == pytest.approx(2)
    for _ in range(50):
        metered.call("ec2", "DescribeLaunchTemplateVersions")
    assert clock.seconds == pytest.approx(2), "EC2 has buckets of its own"


def test_left_alone_after_throttling() -> None:
    """Twice as long each time, up to a minute; an answer ends that."""
    clock, aws = Clock(), Nothing()
    metered = Metered(aws, monotonic=clock, sleep=clock.sleep)
    aws.error = AwsError("Throttling", "Rate exceeded")
    sent = []
    for _ in range(300):
        before = aws.calls
        with pytest.raises(AwsError, match="Throttling"):
            metered.call("autoscaling", "DescribePolicies")
        if aws.calls > before:
            sent.append(clock.seconds)
        clock.seconds += 1
    assert [round(b - a) for a, b in pairwise(sent)] == [5, 10, 20, 40, 60, 60, 60]
    aws.error = None
    clock.seconds += 60
    metered.call("autoscaling", "DescribePolicies")


def test_region_of_nothing(service: Service) -> None:
    """A group that the policy names and that is not there is no fault of the call."""
    region = Region(client(REGION, "", service.url), Wanted(region=REGION, names=("gone",)))
    region.ask(0)
    assert region.heard == 0
    assert region.items()["AutoScalingGroup"] == []


EMPTY = f"{POLICY.partition('  discovery')[0]}  mode: Enforce\n"


@pytest.mark.usefixtures("at_once")
def test_from_the_first_policy_that_names_it_to_the_last(service: Service) -> None:
    """Nothing is asked before, its groups are after; of a policy that names it no more what bears our mark is read until that is
    taken off, without anything waiting for it, and then nothing is asked again."""
    many(service, 2, 1)
    marked, _ = service.account.groups.values()
    polled = Polled(service, policy_set(EMPTY))
    polled.turn()
    assert (service.count(), polled.poll.states()) == (0, ())
    polled.policy = policy_set(POLICY)
    assert [state.phase for state in polled.poll.states()] == [Phase.WAITING]
    assert polled.poll._thread.woken
    polled.turn()
    assert [state.phase for state in polled.poll.states()] == [Phase.SYNCED]
    assert len(polled.world().targets) == 2
    marked.tags[POLICY_MARK] = "prod"
    polled.turn(90)
    polled.policy = policy_set(EMPTY)
    polled.turn()
    assert [facts.ref.name for facts in polled.world().targets] == [marked.name]
    assert polled.poll.states() == ()
    del marked.tags[POLICY_MARK]
    polled.poll._wrote(REGION, marked.name, False)
    polled.turn()
    asked = service.count()
    polled.turn(90)
    assert (polled.poll.documents(), service.count()) == ((), asked)


@pytest.mark.usefixtures("at_once")
def test_one_that_leaves_while_others_stay(service: Service) -> None:
    """Its mark keeps it in the view beside those that the policy names; one of another policy goes at once."""
    for name, mark in (("a", "prod"), ("b", "prod"), ("c", "other")):
        service.account.add(workers(name, tags={POLICY_MARK: mark}))
    polled = Polled(service, policy_set(named("a", "b", "c")))
    polled.turn()
    polled.policy = policy_set(named("a"))
    polled.turn()
    assert [facts.ref.name for facts in polled.world().targets] == ["a", "b"]
    del service.account.groups[REGION, "b"].tags[POLICY_MARK]
    polled.turn(90)
    assert [facts.ref.name for facts in polled.world().targets] == ["a"]


@pytest.mark.usefixtures("at_once")
def test_one_that_leaves_soon_after_it_was_written(service: Service) -> None:
    """The last read is older than the mark: the group stays in the view until a read is late enough to say that it has none."""
    service.account.add(workers("a"))
    polled = Polled(service, policy_set(named("a")))
    polled.turn()
    service.freeze_reads()
    service.account.groups[REGION, "a"].tags[POLICY_MARK] = "prod"
    polled.poll._wrote(REGION, "a", False)
    polled.turn()
    polled.policy = policy_set(EMPTY)
    polled.turn()
    assert [facts.ref.name for facts in polled.world().targets] == ["a"]
    service.thaw_reads()
    for _ in range(20):
        polled.turn()
    assert [facts.ref.name for facts in polled.world().targets] == ["a"]
    del service.account.groups[REGION, "a"].tags[POLICY_MARK]
    polled.poll._wrote(REGION, "a", False)
    polled.turn()
    assert polled.poll.documents() == ()


@pytest.mark.usefixtures("at_once")
def test_one_that_left_while_no_process_ran(service: Service) -> None:
    """What the last decision knew and the policy names no more is looked at by its name: what bears our mark stays in the view
    until it does not. A mark alone is nothing: another cluster's policy may be called as ours."""
    for name, mark in (("a", "prod"), ("b", "prod"), ("c", "other"), ("d", ""), ("e", "prod")):
        service.account.add(workers(name, tags={POLICY_MARK: mark} if mark else {}))
    known = [f"AutoScalingGroup {REGION}/{name}" for name in ("a", "b", "c", "d", "gone")]
    polled = Polled(service, policy_set(named("a")), lambda: [*known, "MachineDeployment prod/b"])
    plain = Polled(service, policy_set(named("a")))
    calls = []
    for one in (plain, polled):
        before = len(service.account.calls)
        for _ in range(90):
            one.turn(40)
        calls.append(Counter(action for action, _ in service.account.calls[before:]))
    # By their names, in the calls that are made anyway; one launch template more is to be known while it is followed.
    assert calls[1] - calls[0] == Counter(DescribeLaunchTemplateVersions=2)
    assert [facts.ref.name for facts in polled.world().targets] == ["a", "b"]
    assert [facts.ref.name for facts in plain.world().targets] == ["a"]
    del service.account.groups[REGION, "b"].tags[POLICY_MARK]
    polled.turn(90)
    assert [facts.ref.name for facts in polled.world().targets] == ["a"]


@pytest.mark.usefixtures("at_once")
def test_one_that_left_where_the_policy_names_nothing_of_aws_now(service: Service) -> None:
    """Its region is asked for it alone, and no more once our mark is off it; nothing waits for that."""
    service.account.add(workers("b", tags={POLICY_MARK: "prod"}))
    polled = Polled(service, None, lambda: [f"AutoScalingGroup {REGION}/b"])
    (state,) = polled.poll.states()
    assert state.phase is Phase.WAITING, "the first decision would forget what nobody has asked for yet"
    polled.turn()
    assert (polled.poll.states(), service.count()) == ((), 0)
    polled.policy = policy_set(EMPTY)
    polled.turn()
    assert ([facts.ref.name for facts in polled.world().targets], polled.poll.states()) == (["b"], ())
    del service.account.groups[REGION, "b"].tags[POLICY_MARK]
    polled.turn(90)
    asked = service.count()
    polled.turn(90)
    assert (list(polled.world().targets), service.count()) == ([], asked)


def test_a_memory_that_cannot_be_read_yet(service: Service) -> None:
    """No view before it is known what was sized: the first decision would forget it."""
    service.account.add(workers("a", tags={POLICY_MARK: "prod"}))
    service.account.add(workers("b", tags={POLICY_MARK: "prod"}))
    answers = iter([None, None, f"AutoScalingGroup {REGION}/b"])

    def remembered() -> list[str]:
        found = next(answers)
        if found is None:
            raise StateUnavailableError("the API server is away")
        return [found]

    polled = Polled(service, policy_set(named("a")), remembered)
    for _ in range(2):
        polled.turn()
        (state,) = polled.poll.states()
        assert (state.phase, state.message, service.count()) == (Phase.WAITING, "the API server is away", 0)
    polled.turn()
    assert polled.poll.states()[0].phase is Phase.SYNCED
    assert [facts.ref.name for facts in polled.world().targets] == ["a", "b"]


def test_a_policy_that_is_read_anew(service: Service) -> None:
    """For a moment there is none: what is known stays known, and is not asked again from the beginning."""
    many(service, 2, 1)
    polled = Polled(service, policy_set(POLICY))
    polled.turn()
    asked, policy, polled.policy = service.count(), polled.policy, None
    polled.turn()
    polled.policy = policy
    polled.turn()
    assert (len(polled.world().targets), service.count()) == (2, asked)


def test_released_as_whom_it_was_written(service: Service) -> None:
    """A role that only the former policy knows; where it may not be taken any more the mark stays, and nothing waits for it."""
    service.account.add(workers("special", tags={POLICY_MARK: "prod"}))
    polled = Polled(service, policy_set(NAMED))
    polled.turn()
    polled.policy = policy_set(POLICY)
    polled.turn()
    assert polled.accounts.last_role(REGION, "special") == "arn:aws:iam::123456789012:role/other"
    assert [facts.ref.name for facts in polled.world().targets] == ["special"]
    service.account.policies["ASIAother"] = []
    polled.turn(90)
    assert [facts.ref.name for facts in polled.world().targets] == []


def named(*names: str) -> str:
    """A policy that names these groups alone."""
    head = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroup\n"
    return EMPTY + "".join(
        f"---\n{head}metadata: {{name: {name}, namespace: r}}\n"
        f"spec: {{policyRef: {{name: prod}}, target: {{aws: {{autoScalingGroup: {name}, region: {REGION}}}}}}}\n"
        for name in names
    )


def test_items_of_tags_add_up(service: Service) -> None:
    """OR between items of discovery, AND inside one; a group that two items find is one group."""
    for name, tags in (("a", {TAG: "owned"}), ("b", {TAG: "owned", "team": "x"}), ("c", {"team": "x"}), ("d", {"team": "y"})):
        service.account.add(workers(name, tags=tags))
    more = f"    - {{name: team, aws: {{region: {REGION}, tags: {{team: x}}}}}}\n"
    polled = Polled(service, policy_set(POLICY + more))
    polled.turn()
    assert [facts.ref.name for facts in polled.world().targets] == ["a", "b", "c"]


def test_every_call_is_one_attempt(service: Service) -> None:
    """The SDK would ask again by itself, unseen: a fault and a throttled call are each heard of at once."""
    asking = BotoAws(REGION, "", service.url)
    for error in (ServiceError("InternalFailure", "x", 500), ServiceError("Throttling", "Rate exceeded")):
        service.account.faults["DescribePolicies"] = [error]
        service.account.calls.clear()
        with pytest.raises(AwsError, match=error.code):
            asking.call("autoscaling", "DescribePolicies")
        assert service.count("DescribePolicies") == 1


IN_ACCOUNTS = POLICY.replace(f"region: {REGION}", f'region: {REGION}, roleARN: "arn:aws:iam::123456789012:role/other"')


def test_discovery_in_another_account(service: Service) -> None:
    """The groups of the region are asked for, and written, with the role of their discovery item. A NodeGroup has its own."""
    role, mine = "arn:aws:iam::123456789012:role/other", "arn:aws:iam::123456789012:role/mine"
    policy = policy_set(IN_ACCOUNTS + NAMED.removeprefix(POLICY).replace(role, mine))
    assert [(one.role, one.names, bool(one.tags)) for one in wanted(policy)] == [(mine, ("special",), False), (role, (), True)]
    roles = [role_of(policy, *place) for place in ((REGION, "found"), (REGION, "special"), ("eu-west-1", "found"))]
    assert roles == [role, mine, ""]
    service.account.add(workers("found", tags={TAG: "owned"}))
    polled = Polled(service, policy_set(IN_ACCOUNTS))
    polled.turn()
    assert [facts.ref.name for facts in polled.world().targets] == ["found"]
    service.account.policies["ASIAother"] = []
    polled.turn(90)
    assert f"Auto Scaling groups of {REGION} as {role}" in str(polled.poll.states()[0])


def test_what_was_sized_before_is_asked_for_with_the_role_of_discovery(service: Service) -> None:
    """A group that discovery found, and whose tag is gone since: it is read until its mark is removed."""
    service.account.add(workers("left", tags={POLICY_MARK: "prod"}))
    polled = Polled(service, policy_set(IN_ACCOUNTS), lambda: [f"AutoScalingGroup {REGION}/left"])
    polled.turn()
    assert [facts.ref.name for facts in polled.world().targets] == ["left"]
    assert polled.accounts.last_role(REGION, "left") == "arn:aws:iam::123456789012:role/other"


def test_roles_of_one_account_share_its_rate() -> None:
    """AWS throttles one role: the other one of that account and region sends nothing, and all others go on."""
    asked: list[tuple[str, str]] = []

    class Throttling:
        def __init__(self, region: str, role: str) -> None:
            self.place = region, role

        def call(self, service: str, action: str, **parameters: Any) -> Answer:
            asked.append(self.place)
            if len(asked) == 1:
                raise AwsError("Throttling", "Rate exceeded", status=400)
            return Answer({})

    accounts = Accounts(Throttling)
    first, second, other = (f"arn:aws:iam::{account * 12}:role/{name}" for account, name in ("1a", "1b", "2a"))
    with pytest.raises(AwsError, match="throttles this account and region"):
        accounts.of(REGION, first).call("autoscaling", "DescribeAutoScalingGroups")
    with pytest.raises(AwsError, match="next attempt is in 5 s"):
        accounts.of(REGION, second).call("autoscaling", "DescribeAutoScalingGroups")
    for region, role in ((REGION, other), (REGION, ""), ("us-east-1", second)):
        accounts.of(region, role).call("autoscaling", "DescribeAutoScalingGroups")
    assert asked == [(REGION, first), (REGION, other), (REGION, ""), ("us-east-1", second)]


def test_roles_of_one_account_share_its_burst() -> None:
    """The first role spends all tokens; the other one waits for the next, which comes after a fifth of a second."""
    clock = Clock()
    bucket = Bucket(monotonic=clock, sleep=clock.sleep)

    class Answering:
        def call(self, service: str, action: str, **parameters: Any) -> Answer:
            return Answer({})

    first, second = (Metered(Answering(), bucket) for _ in range(2))
    for _ in range(BURST):
        first.call("autoscaling", "DescribeAutoScalingGroups")
    assert clock.seconds == 0
    second.call("autoscaling", "DescribeAutoScalingGroups")
    assert clock.seconds == pytest.approx(0.2)
