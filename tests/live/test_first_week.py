"""The first week with the product, as a script: eleven days on one cluster of the real control plane, one after the other.

Each day is what somebody does and what is looked at then, with commands as users type them and the loop as a process that follows
git. What is said is kept by day, and held against the sentences that a user is to read.
"""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli
from tests.gitops.repositories import GitRepo
from tests.gitops.servers import git_daemon
from tests.live.command_line import CommandLine
from tests.live.demand import NODE_LABEL, budget, deployment
from tests.live.reconciler_process import Reconciler, user
from tests.live.run_cluster import Object, all_bound, pod_spec, replicas
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import ControlPlane
from tests.testbed.missing import not_run
from tests.testbed.programs import program
from tests.testbed.toolchain import NotAvailableError
from tests.testbed.work_cluster import WorkCluster

NAMESPACE = "first-week"
HEAD = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: NAME}
spec:
  mode: Enforce
  adoptFrom: [testbed]
  pace: {delayAfterAdd: 0s, delayAfterFailure: 0s}
  budgets: [{nodes: 10}]
  defaults: {scaleDown: {unneededTime: 0s}}
"""
NODE_GROUP = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: GROUP, namespace: first-week}
spec:
  policyRef: {name: NAME}
  target: {clusterAPI: {kind: MachineDeployment, namespace: first-week, name: TARGET}}
  size: {min: MIN, max: MAX}
"""
CARDS = "nvidia.com/gpu"
GPU = Shape(
    capacity={"cpu": "8", "memory": "32Gi", "pods": "110", CARDS: "2"},
    labels={"pool": "gpu", NODE_LABEL: NAMESPACE},
    taints=[{"key": CARDS, "value": "present", "effect": "NoSchedule"}],
)
"""A machine of two cards, which keeps pods off that want none."""
_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"
TOLD = {f"{_CAPACITY}/labels": f"pool=gpu,{NODE_LABEL}={NAMESPACE}", f"{_CAPACITY}/taints": f"{CARDS}=present:NoSchedule"}
"""What a group at zero says of its nodes."""


