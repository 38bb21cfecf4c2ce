"""Two policies with a group on one target: which of them may write it, before either has written anything.

Before a policy acts, it stores in its memory which targets it means to write (its claims). Then it reads the claims of the
others. It writes only where these are still the claims that it has judged. Whichever of two policies stores its claim first, the
other one reads that claim, so they never both write. A claim under which something was written wins over one under which nothing
was. A dead policy holds nothing.

SOURCE: the order "raise the flag, then look" of L. Lamport's bakery (1974), over an API server whose reads are consistent.
"""

from collections.abc import Iterable, Sequence

import msgspec

from reconciler.cluster.world import PolicyClaim
from reconciler.decisions.memory import Claim

STATE_PREFIX, LEASE_PREFIX = "reconciler-state-", "reconciler-"
"""Names of the ConfigMap and the Lease of a policy begin so."""


class Contest(msgspec.Struct, frozen=True):
    """Whose a target is. `held_by`: the claim for which it is held (None: it may be written); `ours`: our claim from now on
    (None: we give way)."""

    held_by: PolicyClaim | None = None
    ours: Claim | None = None


def by_target(claims: tuple[PolicyClaim, ...]) -> dict[str, list[PolicyClaim]]:
    """Those of policies that mean to write, by target."""
    claims_by_target: dict[str, list[PolicyClaim]] = {}
    for one in claims:
        if one.number:
            claims_by_target.setdefault(one.target, []).append(one)
    return claims_by_target


def contest(others: Sequence[PolicyClaim], before: Claim | None, policy: str) -> Contest:
    """Decides who may write a target that `policy` means to write. `before` is this policy's claim so far (None: it had none).
    `others` are the claims of other policies on the target. If two claims are equal, neither policy writes. Then the policy whose
    name comes later gives up its claim."""
    live = max((one for one in others if one.live), key=_rank, default=None)
    if live is None:
        dead = max((Claim(number=one.number, written=one.written) for one in others), default=Claim(number=0))
        stands = before is not None and before > dead
        return Contest(ours=before if stands else Claim(number=dead.number + 1))
    theirs = Claim(number=live.number, written=live.written)
    if before is None or before < theirs:
        return Contest(held_by=live)
    if before > theirs:
        return Contest(ours=before)
    return Contest(held_by=live, ours=before if policy < live.policy else None)


def _rank(claim: PolicyClaim) -> tuple[int, bool, str]:
    return claim.number, claim.written, claim.policy


def claims_on(claims: tuple[PolicyClaim, ...], target: str) -> tuple[PolicyClaim, ...]:
    """What live policies mean to write of a target: what must be the same when it is written as when it was judged."""
    found = (one for one in claims if one.target == target and one.number and one.live)
    return tuple(msgspec.structs.replace(one, promised=()) for one in found)


def promises_by_shape(claims: Iterable[PolicyClaim]) -> dict[str, list[tuple[PolicyClaim, int]]]:
    """By digest of the shape: which live policies add nodes for pods of it, and for how many."""
    promises: dict[str, list[tuple[PolicyClaim, int]]] = {}
    for one in claims:
        for shape, pods in one.promised if one.live and one.number else ():
            promises.setdefault(shape, []).append((one, pods))
    return promises


def promised_since(judged: Iterable[PolicyClaim], fresh: Iterable[PolicyClaim]) -> PolicyClaim | None:
    """The claim of a policy that promises nodes to more pods than when growth was judged; None: none does."""
    before = {(one.policy, one.target, shape): pods for shape, some in promises_by_shape(judged).items() for one, pods in some}
    more = (
        one
        for shape, some in promises_by_shape(fresh).items()
        for one, pods in some
        if pods > before.get((one.policy, one.target, shape), 0)
    )
    return next(more, None)


def shared_targets(targets: Iterable[str], claims: tuple[PolicyClaim, ...]) -> dict[str, list[str]]:
    """By the words for each other policy whose loop runs: which of these targets it lists too, also to observe them only."""
    ours = frozenset(targets)
    shared: dict[str, list[str]] = {}
    for one in claims:
        if one.live and one.target in ours:
            shared.setdefault(claim_words(one), []).append(one.target)
    return shared


def claim_sentences(claim: PolicyClaim) -> tuple[str, str]:
    """Which other policy lists the target, by what that is known, and how it ends."""
    return (
        f"{claim_words(claim)} lists the target in ConfigMap {claim.namespace}/{STATE_PREFIX}{claim.policy}",
        f"it holds until policy {claim.policy} leaves the target out, or its Lease is not renewed for a minute. "
        "Let a single policy have the target",
    )


def claim_words(claim: PolicyClaim) -> str:
    """The policy with its Lease and who holds that."""
    return f"policy {claim.policy} (Lease {claim.namespace}/{LEASE_PREFIX}{claim.policy}, held by {claim.holder or 'nobody'})"
