"""The IAM policies of the example are enough, and no more than that."""

import json
from pathlib import Path

import pytest

from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.growth import LAUNCH_TAG, SYNCHRONOUS, set_desired
from reconciler.platforms.aws.writing.marks import set_tags
from reconciler.providers.contract import RemovalState
from tests.aws.iam_policies import LAUNCHES, LAUNCHES_ON_EC2, iam_policy, launch_policy
from tests.aws.policies import policy_set
from tests.aws.service.server import Service
from tests.aws.test_asking import POLICY, TAG, Polled
from tests.aws.test_cancelling import short
from tests.aws.writes import MARK, Writer, client, ref, workers

EXAMPLE = Path(__file__).parents[2] / "examples" / "eks"
LAUNCH = launch_policy(TAG, "owned")
OBSERVE, ENFORCE = (iam_policy("prod", TAG, "owned", enforce=enforce) for enforce in (False, True))


@pytest.mark.parametrize(
    ("name", "document"), [("iam-observe.json", OBSERVE), ("iam-enforce.json", ENFORCE), ("iam-launch.json", LAUNCH)]
)
def test_s45_the_example_is_generated(name: str, document: object) -> None:
    """S45: what the example shows is what the tests below prove."""
    assert json.loads((EXAMPLE / name).read_text()) == document


def test_observe_reads_everything(service: Service) -> None:
    """S45: mode Observe asks for nothing else, and may write nothing."""
    service.account.policies["AKIATEST"] = OBSERVE["Statement"]
    group = short(service, tags={TAG: "owned"})
    polled = Polled(service, policy_set(POLICY))
    for _ in range(3):
        polled.turn()
    assert polled.poll.problems == ()
    assert polled.world().targets[0].launch_failure is not None
    writer = Writer(service)
    result = writer.provider.resize(ref(group), 8, writer.bound(group), MARK)
    assert not result.done
    assert "not authorized" in result.message


@pytest.mark.usefixtures("at_once")
def test_enforce_does_everything(service: Service) -> None:
    """S45: growing, removing, cancelling, marking and releasing on a group with the tag."""
    service.account.policies["AKIATEST"] = ENFORCE["Statement"]
    group, writer = short(service, tags={TAG: "owned"}), Writer(service)
    assert writer.provider.resize(ref(group), 8, writer.bound(group), MARK).done
    assert writer.provider.cancel(ref(group), (), 5, writer.bound(group)).done
    (removed,) = writer.remove(group, group.counted[0].instance_id)
    assert removed.state is RemovalState.FINISHED
    service.advance(61)
    assert writer.provider.release(ref(group), writer.bound(group)).done
    assert (group.desired, group.tags) == (4, {TAG: "owned"})


def test_no_other_group(service: Service) -> None:
    """S45: a group without the tag can neither be written nor be given it."""
    service.account.policies["AKIATEST"] = ENFORCE["Statement"]
    group, writer = service.account.add(workers()), Writer(service)
    result = writer.provider.resize(ref(group), 3, writer.bound(group))
    assert "not authorized to perform: autoscaling:SetDesiredCapacity" in result.message
    with pytest.raises(AwsError, match="CreateOrUpdateTags"):
        set_tags(client(group.region, "", service.url), group.name, {TAG: "owned"})
    owned = service.account.add(workers("owned", tags={TAG: "owned"}))
    with pytest.raises(AwsError, match="CreateOrUpdateTags"):
        set_tags(client(group.region, "", service.url), owned.name, {"k8s.io/cluster-autoscaler/other": "owned"})
    assert (group.desired, group.tags) == (2, {})
    assert set_desired


@pytest.mark.parametrize("missing", ["", *LAUNCHES, *LAUNCHES_ON_EC2])
def test_launching_at_once(service: Service, missing: str) -> None:
    """S45: the third document is needed for it, every action of it, and it is enough beside the second."""
    launch = [{**one, "Action": [name for name in one["Action"] if name != missing]} for one in LAUNCH["Statement"]]
    enforce = [{**one, "Action": [name for name in one["Action"] if name != missing]} for one in ENFORCE["Statement"]]
    service.account.policies["AKIATEST"] = [*enforce, *launch]
    group, writer = service.account.add(workers(tags={TAG: "owned", LAUNCH_TAG: SYNCHRONOUS})), Writer(service)
    result = writer.provider.resize(ref(group), 5, writer.bound(group), MARK)
    assert (result.done, group.desired) == ((True, 5) if not missing else (False, 2))
    assert missing in result.message


def test_launching_at_once_needs_the_third_document(service: Service) -> None:
    """S45: mode Enforce alone launches nothing so, and the third document nothing in a group without the tag."""
    service.account.policies["AKIATEST"] = ENFORCE["Statement"]
    group, writer = service.account.add(workers(tags={TAG: "owned", LAUNCH_TAG: SYNCHRONOUS})), Writer(service)
    assert "autoscaling:LaunchInstances" in writer.provider.resize(ref(group), 5, writer.bound(group)).message
    service.account.policies["AKIATEST"] = [*ENFORCE["Statement"], *LAUNCH["Statement"]]
    other = service.account.add(workers("other", tags={LAUNCH_TAG: SYNCHRONOUS}))
    assert "autoscaling:LaunchInstances" in writer.provider.resize(ref(other), 5, writer.bound(other)).message
    assert (group.desired, other.desired) == (2, 2)


def test_what_bounds_amounts_is_not_ours_to_write() -> None:
    """S45: AWS holds a desired capacity between MinSize and MaxSize of the group. No document lets us move them, by whatever way,
    make groups or instances beside them, or anything that it does not name."""
    actions = {action for document in (OBSERVE, ENFORCE, LAUNCH) for one in document["Statement"] for action in one["Action"]}
    verbs = {action.partition(":")[2] for action in actions}
    assert not any("*" in action for action in actions)
    assert {verb for verb in verbs if not verb.startswith(("Describe", "List"))} == {
        "SetDesiredCapacity", "SetInstanceProtection", "TerminateInstanceInAutoScalingGroup", "CreateOrUpdateTags", "DeleteTags",
        "LaunchInstances", "CreateFleet",
    }  # fmt: skip
    for one in (*ENFORCE["Statement"], *LAUNCH["Statement"]):
        if any(action.startswith("autoscaling:") and ":Describe" not in action for action in one["Action"]):
            assert list(one["Condition"]["StringEquals"]) == [f"aws:ResourceTag/{TAG}"]