class Week:
    """The cluster, its git repository, and what was said on each day."""

    def __init__(self, plane: ControlPlane, cluster: WorkCluster, repo: GitRepo, url: str, directory: Path) -> None:
        self.plane, self.cluster, self.repo, self.url, self.directory = plane, cluster, repo, url, directory
        self.command = CommandLine(plane.kubeconfig)
        self.told: dict[str, list[str]] = {}
        self.day = ""
        self.targets = {name: str(cluster.topology_deployment(name)["metadata"]["name"]) for name in ("held", "open")}
        self.sizes = {"general": (1, 5), "gpu": (0, 3), "held": (0, 5), "open": (0, 5)}
        self.more: dict[str, str] = {}
        self._account = user(plane, "first-week")

    def say(self, *texts: str) -> None:
        """Keep what was read."""
        self.told.setdefault(self.day, []).extend(texts)

    def all_told(self, day: str) -> str:
        """In one line, since terminals wrap."""
        return " ".join(" ".join(self.told[day]).split())

    def policy(self, name: str = "prod", *groups: str) -> str:
        """The policy as it stands today, of these groups (none: all)."""
        text = HEAD.replace("NAME", name)
        for group in groups or self.sizes:
            least, most = self.sizes[group]
            made = NODE_GROUP.replace("GROUP", group).replace("NAME", name).replace("TARGET", self.targets.get(group, group))
            text += made.replace("MIN", str(least)).replace("MAX", str(most)) + self.more.get(group, "")
        return text

    def commit(self, **sizes: tuple[int, int]) -> str:
        """The policy with other sizes; the commit."""
        self.sizes |= sizes
        return self.repo.commit({"policies/policy.yaml": self.policy()})

    def loop(self) -> Reconciler:
        """The loop of the policy, following git."""
        return self._process(
            f"--git={self.url}/policies/.git", "--git-protocol=git", f"--git-cache={self.directory / 'cache'}", "--path=policies"
        )

    def loop_of(self, name: str, *groups: str) -> Reconciler:
        """That of another policy, in a file."""
        file = self.directory / f"{name}.yaml"
        file.write_text(self.policy(name, *groups))
        return self._process(f"--policy={file}")

    def _process(self, *arguments: str) -> Reconciler:
        where = (f"--namespace={NAMESPACE}", f"--target-namespace={NAMESPACE}")
        return Reconciler(self._account, None, *arguments, *where, "--lease-duration=6", "--period=1")

    def run(self, name: str, *arguments: object) -> str:
        """What a command says of this cluster, whatever comes of it."""
        where = ["--target-namespace", NAMESPACE]
        if name not in ("hold", "snapshot"):
            where += ["--namespace", NAMESPACE]
        with chdir(self.directory):
            result = self.command.run(name, *arguments, *where)
        text = result.stdout + result.stderr + str(getattr(result.exception, "message", ""))
        self.say(text)
        return text

    def kubectl(self, *arguments: str) -> None:
        """What a person types."""
        words = [str(program("kubectl")), "--kubeconfig", str(self.plane.kubeconfig), "-n", NAMESPACE, *arguments]
        subprocess.run(words, check=True, capture_output=True)

    def pods(self, stem: str, count: int, cpu: str, **more: object) -> None:
        """Pods of their own for nodes of this cluster."""
        spec = {**pod_spec(self.cluster, cpu), **more}
        kind: Object = {"apiVersion": "v1", "kind": "Pod", "spec": spec}
        self.cluster.api.create(*({**kind, "metadata": {"name": f"{stem}-{n}", "namespace": NAMESPACE}} for n in range(count)))

    def gpu_pod(self, name: str, **metadata: object) -> None:
        """One that wants a card."""
        spec = pod_spec(self.cluster, "1", pool="gpu")
        spec["containers"][0]["resources"] = {"requests": {"cpu": "1"}, "limits": {CARDS: "2"}}
        spec["tolerations"] = [{"key": CARDS, "operator": "Exists"}]
        safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
        made = {"name": name, "namespace": NAMESPACE, "annotations": safe, **metadata}
        self.cluster.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": spec})

    def line(self, process: Reconciler, group: str, holds: Callable[[Object], object] = lambda _: True) -> Object:
        """The line of a group in the last plan, once `holds`; its reasons and evidence are kept."""

        def there(plan: Object) -> object:
            return any(one["name"] == group and holds(one) for one in plan["groups"])

        found = next(one for one in process.plan(there)["groups"] if one["name"] == group)
        self.say(*found["owner"]["evidence"], *(reason["message"] for reason in found["reasons"]))
        return found

    def log(self, process: Reconciler, code: str, times: int = 1) -> Object:
        """A line of the log, once it has come so often."""
        found = process.said(code, times)
        self.say(found["message"])
        return found

    def size(self, group: str) -> int:
        return replicas(self.cluster, self.targets.get(group, group))

    def until_size(self, group: str, size: int) -> None:
        """Until the target asks for so many."""
        name = self.targets.get(group, group)

        def there(items: list[Object]) -> bool:
            return any(one["metadata"]["name"] == name and one["spec"]["replicas"] == size for one in items)

        self.cluster.api.wait(self.cluster.path("machinedeployments"), there, f"{size} replicas of {group}")


def gpu_from_zero(week: Week) -> None:
    """A pod asks for cards, and no node has any."""
    week.gpu_pod("trains")
    with week.loop() as process:
        week.log(process, "Adopt")
        process.plan(lambda plan: any(one["name"] == "gpu" and one["current"] == 1 for one in plan["groups"]))
        week.say(*(line["message"] for line in process.lines if line["code"] == "Resize"))
        all_bound(week.cluster, 3)
        week.cluster.api.call("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/trains")
        week.log(process, "RemovalFinished")
        week.until_size("gpu", 0)


def topology_groups(week: Week) -> None:
    """One group whose size the topology declares, and one where it leaves replicas out."""
    week.commit(held=(2, 5), open=(1, 5))
    with week.loop() as process:
        week.line(process, "held", lambda one: one["held"])
        week.line(process, "open", lambda one: one["current"] == 1)
        week.until_size("open", 1)
        assert week.size("held") == 1
    week.run("explain", "group", "held", "--policy", week.repo.root / "policies")


def blocking_budget(week: Week) -> None:
    """Two nodes of which one would do, and a budget that allows no disruption."""
    with week.loop() as process:
        plan = process.plan(lambda found: any(one["blockers"] for one in found["nodes"] if one["group"] == "general"))
        nodes = [one for one in plan["nodes"] if one["group"] == "general"]
        week.say(*(blocker["message"] for one in nodes for blocker in one["blockers"]))
        assert not [action for action in plan["actions"] if action["group"] == "general"]
    assert week.size("general") == 2


def scaled_by_hand(week: Week) -> None:
    """`kubectl scale`, which holds for an hour; then the policy says that this group needs no such wait."""
    week.kubectl("scale", "machinedeployment", "general", "--replicas=3")
    with week.loop() as process:
        week.line(process, "general", lambda one: one["held"])
        assert week.size("general") == 3
    week.more["general"] = "  humanHoldTime: 0s\n"
    week.commit()
    with week.loop() as process:
        week.log(process, "Adopt")
        week.until_size("general", 2)


