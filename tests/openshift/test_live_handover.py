"""A handover replayed on the controllers of the Machine API, with `reconciler run` at work and `reconciler handover` asked after
each step; the operator of OpenShift's autoscaler is a stand-in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli
from tests.live.reconciler_process import Reconciler, user
from tests.live.rights import writes_of
from tests.openshift.autoscaler_operator import MARK, NAMESPACE, SIZES, AutoscalerOperator
from tests.openshift.conftest import NewSet
from tests.openshift.live_bench import CAPACITY, MachineSetBench
from tests.openshift.objects import machine_autoscaler
from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane
from tests.testbed.work_cluster import replicas_owners

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: handed}
spec:
  mode: Enforce
  adoptFrom: [cluster-autoscaler]
  pace: {delayAfterAdd: 0s}
  discovery: [{name: none, openshift: {labels: {discovered: "no"}}}]
  defaults: {scaleDown: {unneededTime: 1h}}
"""
GROUP = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: reconciler}}
spec:
  policyRef: {{name: handed}}
  target: {{openshift: {{namespace: {namespace}, machineSet: {name}}}}}
  size: {{min: 1, max: 6}}
"""
REST = GROUP.format(name="rest", namespace=NAMESPACE).replace("machineSet: rest", "machineSet: not-there")
HOME = "handed-over"
OURS = ("nodegroup-reconciler", "Apply", "")


class Replay:
    """One set, its autoscaler, and what the command says."""

    def __init__(self, bench: MachineSetBench, directory: Path) -> None:
        self.bench = bench
        self.operator = AutoscalerOperator(bench.testbed)
        self.file = directory / "policy.yaml"
        self.file.write_text(POLICY + REST)
        bench.testbed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}, "testbed")
        self._kubeconfig = user(bench.plane, "asks-handover")
        named = {"metadata": {"name": bench.name, "namespace": NAMESPACE}}
        self.autoscaler: Object = machine_autoscaler(bench.name, bench.name, 1, 6) | named

    def named(self) -> None:
        """The policy names the set."""
        self.file.write_text(POLICY + REST + GROUP.format(name=self.bench.name, namespace=NAMESPACE))

    def next(self, *options: str) -> int:
        """The number of the step that is next, from 1; 0 when all are done."""
        words = ["handover", "openshift", self.bench.name, *options, f"--policy={self.file}", f"--kubeconfig={self._kubeconfig}"]
        done = CliRunner().invoke(cli, [*words, "--detailed-exitcode"], prog_name="reconciler", standalone_mode=False)
        assert done.exception is None, done.output
        assert done.return_value in (0, 2), done.output
        steps = [line for line in done.stdout.splitlines() if line.startswith("next  ")]
        assert len(steps) == (1 if done.return_value == 2 else 0), done.stdout
        return int(steps[0].split()[1].rstrip(".")) if steps else 0

    def annotations(self) -> dict[str, str]:
        return dict(self.bench.testbed.read(self.bench.object)["metadata"].get("annotations") or {})


@pytest.fixture
def replay(new_set: NewSet, tmp_path: Path) -> Iterator[Replay]:
    """A set that OpenShift's autoscaler sizes."""
    made = Replay(new_set(1, adopted=False), tmp_path)
    made.bench.testbed.create(made.autoscaler)
    made.operator.reconcile()
    assert made.operator.scales(made.bench.name, 2)
    yield made
    made.operator.gone()


def test_there_and_back(replay: Replay, control_plane: ControlPlane) -> None:
    """Every step in its order; before it is done the command says so and the loop writes nothing; replicas never move but by
    demand. The autoscaler stays at work for other sets all the time."""
    bench, operator = replay.bench, replay.operator
    bench.until_nodes(2)
    assert replay.next() == 1
    replay.named()
    with Reconciler(user(control_plane, "hands-over"), replay.file, f"--namespace={HOME}", "--period=1") as process:

        def line(plan: Object) -> Object:
            return next(one for one in plan["groups"] if one["name"] == bench.name)

        held = line(process.plan(lambda plan: line(plan)["owner"]["state"] == "Held"))
        assert held["owner"]["by"] == f"MachineAutoscaler {NAMESPACE}/{bench.name}"
        assert replay.next() == 3
        bench.testbed.delete(replay.autoscaler)
        # Its annotations are there until the operator has followed: the set stays held.
        assert replay.next() == 3
        turns = process.turns()
        process.until_page("/metrics", lambda *_: process.turns() > turns + 1)
        assert writes_of(control_plane, "hands-over") == []
        operator.reconcile()
        assert not {MARK, *SIZES} & replay.annotations().keys()
        assert CAPACITY.items() <= replay.annotations().items()
        assert (bench.replicas(), operator.scales(bench.name, 5)) == (2, False)
        process.said("Adopt")
        assert replay.next() == 0
        assert replicas_owners(bench.testbed.read(bench.object)) == [OURS]
        bench.pods(3)
        process.plan(lambda plan: line(plan)["current"] == 3)
        bench.until_nodes(3)
        # Back: released, and the operator writes the annotations anew.
        assert replay.next("--back") == 1
        replay.file.write_text(POLICY + REST)
        process.said("Release")
    assert replay.next("--back") == 2
    bench.testbed.create(replay.autoscaler)
    assert replay.next("--back") == 3
    operator.reconcile()
    assert replay.next("--back") == 0
    assert bench.replicas() == 3
    assert operator.scales(bench.name, 4)
    bench.testbed.delete(replay.autoscaler)


