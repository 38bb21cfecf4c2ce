"""The admission policies in force, for the tests of one file."""

from collections.abc import Iterator

import pytest

from tests.deploy.attempt import Guarded
from tests.deploy.installed import Installed
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import MASTERS


@pytest.fixture(scope="module")
def guarded(cluster_api: ClusterApi) -> Iterator[Guarded]:
    """The overlay `enforce` with its admission policies. Our service account is an administrator besides, as if the guard in
    our code and RBAC were both switched off; `somebody` is another administrator."""
    installed = Installed(cluster_api.plane, "enforce")
    ours = installed.user(MASTERS)
    installed.wait_for_policies()
    yield Guarded(ours, installed.user(MASTERS, name="somebody"))
    installed.remove()
