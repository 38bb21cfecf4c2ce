"""Real field managers and markers from public dumps: nothing is taken over that a person would not take over.

Each row of `managers.csv` was seen outside of this project. Its kind is a judgement by hand: `person` for an interactive
client's imperative write, else `program`.
"""

import csv
from pathlib import Path

import msgspec
import pytest

from reconciler.cluster.snapshots.pseudonyms import WORDS
from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts
from reconciler.cluster.targets.owner_evidence import tracking
from reconciler.cluster.wire.meta import OwnerReference
from reconciler.decisions.ownership.owner import Terms, declared_by, judge
from reconciler.decisions.ownership.person_tools import AT_SCALE, PERSON_TOOLS
from reconciler.plan.plan import OwnerState
from tests.builders import NOW
from tests.values import machine_deployment

OWNERS = Path(__file__).parents[2] / "fixtures" / "owners"
ROWS = list(csv.DictReader((OWNERS / "managers.csv").read_text().splitlines()))
YEAR_SECONDS = 365 * 86_400


def _judged(row: dict[str, str], *adopt_from: str, age_seconds: int = YEAR_SECONDS) -> OwnerState:
    owner = FieldOwner(
        manager=row["manager"], operation=row["operation"], subresource=row["subresource"], time_seconds=NOW - age_seconds
    )
    where, _, mark = row["marker"].partition(" ")
    key, _, text = mark.partition("=")
    kind, _, name = mark.partition("/")
    kept = tracking(
        {key: text} if where == "label" else {},
        {key: text} if where == "annotation" else {},
        [OwnerReference(api_version="v1", kind=kind, name=name)] if where == "owner" else (),
    )
    facts = TargetFacts(ref=machine_deployment("a"), replicas=3, owner=OwnerEvidence(owners=(owner,), tracking=kept))
    terms = Terms(adopt_from=adopt_from, now_seconds=NOW, first_seen_seconds=NOW - age_seconds)
    return judge(facts, terms).ownership.state


def test_there_are_enough_of_them() -> None:
    """Three hundred at least, most of them programs that no list of ours would have named."""
    assert len(ROWS) >= 300
    assert len({row["manager"] for row in ROWS if row["kind"] == "program"}) >= 200


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "|".join(list(row.values())[:4]))
def test_no_program_loses_its_claim(row: dict[str, str]) -> None:
    """However old its write is; a person's write of a minute ago holds as well."""
    if row["kind"] == "program":
        assert _judged(row) is OwnerState.HELD
    assert _judged(row, age_seconds=60) is OwnerState.HELD


def test_these_writes_of_persons_may_be_taken_over() -> None:
    """The clients by which people size a group, on objects that no tool keeps."""
    found = {(row["manager"], row["subresource"]) for row in ROWS if _judged(row) is OwnerState.ADOPTABLE}
    assert found == {
        ("Mozilla", ""), ("Mozilla", "scale"), ("k9s", ""), ("kubectl", "scale"), ("kubectl-create", ""), ("kubectl-edit", ""),
        ("kubectl-patch", ""), ("kubectl-replace", ""), ("kubectl-set", ""),
    }  # fmt: skip


@pytest.mark.parametrize("row", [row for row in ROWS if row["kind"] == "program"][::20], ids=lambda row: row["manager"])
def test_the_policy_may_name_any_of_them(row: dict[str, str]) -> None:
    """A name in adoptFrom is enough, and a near miss of it is not."""
    assert _judged(row, row["manager"]) is OwnerState.ADOPTABLE
    assert _judged(row, row["manager"] + "x", row["manager"][:-1]) is OwnerState.HELD


def test_a_redacted_snapshot_keeps_the_names_of_persons_tools() -> None:
    """Under a pseudonym a person's write would count as a program's."""
    assert {*PERSON_TOOLS, *AT_SCALE} <= WORDS


