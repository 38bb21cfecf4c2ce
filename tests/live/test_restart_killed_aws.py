"""kill -9 before and after every write to AWS: the next process, which knows what lies on the API server and in the tags of the
group, comes to the same end. Nothing is bought twice, and no instance ends that nobody chose."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.aws.documents import REGION
from tests.aws.policies import policy_set
from tests.aws.service.behaviour import settle
from tests.live.aws_cloud import AwsCloud
from tests.live.killed_process import Fault, Run, killed, running_until
from tests.live.rights import GROUP, grant
from tests.live.run_cluster import all_bound, pods
from tests.testbed.control_plane import ControlPlane

BEFORE, AFTER = False, True
TERMINATE, SET, TAG = "TerminateInstanceInAutoScalingGroup", "SetDesiredCapacity", "CreateOrUpdateTags"
PROTECT, UNTAG = "SetInstanceProtection", "DeleteTags"
POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: test}}
spec:
  mode: Enforce
  humanHoldTime: 0s # the tests set sizes themselves, as nobody does
  budgets: [{{nodes: 10}}]
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  defaults: {{scaleDown: {{unneededTime: 0s, utilizationThresholdPercent: 50}}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: spot, namespace: r}}
spec: {{policyRef: {{name: test}}, target: {{aws: {{autoScalingGroup: spot, region: {REGION}}}}}}}
"""


class Life:
    """One Auto Scaling group that several processes look after, one after the other."""

    def __init__(self, cloud: AwsCloud, plane: ControlPlane, directory: Path, *, running: int = 0) -> None:
        grant(plane)
        self.cloud, self.cluster = cloud, cloud.cluster
        self.group = cloud.group("spot", most=20, desired=running)
        self._kubeconfig = plane.kubeconfig_of("killed", GROUP)
        self._log = directory / "log"

    def killed(self, kind: str, *, after: bool, nth: int = 1) -> Fault:
        """One process, until it dies around that write."""
        fault = Fault(kind, after, nth)
        killed(self._run(fault))
        return fault

    def until(self, holds: Callable[[], object], what: str) -> None:
        """One process that lives as long as it takes."""
        running_until(self._run(None), lambda: self.cloud.looked(holds), what)

    def instances(self) -> list[str]:
        """All instances of the group."""
        return self.cloud.looked(lambda: sorted(self.group.instances))

    def sent(self, action: str) -> int:
        """How often AWS was asked for it."""
        return sum(1 for name, _ in self.cloud.writes() if name == action)

    def marks(self) -> tuple[list[str], list[str]]:
        """Instances under protection, and our word of it."""
        protected = [one.instance_id for one in self.group.instances.values() if one.protected]
        return protected, [key for key in self.group.tags if key == "reconciler.dev/shield"]

    def _run(self, fault: Fault | None) -> Run:
        return Run(
            kubeconfig=self._kubeconfig, log=self._log, namespace=self.cluster.namespace, policy=policy_set(POLICY), fault=fault,
            cloud=self.cloud.environment,
        )  # fmt: skip


def test_buying_survives_a_kill_at_every_write(aws: AwsCloud, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Mark, desired capacity, tags and state: each write is lost once, and done once without being known. There are never more
    instances than pods, and at the end as many."""
    life = Life(aws, control_plane, tmp_path)
    wanted = 0
    for kind, nth in ((TAG, 1), (SET, 1), (TAG, 1), ("state", 1), ("event", 1)):
        for after in (BEFORE, AFTER):
            wanted += 1
            pods(life.cluster, f"p{wanted}", 1, "1500m")
            fault = life.killed(kind, after=after, nth=nth)
            assert life.group.desired <= wanted, fault
    life.until(lambda: life.group.desired == len(life.group.instances) == wanted, f"{wanted} instances")
    assert {pod["spec"]["nodeName"] for pod in all_bound(life.cluster, wanted)} == {aws.node(one) for one in life.instances()}
    assert aws.ended() == []


def test_taking_back_survives_a_kill_at_every_write(aws: AwsCloud, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Two instances run pods, and one more that was asked for never comes: whichever write of the cancellation the process is
    killed at, the two go on, and no protection of ours stays. Instances are protected from the first `SetDesiredCapacity`
    that was not done on, so that the second protection in the list is the one that is taken off."""
    life = Life(aws, control_plane, tmp_path, running=2)
    pods(life.cluster, "p", 2, "1500m")
    all_bound(life.cluster, 2)
    before = life.instances()
    aws.stock(0)
    for kind in (TAG, PROTECT, SET, PROTECT, UNTAG):
        for after in (BEFORE, AFTER):
            with aws.service.lock:
                life.group.desired = 3
                settle(aws.account)
            fault = life.killed(kind, after=after)
            assert (life.instances(), aws.ended()) == (before, []), fault
    life.until(lambda: life.group.desired == 2 and life.marks() == ([], []), "what never came being taken back")
    assert (life.instances(), aws.ended()) == (before, [])
    all_bound(life.cluster, 2)


def test_removing_survives_a_kill_at_every_write(aws: AwsCloud, control_plane: ControlPlane, tmp_path: Path) -> None:
    """State, taint, termination, and the state after them: of three instances exactly the two without pods go, and the third
    one's pod stays where it is. Each is asked for once. A request whose answer, or the state that noted it, died with its
    process may be repeated, because a read that lags does not show it yet. AWS counts an instance that is leaving only once."""
    life = Life(aws, control_plane, tmp_path, running=3)
    pods(life.cluster, "p", 1, "1500m")
    (pod,) = all_bound(life.cluster, 1)
    before = life.instances()
    for kind in ("state", "taint", TERMINATE, "state"):
        for after in (BEFORE, AFTER):
            fault = life.killed(kind, after=after)
            assert set(life.instances()) <= set(before), fault
    life.until(lambda: len(life.group.instances) == 1, "two instances being gone")
    (left,) = life.instances()
    assert (pod["spec"]["nodeName"], life.group.desired) == (aws.node(left), 1)
    assert sorted(aws.ended()) == sorted(set(before) - {left})
    asked = [parameters["InstanceId"] for name, parameters in aws.writes() if name == TERMINATE]
    assert (sorted(set(asked)), max(Counter(asked).values()) <= 2) == (sorted(aws.ended()), True), asked
