"""What a policy left on nodes and Machines that was renamed while it emptied nodes: the next one opens them again."""

import time

from reconciler.kube.drain import NodeDrain
from reconciler.kube.leading.ended_policies import EndedPolicies
from tests.providers.conftest import NewBench
from tests.providers.live_bench import DELETING_TAINT, VERSION, LiveBench, node_of


def _left_by(bench: LiveBench, policy: str, node: str, *, mark: bool) -> None:
    """The taint of a drain of this policy, and the mark of a machine for which nothing was lowered yet."""
    NodeDrain(bench.api, policy, lambda: int(time.time())).begin(node)
    if mark:
        machine = next(item for item in bench.cluster.machines(bench.name) if node_of(item) == node)
        value = f"nodegroup-reconciler.{policy}.g{bench.now()['metadata']['generation']}.r{bench.replicas()}"
        bench.cluster.api.merge(machine, {"metadata": {"annotations": {VERSION.delete_machine: value}}})


def _lease_of(bench: LiveBench, policy: str) -> None:
    """The Lease that an instance leaves when it is killed: its holder stands there, and nobody renews it."""
    metadata = {"name": f"reconciler-{policy}", "namespace": bench.cluster.namespace}
    spec = {"holderIdentity": "gone", "leaseDurationSeconds": 15}
    bench.cluster.api.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})


def _owners(bench: LiveBench) -> dict[str, str]:
    """Node -> whose taint it carries."""
    found = {}
    for node in bench.cluster.nodes():
        for taint in node["spec"].get("taints") or ():
            if taint["key"] == DELETING_TAINT and node["metadata"]["name"] in bench.nodes():
                found[node["metadata"]["name"]] = taint["value"].rpartition(".")[0]
    return found


def test_marks_of_a_renamed_policy_are_taken_back(new_bench: NewBench) -> None:
    """Mark and taint of the old name go, and it is said; those of a policy without a Lease here, which another installation
    runs, stay. Nothing is lowered."""
    bench = new_bench(3)
    first, second, foreign = bench.until_nodes(3)
    _left_by(bench, "before", first, mark=True)
    _left_by(bench, "before", second, mark=False)
    _left_by(bench, "elsewhere", foreign, mark=True)
    _lease_of(bench, "before")
    ended = EndedPolicies(bench.api, bench.cluster.namespace, time.monotonic, silence_seconds=0)
    port = bench.port_over(bench.api, ended=ended)
    for _ in range(2):
        port.observe()
        assert port.continue_removals() == ()
    assert _owners(bench) == {foreign: "elsewhere"}
    assert [value.split(".")[1] for value in bench.marks().values()] == ["elsewhere"]
    assert bench.replicas() == 3
    assert sorted(code for code, _ in bench.said) == ["MarkTakenOff", "TaintTakenOff", "TaintTakenOff"]