MARKS = {
    "argocd": {"argocd.argoproj.io/tracking-id": "shop:g/K:n/a"},
    "helm": {"meta.helm.sh/release-name": "r"},
    "kapp": {"kapp.k14s.io/app": "1"},
    "managed-by": {"app.kubernetes.io/managed-by": "Helm"},
    "rancher": {"objectset.rio.cattle.io/owner-gvk": "provisioning.cattle.io/v1, Kind=Cluster"},
    "hypershift": {"hypershift.openshift.io/nodePool": "clusters/np-a"},
    "hive": {"hive.openshift.io/managed": "true"},
}
EDITED = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - YEAR_SECONDS)
OURS = FieldOwner(manager="nodegroup-reconciler", operation="Apply", time_seconds=NOW - 60)


def _marked(kept: tuple[str, ...], *owners: FieldOwner) -> TargetFacts:
    return TargetFacts(ref=machine_deployment("a"), replicas=3, owner=OwnerEvidence(owners=owners, tracking=kept))


@pytest.mark.parametrize("tool", MARKS)
def test_marks_alone_are_evidence(tool: str) -> None:
    """What a person overwrote may be declared where the tool reads it: adoptFrom has to name the person's tool."""
    kept = tracking({}, MARKS[tool])
    assert [mark.partition(":")[0] for mark in kept] == [tool]
    terms = Terms(now_seconds=NOW, first_seen_seconds=NOW)
    held = judge(_marked(kept, EDITED), terms).ownership
    assert (held.state, held.by, held.evidence[-1]) == (OwnerState.HELD, "kubectl-edit", f"tracked by {kept[0]}")
    assert declared_by(held)
    named = msgspec.structs.replace(terms, adopt_from=("kubectl-edit",))
    assert judge(_marked(kept, EDITED), named).ownership.state is OwnerState.ADOPTABLE
    assert judge(_marked(kept, OURS), terms).ownership.state is OwnerState.OURS


@pytest.mark.parametrize("tool", MARKS)
def test_a_field_of_nobody_is_free_where_git_leaves_it_out(tool: str) -> None:
    """A GitOps tool that declares replicas owns the field. A platform sizes the target from an object of its own."""
    terms = Terms(now_seconds=NOW, first_seen_seconds=NOW)
    kept = tracking({}, MARKS[tool])
    state = judge(_marked(kept), terms).ownership.state
    assert state is (OwnerState.HELD if tool in ("rancher", "hypershift", "hive") else OwnerState.OURS)
    named = msgspec.structs.replace(terms, adopt_from=(tool,))
    assert judge(_marked(kept), named).ownership.state is OwnerState.OURS


def test_owners_other_than_the_cluster_are_named() -> None:
    """Each target is owned by its Cluster; any other owner, controlling or not, may size it."""
    cluster = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Cluster", name="prod")
    pool = OwnerReference(api_version="hypershift.openshift.io/v1beta1", kind="NodePool", name="np-a")
    other = OwnerReference(api_version="provisioning.cattle.io/v1", kind="Cluster", name="prod")
    assert tracking({}, {}, [cluster], ("Cluster", "cluster.x-k8s.io")) == ()
    assert tracking({}, {}, [pool, cluster, other], ("Cluster", "cluster.x-k8s.io")) == ("Cluster:prod", "NodePool:np-a")


def test_a_persons_write_beside_an_allowed_program_holds_for_its_time() -> None:
    """That adoptFrom names the program says nothing of the person who wrote a minute ago."""
    recent = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 60)
    applied = FieldOwner(manager="team-gitops", operation="Apply", time_seconds=NOW - YEAR_SECONDS)
    terms = Terms(adopt_from=("team-gitops",), now_seconds=NOW, first_seen_seconds=NOW)
    assert judge(_marked((), recent, applied), terms).ownership.state is OwnerState.HELD
    later = msgspec.structs.replace(terms, now_seconds=NOW + 3600)
    assert judge(_marked((), recent, applied), later).ownership.state is OwnerState.ADOPTABLE


@pytest.mark.parametrize("manager", ["ancient-changes", "before-first-apply"])
def test_what_the_server_folded_together_is_nobodys_one_off_write(manager: str) -> None:
    """The claim of anybody may be in it."""
    folded = FieldOwner(manager=manager, operation="Update", time_seconds=NOW - YEAR_SECONDS)
    terms = Terms(now_seconds=NOW, first_seen_seconds=NOW)
    assert judge(_marked((), folded), terms).ownership.state is OwnerState.HELD
