import sys
from collections.abc import Iterator

import pytest

from tests.differential.oracle import Oracle
from tests.testbed import progress
from tests.testbed.missing import not_run
from tests.testbed.toolchain import NotAvailableError


def _started(request: pytest.FixtureRequest, *options: str) -> Oracle:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        progress.write_to(sys.stderr)
        try:
            return Oracle(*options)
        except NotAvailableError as error:
            not_run("differential", str(error))


@pytest.fixture(scope="session")
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """kube-scheduler's filter plugins."""
    with _started(request) as running:
        yield running


@pytest.fixture(scope="session")
def validator(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """The validation of an API server: answers with a list of refusals."""
    with _started(request, "-validate") as running:
        yield running
