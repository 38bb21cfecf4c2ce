"""Advice for held groups, carried out: what the text says to write is read from it, written, and the group is held no more."""

import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest
import yaml

from reconciler.cli.inputs.plan_inputs import read_inputs
from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.plan.plan import GroupLine
from reconciler.policy.documents import Hold, PolicySet
from reconciler.rendering.words.next_step import next_block, next_step
from reconciler.rendering.words.wording import held_words
from reconciler.values.instant import parse_instant
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of

ROOT = Path(__file__).resolve().parents[3]
LONG_AGO = NOW - 86_400


def _line(evidence: OwnerEvidence, rules: PolicySet, now: int = NOW, **facts: object) -> GroupLine:
    cluster = ClusterBuilder()
    cluster.target("general", 2, evidence=evidence, **facts)
    return group(plan_of(cluster.world(), rules, now=now), "general")


def _evidence(*owners: tuple[str, str, str], **fields: object) -> OwnerEvidence:
    """Owners as manager, operation, subresource."""
    found = tuple(
        FieldOwner(manager=manager, operation=operation, subresource=subresource, time_seconds=LONG_AGO)
        for manager, operation, subresource in owners
    )
    return OwnerEvidence(owners=found, **fields)


DECLARED = {
    "an applier": _evidence(("argocd-controller", "Apply", "")),
    "a program that updates": _evidence(("nightly", "Update", "")),
    "a program at the subresource": _evidence(("keda", "Update", "scale")),
    "two of them": _evidence(("argocd-controller", "Apply", ""), ("nightly", "Update", "")),
    "a last-applied manifest": _evidence(last_applied_replicas=2),
    "kubectl, client side": _evidence(("kubectl-client-side-apply", "Update", ""), last_applied_replicas=2),
    "marks alone": _evidence(tracking=("rancher:cattle.io",)),
    "two marks": _evidence(tracking=("rancher:cattle.io", "hive:hive.openshift.io")),
    "a person under a tool": _evidence(("kubectl-edit", "Update", ""), tracking=("argocd:shop",)),
    "a topology without replicas, and an applier": _evidence(
        ("argocd-controller", "Apply", ""), topology_owned=True, topology_deployment="general"
    ),
}


@pytest.mark.parametrize("evidence", DECLARED.values(), ids=DECLARED)
def test_adopt_from_as_it_is_advised(evidence: OwnerEvidence) -> None:
    """The value after `spec.adoptFrom:` is YAML; with it in the policy the group is decided here."""
    held = _line(evidence, policy(node_group("general")))
    assert held.held
    advice = next(sentence for sentence in held_words(held) if "spec.adoptFrom: [" in sentence)
    assert advice == next_step(held)
    names = yaml.safe_load(re.search(r"spec\.adoptFrom: (\[.*?\])", advice)[1])
    after = _line(evidence, policy(node_group("general"), adopt_from=tuple(names)))
    assert not after.held
    assert "left out by its only owner it becomes 1" in advice


def test_a_persons_write_is_waited_for() -> None:
    """Nothing is to be done: a second before the instant that it names the group is held, and at that instant it is not."""
    evidence = OwnerEvidence(owners=(FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 60),))
    rules = policy(node_group("general"))
    held = _line(evidence, rules)
    assert next_step(held).startswith("nothing: after that it is decided here again")
    until = parse_instant(re.search(r"until (\S+Z)", held.owner.evidence[-1])[1])
    assert _line(evidence, rules, until - 1).held
    assert not _line(evidence, rules, until).held


def test_a_hold_is_released_where_it_stands() -> None:
    """`hold --release` takes the annotation off, and git loses spec.hold: one of both leaves the other in force."""
    marked = OwnerEvidence(hold="being repaired")
    on_hold = node_group("general", hold=Hold(reason="a recovery"))
    for evidence, document in ((marked, node_group("general")), (OwnerEvidence(), on_hold)):
        held = _line(evidence, policy(document))
        assert held.held
        assert next_step(held) == (
            "`reconciler hold general --release` ends a hold on the target. A hold in git (spec.hold) ends there"
        )
    assert _line(OwnerEvidence(), policy(on_hold)).held
    assert _line(marked, policy(node_group("general"))).held
    assert not _line(OwnerEvidence(), policy(node_group("general"))).held


