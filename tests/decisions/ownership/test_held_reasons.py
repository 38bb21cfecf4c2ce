"""What a held group says of its hold: who holds it, and what ends that."""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OtherWriter, OwnerEvidence
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of

EDITED = OwnerEvidence(owners=(FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 600),))
DECLARED = OwnerEvidence(owners=(FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 600),))
BROKEN = OwnerEvidence(managed_fields_present=False, unreadable=("the owner of spec.replicas is unknown: text is broken",))
MISSING = OwnerEvidence(managed_fields_present=False)
UNIT = OtherWriter(by="its unit", evidence="weighted capacity (1, 2): 4 does not count nodes")


@pytest.mark.parametrize(("owner", "writers", "start"), [
    (EDITED, (), "kubectl-edit set its replicas, and a person's write holds for 1h, until 2027-01-15T08:50:00Z"),
    (DECLARED, (), "kubectl decides its replicas"),
    (BROKEN, (), "the owner of spec.replicas is unknown: text is broken"),
    (MISSING, (), "its owner is unknown, managedFields are missing"),
    (OwnerEvidence(), (UNIT,), "weighted capacity (1, 2): 4 does not count nodes"),
], ids=["a person", "a declaration", "unreadable", "missing", "its unit"])  # fmt: skip
def test_why_a_group_is_held(owner: OwnerEvidence, writers: tuple[OtherWriter, ...], start: str) -> None:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    facts = msgspec.structs.replace(world.targets[0], owner=owner, writers=writers)
    line = group(plan_of(msgspec.structs.replace(world, targets=(facts,)), policy(node_group("general"))), "general")
    assert line.reasons[0].message.startswith(f"general is held: {start}")
