"""The commands as a user waits for them: each case is a fresh process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import Case

TOP = Path(__file__).parents[2]
DATA = TOP / "bench-data"
RECONCILER = str(Path(sys.executable).with_name("reconciler"))

_GROUP = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: group-{number:03d}, namespace: reconciler}}
spec:
  policyRef: {{name: many}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: group-{number:03d}}}}}
  size: {{min: 0, max: {most}}}
  tier: {tier}
  template:
    capacity: {{cpu: 16, memory: 64Gi, pods: 110}}
    reserved: {{cpu: 500m, memory: 4Gi}}
    architecture: amd64
    labels: {{pool: group-{number:03d}}}
  pricePerHour: "0.768"
  windows: [{{schedule: "0 7 * * mon-fri", timeZone: Europe/Berlin, duration: 12h, size: {{min: 1}}}}]
"""
_POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: many}
spec:
  tiers: [{name: spot}, {name: on-demand}]
"""


def cases() -> Iterator[Case]:
    """Help, the checks of a small and a large policy tree, the plans of a small and a large cluster."""
    quickstart = str(TOP / "examples" / "quickstart")
    policies = str(TOP / "policies")
    yield Case("reconciler --help", [RECONCILER, "--help"], bound_seconds=0.1)
    yield Case("validate policies", [RECONCILER, "validate", policies])
    yield Case("validate 200 groups", [RECONCILER, "validate", str(_two_hundred_groups())])
    yield Case("plan quickstart", [RECONCILER, "plan", "--policy", policies, "--cluster", quickstart])
    yield Case("fit quickstart", [RECONCILER, "fit", "--cluster", quickstart, "-o", "json"])
    yield Case("explain pod", [RECONCILER, "explain", "pod", "batch/giant", "--policy", policies, "--cluster", quickstart])
    openb = _openb()
    yield Case("plan openb", [RECONCILER, "plan", "--policy", str(openb / "policies"), "--cluster", str(openb)])


def _two_hundred_groups() -> Path:
    directory = DATA / "groups-200"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "policy.yaml").write_text(_POLICY)
    for number in range(200):
        tier = ("spot", "on-demand")[number % 2]
        (directory / f"group-{number:03d}.yaml").write_text(_GROUP.format(number=number, most=10 + number % 7, tier=tier))
    return directory


def _openb() -> Path:
    """1,523 nodes and 6,090 pods."""
    directory = DATA / "openb"
    if not directory.exists():
        subprocess.run([sys.executable, str(TOP / "examples" / "make_openb.py"), "--out", str(directory)], check=True)
    return directory