def test_a_mark_of_a_policy_that_nobody_runs_is_deleted() -> None:
    """The evidence names the annotation."""
    rules = policy(node_group("general"))
    held = _line(OwnerEvidence(), rules, annotations=((POLICY_MARK, "other"),))
    assert held.held
    assert held.owner.evidence[-1].endswith("Otherwise, delete the annotation")
    assert f"annotation {POLICY_MARK}: other" in held.owner.evidence
    assert not _line(OwnerEvidence(), rules).held


def test_evidence_that_is_missing_is_made_readable() -> None:
    """With the managed fields that it lacked the group is decided here."""
    held = _line(OwnerEvidence(managed_fields_present=False), policy(node_group("general")))
    assert next_step(held) == "until the evidence can be read and agrees, nothing is written"
    assert "managedFields are missing" in held.owner.evidence[0]
    assert not _line(OwnerEvidence(), policy(node_group("general"))).held


# A real capture of Cluster API: the group `fixed` of the cluster `c1` is declared by its topology.


def _fixed(cluster: Path, *adopt_from: str) -> GroupLine:
    inputs = read_inputs(ROOT / "policies", None, cluster, "2026-11-21T18:00:00Z")
    rules = msgspec.structs.replace(inputs.policy, policy=msgspec.structs.replace(inputs.policy.policy, adopt_from=adopt_from))
    plan, _ = decide(inputs.world, rules, Memory(), inputs.now_seconds)
    return group(plan, "fixed")


def _in_capture(cluster: Path, file: str, name: str, change: object) -> None:
    path = cluster / file
    document = json.loads(path.read_text(encoding="utf-8"))
    (item,) = [one for one in document["items"] if one["metadata"]["name"].startswith(name)]
    change(item)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_the_block_for_a_topology_is_copied_into_the_cluster(tmp_path: Path) -> None:
    """The block's entry is merged into the Cluster's, which loses replicas, as its comment says. What Cluster API makes of that:
    its topology controller gives the field up and copies the annotations, and the webhook keeps the size (measured on 1.14). Then
    nothing holds the group, and its bounds are those of the block."""
    cluster = tmp_path / "quickstart"
    shutil.copytree(ROOT / "examples" / "quickstart", cluster)
    held = _fixed(cluster)
    assert held.held
    (entry,) = yaml.safe_load("\n".join(next_block(held)))["spec"]["topology"]["workers"]["machineDeployments"]
    written = entry["metadata"]["annotations"]
    assert sorted(written.values()) == ["2", "8"]

    def in_cluster(item: dict[str, object]) -> None:
        (there,) = [one for one in item["spec"]["topology"]["workers"]["machineDeployments"] if one["name"] == entry["name"]]
        there.update(entry)
        del there["replicas"]

    def in_deployment(item: dict[str, object]) -> None:
        metadata: dict[str, object] = item["metadata"]
        metadata["annotations"].update(written)
        for field in metadata["managedFields"]:
            if field["manager"] == "capi-topology":
                del field["fieldsV1"]["f:spec"]["f:replicas"]

    _in_capture(cluster, "clusters.json", "c1", in_cluster)
    _in_capture(cluster, "machinedeployments.json", "c1-fixed", in_deployment)
    after = _fixed(cluster)
    assert (after.held, after.current, after.min, after.max) == (False, held.current, 2, 8)


@pytest.mark.parametrize("name", ["topology controller", "topology", "capi-topology"])
def test_to_adopt_from_a_topology_has_no_effect_and_is_never_advised(name: str) -> None:
    """The group is held as before; that `validate` says so is a fixture of its own."""
    quickstart = ROOT / "examples" / "quickstart"
    before, after = _fixed(quickstart), _fixed(quickstart, name)
    assert after.held
    assert after.owner == before.owner
    assert not any("adoptFrom" in sentence for sentence in (*held_words(before), next_step(before)))
