"""The digest of a plan."""

import hashlib

import msgspec

from reconciler.plan.digest import canonical_json, plan_digest, with_digest
from reconciler.plan.plan import Cost, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Reason, Scalar

PLAN = Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="No changes.", cost=Cost(current_per_hour="1.00"))


def pod(data: dict[str, Scalar]) -> Plan:
    line = PodLine(pod="a/b", outcome=PodOutcome.UNPLACEABLE, reasons=(Reason("Code", "words", data),))
    return msgspec.structs.replace(PLAN, pods=(line,))


def test_digest_is_the_sha256_of_the_canonical_json_without_now_and_digest():
    """Anybody can compute the digest from the JSON: sorted keys, no spaces, `now` and `digest` empty."""
    text = (
        b'{"actions":[],"cluster":"","cost":{"currency":"USD","currentPerHour":"1.00","desiredPerHour":null,'
        b'"settledPerHour":null,"unpricedGroups":[]},"digest":"","formatVersion":"1.0","groups":[],"mode":"Observe",'
        b'"nodes":[],"notCaptured":[],"now":"","pods":[],"policy":"","policyRevision":null,"problems":[],'
        b'"settledLoops":null,"summary":"No changes."}'
    )
    assert plan_digest(PLAN) == "sha256:" + hashlib.sha256(text).hexdigest()


def test_time_alone_changes_nothing():
    """A plan made later that says the same has the same digest, filled in or not."""
    later = msgspec.structs.replace(PLAN, now="2027-01-01T00:00:00Z", digest="sha256:old")
    assert plan_digest(later) == plan_digest(PLAN)


def test_every_other_field_counts():
    """Changing any one field but `now` and `digest` changes the digest."""
    changed = {
        "format_version": "1.1", "cluster": "c", "policy": "p", "mode": "Enforce", "policy_revision": "r", "summary": "s",
        "cost": Cost(), "settled_loops": 3, "not_captured": ("Pod",), "pods": pod({}).pods,
    }  # fmt: skip
    digests = {plan_digest(msgspec.structs.replace(PLAN, **{name: value})) for name, value in changed.items()}
    assert len(digests | {plan_digest(PLAN)}) == len(changed) + 1


def test_order_of_mappings_is_no_difference():
    """Reason data written in another order is the same plan: same canonical bytes."""
    assert canonical_json(pod({"a": 1, "b": "x"})) == canonical_json(pod({"b": "x", "a": 1}))


def test_with_digest_fills_it_in():
    """The digest that a plan carries is the one computed from it."""
    filled = with_digest(PLAN)
    assert filled.digest == plan_digest(filled)
