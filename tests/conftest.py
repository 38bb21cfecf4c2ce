from collections.abc import Sequence

import pytest

from tests.testbed.fixtures import cluster_api, control_plane, new_cluster

__all__ = ["cluster_api", "control_plane", "new_cluster"]


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Tests that share a control plane run in one worker, so that there is only one."""
    for item in items:
        if "control_plane" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("control-plane"))
