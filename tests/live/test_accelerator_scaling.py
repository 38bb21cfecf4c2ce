"""KAR-0055 of kubernetes-sigs/ai-conformance, with `reconciler run` as the autoscaler: device plugins, and claims."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.live import device_driver
from tests.live.accelerator_scaling import MODEL, RESOURCE, TEMPLATE, Evidence, Pool, scale_up_and_down
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

NODES = 2


@pytest.mark.parametrize("mode", ["device-plugin", "dra"])
def test_one_more_pod_is_one_more_node_until_it_goes(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path, mode: str
) -> None:
    """2, 3 and again the same 2 nodes. EVIDENCE names a directory for log and result."""
    cluster = new_cluster()
    labels = {"test": cluster.namespace}
    cards = {RESOURCE: "1"} if mode == "device-plugin" else {}
    shape = Shape(capacity={"cpu": "4", "memory": "16Gi", "pods": "110", **cards}, labels=labels)
    cluster.machine_deployment(Group("pool", replicas=NODES), shape)
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"pool": (NODES, NODES + 1)}, unneeded="0s"))
    evidence = Evidence(Path(os.environ.get("EVIDENCE") or tmp_path), mode, labels, NODES)
    with ExitStack() as stack:
        if mode == "dra":
            stack.enter_context(device_driver.device_class(cluster))
            device_driver.claim_template(cluster, TEMPLATE, device_driver.exactly(cluster, MODEL))
        account = user(control_plane, f"accelerators-{mode}")
        stack.enter_context(Reconciler(account, file, f"--namespace={cluster.namespace}", "--period=1"))
        scale_up_and_down(Pool(cluster, mode), evidence, NODES)
    assert evidence.result()["passed"]
