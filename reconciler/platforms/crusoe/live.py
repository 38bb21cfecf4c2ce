"""Node pools of Crusoe in a live process (experimental)."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.account import account
from reconciler.platforms.crusoe.writing.asked_once import ask_once
from reconciler.platforms.crusoe.writing.checking import checks
from reconciler.platforms.crusoe.writing.credentials import configured
from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper
from reconciler.platforms.crusoe.writing.polling import CrusoePoll
from reconciler.platforms.crusoe.writing.provider import CrusoeProvider
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion
from reconciler.providers.contract import TargetProvider
from reconciler.providers.findings import Check
from reconciler.providers.live_platforms import LivePlatform, Surroundings


def _provider(around: Surroundings) -> TargetProvider:
    return CrusoeProvider(account(), around.notes or InMemoryKeeper(), around.guard)


def _polled(around: Surroundings) -> tuple[CrusoePoll, ...]:
    return (CrusoePoll(account(), around.notes or InMemoryKeeper(), around.policy, shares=around.fleet is not None),)


def _checks(around: Surroundings) -> Iterator[Check]:
    return checks(account(), around.policy())


def _asked(question: CloudQuestion, environment: Mapping[str, str]) -> CloudAnswer:
    """Without a policy that names Crusoe, only a process with credentials for it asks."""
    return ask_once(account(), msgspec.structs.replace(question, own=question.own and configured(environment)))


LIVE = LivePlatform(
    name="crusoe",
    kinds=(NODE_POOL,),
    provider=_provider,
    polled=_polled,
    checks=_checks,
    configured=configured,
    asked=_asked,
    detected_by="CRUSOE_ACCESS_KEY and its related variables name a cluster with node pools",
)
