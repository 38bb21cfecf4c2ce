"""Session fixtures for tests against real components; `tests/conftest.py` makes them known to every test."""

import sys
from collections.abc import Iterator

import pytest

from tests.testbed import progress
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.missing import not_run
from tests.testbed.toolchain import NotAvailableError


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """One real control plane for all tests of the session; tests keep to namespaces and names of their own."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        progress.write_to(sys.stderr)
        try:
            context = running_control_plane()
            plane = context.__enter__()
        except NotAvailableError as error:
            not_run("testbed", str(error))
    try:
        yield plane
    finally:
        context.__exit__(None, None, None)
