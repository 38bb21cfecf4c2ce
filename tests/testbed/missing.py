"""What happens to tests whose component cannot be had: they fail by name, unless that was allowed on purpose."""

import os
from typing import NoReturn

import pytest

from tests.testbed.cache import note_component

ALLOW = "RECONCILER_ALLOW_MISSING"


def not_run(component: str, reason: str) -> NoReturn:
    """Fail the test as NOT RUN, or skip it when RECONCILER_ALLOW_MISSING names the component (a list with commas)."""
    note_component()
    text = f"NOT RUN ({component}): {reason}"
    if component in os.environ.get(ALLOW, "").split(","):
        pytest.skip(text)
    pytest.fail(f"{text}\nSet {ALLOW}={component} to go on without.", pytrace=False)
