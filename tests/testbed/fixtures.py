"""Session fixtures for tests against real components; `tests/conftest.py` makes them known to every test."""

import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Protocol

import pytest

from tests.testbed import progress
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import ANY_SHAPE, Group, Shape
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.machine_api import MachineApi
from tests.testbed.missing import not_run
from tests.testbed.reset_sockets import close_reset_sockets
from tests.testbed.toolchain import NotAvailableError
from tests.testbed.work_cluster import WorkCluster

_numbers = itertools.count(1)


class NewCluster(Protocol):
    """What the fixture `new_cluster` gives."""

    def __call__(self, *, topology: Sequence[Group] | None = None, shape: Shape = ANY_SHAPE) -> WorkCluster:
        """Make a Cluster, provisioned when this returns."""
        ...


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """One real control plane for all tests of the session; tests keep to namespaces and names of their own."""
    close_reset_sockets()
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        progress.write_to(sys.stderr)
        try:
            context = running_control_plane()
            plane = context.__enter__()
        except NotAvailableError as error:
            not_run("testbed", str(error))
    with ExitStack() as stack:
        stack.push(context)
        yield plane


@pytest.fixture(scope="session")
def cluster_api(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[ClusterApi]:
    """Cluster API with its webhooks and the providers' stand-in, on the control plane of the session."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            running = ClusterApi(control_plane)
            running.start()
        except NotAvailableError as error:
            not_run("testbed", str(error))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def machine_api(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[MachineApi]:
    """OpenShift's Machine API with its own controllers, on the control plane of the session."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            running = MachineApi(control_plane)
            running.start()
        except NotAvailableError as error:
            not_run("testbed", str(error))
    yield running
    running.stop()


@pytest.fixture
def new_cluster(cluster_api: ClusterApi, request: pytest.FixtureRequest) -> Iterator[NewCluster]:
    """Makes Clusters of this test: `new_cluster()`, or `new_cluster(topology=[Group(…)], shape=Shape(…))`, each in a namespace
    of its own; they and their nodes are on their way after the test."""
    made: list[WorkCluster] = []
    stem = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:40].strip("-")

    def make(*, topology: Sequence[Group] | None = None, shape: Shape = ANY_SHAPE) -> WorkCluster:
        name = f"{stem}-{next(_numbers)}"
        made.append(WorkCluster(cluster_api.api, name, topology=topology, shape=shape))
        return made[-1]

    yield make
    for cluster in made:
        cluster.delete()
