from pathlib import Path

import pytest

from tests.testbed.control_plane import FAKE_NODE, ControlPlane, watch_progress
from tests.testbed.overlooked import until_seen_to


def test_a_pod_runs_on_a_fake_node(control_plane: ControlPlane) -> None:
    """The scheduler binds a pod to a kwok node and kwok runs it."""
    api = control_plane.api
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "first", "annotations": FAKE_NODE},
        "status": {"capacity": {"cpu": "4", "pods": "10"}, "allocatable": {"cpu": "4", "pods": "10"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    api.create(node)
    api.wait("/api/v1/namespaces/default/serviceaccounts", bool, "the default service account")
    api.create(pod)
    pods = "/api/v1/namespaces/default/pods"
    (seen,) = until_seen_to(api, pods, lambda pods: all(one["status"]["phase"] == "Running" for one in pods), "running")
    assert seen["spec"]["nodeName"] == "first"
    api.delete(pod)
    until_seen_to(api, pods, lambda pods: not pods, "deletion of the pod")
    api.delete(node)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("--watch-progress-notify-interval '10m'", ("--watch-progress-notify-interval=5s",)),
        ("--experimental-watch-progress-notify-interval '10m'", ("--experimental-watch-progress-notify-interval=5s",)),
        ("--data-dir 'default.etcd'", ()),
    ],
    ids=["from 3.6 on", "3.5", "too old"],
)
def test_etcd_is_asked_only_for_what_it_knows(tmp_path: Path, known: str, asked: tuple[str, ...]) -> None:
    """The option has lost the word experimental; an etcd that does not know an option does not start."""
    etcd = tmp_path / "etcd"
    etcd.write_text(f'#!/bin/sh\necho "{known}"\n')
    etcd.chmod(0o755)
    assert watch_progress(etcd) == asked
