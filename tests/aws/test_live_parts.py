"""What a live process makes of AWS: as whom it asks, and when it does."""

from typing import cast

import msgspec
import pytest

from reconciler.kube.connection.api import Api
from reconciler.platforms.aws.live import LIVE
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.polling import MOVING_SECONDS, RESTING_SECONDS
from reconciler.platforms.aws.writing.wanted_groups import Wanted, role_of, wanted
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion
from reconciler.providers.live_platforms import Surroundings
from tests.aws.documents import REGION, group
from tests.aws.policies import policy_set
from tests.aws.scripted import Scripted
from tests.aws.test_asking import NAMED, POLICY, TAG
from tests.aws.test_writes import REF

ROLE = "arn:aws:iam::123456789012:role/other"
OTHERS = """---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: elsewhere, namespace: r}
spec: {policyRef: {name: prod}, target: {crusoe: {nodePool: special, location: eu-central-1}}}
"""


class Asked:
    """Accounts that note who was asked where."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str]] = []
        self.aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [group("special"), group()]}])
        self.accounts = Accounts(self._made)

    def _made(self, region: str, role: str) -> Scripted:
        self.made.append((region, role))
        return self.aws


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """In the stead of AWS."""
    found = Asked()
    monkeypatch.setattr("reconciler.platforms.aws.live.accounts", lambda: found.accounts)
    return found


def around(policy: str = "") -> Surroundings:
    return Surroundings(management=cast(Api, None), policy=lambda: policy_set(policy) if policy else None)


def test_as_whom_a_group_is_written(asked: Asked) -> None:
    """As the policy says; one that it names no more as it was named last, else as the process itself."""
    assert LIVE.provider is not None
    special = type(REF)(kind=REF.kind, region=REGION, name="special")
    LIVE.provider(around(NAMED)).step(special, (), 0)
    LIVE.provider(around(POLICY)).step(special, (), 0)
    asked.accounts.named(REGION, "role", ["special"])
    LIVE.provider(around()).step(special, (), 0)
    assert asked.made == [(REGION, ROLE), (REGION, ""), (REGION, "role")]


def test_as_whom_a_group_is_held(asked: Asked) -> None:
    """The same."""
    assert LIVE.hold is not None
    special = type(REF)(kind=REF.kind, region=REGION, name="special")
    assert LIVE.hold(special, policy_set(NAMED), "words") == ""
    assert LIVE.hold(REF, policy_set(NAMED), "words") == ""
    assert asked.made == [(REGION, ROLE), (REGION, "")]


@pytest.mark.parametrize(
    ("name", "configured"),
    [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", True),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", True),
        ("AWS_ACCESS_KEY_ID", True),
        ("AWS_PROFILE", True),
        ("AWS_REGION", True),
        ("AWS_DEFAULT_REGION", True),
        ("HOME", False),
    ],
)
def test_whether_an_environment_means_aws(name: str, *, configured: bool, asked: Asked) -> None:
    """IRSA, Pod Identity, keys, a profile or a region; without any of them the nodes of a cluster ask nothing."""
    assert (LIVE.configured({name: "x"}), LIVE.configured({name: ""})) == (configured, False)
    question = CloudQuestion(own=True, provider_ids=(f"aws:///{REGION}a/i-0a",))
    assert LIVE.asked(CloudQuestion(), {name: "x"}) == CloudAnswer()
    assert asked.made == [], "whose targets a command is about is the question's to say"
    LIVE.asked(question, {name: "x"})
    assert bool(asked.made) is configured


@pytest.mark.parametrize(
    ("environment", "region"),
    [
        ({"AWS_REGION": "r-1", "AWS_DEFAULT_REGION": "r-2"}, "r-1"),
        ({"AWS_REGION": "", "AWS_DEFAULT_REGION": "r-2"}, "r-2"),
        ({"AWS_PROFILE": "x"}, ""),
    ],
)
def test_the_region_of_a_process(environment: dict[str, str], region: str, asked: Asked) -> None:
    """By its variable, else by the older one, else none but those of the nodes."""
    LIVE.asked(CloudQuestion(own=True), environment)
    assert asked.made == ([(region, "")] if region else [])


def test_what_is_polled_and_looked_at(asked: Asked) -> None:
    """By the policy in force."""
    (poll,) = LIVE.polled(around(POLICY))
    poll.ask()  # type: ignore[attr-defined]
    assert (asked.made, len(poll.documents()) > 0) == ([(REGION, "")], True)
    assert {check.code for check in LIVE.checks(around(POLICY))} == {"AWS", "AWSRight"}
    assert list(LIVE.checks(around())) == []


@pytest.mark.parametrize("pods_wait", [False, True])
def test_how_soon_it_is_polled_again(asked: Asked, *, pods_wait: bool) -> None:
    (poll,) = LIVE.polled(msgspec.structs.replace(around(POLICY), pods_wait=lambda: pods_wait))
    poll.ask()  # type: ignore[attr-defined]
    assert poll._pause_seconds() == (MOVING_SECONDS if pods_wait else RESTING_SECONDS)  # type: ignore[attr-defined]


def test_what_a_policy_asks_for() -> None:
    """By region and role, groups by name and by tags; of other clouds nothing."""
    tags = ((TAG, "owned"),)
    assert wanted(policy_set(NAMED + OTHERS)) == (
        Wanted(region=REGION, tags=(tags,)),
        Wanted(region=REGION, role=ROLE, names=("special",)),
    )
    assert wanted(None) == ()
    policy = policy_set(NAMED + OTHERS)
    assert [role_of(policy, *one) for one in ((REGION, "special"), (REGION, "x"), ("x", "special"))] == [ROLE, "", ""]
    assert role_of(None, REGION, "special") == ""