def two_policies(week: Week) -> None:
    """Somebody puts the topology's group into a second policy, and wants more of it."""
    week.sizes["open"] = (3, 5)
    with week.loop() as first, week.loop_of("second", "open") as second:
        first.said("Leading")
        week.line(second, "open", lambda one: one["held"])
        week.run("doctor", "--policy", week.directory / "second.yaml")
        week.run("status", "--name", "second")
        week.run("status", "--name", "prod")
        assert not [line for line in second.lines if line["code"] == "Resize"]
    week.sizes["open"] = (1, 5)
    assert week.size("open") == 1


def bad_commit(week: Week) -> None:
    """A range upside down: the loop begins with the policy before it, and says where the fault is."""
    good = dict(week.sizes)
    commit = week.commit(gpu=(4, 3))
    with week.loop() as process:
        process.plan(lambda plan: plan["groups"])
        week.say(*(line["message"] + " " + line.get("place", "") for line in process.lines if line["level"] != "info"))
        week.run("status", "--name", "prod")
    assert commit
    week.commit(**good)


def killed_in_a_drain(week: Week) -> None:
    """A node that is being emptied, a pod that does not end, and `kill -9`; the next process finishes what it finds."""
    week.commit(gpu=(1, 3))
    with week.loop() as process:
        week.until_size("gpu", 1)
        week.gpu_pod("stays", finalizers=["test.reconciler.dev/stays"])
        week.gpu_pod("more")
        all_bound(week.cluster, 4)
        process.plan(lambda plan: not plan["actions"])
    week.cluster.api.call("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/more")
    week.cluster.api.call("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/stays")
    week.commit(gpu=(0, 3))
    with week.loop() as process:
        node = process.said("RemoveNode")["nodes"][0]
        process.signal(signal.SIGKILL)
        process.ended()
    item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stays", "namespace": NAMESPACE}}
    week.cluster.api.merge(item, {"metadata": {"finalizers": None}})
    with week.loop() as process:
        finished = week.log(process, "RemovalFinished")
        week.until_size("gpu", 0)
    assert node not in {one["metadata"]["name"] for one in week.cluster.nodes()} or finished["nodes"]


def deleted_target(week: Week) -> None:
    """The MachineDeployment goes, its NodeGroup stays in git."""
    week.kubectl("delete", "machinedeployment", "gpu")
    with week.loop() as process:
        week.line(process, "gpu", lambda one: any("does not exist" in reason["message"] for reason in one["reasons"]))
    week.sizes.pop("gpu")
    week.commit()


def saved_and_stale_plan(week: Week) -> None:
    """A plan is saved and carried out; of the same plan, once the world has moved, nothing is."""
    week.sizes["general"] = (3, 5)
    file = week.directory / "saved.yaml"
    file.write_text(week.policy())
    for name in ("saved", "stale"):
        week.run("plan", "--policy", file, "--out", week.directory / f"{name}.json")
    applied = week.run("apply", week.directory / "saved.json")
    assert week.size("general") == 3, applied
    stale = week.run("apply", week.directory / "stale.json")
    assert week.size("general") == 3, stale
    week.commit()


def on_hold(week: Week) -> None:
    """Quiet for a group, then on."""
    said = week.run("hold", "general", "--reason", "looking at it", "--policy", week.repo.root / "policies")
    assert "held: looking at it" in said, said
    week.commit(general=(4, 5))
    with week.loop() as process:
        week.line(process, "general", lambda one: one["held"])
        assert week.size("general") == 3
        week.run("hold", "general", "--release", "--policy", week.repo.root / "policies")
        week.until_size("general", 4)


def replayed(week: Week) -> None:
    """A day of demand, replayed on a snapshot of the cluster, under the policy and under one that keeps nodes for an hour."""
    week.cluster.until_nodes(6)
    snapshot, curve = week.directory / "snapshot", week.directory / "curve.csv"
    week.run("snapshot", "--out", snapshot)
    # Six nodes of 4 CPUs have room for 24.
    hours = ((0, 2), (2, 26), (4, 2), (6, 26), (8, 2))
    lines = (f"2026-11-27T{hour:02}:00:00Z,{cores}\n" for hour, cores in hours)
    curve.write_text(f"# pod: cpu=1 memory=1Gi\ntime,cpu\n{''.join(lines)}")
    policy, other = week.directory / "as-it-is.yaml", week.directory / "wider.yaml"
    policy.write_text(week.policy())
    other.write_text(week.policy().replace("unneededTime: 0s", "unneededTime: 1h"))
    words = ["--trace", curve, "--cluster", snapshot, "--alone", "--policy", policy, "--against", other, "--wide"]
    result = CliRunner().invoke(cli, ["simulate", *map(str, words)], standalone_mode=False)
    week.say(result.stdout, str(result.exception or ""))


