"""Rows in a live process: the orchard is where the environment says."""

import os

from reconciler.providers.contract import TargetProvider
from reconciler.providers.live_platforms import LivePlatform, Surroundings
from tests.providers.example_platform.reading import KIND
from tests.providers.example_platform.writing.client import Orchard
from tests.providers.example_platform.writing.provider import OrchardProvider

URL = "ORCHARD_URL"


def _provider(_: Surroundings) -> TargetProvider:
    return OrchardProvider(Orchard(os.environ[URL]))


LIVE = LivePlatform(name="orchard", kinds=(KIND,), provider=_provider, configured=lambda environment: URL in environment)
