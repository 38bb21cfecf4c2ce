"""Auto Scaling groups in a live process."""

from collections.abc import Iterator, Mapping

from reconciler.cluster.target import TargetRef
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import accounts
from reconciler.platforms.aws.writing.checking import checks
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.platforms.aws.writing.wanted import role_of
from reconciler.providers.check import Check
from reconciler.providers.contract import TargetProvider
from reconciler.providers.live_platform import LivePlatform, Surroundings

_CONFIGURED = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
)


def _provider(around: Surroundings) -> TargetProvider:
    def role(target: TargetRef) -> str:
        return role_of(around.policy(), target.region, target.name)

    return AwsProvider(accounts(), role, around.guard)


def _polled(around: Surroundings) -> tuple[AwsPoll, ...]:
    return (AwsPoll(accounts(), around.policy),)


def _checks(around: Surroundings) -> Iterator[Check]:
    return checks(accounts(), around.policy())


def _configured(environment: Mapping[str, str]) -> bool:
    """IRSA and Pod Identity set one of these in a pod; elsewhere the region says it."""
    return any(environment.get(name) for name in _CONFIGURED)


LIVE = LivePlatform(
    name="aws", kinds=(AUTO_SCALING_GROUP,), provider=_provider, polled=_polled, checks=_checks, configured=_configured
)
