"""Who decides the replicas of a target, with every sentence of its evidence, in all classes of rule 1 and at their edges.

NOW is 2027-01-15T08:00:00Z; a person's write holds for an hour.
"""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OtherWriter, OwnerEvidence, TargetFacts
from reconciler.decisions.ownership.owner import Terms, UndoneWrite, declared_by, held_for_a_person, judge, policy_mark
from reconciler.plan.plan import OwnerState
from tests.builders import NOW
from tests.values import machine_deployment

OURS, HELD, ADOPTABLE, UNKNOWN = OwnerState.OURS, OwnerState.HELD, OwnerState.ADOPTABLE, OwnerState.UNKNOWN
US = FieldOwner(manager="nodegroup-reconciler", operation="Apply", time_seconds=NOW - 60)
APPLIED = FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 60)
CLIENT = FieldOwner(manager="kubectl-client-side-apply", operation="Update", time_seconds=NOW - 60)
EDITED = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 60)
SCALED = FieldOwner(manager="kubectl", operation="Update", subresource="scale")
CREATED = FieldOwner(manager="kubectl-create", operation="Update", time_seconds=NOW - 60)
SCRIPT = FieldOwner(manager="nightly", operation="Update", time_seconds=NOW - 60)
ARGO = FieldOwner(manager="argocd-controller", operation="Apply")
TOPOLOGY = FieldOwner(manager="capi-topology", operation="Apply")
TERMS = Terms(now_seconds=NOW, first_seen_seconds=NOW)
SINCE = "since 2027-01-15T07:59:00Z"
COUNTED = "a person's write holds for 1h, until 2027-01-15T09:00:00Z, counted from now, because it has no time"
UNTIL = "a person's write holds for 1h, until 2027-01-15T08:59:00Z"
EDIT = f"managedFields: kubectl-edit (Update) owns spec.replicas {SINCE}"
CREATE = f"managedFields: kubectl-create (Update) owns spec.replicas {SINCE}"
DEFAULT = (
    f"managedFields: kubectl-client-side-apply (Update) owns spec.replicas {SINCE}, "
    "a default: the last-applied manifest leaves it out"
)
NO_FIELDS = "managedFields are missing"
CAPTURE = " (a capture has them with `kubectl get --show-managed-fields`, or from `reconciler snapshot`)"
LABEL = "label topology.cluster.x-k8s.io/owned is set"
WHERE = "Cluster topology machineDeployments[md]"
FREE = "no manager owns spec.replicas"
WE = "managedFields: nodegroup-reconciler owns spec.replicas"
RIVAL = ("Lease kube-system/cluster-autoscaler",)
TRACELESS = "our replicas 3 became 0 through a write that left no trace"
Expected = tuple[OwnerState, str, tuple[str, ...]]


def _facts(replicas: int | None = 3, *owners: FieldOwner, **evidence: object) -> TargetFacts:
    return TargetFacts(ref=machine_deployment("general"), replicas=replicas, owner=OwnerEvidence(owners=owners, **evidence))


def _of_topology(*owners: FieldOwner, replicas: int | None = 3, **evidence: object) -> TargetFacts:
    return _facts(replicas, *owners, topology_owned=True, topology_deployment="md", **evidence)


def _with(facts: TargetFacts, **fields: object) -> TargetFacts:
    return msgspec.structs.replace(facts, **fields)


def _terms(**fields: object) -> Terms:
    return msgspec.structs.replace(TERMS, **fields)


def _marked(policy: str, *owners: FieldOwner, **evidence: object) -> TargetFacts:
    return _with(_facts(3, *owners, **evidence), annotations=(("reconciler.dev/policy", policy),))


def _undone(seen: int, theirs: int = 0) -> Terms:
    return _terms(undone=UndoneWrite(ours=3, theirs=theirs, seen_seconds=seen))


