"""What a new node is like, and which nodes may go: public reports of autoscaler users as small inputs with their right answers.

Each folder of `new_node_cases` is one input. The answers follow from kube-scheduler, the eviction API and arithmetic.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.redaction import redacted
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.tree import read_tree
from tests.decisions.deciding import group, node

CASES = Path(__file__).parent / "new_node_cases"


def _nothing_changes(plan: Plan) -> None:
    assert [(action.kind, action.group) for action in plan.actions] == []


def _comes_to(name: str, size: int) -> Callable[[Plan], None]:
    def check(plan: Plan) -> None:
        assert group(plan, name).desired == size

    return check


def _may_go(*names: str) -> Callable[[Plan], None]:
    def check(plan: Plan) -> None:
        assert [name for name in names if node(plan, name).removable]

    return check


RIGHT: dict[str, Callable[[Plan], None]] = {
    # One group over three zones, with its one node in zone a: the next one comes in b or c, as a probe.
    "asg3-one-node-zone-a": _comes_to("g", 2),
    "asg3-spread-live-donotschedule": _comes_to("g", 6),
    # LimitRange: each pod of the DaemonSet requests 1500m, so that two pods of 1200m share a node.
    "aws3199-live": _comes_to("gen", 3),
    "aws8210-prefix-podsonly": _comes_to("general", 1),
    "ca3230-ebs-zero": _comes_to("g", 1),
    "ca5273-pdb-two-replicaset-30": _may_go("gen-1"),
    "ca5489-zone-spread-asg": _comes_to("g", 6),
    "ca6984-spread-down": _may_go(*(f"gen-{number}" for number in range(1, 6))),
    "ca7082-windows-mng": _comes_to("eks-win", 2),
    "ca9700-b-host": _comes_to("gen", 2),
    "ca9828-delay-5m": _nothing_changes,
    "ca9961-openshift-provisioning": _nothing_changes,
    # The DaemonSet's pod requests 1500m wherever it runs: 3 cpu fit on no node of 4.
    "ds-live-loop-1": _nothing_changes,
    # A RuntimeClass with an overhead of 1 cpu: 2.9 of 4 are left, two pods of 1.2 a node.
    "ds-runtimeclass": _comes_to("z", 2),
    "k134428-preempt": _nothing_changes,
    "k2287-simple": _comes_to("gen", 4),
    "local-pv-one-member": _nothing_changes,
    "min-spread-honor": _may_go("gen-1", "gen-2"),
    "partial-capacity-live": _comes_to("gen", 2),
    "pdb-unhealthy-alwaysallow": _may_go("gen-1"),
    "readiness-one": _nothing_changes,
    "readiness-two": _nothing_changes,
    "taint-gke": _comes_to("gen", 2),
}


def _plan(name: str) -> Plan:
    folders = {part: CASES / name / part for part in ("policy", "cluster")}
    files = {
        part: {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}
        for part, folder in folders.items()
    }
    world = read_snapshot(files["cluster"])
    tree = read_tree(files["policy"], now_seconds=world.captured_seconds)
    assert not tree.problems
    return decide(world, tree.sets[0], Memory(), world.captured_seconds)[0]


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_right_answer(name: str) -> None:
    RIGHT[name](_plan(name))


def test_every_case_has_an_answer() -> None:
    assert {folder.name for folder in CASES.iterdir()} == set(RIGHT)


@pytest.mark.parametrize("name", ["ca9700-b-host", "k2287-simple"])
def test_a_redacted_snapshot_has_the_same_answer(name: str) -> None:
    """Amounts of storage and limits of volumes stay what they are."""
    listings: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in json.loads((CASES / name / "cluster" / "objects.json").read_bytes())["items"]:
        listings.setdefault((item.pop("apiVersion"), item.pop("kind")), []).append(item)
    whole = [
        Listing(file=kind.lower(), api_version=version, kind=kind, items=items) for (version, kind), items in listings.items()
    ]
    files = {f"{one.file}.json": one.encoded() for one in redacted(whole, Pseudonyms(b"s" * 32))}
    manifest = (CASES / name / "cluster" / "snapshot.yaml").read_bytes()
    world = read_snapshot({**files, "snapshot.yaml": manifest})
    policy = {"p.yaml": (CASES / name / "policy" / "p.yaml").read_bytes()}
    tree = read_tree(policy, now_seconds=world.captured_seconds)
    RIGHT[name](decide(world, tree.sets[0], Memory(), world.captured_seconds)[0])
