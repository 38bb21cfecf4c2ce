"""The digest of a plan: two plans with one digest say the same."""

import hashlib

import msgspec

from reconciler.plan.plan import Plan


def canonical_json(plan: Plan) -> bytes:
    """The whole plan as JSON with sorted keys and no spaces: equal plans give equal bytes, whatever the order of mappings."""
    return msgspec.json.encode(plan, order="sorted")


def plan_digest(plan: Plan) -> str:
    """`sha256:` over everything but `now` and the digest itself; plans carry instants, not ages, so time alone moves nothing."""
    return "sha256:" + hashlib.sha256(canonical_json(msgspec.structs.replace(plan, now="", digest=""))).hexdigest()


def with_digest(plan: Plan) -> Plan:
    """The plan with its digest filled in."""
    return msgspec.structs.replace(plan, digest=plan_digest(plan))