def test_an_autoscaler_at_work_holds_what_it_would_size(new_set: NewSet, control_plane: ControlPlane, tmp_path: Path) -> None:
    """A set with size annotations and no MachineAutoscaler: its Deployment is named while it has replicas, and not one request of
    ours changes anything; scaled to 0, the set is ours."""
    bench = new_set(1, adopted=False, annotations=dict(zip(SIZES, ("0", "5"), strict=True)))
    bench.until_nodes(1)
    operator = AutoscalerOperator(bench.testbed)
    operator.reconcile()
    bench.testbed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}, "testbed")
    file = tmp_path / "policy.yaml"
    policy = POLICY.replace("adoptFrom: [cluster-autoscaler]", "adoptFrom: [cluster-autoscaler, testbed]")
    file.write_text(policy + GROUP.format(name=bench.name, namespace=NAMESPACE))
    bench.pods(2)
    try:
        with Reconciler(user(control_plane, "beside-autoscaler"), file, f"--namespace={HOME}", "--period=1") as process:
            plan = process.plan(lambda plan: plan["groups"][0]["owner"]["state"] == "Held")
            assert plan["groups"][0]["owner"]["by"] == "cluster-autoscaler"
            assert plan["groups"][0]["owner"]["evidence"] == [f"Deployment {NAMESPACE}/cluster-autoscaler-default has 1 replica"]
            turns = process.turns()
            process.until_page("/metrics", lambda *_: process.turns() > turns + 1)
            assert writes_of(control_plane, "beside-autoscaler") == []
        operator.set_replicas(0)
        # Another process, since one that runs asks for Deployments once a minute.
        with Reconciler(user(control_plane, "beside-autoscaler"), file, f"--namespace={HOME}", "--period=1") as process:
            process.said("Resize")
    finally:
        operator.gone()
    assert bench.replicas() == 2


def test_leftovers_of_a_drain_are_a_step(replay: Replay) -> None:
    """The autoscaler was in the middle of one: its mark and its taint are named until they are gone."""
    bench = replay.bench
    node = bench.until_nodes(2)[0]
    replay.named()
    bench.testbed.delete(replay.autoscaler)
    replay.operator.reconcile()
    (machine,) = [one for one in bench.machines() if one["status"]["nodeRef"]["name"] == node]
    bench.testbed.merge(machine, {"metadata": {"annotations": {"machine.openshift.io/delete-machine": "2026-11-22 00:00:00"}}})
    assert replay.next() == 4
    bench.testbed.merge(machine, {"metadata": {"annotations": {"machine.openshift.io/delete-machine": None}}})
    assert replay.next() == 5


def test_a_deployment_that_is_deleted_comes_back_and_one_that_is_scaled_does_not(replay: Replay) -> None:
    """All sets at once: by its replicas, as the command says."""
    operator = replay.operator
    operator.delete_deployment()
    operator.reconcile()
    assert (operator.replicas(), operator.scales(replay.bench.name, 3)) == (1, True)
    operator.set_replicas(0)
    operator.reconcile()
    assert (operator.replicas(), operator.scales(replay.bench.name, 2)) == (0, False)
    replay.bench.testbed.delete(replay.autoscaler)


def test_replicas_that_git_drops_fall_to_one_unless_we_own_them(new_set: NewSet) -> None:
    """The applier is the sole owner: the definition's default. Adopted before: they stay."""
    alone, adopted = new_set(0, adopted=False), new_set(0, adopted=False)
    for bench in (alone, adopted):
        bench.applied_by("argocd-controller", 3)
    assert adopted.port.adopt(adopted.target, 3, adopted.bound()).done
    for bench in (alone, adopted):
        metadata = {"name": bench.name, "namespace": bench.namespace}
        body = {key: bench.object[key] for key in ("apiVersion", "kind")} | {"metadata": metadata}
        bench.testbed.apply(body, "argocd-controller")
    assert (alone.replicas(), adopted.replicas()) == (1, 3)
