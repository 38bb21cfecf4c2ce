"""The digest of a plan."""

import hashlib

import msgspec
import pytest

from reconciler.plan.plan import Cost, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Reason, Scalar
from reconciler.plan.summary import canonical_json, plan_digest, with_digest

PLAN = Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="No changes.", cost=Cost(current_per_hour="1.00"))


def pod(data: dict[str, Scalar]) -> Plan:
    line = PodLine(pod="a/b", outcome=PodOutcome.UNPLACEABLE, reasons=(Reason("Code", "words", data),))
    return msgspec.structs.replace(PLAN, pods=(line,))


REST = (
    b'{"actions":[],"cluster":"","cost":{"currency":"USD","currentPerHour":"1.00","desiredPerHour":null,'
    b'"settledPerHour":null,"unpricedGroups":[]},"digest":"","formatVersion":"1.0","groups":[],"mode":"Observe",'
    b'"nodes":[],"notCaptured":[],"now":"","pods":[],"policy":"","policyRevision":null,"problems":[],'
    b'"settledLoops":null,"summary":"No changes."}'
)


@pytest.mark.parametrize(
    ("names", "runs"),
    [
        ((), b"[]"),
        (
            ("a/1", "a/2", "b/3"),
            b'[[{"group":null,"node":"n1","outcome":"FitsExisting","pod":"a/1","reasons":[]},["a/1","a/2"]],'
            b'[{"group":null,"node":"n2","outcome":"FitsExisting","pod":"b/3","reasons":[]},["b/3"]]]',
        ),
    ],
)
def test_digest_is_the_sha256_of_the_canonical_json_without_now_and_digest(names: tuple[str, ...], runs: bytes):
    """Anybody can compute the digest from the JSON: sorted keys, no spaces, `now` and `digest` empty, alike pods together."""
    lines = [PodLine(pod=name, outcome=PodOutcome.FITS_EXISTING, node="n2" if name == "b/3" else "n1") for name in names]
    plan = msgspec.structs.replace(PLAN, pods=tuple(lines))
    assert plan_digest(plan) == "sha256:" + hashlib.sha256(REST + runs).hexdigest()


@pytest.mark.parametrize(
    "change",
    [{"pod": "a/9"}, {"group": "g"}, {"node": "n"}, {"outcome": PodOutcome.UNPLACEABLE}, {"reasons": (Reason("Code", "words"),)}],
)
def test_each_line_of_alike_pods_counts(change: dict[str, object]):
    """A run is told apart from one in which the second of three lines differs."""
    lines = [PodLine(pod=f"a/{number}", outcome=PodOutcome.FITS_EXISTING) for number in range(3)]
    other = [lines[0], msgspec.structs.replace(lines[1], **change), lines[2]]
    plans = [msgspec.structs.replace(PLAN, pods=tuple(chosen)) for chosen in (lines, other)]
    assert plan_digest(plans[0]) != plan_digest(plans[1])


def test_a_plan_read_back_has_the_same_digest():
    """What was written as JSON and read again says the same."""
    plan = pod({"groups": ("a", "b"), "nodes": 3})
    again = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
    assert plan_digest(again) == plan_digest(plan)


def test_alike_pods_read_back_are_alike():
    """Three pods that share what is said of them have the same digest when each has a copy of it."""
    reasons = (Reason("Code", "words", {"number": 3}),)
    lines = [PodLine(pod=f"a/{number}", outcome=PodOutcome.UNPLACEABLE, node="n", reasons=reasons) for number in range(3)]
    plan = msgspec.structs.replace(PLAN, pods=tuple(lines))
    again = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
    assert again.pods[0].reasons is not again.pods[1].reasons
    assert plan_digest(again) == plan_digest(plan)


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