OF_OTHER = (
    HELD,
    "policy other",
    (
        "annotation reconciler.dev/policy: other",
        "it holds until policy other drops and releases the target, or nobody runs that policy for 10 minutes. "
        "Otherwise, delete the annotation",
    ),
)
CASES: dict[str, tuple[TargetFacts | None, Terms, Expected]] = {
    "it is not there": (None, TERMS, (UNKNOWN, "", ("the target does not exist",))),
    "it is being deleted, whoever owns it": (
        _facts(3, US, deleting=True, paused="x"), TERMS, (HELD, "deletion", ("the target has a deletion timestamp",)),
    ),
    "it is paused": (_facts(3, US, paused="its Cluster is paused"), TERMS, (HELD, "pause", ("its Cluster is paused",))),
    "others size it by other means": (
        _with(_facts(3, US), writers=(OtherWriter(by="a", evidence="1"), OtherWriter(by="a", evidence="2"),
                                      OtherWriter(by="b", evidence="3"))),
        TERMS, (HELD, "a, b", ("1", "2", "3")),
    ),
    "a controller sets its replicas": (
        _facts(3, US, controller="MachineDeployment a"), TERMS,
        (HELD, "MachineDeployment a", ("MachineDeployment a controls it and sets its replicas",)),
    ),
    "it does not say its replicas": (_facts(None, US), TERMS, (UNKNOWN, "", ("spec.replicas is missing or unreadable",))),
    "nobody can tell who wrote": (
        _facts(3, managed_fields_present=False), TERMS,
        (UNKNOWN, "", (f"{NO_FIELDS}, so the writer of spec.replicas is unknown{CAPTURE}",)),
    ),
    "nobody owns it": (_facts(), TERMS, (OURS, "", (FREE,))),
    "nobody owns it at zero": (_facts(0), TERMS, (OURS, "", (FREE,))),
    "a controller and a manifest declare it": (
        _facts(3, ARGO, last_applied_replicas=2), TERMS,
        (HELD, "argocd-controller, kubectl-client-side-apply",
         ("managedFields: argocd-controller (Apply) owns spec.replicas", "the last-applied manifest declares replicas 2")),
    ),
    "nobody owns it and the platform records no owner": (
        _with(_facts(), unrecorded_owner="a pool records no owner"), TERMS, (OURS, "", ("a pool records no owner",)),
    ),
    "we own it": (_facts(3, US), TERMS, (OURS, "nodegroup-reconciler", (WE,))),
    "kubectl applied it": (
        _facts(3, APPLIED, US, tracking=("argocd:prod",)), TERMS,
        (HELD, "kubectl", (f"managedFields: kubectl (Apply) owns spec.replicas {SINCE}", "tracked by argocd:prod")),
    ),
    "kubectl applied it and may be taken over": (
        _facts(3, APPLIED, tracking=("argocd:prod",)), _terms(adopt_from=("kubectl",)),
        (ADOPTABLE, "kubectl",
         (f"managedFields: kubectl (Apply) owns spec.replicas {SINCE}", "tracked by argocd:prod",
          "the policy's adoptFrom allows it")),
    ),
    "two declare it and one of them may be taken over": (
        _facts(3, APPLIED, ARGO), _terms(adopt_from=("kubectl",)),
        (HELD, "argocd-controller", ("managedFields: argocd-controller (Apply) owns spec.replicas",)),
    ),
    "a manifest of kubectl declares it": (
        _facts(3, CLIENT, last_applied_replicas=2), TERMS,
        (HELD, "kubectl-client-side-apply", ("the last-applied manifest declares replicas 2",)),
    ),
    "a manifest of kubectl declared other fields": (
        _facts(3, CLIENT), TERMS,
        (HELD, "kubectl-client-side-apply", (f"managedFields: kubectl-client-side-apply (Update) owns spec.replicas {SINCE}",)),
    ),
    "kubectl applied a manifest without replicas a minute ago": (
        _facts(3, CLIENT, applied_without_replicas=True), TERMS,
        (HELD, "kubectl-client-side-apply", (DEFAULT, UNTIL)),
    ),
    "kubectl applied a manifest without replicas an hour ago": (
        _facts(3, CLIENT, applied_without_replicas=True), _terms(now_seconds=NOW + 3540),
        (ADOPTABLE, "kubectl-client-side-apply", (DEFAULT, "a one-off write, not a declaration")),
    ),
    "kubectl applied a manifest without replicas, and may be taken over": (
        _facts(3, CLIENT, applied_without_replicas=True), _terms(adopt_from=("kubectl",)),
        (ADOPTABLE, "kubectl-client-side-apply", (DEFAULT, "the policy's adoptFrom allows it")),
    ),
    "kubectl applied a manifest without replicas, and a tool keeps the object": (
        _facts(3, CLIENT, applied_without_replicas=True, tracking=("helm:web",)), _terms(now_seconds=NOW + 3540),
        (HELD, "kubectl-client-side-apply", (DEFAULT, "tracked by helm:web")),
    ),
    "kubectl applied a manifest without replicas, and a script wrote them": (
        _facts(3, CLIENT, SCRIPT, applied_without_replicas=True), _terms(now_seconds=NOW + 3540),
        (HELD, "nightly", (f"managedFields: nightly (Update) owns spec.replicas {SINCE}",)),
    ),
    "a person scaled it with the name of kubectl, a manifest leaves replicas out, and manifests may be taken over": (
        _facts(3, SCALED, applied_without_replicas=True), _terms(first_seen_seconds=None, adopt_from=("kubectl",)),
        (HELD, "kubectl", ("managedFields: kubectl (Update, subresource scale) owns spec.replicas", COUNTED)),
    ),
    "a manifest declares it and nobody owns the field": (
        _facts(3, last_applied_replicas=2), TERMS,
        (HELD, "kubectl-client-side-apply", ("the last-applied manifest declares replicas 2",)),
    ),
    "a manifest declares it and kubectl may be taken over": (
        _facts(3, last_applied_replicas=2), _terms(adopt_from=("kubectl",)),
        (ADOPTABLE, "kubectl-client-side-apply",
         ("the last-applied manifest declares replicas 2", "the policy's adoptFrom allows it")),
    ),
    "a person edited it a minute ago": (_facts(3, EDITED), TERMS, (HELD, "kubectl-edit", (EDIT, UNTIL))),
    "a person edited it and a script wrote it": (
        _facts(3, EDITED, SCRIPT), TERMS,
        (HELD, "nightly", (f"managedFields: nightly (Update) owns spec.replicas {SINCE}",)),
    ),
    "a person edited it an hour ago": (
        _facts(3, EDITED), _terms(now_seconds=NOW + 3540),
        (ADOPTABLE, "kubectl-edit", (EDIT, "a one-off write, not a declaration")),
    ),
    "a person edited it not quite an hour ago": (
        _facts(3, EDITED), _terms(now_seconds=NOW + 3539), (HELD, "kubectl-edit", (EDIT, UNTIL)),
    ),
    "a person scaled it, first seen now": (
        _facts(3, SCALED), TERMS,
        (HELD, "kubectl", ("managedFields: kubectl (Update, subresource scale) owns spec.replicas",
                           "a person's write holds for 1h, until 2027-01-15T09:00:00Z")),
    ),
    "a person scaled it, never seen before": (
        _facts(3, SCALED), _terms(first_seen_seconds=None),
        (HELD, "kubectl", ("managedFields: kubectl (Update, subresource scale) owns spec.replicas",
                           COUNTED)),
    ),
    "a person scaled it, never seen before, and the policy names kubectl for its manifests": (
        _facts(3, SCALED), _terms(first_seen_seconds=None, adopt_from=("kubectl",)),
        (HELD, "kubectl", ("managedFields: kubectl (Update, subresource scale) owns spec.replicas",
                           COUNTED)),
    ),
    "a person edited it, never seen before": (
        _facts(3, EDITED), _terms(first_seen_seconds=None), (HELD, "kubectl-edit", (EDIT, UNTIL)),
    ),
    "a person scaled it, and no write holds": (
        _facts(3, SCALED), _terms(first_seen_seconds=None, human_hold_seconds=0),
        (ADOPTABLE, "kubectl", ("managedFields: kubectl (Update, subresource scale) owns spec.replicas",
                                "a one-off write, not a declaration")),
    ),
    "a person created it a minute ago, and the policy names the tool": (
        _facts(3, CREATED), _terms(adopt_from=("kubectl-create",)),
        (ADOPTABLE, "kubectl-create", (CREATE, "the policy's adoptFrom allows it")),
    ),
    "a person created it a minute ago, and the policy names another tool": (
        _facts(3, CREATED), _terms(adopt_from=("kubectl-edit",)), (HELD, "kubectl-create", (CREATE, UNTIL)),
    ),
    "a person created it, another edited it, and the policy names the first tool": (
        _facts(3, CREATED, EDITED), _terms(adopt_from=("kubectl-create",)),
        (HELD, "kubectl-create, kubectl-edit", (CREATE, EDIT, UNTIL)),
    ),
    "a program wrote it": (
        _facts(3, SCRIPT), _terms(now_seconds=NOW + 99_999),
        (HELD, "nightly", (f"managedFields: nightly (Update) owns spec.replicas {SINCE}",)),
    ),
    "a program wrote it and may be taken over": (
        _facts(3, SCRIPT), _terms(adopt_from=("nightly",)),
        (ADOPTABLE, "nightly",
         (f"managedFields: nightly (Update) owns spec.replicas {SINCE}", "the policy's adoptFrom allows it")),
    ),
    "its topology declares it": (
        _of_topology(TOPOLOGY, topology_replicas=3), TERMS,
        (HELD, "topology controller",
         (LABEL, "managedFields: capi-topology (Apply) owns spec.replicas", f"{WHERE} declares replicas 3")),
    ),
    "its topology leaves it unset and owns it": (
        _of_topology(TOPOLOGY), TERMS,
        (UNKNOWN, "topology",
         (LABEL, "managedFields: capi-topology (Apply) owns spec.replicas", f"but {WHERE} leaves replicas unset")),
    ),
    "its topology declares it and does not own it yet": (
        _of_topology(US, topology_replicas=0), TERMS,
        (UNKNOWN, "topology", (LABEL, f"{WHERE} declares replicas 0", "but capi-topology does not own the field yet")),
    ),
    "its topology could not be read": (
        _of_topology(topology_read=False), TERMS,
        (UNKNOWN, "topology", (LABEL, "its Cluster, or the entry of it there, could not be read")),
    ),
    "its topology, and managed fields are missing": (
        _of_topology(managed_fields_present=False), TERMS, (UNKNOWN, "topology", (LABEL, f"{NO_FIELDS}{CAPTURE}")),
    ),
    "its topology leaves it unset and nobody owns it": (
        _of_topology(), TERMS, (OURS, "", (f"{WHERE} leaves replicas unset and {FREE}",)),
    ),
    "its topology leaves it unset and we own it": (
        _of_topology(US), TERMS, (OURS, "", (f"{WHERE} leaves replicas unset and {FREE}",)),
    ),
    "its topology leaves it unset and a person edited it": (
        _of_topology(US, EDITED), TERMS, (HELD, "kubectl-edit", (EDIT, UNTIL)),
    ),
    "it became 0 by nobody's hand": (
        _facts(0), _undone(NOW - 3599),
        (HELD, "a writer without a name",
         (TRACELESS, "it holds as a person's write for 1h, until 2027-01-15T08:00:01Z")),
    ),
    "it became 0 by nobody's hand below a topology": (
        _of_topology(replicas=0), _undone(NOW - 3599),
        (HELD, "a writer without a name",
         (TRACELESS, "it holds as a person's write for 1h, until 2027-01-15T08:00:01Z")),
    ),
    "it became 0 by nobody's hand an hour ago": (_facts(0), _undone(NOW - 3600), (OURS, "", (FREE,))),
    "it became 0 by nobody's hand and is 1 now": (_facts(1), _undone(NOW), (OURS, "", (FREE,))),
    "it became 2 by nobody's hand": (_facts(0), _undone(NOW, 2), (OURS, "", (FREE,))),
    "it became 0 and we own it": (_facts(0, US), _undone(NOW), (OURS, "nodegroup-reconciler", (WE,))),
    "another policy has marked it": (_marked("other", US), _terms(policy="mine"), OF_OTHER),
    "another policy has marked what may be taken over": (
        _marked("other", SCRIPT),
        _terms(policy="mine", adopt_from=("nightly",)), OF_OTHER,
    ),
    "our policy has marked it": (_marked("mine", US), _terms(policy="mine"), (OURS, "nodegroup-reconciler", (WE,))),
    "a policy that has ended has marked it": (
        _marked("other", US), _terms(policy="mine", ended=("other",)), (OURS, "nodegroup-reconciler", (WE,)),
    ),
    "another policy has marked it and no policy judges": (_marked("other", US), TERMS, (OURS, "nodegroup-reconciler", (WE,))),
    "another policy has marked what a person edited": (
        _marked("other", EDITED), _terms(policy="mine"), (HELD, "kubectl-edit", (EDIT, UNTIL)),
    ),
    "another autoscaler runs": (_facts(3, US), _terms(rivals=RIVAL), (HELD, "cluster-autoscaler", RIVAL)),
    "another autoscaler runs and a person edited it": (
        _facts(3, EDITED), _terms(rivals=RIVAL), (HELD, "kubectl-edit", (EDIT, UNTIL)),
    ),
    "another autoscaler runs that passes it over": (
        _with(_facts(3, US), beyond_autoscaler=True), _terms(rivals=RIVAL), (OURS, "nodegroup-reconciler", (WE,)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_who_decides_and_by_what_evidence(case: str) -> None:
    """State, name and all sentences."""
    facts, terms, expected = CASES[case]
    judged = judge(facts, terms)
    assert (judged.ownership.state, judged.ownership.by, judged.ownership.evidence) == expected
    assert judged.ours is (expected[0] in (OURS, ADOPTABLE))


def test_a_conflict_holds_only_what_could_be_written() -> None:
    """Ours and Adoptable become Held; what is held is held for its own reason."""
    for owner, by in ((US, "a second writer"), (SCRIPT, "a second writer"), (EDITED, "kubectl-edit")):
        ownership = judge(_facts(3, owner), _terms(adopt_from=("nightly",)), conflict="undone 3 times").ownership
        assert (ownership.state, ownership.by) == (HELD, by)


@pytest.mark.parametrize(
    ("owner", "person", "declared"),
    [
        (EDITED, True, False),
        (SCALED, True, False),
        (APPLIED, False, True),
        (CLIENT, False, True),
        (US, False, False),
        (SCRIPT, False, True),
    ],
)
def test_what_kind_of_hold_it_is(owner: FieldOwner, person: bool, declared: bool) -> None:
    """A person's hold ends by itself; a declaration is what adoptFrom can name."""
    ownership = judge(_facts(3, owner), TERMS).ownership
    assert (held_for_a_person(ownership), declared_by(ownership)) == (person, declared)


def test_other_holds_are_neither() -> None:
    """A pause, and a manifest's declaration; a write without a trace counts as a person's."""
    paused = judge(_facts(3, paused="x"), TERMS).ownership
    assert (held_for_a_person(paused), declared_by(paused)) == (False, False)
    tracked = judge(_facts(3, APPLIED, tracking=("argocd:prod",)), TERMS).ownership
    assert (held_for_a_person(tracked), declared_by(tracked)) == (False, True)
    manifest = judge(_facts(3, last_applied_replicas=2), TERMS).ownership
    assert (held_for_a_person(manifest), declared_by(manifest)) == (False, True)
    traceless = judge(_facts(0), _undone(NOW)).ownership
    assert (held_for_a_person(traceless), declared_by(traceless)) == (True, False)


@pytest.mark.parametrize("manager", ["kubectl-edit", "kubectl-patch", "kubectl-replace", "kubectl-create", "kubectl-set"])
def test_managers_under_which_people_write(manager: str) -> None:
    """Their Updates hold for the time of a person's write."""
    owner = FieldOwner(manager=manager, operation="Update", time_seconds=NOW - 60)
    assert held_for_a_person(judge(_facts(3, owner), TERMS).ownership)


def test_marks_on_copies_are_not_read() -> None:
    """A MachineDeployment copies its annotations to its MachineSets; the mark is part of what a write is bound to."""
    assert policy_mark(_marked("other", US)) == "other"
    assert policy_mark(_marked("other", US, controller="MachineDeployment a")) == ""
    assert policy_mark(_facts(3, US)) == ""
    digests = {judge(facts, TERMS).digest for facts in (_facts(3, US), _marked("a", US), _marked("b", US))}
    assert len(digests) == 3


def test_of_two_persons_the_later_one_is_waited_for() -> None:
    """One edited two hours ago, one scaled a minute ago, in either order."""
    edited = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 7200)
    scaled = FieldOwner(manager="kubectl", operation="Update", subresource="scale", time_seconds=NOW - 60)
    for owners in ((edited, scaled), (scaled, edited)):
        found = judge(_facts(3, *owners), TERMS).ownership
        assert (found.state, found.evidence[-1]) == (HELD, UNTIL)


def test_a_pool_of_a_topology_is_named_in_its_own_list() -> None:
    """MachinePools are entries of `machinePools`."""
    facts = _of_topology(TOPOLOGY, topology_replicas=3)
    pool = _with(facts, ref=msgspec.structs.replace(facts.ref, kind="MachinePool"))
    assert judge(pool, TERMS).ownership.evidence[-1] == "Cluster topology machinePools[md] declares replicas 3"
