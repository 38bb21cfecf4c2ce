"""A saved plan, read back: whole, of a version that is known, and as it was written."""

import msgspec

from reconciler.cluster.values.raw_part import DECODING_ERRORS, finding
from reconciler.plan.digest import plan_digest
from reconciler.plan.plan import FORMAT_VERSION, Plan

MOST_BYTES = 256 << 20


class SavedPlanError(Exception):
    """The file is no plan that may be carried out; the text says why and what to do."""


def read_saved(data: bytes) -> Plan:
    """The plan in the bytes of a file. Raises `SavedPlanError`.

    The digest inside is computed again: a plan that somebody edited or that was cut off is not carried out.
    """
    if not data.strip():
        raise SavedPlanError("the file is empty: make a new plan with `reconciler plan --out`")
    if len(data) > MOST_BYTES:
        raise SavedPlanError(f"larger than {MOST_BYTES >> 20} MiB")
    try:
        version = msgspec.json.decode(data, type=_Version).format_version
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"no plan as `reconciler plan --out` writes it ({finding(error)})") from None
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SavedPlanError(
            f"formatVersion {version[:20]!r} is not known, {FORMAT_VERSION} is: make a new plan with this release"
        )
    try:
        plan = msgspec.json.decode(data, type=Plan)
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"no plan as `reconciler plan --out` writes it ({finding(error)})") from None
    if plan_digest(plan) != plan.digest:
        raise SavedPlanError("its content does not belong to its digest: it was edited, cut off or written by another release")
    return plan


class _Version(msgspec.Struct, rename="camel"):
    format_version: str
