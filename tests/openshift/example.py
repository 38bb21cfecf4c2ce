"""Makes examples/openshift/cluster anew: `python -m tests.openshift.example`. What is there is what the API server, the scheduler
and the controllers of the Machine API made of it."""

import re
import subprocess
import sys
from pathlib import Path

from tests.openshift.autoscaler_operator import NAMESPACE, SIZES, AutoscalerOperator
from tests.openshift.live_bench import CAPACITY, phase
from tests.openshift.objects import GROUP, machine_autoscaler
from tests.testbed.api import Api, Object, collection
from tests.testbed.control_plane import running_control_plane
from tests.testbed.machine_api import API_VERSION, MachineApi

OUT = Path(__file__).resolve().parents[2] / "examples" / "openshift" / "cluster"
_CPU = {"m5.xlarge": "4", "m5.2xlarge": "8"}


def machine_set(
    name: str, replicas: int, kind: str, *, role: str = "worker", sizes: tuple[int, int] | None = None, **value: object
) -> Object:
    """One set; its nodes have the amounts of `kind` and 4 GiB for each CPU."""
    cpu = int(_CPU[kind])
    annotations = {**CAPACITY, f"{GROUP}/vCPU": str(cpu), f"{GROUP}/memoryMb": str(cpu * 4096)}
    if sizes is not None:
        annotations |= dict(zip(SIZES, map(str, sizes), strict=True))
    labels = {
        f"{GROUP}/cluster-api-cluster": "prod",
        f"{GROUP}/cluster-api-machine-role": role,
        f"{GROUP}/cluster-api-machine-type": role,
        f"{GROUP}/cluster-api-machineset": name,
    }
    amounts = {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "pods": "250"}
    zone = f"eu-central-1{name[-1]}"
    provider = {"instanceType": kind, "capacity": amounts, "zone": zone, "placement": {"availabilityZone": zone}, **value}
    taints = [{"key": "node-role.kubernetes.io/infra", "effect": "NoSchedule"}] if role == "infra" else []
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {f"{GROUP}/cluster-api-machineset": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "metadata": {"labels": {f"node-role.kubernetes.io/{role}": ""}},
                    "taints": taints,
                    "providerSpec": {"value": provider},
                },
            },
        },
    }


def scene(api: Api) -> None:
    """A set that nobody sizes, one that OpenShift's autoscaler sizes, one on spot with a Machine that failed, one for infra; pods
    that run and pods that wait."""
    for name in (NAMESPACE, "shop"):
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    worker_a, worker_b, spot, infra = (
        machine_set("prod-worker-a", 2, "m5.xlarge", sizes=(1, 6)),
        machine_set("prod-worker-b", 2, "m5.xlarge"),
        machine_set("prod-spot-a", 1, "m5.2xlarge", sizes=(0, 4), spotMarketOptions={}),
        machine_set("prod-infra-a", 1, "m5.xlarge", role="infra"),
    )
    for item in (worker_a, worker_b, spot, infra):
        # As the installer writes them.
        api.call("POST", f"{collection(item)}?fieldManager=cluster-bootstrap", item)
    named = {"metadata": {"name": "prod-worker-b", "namespace": NAMESPACE}}
    api.create(machine_autoscaler("prod-worker-b", "prod-worker-b", 1, 6) | named)
    operator = AutoscalerOperator(api)
    operator.reconcile()
    operator.scales("prod-worker-b", 2)
    machines = f"/apis/{API_VERSION}/namespaces/{NAMESPACE}/machines"
    api.wait(machines, lambda found: sum(phase(item) == "Running" for item in found) == 6, "six machines running")
    launch = {"spec": {"template": {"spec": {"providerSpec": {"value": {"launch": "Fail"}}}}}}
    api.merge(spot, launch)
    api.merge(spot, {"spec": {"replicas": 2}}, "cluster-bootstrap")
    api.wait(machines, lambda found: any(phase(item) == "Failed" for item in found), "a failed machine")
    api.merge(spot, {"spec": {"template": {"spec": {"providerSpec": {"value": {"launch": ""}}}}}})
    api.create(_deployment("web", 4, "1500m", "2Gi"), _deployment("search", 9, "3", "6Gi"))
    pods = "/api/v1/namespaces/shop/pods"
    seen: list[int] = []

    def placed(items: list[Object]) -> bool:
        """The scheduler has had its say about every one, and nothing has moved for a while."""
        told = [one for one in items if one["spec"].get("nodeName") or one.get("status", {}).get("conditions")]
        seen.append(sum(bool(one["spec"].get("nodeName")) for one in items))
        return len(items) == len(told) == 13 and len(seen) > 100 and len(set(seen[-100:])) == 1

    api.wait(pods, placed, "the scheduler being done")
    autoscaler = f"/api/v1/namespaces/{NAMESPACE}/pods"
    api.wait(autoscaler, lambda items: bool(items) and all(one["spec"].get("nodeName") for one in items), "the autoscaler's pod")


def _deployment(name: str, replicas: int, cpu: str, memory: str) -> Object:
    labels = {"app": name}
    requests = {"requests": {"cpu": cpu, "memory": memory}}
    spec = {"containers": [{"name": name, "image": "registry.example.org/shop:1", "resources": requests}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def main() -> None:
    """Write the capture."""
    with running_control_plane() as plane:
        machine_api = MachineApi(plane)
        machine_api.start()
        scene(plane.api)
        command = [sys.executable, "-m", "reconciler", "snapshot", f"--kubeconfig={plane.kubeconfig}", f"--out={OUT}", "--force"]
        subprocess.run(command, check=True)
        named = OUT / "snapshot.yaml"
        named.write_text(re.sub(r"^cluster: .*$", "cluster: prod", named.read_text(), flags=re.M))
        machine_api.stop()


if __name__ == "__main__":
    main()
