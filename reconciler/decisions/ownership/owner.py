"""The owner of a target's replicas, from the evidence on the objects (rule 1 of the product).

Sources: managed fields that a real API server writes, measured on kube-apiserver 1.36 with Cluster API 1.14. The writes were
server-side apply, update, `/scale`, client-side apply, the topology controller, and a stripped object.
"""

import hashlib

import msgspec

from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts
from reconciler.cluster.world import PolicyClaim
from reconciler.decisions.groups.cluster_names import CLUSTER_MARK, cluster_mark
from reconciler.decisions.ownership.other_policies import claim_sentences
from reconciler.decisions.ownership.person_tools import PERSON_TOOLS, by_person
from reconciler.plan.plan import Ownership, OwnerState
from reconciler.policy.platform.manifests import workers_field
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.two_sentences import two_sentences

OUR_MANAGER = "nodegroup-reconciler"
# Our annotations on targets: they explain our writes, and a release takes them off. All policies write under one field
# manager; the first says which policy a target belongs to.
POLICY_MARK = "reconciler.dev/policy"
OUR_MARKS = (POLICY_MARK, CLUSTER_MARK, "reconciler.dev/reason", "reconciler.dev/revision")
# Names the machines of a target that was asked to lose all of them (`providers/target_mark.py`).
EMPTIED_MARK = "reconciler.dev/emptied"
TOPOLOGY_MANAGER = "capi-topology"
CLIENT_SIDE_APPLY = "kubectl-client-side-apply"
RIVAL = "cluster-autoscaler"
# What stands in `by` where no owner but a state of the target holds it.
NO_OWNER = ("deletion", "pause", "its unit")
# Tools that may leave replicas out of what they keep: their mark on an object whose replicas nobody owns declares nothing.
MAY_LEAVE_REPLICAS_OUT = ("argocd", "flux", "helm", "kapp", "managed-by")

_PERSON, _AS_PERSON = "a person's write holds", "it holds as a person's write"
_NO_FIELDS = "managedFields are missing"
_CAPTURE = " (a capture has them with `kubectl get --show-managed-fields`, or from `reconciler snapshot`)"
_FIELDS, _APPLIED, _KEPT = "managedFields: ", "the last-applied manifest", "tracked by "


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The state with its evidence; `digest` binds an action to exactly this evidence. `claimed`: what another policy says of the
    target, where that is what holds it."""

    ownership: Ownership
    digest: str
    claimed: PolicyClaim | None = None

    @property
    def ours(self) -> bool:
        """Whether replicas may be written now, or after an adoption."""
        return self.ownership.state in (OwnerState.OURS, OwnerState.ADOPTABLE)


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The policy's rules for taking over, and the instant. `first_seen_seconds` is when a write without a time (`/scale` leaves
    such writes) was first seen. It counts as the time of that write (None: not seen before). `rivals` is evidence that another
    autoscaler works on the cluster. It overwrites every write, and with `/scale` it leaves no trace on the target. `undone` is
    how and when somebody changed our last write, if that left no trace either. `policy` is the deciding policy. If it is empty,
    marks of other policies do not hold. `ended` are other policies that nobody runs any more. `claimed` is the claim of another
    policy that has the target (None: no such claim). `unread` is why the target itself cannot be read (empty: it can)."""

    adopt_from: tuple[str, ...] = ()
    human_hold_seconds: int = 3600
    now_seconds: int
    first_seen_seconds: int | None
    rivals: tuple[str, ...] = ()
    undone: "UndoneWrite | None" = None
    policy: str = ""
    ended: tuple[str, ...] = ()
    claimed: PolicyClaim | None = None
    unread: str = ""


class UndoneWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody set replicas from `ours` to `theirs`, which we did not write; first seen at `seen_seconds`. `writer` is the phrase
    for a writer whom the platform does not record, and `found_in` says where the name is."""

    ours: int
    theirs: int
    seen_seconds: int
    writer: str = ""
    found_in: str = ""


def held_for_a_person(ownership: Ownership) -> bool:
    """Whether it is a person's one-off write that holds, for the policy's humanHoldTime."""
    return ownership.state is OwnerState.HELD and any(one.startswith((_PERSON, _AS_PERSON)) for one in ownership.evidence)


def declared_by(ownership: Ownership) -> bool:
    """Whether a manager that adoptFrom could name is what holds."""
    named = any(one.startswith((_FIELDS, _APPLIED, _KEPT)) for one in ownership.evidence)
    return ownership.state is OwnerState.HELD and named and not held_for_a_person(ownership)


def judge(facts: TargetFacts | None, terms: Terms, conflict: str = "") -> Judgement:
    """Ours, Adoptable, Held or Unknown. Unreadable, missing or contradictory evidence is Unknown, which holds.

    `conflict` is a sentence when a second writer has undone our writes too often; it holds as well.
    """
    if facts is None:
        return _judged(OwnerState.UNKNOWN, "", (terms.unread or "the target does not exist",), None)
    evidence = facts.owner
    rivals = rivals_over(facts, terms.rivals)
    if conflict or rivals:
        # They say more than one change does.
        terms = msgspec.structs.replace(terms, undone=None)
    state, owner, sentences = _state(facts, evidence, terms)
    mark = policy_mark(facts)
    claimed = terms.claimed if state in (OwnerState.OURS, OwnerState.ADOPTABLE) else None
    if claimed is not None:
        state, owner, sentences = OwnerState.HELD, f"policy {claimed.policy}", claim_sentences(claimed)
    if terms.policy and mark not in ("", terms.policy, *terms.ended) and state in (OwnerState.OURS, OwnerState.ADOPTABLE):
        state, owner, sentences = OwnerState.HELD, f"policy {mark}", _of_another_policy(mark)
    if conflict and state in (OwnerState.OURS, OwnerState.ADOPTABLE):
        state, owner, sentences = OwnerState.HELD, "a second writer", (conflict,)
    if rivals and state in (OwnerState.OURS, OwnerState.ADOPTABLE):
        state, owner, sentences = OwnerState.HELD, RIVAL, rivals
    judged = _judged(state, owner, sentences, evidence, " ".join(filter(None, (mark, cluster_mark(facts)))))
    return judged if claimed is None else msgspec.structs.replace(judged, claimed=claimed)


def rivals_over(facts: TargetFacts, rivals: tuple[str, ...]) -> tuple[str, ...]:
    """What of another autoscaler's evidence holds this target: none of it where that one passes the target over."""
    return () if facts.beyond_autoscaler else rivals


def policy_mark(facts: TargetFacts) -> str:
    """The policy whose mark a target has; empty for none. A MachineDeployment copies its annotations, ours included, to its
    MachineSets. Those concern the MachineDeployment, and we must not remove them."""
    return "" if facts.owner.controller else dict(facts.annotations).get(POLICY_MARK, "")


def _of_another_policy(mark: str) -> tuple[str, ...]:
    """What holds a target that another policy has written, and how that ends."""
    way = f"it holds until policy {mark} drops and releases the target, or nobody runs that policy for 10 minutes"
    return f"annotation {POLICY_MARK}: {mark}", f"{way}. Otherwise, delete the annotation"


def _judged(
    state: OwnerState, owner: str, sentences: tuple[str, ...], evidence: OwnerEvidence | None, mark: str = ""
) -> Judgement:
    # The marks are part of what was judged: a write is refused when another policy or cluster has marked the target meanwhile.
    judged = (state, owner, evidence, mark) if mark else (state, owner, evidence)
    digest = hashlib.sha256(msgspec.json.encode(judged, order="deterministic")).hexdigest()
    return Judgement(ownership=Ownership(state=state, by=owner, evidence=sentences), digest=f"sha256:{digest}")


def _state(facts: TargetFacts, evidence: OwnerEvidence, terms: Terms) -> tuple[OwnerState, str, tuple[str, ...]]:
    if evidence.deleting:
        return OwnerState.HELD, "deletion", ("the target has a deletion timestamp",)
    if evidence.paused:
        return OwnerState.HELD, "pause", (evidence.paused,)
    if facts.writers:
        named = ", ".join(dict.fromkeys(writer.by for writer in facts.writers))
        return OwnerState.HELD, named, tuple(writer.evidence for writer in facts.writers)
    if facts.unseen:
        return OwnerState.UNKNOWN, "", (facts.unseen,)
    if evidence.controller:
        return OwnerState.HELD, evidence.controller, (f"{evidence.controller} controls it and sets its replicas",)
    if evidence.topology_owned:
        return _topology(facts, evidence, terms)
    if facts.replicas is None:
        return OwnerState.UNKNOWN, "", ("spec.replicas is missing or unreadable",)
    if evidence.unreadable:
        return OwnerState.UNKNOWN, "", evidence.unreadable
    if not evidence.managed_fields_present:
        return OwnerState.UNKNOWN, "", (f"{_NO_FIELDS}, so the writer of spec.replicas is unknown{_CAPTURE}",)
    return _fields(facts, evidence, terms)


