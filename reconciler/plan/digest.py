"""The digest of a plan: two plans with one digest say the same."""

import hashlib
from collections.abc import Sequence

import msgspec

from reconciler.plan.plan import Plan, PodLine
from reconciler.plan.reason import Reason


def canonical_json(plan: Plan) -> bytes:
    """The whole plan as JSON with sorted keys and no spaces: equal plans give equal bytes, whatever the order of mappings."""
    return msgspec.json.encode(plan, order="sorted")


def plan_digest(plan: Plan) -> str:
    """`sha256:` over everything but `now` and the digest itself; plans carry instants, not ages, so time alone moves nothing.

    Over the canonical JSON of the plan with `now` and `digest` empty and without pods, followed by that of the pods as runs:
    `[first line, [names]]` for lines that follow each other and differ in the pod alone.
    """
    rest = canonical_json(msgspec.structs.replace(plan, now="", digest="", pods=()))
    return "sha256:" + hashlib.sha256(rest + msgspec.json.encode(_runs(plan.pods), order="sorted")).hexdigest()


def _runs(pods: Sequence[PodLine]) -> list[tuple[PodLine, list[str]]]:
    """Lines of pods that follow each other and differ in the pod alone, as the first of them and all names: what tens of
    thousands of alike pods are told is not written out for each."""
    runs: list[tuple[PodLine, list[str]]] = []
    names: list[str] = []
    reasons: tuple[Reason, ...] | None = None
    outcome = node = group = None
    for line in pods:
        # Lines of pods that were served together share all of it; the same value elsewhere is as good.
        alike = line.reasons is reasons and line.outcome is outcome and line.node is node and line.group is group
        if alike or (line.reasons == reasons and line.outcome is outcome and line.node == node and line.group == group):
            names.append(line.pod)
            continue
        names = [line.pod]
        reasons, outcome, node, group = line.reasons, line.outcome, line.node, line.group
        runs.append((line, names))
    return runs


def with_digest(plan: Plan) -> Plan:
    """The plan with its digest filled in."""
    return msgspec.structs.replace(plan, digest=plan_digest(plan))