DAYS: dict[str, tuple[Callable[[Week], None], tuple[str, ...]]] = {
    "GPU from zero": (gpu_from_zero, (
        r"spec\.replicas is taken over from testbed: the policy's adoptFrom allows it",
        r"1 pending pod on 1 new node",
        r"the machine of gpu-\S+ is being deleted, and MachineDeployment first-week/gpu does not count it any more",
    )),
    "topology-owned and free groups": (topology_groups, (
        r"held is held: topology controller decides its replicas",
        r"Cluster topology machineDeployments\[held\] declares replicas 1",
        r"Cluster topology machineDeployments\[open\] leaves replicas unset",
    )),
    "a budget that blocks": (blocking_budget, (r"PodDisruptionBudget first-week/web allows 0 evictions, the drain needs 1",)),
    "kubectl scale": (scaled_by_hand, (
        r"managedFields: kubectl \(Update, subresource scale\) owns spec\.replicas",
        r"a person's write holds for 1h, until 2",
        r"spec\.replicas is taken over from kubectl: a one-off write, not a declaration",
    )),
    "two policies": (two_policies, (
        r"open is held: policy prod decides its replicas",
        r"policy prod \(Lease first-week/reconciler-prod, held by \S+\) lists the target in ConfigMap "
        r"first-week/reconciler-state-prod",
        r"targets of policy second are also in policy prod \(Lease",
        r"targets of policy prod are also in policy second \(Lease",
    )),
    "a bad commit": (bad_commit, (r"policies/policy\.yaml:\d+:\d+", r"stays in force")),
    "kill -9 in a drain": (killed_in_a_drain, (
        r"the machine of gpu-\S+ is being deleted, and MachineDeployment first-week/gpu does not count it any more",
    )),
    "a deleted target": (deleted_target, (
        r"MachineDeployment first-week/gpu does not exist. If it was deleted for good, remove the NodeGroup from git",
    )),
    "a saved plan and a stale one": (saved_and_stale_plan, (r"Plan: 1 group up \(\+1 node\)", r"not done")),
    "a hold": (on_hold, (
        r"general \(MachineDeployment first-week/general\) held: looking at it",
        r"general is held: looking at it",
        r"general \(MachineDeployment first-week/general\) released \(was held: looking at it\)",
    )),
    "a replay": (replayed, (
        r"time to schedule, p50",
        r"pods that never got a node 0 0",
        r"nodes grown [1-9]\d* [1-9]",
        r"node hours by target",
    )),
}  # fmt: skip
"""Day -> what is done, and the sentences that a user is to read then."""


@pytest.fixture(scope="module")
def week(cluster_api: ClusterApi, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """The whole of it, once."""
    try:
        program("kubectl")
    except NotAvailableError as error:
        not_run("kubectl", str(error))
    directory = tmp_path_factory.mktemp("first-week")
    shape = Shape(labels={NODE_LABEL: NAMESPACE})
    cluster = WorkCluster(
        cluster_api.api, NAMESPACE, topology=[Group("held", replicas=1), Group("open", min_size=0, max_size=9)], shape=Shape()
    )
    with ExitStack() as stack:
        stack.callback(cluster.delete)
        cluster.machine_deployment(Group("general", replicas=2), shape)
        cluster.machine_deployment(Group("gpu", replicas=0, annotations=TOLD), GPU)
        cluster.until_nodes(3)
        deployment(cluster, "web", 2, "500m")
        budget(cluster, "web", "web", max_unavailable=0)
        (directory / "git").mkdir()
        url = stack.enter_context(git_daemon(directory / "git"))
        made = Week(control_plane, cluster, GitRepo(directory / "git" / "policies"), url, directory)
        made.commit()
        for day, (script, _) in DAYS.items():
            made.day = day
            script(made)
        yield made


@pytest.mark.parametrize(("day", "sentence"), [(day, one) for day, (_, said) in DAYS.items() for one in said])
def test_what_a_user_reads(week: Week, day: str, sentence: str) -> None:
    """That day, from the log, a plan, or a command."""
    assert re.search(sentence, week.all_told(day)), json.dumps(week.told[day], indent=1)