def _topology(facts: TargetFacts, evidence: OwnerEvidence, terms: Terms) -> tuple[OwnerState, str, tuple[str, ...]]:
    entry = next((owner for owner in evidence.owners if owner.manager == TOPOLOGY_MANAGER), None)
    label = "label topology.cluster.x-k8s.io/owned is set"
    if not evidence.managed_fields_present:
        return OwnerState.UNKNOWN, "topology", (label, f"{_NO_FIELDS}{_CAPTURE}")
    if not evidence.topology_read:
        return OwnerState.UNKNOWN, "topology", (label, "its Cluster, or the entry of it there, could not be read")
    where = f"Cluster topology {workers_field(facts.ref.kind)}[{evidence.topology_deployment}]"
    declared = f"{where} declares replicas {evidence.topology_replicas}"
    field = f"managedFields: {TOPOLOGY_MANAGER} ({entry.operation if entry else ''}) owns spec.replicas"
    if entry is not None and evidence.topology_replicas is not None:
        return OwnerState.HELD, "topology controller", (label, field, declared)
    if entry is not None:
        return OwnerState.UNKNOWN, "topology", (label, field, f"but {where} leaves replicas unset")
    if evidence.topology_replicas is not None:
        return OwnerState.UNKNOWN, "topology", (label, declared, f"but {TOPOLOGY_MANAGER} does not own the field yet")
    if any(owner.manager != OUR_MANAGER for owner in evidence.owners):
        return _fields(facts, evidence, terms)
    if (other := _without_entry(facts, evidence, terms)) is not None:
        return other
    return OwnerState.OURS, "", (f"{where} leaves replicas unset and no manager owns spec.replicas",)


def _fields(facts: TargetFacts, evidence: OwnerEvidence, terms: Terms) -> tuple[OwnerState, str, tuple[str, ...]]:
    others = tuple(owner for owner in evidence.owners if owner.manager != OUR_MANAGER)
    if evidence.last_applied_replicas is not None and not any(owner.manager == CLIENT_SIDE_APPLY for owner in others):
        others = (*others, FieldOwner(manager=CLIENT_SIDE_APPLY, operation="Update"))
    if others:
        return _claimed(others, evidence, terms)
    if (other := _without_entry(facts, evidence, terms)) is not None:
        return other
    if any(owner.manager == OUR_MANAGER for owner in evidence.owners):
        return OwnerState.OURS, OUR_MANAGER, (f"managedFields: {OUR_MANAGER} owns spec.replicas",)
    if facts.unrecorded_owner:
        return OwnerState.OURS, "", (facts.unrecorded_owner,)
    return OwnerState.OURS, "", ("no manager owns spec.replicas",)


def _claimed(others: tuple[FieldOwner, ...], evidence: OwnerEvidence, terms: Terms) -> tuple[OwnerState, str, tuple[str, ...]]:
    """Held by whoever declares and is not named in adoptFrom, then by a person's recent write; else adoptable.

    A person's write declares nothing, and neither does an apply that left replicas out. Where a tool keeps the object, what they
    overwrote may be declared there, so that adoptFrom has to name the person's tool.
    """
    persons = tuple(owner for owner in others if by_person(owner) or _by_default(owner, evidence))
    declared = tuple(owner for owner in others if evidence.tracking or owner not in persons)
    foreign = tuple(owner for owner in declared if not _adoptable_from(owner.manager, terms.adopt_from))
    holders = _named(foreign or others), tuple(_sentence(owner, evidence) for owner in foreign or others)
    tracking = tuple(f"{_KEPT}{mark}" for mark in evidence.tracking)
    if any(owner not in persons for owner in foreign):
        return OwnerState.HELD, holders[0], (*holders[1], *tracking)
    wait = _wait(tuple(owner for owner in persons if not _named_as_tool(owner, terms.adopt_from)), terms)
    if wait:
        return OwnerState.HELD, _named(others), (*(_sentence(owner, evidence) for owner in others), *tracking, wait)
    if foreign:
        return OwnerState.HELD, holders[0], (*holders[1], *tracking)
    named = declared or any(_named_as_tool(owner, terms.adopt_from) for owner in persons)
    allowed = "the policy's adoptFrom allows it" if named else "a one-off write, not a declaration"
    return OwnerState.ADOPTABLE, holders[0], (*holders[1], *tracking, allowed)


