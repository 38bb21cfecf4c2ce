"""What following Auto Scaling groups costs a process: `python -m tests.aws.sizes` prints the table of examples/eks/README.md.

The service runs here and the process that follows it is one of its own, so that its memory and its processor time are its own.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.client import BotoAws
from reconciler.platforms.aws.writing.polling import AwsPoll
from tests.aws.policies import policy_set
from tests.aws.service.server import Service
from tests.aws.test_asking import POLICY, many

_MIB = 1 << 10
_HOUR, _PERIOD = 3600, 30
CASES = ((0, 0), (1, 2), (100, 2), (100, 30), (500, 30))
"""Groups, and instances of each."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Of one process: resident memory in MiB when it has read everything, seconds of processor time for the first reading and for
    an hour of rest."""

    groups: int
    instances: int
    memory_mib: int
    first_seconds: float
    hour_seconds: float


def cost(groups: int, instances: int) -> Cost:
    """Measured in a new process."""
    service = Service()
    many(service, groups, instances)
    keys = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}
    words = [sys.executable, "-m", "tests.aws.sizes", service.url if groups else ""]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, **keys}, cwd=root)
    service.stop()
    return Cost(groups=groups, instances=groups * instances, **json.loads(done.stdout))


def _follow(url: str) -> None:
    """The loop's view of AWS, first read and then kept for an hour of its own clock, with the World made of every news."""
    clock = [0.0]
    policy = policy_set(POLICY) if url else None
    poll = AwsPoll(Accounts(lambda region, role: BotoAws(region, role, url)), lambda: policy, lambda: clock[0])

    def look() -> None:
        if poll.ask():
            intake = Intake()
            for document in poll.documents():
                intake.read(document, stamps=False)
            assemble(intake, Manifest(captured_seconds=1_800_000_000))

    began = time.process_time()
    look()
    first = time.process_time()
    while clock[0] < _HOUR:
        clock[0] += _PERIOD
        look()
    status = Path("/proc/self/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    told = {"memory_mib": resident // _MIB, "first_seconds": first - began, "hour_seconds": time.process_time() - first}
    print(json.dumps(told))


def main() -> None:
    """One row a case; the first is a process that follows none."""
    for case in CASES:
        found = cost(*case)
        spent = f"{found.first_seconds:.1f} s | {found.hour_seconds:.0f} s"
        print(f"| {found.groups} | {found.instances} | {found.memory_mib} MiB | {spent} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _follow(sys.argv[1])
    else:
        main()
