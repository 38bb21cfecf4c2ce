import sys
from collections.abc import Iterator

import pytest

from tests.differential.oracle import OF_THE_TESTBED, Oracle, Release
from tests.testbed import progress
from tests.testbed.build import place
from tests.testbed.cache import note_component
from tests.testbed.missing import not_run
from tests.testbed.toolchain import NotAvailableError


def started(request: pytest.FixtureRequest, *options: str, release: Release = OF_THE_TESTBED) -> Oracle:
    """An oracle that answers. It is built now unless it is in the cache, or only on request."""
    if release.program.on_request and not place(release.program).exists():
        note_component()
        pytest.skip(f"not built: {release.program.name}; `make test-all` and `make differential` build it")
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        progress.write_to(sys.stderr)
        try:
            return Oracle(*options, release=release)
        except NotAvailableError as error:
            not_run("differential", str(error))


@pytest.fixture(scope="session")
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """kube-scheduler's filter plugins."""
    with started(request) as running:
        yield running


@pytest.fixture(scope="session")
def validator(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """The validation of an API server: answers with a list of refusals."""
    with started(request, "-validate") as running:
        yield running