def _wait(persons: tuple[FieldOwner, ...], terms: Terms) -> str:
    """How long the last of these writes holds; empty if none does any more. A write without a time counts from the first
    observation that is remembered, else from this one, and the sentence says so."""
    first_seen = terms.now_seconds if terms.first_seen_seconds is None else terms.first_seen_seconds
    since = max((owner.time_seconds or first_seen for owner in persons), default=0)
    if not persons or since + terms.human_hold_seconds <= terms.now_seconds:
        return ""
    timeless = terms.first_seen_seconds is None and not all(owner.time_seconds for owner in persons)
    counted = ", counted from now, because it has no time" if timeless else ""
    return f"{_PERSON} for {duration_text(terms.human_hold_seconds)}, {_until(since, terms)}{counted}"


def _until(since_seconds: int, terms: Terms) -> str:
    return f"until {instant_text(since_seconds + terms.human_hold_seconds)}"


def _named_as_tool(owner: FieldOwner, adopt_from: tuple[str, ...]) -> bool:
    """Whether the policy names this person's tool, so that its writes hold no longer. `kubectl` and `oc` are named for manifests
    that were applied with them: what a person scales by them holds all the same."""
    return _adoptable_from(owner.manager, adopt_from) and owner.manager in (*PERSON_TOOLS, CLIENT_SIDE_APPLY)


def _named(owners: tuple[FieldOwner, ...]) -> str:
    return ", ".join(sorted({owner.manager for owner in owners}))


def _without_entry(facts: TargetFacts, evidence: OwnerEvidence, terms: Terms) -> tuple[OwnerState, str, tuple[str, ...]] | None:
    """Held, where no entry names another manager and yet somebody else decides; None where nothing says so."""
    if (stranger := _stranger(facts, evidence, terms)) is not None:
        return stranger
    if evidence.owners:
        return None
    allowed = (*MAY_LEAVE_REPLICAS_OUT, *terms.adopt_from)
    above = tuple(mark for mark in evidence.tracking if mark.partition(":")[0] not in allowed)
    keepers = ", ".join(sorted({mark.partition(":")[0] for mark in above}))
    return (OwnerState.HELD, keepers, tuple(f"{_KEPT}{mark}" for mark in above)) if above else None


def _stranger(facts: TargetFacts, evidence: OwnerEvidence, terms: Terms) -> tuple[OwnerState, str, tuple[str, ...]] | None:
    """Held, if a writer without an entry changed the value not long ago; None otherwise. Where the platform records writers, such
    a change is one of our own value to 0.

    Measured on Cluster API 1.14: `/scale` to 0 drops the owner's entry and writes none. So after a person's `kubectl scale
    --replicas=0`, it looks as if nobody had ever written. Such a target is held as long as after a person's write. Any other
    value that replaces ours through `/scale` names its writer.
    """
    undone = terms.undone
    if undone is None or evidence.owners or facts.replicas != undone.theirs:
        return None
    recorded = not facts.unrecorded_owner
    if recorded and undone.theirs != 0:
        return None
    until = undone.seen_seconds + terms.human_hold_seconds
    if until <= terms.now_seconds:
        return None
    change = f"our replicas {undone.ours} became {undone.theirs} through a write that left no trace"
    if not recorded:
        change = two_sentences(f"somebody else changed replicas {undone.ours} -> {undone.theirs}", undone.found_in)
    wait = f"{_AS_PERSON} for {duration_text(terms.human_hold_seconds)}, until {instant_text(until)}"
    return OwnerState.HELD, "a writer without a name" if recorded else undone.writer, (change, wait)


def _adoptable_from(manager: str, adopt_from: tuple[str, ...]) -> bool:
    return manager in adopt_from or (manager == CLIENT_SIDE_APPLY and "kubectl" in adopt_from)


def _by_default(owner: FieldOwner, evidence: OwnerEvidence) -> bool:
    """Whether a manifest without replicas made this write. The API server records the default under the name of whoever applies.
    No later apply of that manifest touches the field."""
    return bool(evidence.applied_without_replicas) and owner.manager == CLIENT_SIDE_APPLY and owner.operation == "Update"


def _sentence(owner: FieldOwner, evidence: OwnerEvidence) -> str:
    if owner.manager == CLIENT_SIDE_APPLY and evidence.last_applied_replicas is not None:
        return f"{_APPLIED} declares replicas {evidence.last_applied_replicas}"
    how = f"{owner.operation}, subresource {owner.subresource}" if owner.subresource else owner.operation
    when = f" since {instant_text(owner.time_seconds)}" if owner.time_seconds else ""
    default = ", a default: the last-applied manifest leaves it out" if _by_default(owner, evidence) else ""
    return f"{_FIELDS}{owner.manager} ({how}) owns spec.replicas{when}{default}"
