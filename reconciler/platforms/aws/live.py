"""Auto Scaling groups in a live process."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import accounts
from reconciler.platforms.aws.writing.asked_once import ask_once
from reconciler.platforms.aws.writing.checking import checks
from reconciler.platforms.aws.writing.hold_tags import set_hold
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.platforms.aws.writing.wanted_groups import role_of
from reconciler.policy.documents import PolicySet
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion
from reconciler.providers.contract import TargetProvider
from reconciler.providers.findings import Check
from reconciler.providers.live_platforms import LivePlatform, Surroundings

_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_CONFIGURED = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    *_REGIONS,
)


def _provider(around: Surroundings) -> TargetProvider:
    known = accounts()

    def role(target: TargetRef) -> str:
        # A group that the policy no longer names is released with the role that last wrote it.
        return role_of(around.policy(), target.region, target.name) or known.last_role(target.region, target.name, around.loop)

    return AwsProvider(known, role, around.guard, around.cluster, around.loop)


def _polled(around: Surroundings) -> tuple[AwsPoll, ...]:
    poll = AwsPoll(
        accounts(), around.policy, remembered=around.remembered, loop=around.loop, fleet=around.fleet, pods_wait=around.pods_wait
    )
    return (poll,)


def _checks(around: Surroundings) -> Iterator[Check]:
    return checks(accounts(), around.policy())


def _configured(environment: Mapping[str, str]) -> bool:
    """IRSA and Pod Identity set one of these in a pod. Elsewhere, the region shows it."""
    return any(environment.get(name) for name in _CONFIGURED)


def _asked(question: CloudQuestion, environment: Mapping[str, str]) -> CloudAnswer:
    """Without a policy that names AWS, only an environment that is set up for AWS has its groups asked for. A cluster on AWS may
    run without Auto Scaling groups."""
    own = question.own and _configured(environment)
    region = next((environment[name] for name in _REGIONS if environment.get(name)), "")
    return ask_once(accounts(), msgspec.structs.replace(question, own=own), region)


def _held(target: TargetRef, policy: PolicySet, text: str) -> str:
    return set_hold(accounts().of(target.region, role_of(policy, target.region, target.name)), target, text)


LIVE = LivePlatform(
    name="aws",
    kinds=(AUTO_SCALING_GROUP,),
    provider=_provider,
    polled=_polled,
    checks=_checks,
    configured=_configured,
    asked=_asked,
    hold=_held,
    detected_by="AWS_REGION names a region with Auto Scaling groups",
)
