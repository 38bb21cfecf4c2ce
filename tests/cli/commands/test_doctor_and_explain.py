"""`doctor` and `explain` say the same of every group, node and pod, on the examples of every platform and on openb."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.inputs.plan_inputs import read_inputs
from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import InputError
from reconciler.decisions.decide import decide
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.document import explained
from reconciler.rendering.documents.explanation.values import GroupExplanation, NodeExplanation, PodExplanation

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = {
    "quickstart": ("policies", "examples/quickstart"),
    "eks": ("examples/eks/policies", "examples/eks/cluster"),
    "openshift": ("examples/openshift/policies", "examples/openshift/cluster"),
    **{
        f"crusoe {part}": ("examples/crusoe/policies", f"examples/crusoe/story/{part}") for part in ("1-not-ready", "4-recovered")
    },
    "openb": ("policies", "."),
}


class Said:
    """What `doctor` finds, and what `explain` answers, about one cluster."""

    def __init__(self, policy: Path, cluster: Path) -> None:
        words = ["doctor", "--policy", str(policy), "--cluster", str(cluster), "-o", "json"]
        result = CliRunner().invoke(cli, words, standalone_mode=False)
        assert result.exception is None, result.output
        self.findings: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
        inputs = read_inputs(policy, None, cluster, None)
        plan, memory = decide(inputs.world, inputs.policy, inputs.memory, inputs.now_seconds)
        self.world = inputs.world
        self.case = Case.of(inputs.world, inputs.policy, plan, inputs.now_seconds, memory)

    def found(self, code: str) -> list[str]:
        """The names (without the kind) of what `doctor` has this to say of."""
        return sorted(one["object"].partition(" ")[2] for one in self.findings if one["code"] == code)

    def group(self, name: str) -> GroupExplanation:
        return self._answer("group", name, GroupExplanation)

    def node(self, name: str) -> NodeExplanation:
        return self._answer("node", name, NodeExplanation)

    def pod(self, name: str) -> PodExplanation:
        return self._answer("pod", name, PodExplanation)

    def _answer(self, what: str, name: str, kind: Any) -> Any:
        found = getattr(explained(self.case, what, name), what)
        assert isinstance(found, kind)
        return found

    def workloads(self) -> dict[str, str]:
        """A pod that has a node, for each workload by its `namespace/name`."""
        pods, found = self.world.pods, {}
        for index in range(len(pods)):
            controller = self.world.pod_traits[pods.traits[index]].controller
            if controller is not None and pods.node[index] >= 0 and not pods.finished(index):
                found.setdefault(f"{pods.key(index).partition('/')[0]}/{controller.name}", pods.key(index))
        return found


@pytest.fixture(scope="module", params=EXAMPLES)
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Said:
    above = ROOT
    if request.param == "openb":
        above = tmp_path_factory.mktemp("openb") / "cluster"
        subprocess.run(
            [sys.executable, str(ROOT / "examples" / "make_openb.py"), "--out", str(above)], check=True, capture_output=True
        )
    policy, cluster = EXAMPLES[request.param]
    return Said(above / policy, above / cluster)


def test_nodes_that_are_named_are_of_that_group(said: Said):
    """A finding about some nodes of a group names nodes that `explain` puts into it."""
    for one in said.findings:
        kind, _, name = one["object"].partition(" ")
        for node in one.get("nodes", ()):
            assert kind != "NodeGroup" or said.node(node).decision.group == name, one


def test_groups_that_are_named_are_there(said: Said):
    """Each is explained, under that name."""
    for one in said.findings:
        kind, _, name = one["object"].partition(" ")
        if kind == "NodeGroup":
            assert said.group(name).decision.name == name


def test_a_topology_that_declares_replicas_is_told_by_both(said: Said):
    """The groups that `doctor` names are those that `explain` says to be held with that evidence; no other group is."""
    held = []
    for line in said.case.plan.groups:
        owner = said.group(line.name).decision.owner
        declares = any("topology" in proof and "declares replicas" in proof for proof in owner.evidence)
        held += [line.name] if str(owner.state) == "Held" and declares else []
    assert said.found("TopologyReplicas") == sorted(held)


def test_a_budget_that_blocks_every_drain_blocks(said: Said):
    """Pods below it keep their node, by its name, and no such node is removed."""
    never = said.found("BudgetBlocksEveryDrain")
    budgets = {f"{one.namespace}/{one.name}" for one in said.world.budgets}
    assert set(never) <= budgets
    told: set[str] = set()
    for line in said.case.plan.nodes if never else ():
        decision = said.node(line.node).decision
        names = {name for name in never for one in decision.blockers if f"PodDisruptionBudget {name} " in one.message}
        assert not (names and decision.removable)
        told |= names
    assert told == set(never)


def test_what_no_budget_covers_is_kept_by_none(said: Said):
    """A workload without one: none of its pods keeps a node by a budget. One whose pods ask for nothing: they ask for nothing."""
    bare, asks_nothing = set(said.found("NoDisruptionBudget")), set(said.found("NoRequests"))
    pods = said.workloads()
    assert bare | asks_nothing <= pods.keys()
    for name in bare:
        assert not any(blocker.code == "NotEnoughPdb" for blocker in said.pod(pods[name]).blocks)
    for name in asks_nothing:
        requests = said.pod(pods[name]).requests
        assert not any(requests.get(resource) for resource in ("cpu", "memory"))


def test_sizes_that_differ_are_told_against_the_same_template(said: Said):
    """A group of which `doctor` says that its nodes have another size than a new one: `explain` says another, too, in the
    resource that is named."""
    shapes = {node.name: said.world.node_shapes[node.shape] for node in said.world.nodes}
    for one in said.findings:
        if one["code"] in ("LargerThanTemplate", "SmallerThanTemplate"):
            offered = said.group(one["object"].partition(" ")[2]).allocatable or {}
            resource = one["message"].partition(": ")[2].split()[0]
            assert all(shapes[name].allocatable.get(resource) != offered[resource] for name in one["nodes"]), one


def _doctor(*words: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *words], standalone_mode=False)


def test_doctor_says_what_it_did_not_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline that relies on the check of a cluster asks for it: exit code 1 where there is none."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    told = _doctor()
    assert (told.return_value, "not checked" in told.output) == (0, True)
    assert "neither a live cluster nor a snapshot" in told.output
    asked = _doctor("--require-cluster")
    assert isinstance(asked.exception, InputError)
    assert "no live cluster was checked: kubeconfig" in str(asked.exception)
    document = json.loads(_doctor("-o", "json").output)
    assert len(document["notChecked"]) == 2
