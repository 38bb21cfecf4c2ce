"""The commands of a first day on a server with OpenShift's Machine API."""

import subprocess
import sys
from pathlib import Path

from tests.live.reconciler_process import user
from tests.openshift.conftest import NewSet
from tests.openshift.live_bench import MachineSetBench
from tests.openshift.objects import machine_autoscaler

NAMESPACE = "first-day"


def said(bench: MachineSetBench, *words: str, code: int = 0) -> str:
    """What a command prints, as a user with the reconciler's rights."""
    where = (f"--kubeconfig={user(bench.plane, 'first-day')}", f"--target-namespace={NAMESPACE}")
    done = subprocess.run([sys.executable, "-m", "reconciler", *words, *where], check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_doctor_init_plan_and_hold(new_set: NewSet, tmp_path: Path) -> None:
    """The platform is found; the first policy names each set with its range; plans say who holds; a hold lies on the set."""
    bench = new_set(2, namespace=NAMESPACE)
    sized = new_set(1, namespace=NAMESPACE, adopted=False)
    named = {"metadata": {"name": sized.name, "namespace": NAMESPACE}}
    (autoscaler,) = sized.testbed.create(machine_autoscaler(sized.name, sized.name, 1, 6) | named)
    bench.until_nodes(2)
    sized.until_nodes(1)
    assert "the server has machine.openshift.io/v1beta1 and autoscaling.openshift.io/v1beta1" in said(
        bench, "doctor", f"--namespace={NAMESPACE}"
    )
    policies = tmp_path / "policies"
    said(bench, "init", f"--out={policies}")
    groups = (policies / "groups.yaml").read_text()
    for one, size in ((bench, "{min: 2, max: 2}"), (sized, "{min: 1, max: 6}")):
        start = groups.index(f"machineSet: {one.name}")
        assert f"size: {size}" in groups[start : start + 200]
    plan = said(bench, "plan", f"--policy={policies}")
    assert f"{sized.name} is held: MachineAutoscaler {NAMESPACE}/{sized.name} decides its replicas" in plan
    said(bench, "hold", bench.name, "--reason=recovering", f"--policy={policies}")
    assert bench.testbed.read(bench.object)["metadata"]["annotations"]["reconciler.dev/hold"].startswith("recovering")
    sized.testbed.delete(autoscaler)
