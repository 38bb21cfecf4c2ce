"""A hold on an Auto Scaling group: a tag, written and taken off by the command, respected by every write of the loop."""

import msgspec
import pytest

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.targets.hold_mark import hold_text
from reconciler.control.live.loop_status import loop_status
from reconciler.control.live.plan_record import PlanRecorder
from reconciler.control.live.target_holds import HoldResult, HoldState, set_hold
from reconciler.control.policy.stored_policy import LockedState
from reconciler.decisions.groups.cluster_names import CLUSTER_MARK
from reconciler.decisions.ownership.owner import OUR_MARKS
from reconciler.kube.connection.api import Api
from reconciler.kube.leading.state import StateObject
from reconciler.platforms.aws.writing.accounts import accounts
from reconciler.platforms.aws.writing.calls import Aws
from reconciler.platforms.aws.writing.fresh import read
from reconciler.providers.contract import WriteCode
from reconciler.rendering.printers.text.status import status_text
from tests.aws.policies import policy_set
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.service.state import Group
from tests.aws.test_loop import POLICY, Loop, pending, sizes
from tests.aws.writes import MARK, Writer, client, ref, workers
from tests.kube.api_server import FakeApiServer

HOLD = "reconciler.dev/hold"
_NO_SERVER: Api = None  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def _asked(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process asks the service of the test."""
    known = accounts()
    monkeypatch.setattr(known, "_made", lambda region, role: client(region, role, service.url))
    monkeypatch.setattr(known, "_known", {})


def facts(service: Service, group: Group) -> TargetFacts:
    found = read(asked(service, group), ref(group))
    assert found is not None
    return found.facts


def asked(service: Service, group: Group) -> Aws:
    return client(group.region, "", service.url)


def held(service: Service, group: Group, text: str, policy: str = POLICY) -> HoldResult:
    return set_hold(_NO_SERVER, (), policy_set(policy), group.name, facts(service, group), text)


@pytest.mark.usefixtures("at_once")
def test_written_and_taken_off(service: Service) -> None:
    """Desired capacity and the tags of others stay; asked for twice, nothing is written again."""
    group = service.account.add(workers("spot", tags={"team": "a"}))
    words = hold_text("recovering node 3", "2040-01-01T00:00:00Z")
    assert held(service, group, words).state is HoldState.HELD
    assert (group.tags, group.desired) == ({"team": "a", HOLD: words}, 2)
    assert facts(service, group).owner.hold == words
    again = held(service, group, words)
    assert (again.state, again.before, service.count("CreateOrUpdateTags")) == (HoldState.UNCHANGED, words, 1)
    released = held(service, group, "")
    assert (released.state, released.before, group.tags) == (HoldState.RELEASED, words, {"team": "a"})
    assert (held(service, group, "").state, service.count("DeleteTags")) == (HoldState.UNCHANGED, 1)


def test_the_loop_leaves_it_alone(service: Service) -> None:
    """Pending pods grow the other group; when the hold is taken off the next ones grow this one again."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    assert held(service, spot, "maintenance").state is HoldState.HELD
    loop.cluster.pods = pending(2)
    report = loop.turn()
    assert sizes(loop) == (0, 2)
    assert report.plan is not None
    assert "maintenance" in str([line.reasons for line in report.plan.groups if line.name == "spot"])
    held(service, spot, "")
    loop.cluster.pods += pending(1, "more")
    loop.turn(90)
    assert sizes(loop) == (1, 2)


def test_status_says_it_without_asking_the_loop(service: Service) -> None:
    """Held, with the words of the hold and how it ends, from what the loop keeps of its last plan; and its end."""
    loop, server = Loop(service), FakeApiServer()
    state = LockedState(StateObject(server, "reconciler", "prod"))  # type: ignore[arg-type]
    for words, held_now in (("maintenance", True), ("", False)):
        held(service, loop.groups["spot"], words)
        PlanRecorder(state).turned(loop.turn(90))
        document = loop_status(server, "reconciler", "prod", {}, loop.cluster.now())  # type: ignore[arg-type]
        spot = next(group for group in document.groups if group.name == "spot")
        text = " ".join(status_text(document).split())
        assert (spot.held, "maintenance" in text, "reconciler hold spot --release" in text) == (held_now,) * 3, text


@pytest.mark.parametrize(
    ("text", "left_out"),
    [("maintenance", "CreateOrUpdateTags"), ("", "DeleteTags"), ("maintenance", "DescribeAutoScalingGroups")],
)
def test_whoever_calls_needs_the_rights(service: Service, text: str, left_out: str) -> None:
    """IAM refuses: the action that is missing, and the way without it; nothing was written."""
    group = service.account.add(workers("spot", tags={} if text else {HOLD: "maintenance"}))
    there, before = facts(service, group), dict(group.tags)
    needed = {"DescribeAutoScalingGroups", "CreateOrUpdateTags", "DeleteTags"}
    allowed = [f"autoscaling:{action}" for action in sorted(needed - {left_out})]
    service.account.policies["AKIATEST"] = [{"Effect": "Allow", "Action": allowed, "Resource": "*"}]
    result = set_hold(_NO_SERVER, (), policy_set(POLICY), "spot", there, text)
    assert (result.state, group.tags) == (HoldState.FAILED, before)
    assert "is not authorized to perform" in result.message
    assert result.message.endswith(
        f"with your own permissions. Allow autoscaling:{left_out}, or hold it in the policy (spec.hold)"
    )
    service.account.policies["AKIATEST"][0]["Action"] = sorted(f"autoscaling:{action}" for action in needed)
    assert set_hold(_NO_SERVER, (), policy_set(POLICY), "spot", there, text).state in (HoldState.HELD, HoldState.RELEASED)


@pytest.mark.usefixtures("at_once")
def test_a_hold_that_a_plan_has_not_seen(service: Service) -> None:
    """Groups at rest are listed seldom: the read before the write meets it."""
    group, writer = service.account.add(workers("spot")), Writer(service)
    bound = writer.bound(group)
    held(service, group, "maintenance")
    assert writer.provider.resize(ref(group), 5, bound, MARK).code in (WriteCode.REFUSED, WriteCode.STALE)
    (removal,) = writer.remove(group, group.counted[0].instance_id)
    assert (group.desired, "maintenance" in removal.message) == (2, True)


def test_a_release_by_the_loop_keeps_it(service: Service) -> None:
    """A group that leaves the policy loses our marks; what a person has written is theirs."""
    ours = [key for key in OUR_MARKS if key != CLUSTER_MARK]
    tags = dict.fromkeys(ours, "x") | {HOLD: "maintenance"}
    group, writer = service.account.add(workers("spot", tags=tags)), Writer(service)
    assert writer.provider.release(ref(group), writer.bound(group)).done
    assert group.tags == {HOLD: "maintenance"}


def test_words_that_a_tag_does_not_hold(service: Service) -> None:
    """Cut off they would lose their end, and the group would be held for ever."""
    group = service.account.add(workers("spot"))
    result = held(service, group, hold_text("w" * 230, "2040-01-01T00:00:00Z"))
    assert (result.state, "256 characters" in result.message, group.tags) == (HoldState.FAILED, True, {})


def test_refused_by_aws(service: Service) -> None:
    """In its words; and a group that has gone meanwhile."""
    group = service.account.add(workers("spot"))
    service.account.faults["CreateOrUpdateTags"] = [ServiceError("AccessDenied", "not authorized to perform it", 403)]
    result = held(service, group, "maintenance")
    assert (result.state, "not authorized" in result.message) == (HoldState.FAILED, True)
    there = facts(service, group)
    service.account.groups.clear()
    gone = set_hold(_NO_SERVER, (), policy_set(POLICY), "spot", there, "x")
    assert (gone.state, "does not exist" in gone.message) == (HoldState.FAILED, True)


def test_asked_as_the_role_of_its_node_group(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of another account is written as whom the policy says."""
    group = service.account.add(workers("spot"))
    there, seen = facts(service, group), list[tuple[str, str]]()

    def made(region: str, role: str) -> Aws:
        seen.append((region, role))
        return asked(service, group)

    monkeypatch.setattr(accounts(), "_made", made)
    arn = "arn:aws:iam::123456789012:role/other"
    policy = policy_set(POLICY.replace("autoScalingGroup: spot,", f"autoScalingGroup: spot, roleARN: '{arn}',"))
    assert set_hold(_NO_SERVER, (), policy, "spot", there, "x").state is HoldState.HELD
    assert seen == [(group.region, arn)]


def test_a_target_of_nobody(service: Service) -> None:
    """Where neither a server nor a cloud takes holds the policy does."""
    group = service.account.add(workers("spot"))
    elsewhere = msgspec.structs.replace(facts(service, group), ref=TargetRef(kind="Elsewhere", name="x"))
    result = set_hold(_NO_SERVER, (), policy_set(POLICY), "x", elsewhere, "x")
    assert (result.state, "spec.hold" in result.message) == (HoldState.REFUSED, True)
