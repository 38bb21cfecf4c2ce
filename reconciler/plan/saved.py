"""A saved plan, read back: complete, of a known version, and unchanged."""

import re
from collections.abc import Mapping

import msgspec

from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.plan.plan import FORMAT_VERSION, Plan
from reconciler.plan.summary import plan_digest
from reconciler.plan.what_if import SITUATION
from reconciler.values.decoding import decode

MOST_BYTES = 256 << 20
_AMOUNT = re.compile(r"-?[0-9]{1,24}(\.[0-9]{1,12})?")


class SavedPlanError(Exception):
    """The saved plan cannot be applied; the message says why and what to do."""


def read_saved(data: bytes) -> Plan:
    """The plan in the bytes of a file. Raises `SavedPlanError`.

    The digest is computed again, so an edited or truncated plan is not applied.
    """
    if not data.strip():
        raise SavedPlanError("the file is empty: make a new plan with `reconciler plan --out`")
    if len(data) > MOST_BYTES:
        raise SavedPlanError(f"the file is larger than {MOST_BYTES >> 20} MiB")
    try:
        version = decode(data, _Version).format_version
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"the file is not a plan of `reconciler plan --out` ({finding(error)})") from None
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SavedPlanError(
            f"unknown formatVersion {version[:20]!r}. This release reads {FORMAT_VERSION}. Make a new plan with it"
        )
    try:
        plan = decode(data, Plan)
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"the file is not a plan of `reconciler plan --out` ({finding(error)})") from None
    amounts = (plan.cost.current_per_hour, plan.cost.desired_per_hour, plan.cost.settled_per_hour)
    for amount in (*amounts, *(group.price_per_hour for group in plan.groups)):
        if amount is not None and not _AMOUNT.fullmatch(amount):
            raise SavedPlanError(f"invalid price {amount[:20]!r}: a price is a decimal string such as '0.768'")
    if any(problem.code == SITUATION for problem in plan.problems):
        raise SavedPlanError("it is the plan of a situation that the cluster is not in: make one without --what-if")
    if plan_digest(plan) != plan.digest:
        raise SavedPlanError("its content does not match its digest: it was edited, truncated or written by another release")
    return plan


class _Version(msgspec.Struct, rename="camel"):
    format_version: str


class SavedPlan(Plan, frozen=True, kw_only=True, rename="camel"):
    """A plan as it is saved, with the policy files that it was made from. So it can be applied where there are none. The digest
    does not cover them; the policy digest in every action does."""

    policy_files: Mapping[str, str] = {}


def with_files(plan: Plan, files: Mapping[str, bytes]) -> SavedPlan:
    """The plan with these files; `files` by path below the policy root."""
    fields = {name: getattr(plan, name) for name in plan.__struct_fields__}
    return SavedPlan(**fields, policy_files={path: text.decode("utf-8", "replace") for path, text in sorted(files.items())})


class _Carried(msgspec.Struct, rename="camel"):
    policy_files: dict[str, str] = {}


def carried_files(data: bytes) -> dict[str, bytes]:
    """The policy files in the bytes of a saved plan, if it has any. Raises `SavedPlanError`."""
    try:
        files = decode(data, _Carried).policy_files
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"its policyFiles are not texts by path ({finding(error)})") from None
    return {path: text.encode() for path, text in files.items()}
