"""Names: unique where required, and references to something that exists."""

from collections.abc import Iterable
from functools import cache

from reconciler.policy.documents import Mode, NodeGroup, NodeGroupPolicy
from reconciler.policy.group_namespaces import group_refusal
from reconciler.policy.levels import tier_rank
from reconciler.policy.platform_parts import platform_keys
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.suggestion import choose
from reconciler.policy.reading.draft import AnyDraft, Draft, Drafts
from reconciler.values.shown_text import shown

_APPLIERS = {
    "argocd-controller": "Argo CD applies them again: remove replicas from its source instead",
    "kustomize-controller": "Flux applies them again: remove replicas from its source instead",
    "helm-controller": "Flux applies them again: remove replicas from the chart's values instead",
}


def check_references(drafts: Drafts, findings: Findings) -> None:
    """Unique names and targets, and references that lead somewhere."""
    check_policy_names(drafts, findings)
    policies = {draft.document.name: draft for draft in drafts.policies}
    for name in sorted({draft.document.policy_ref for draft in drafts.groups}):
        _unique("NodeGroup", ((draft, draft.document.name) for draft in drafts.groups_of(name)), findings)
    _one_group_a_target(drafts.groups, findings)
    for group in drafts.groups:
        _group(group, policies, findings)
    for policy in drafts.policies:
        _policy(policy, findings)
        _nothing_returns(policy, drafts.groups_of(policy.document.name), findings)


def check_policy_names(drafts: Drafts, findings: Findings) -> None:
    """Policies have unique names."""
    _unique("NodeGroupPolicy", ((draft, draft.document.name) for draft in drafts.policies), findings)


def _unique(kind: str, named: Iterable[tuple[AnyDraft, str]], findings: Findings) -> None:
    first: dict[str, AnyDraft] = {}
    for draft, name in named:
        if not name or not draft.sound("metadata.name"):
            continue
        earlier = first.setdefault(name, draft)
        if earlier is not draft:
            related = ((earlier.place("metadata.name"), "the first one"),)
            message = f"two documents of kind {kind} are named {shown(name)}"
            draft.report(findings, "DuplicateName", "metadata.name", message, "rename one of them", related=related)


def _one_group_a_target(groups: tuple[Draft[NodeGroup], ...], findings: Findings) -> None:
    first: dict[tuple[str, ...], Draft[NodeGroup]] = {}
    for draft in groups:
        target = draft.document.target
        if not target.provider or not draft.sound("spec.target"):
            continue
        key = (target.provider, target.kind, target.namespace, target.name, target.region)
        earlier = first.setdefault(key, draft)
        if earlier is not draft:
            related = ((earlier.place("spec.target"), f"NodeGroup {shown(earlier.document.name)} sizes it as well"),)
            where = "/".join(part for part in (target.namespace or target.region, target.name) if part)
            message = f"{target.kind} {where} is the target of two NodeGroups"
            draft.report(
                findings,
                "SharedTarget",
                "spec.target",
                message,
                "a target belongs to one group: remove one of them",
                related=related,
            )


def _target(group: Draft[NodeGroup], findings: Findings) -> None:
    """A warning for a target whose platform is experimental."""
    why = next((keys.experimental for keys in platform_keys() if keys.provider == group.document.target.provider), "")
    if why and group.sound("spec.target"):
        where = f"spec.target.{group.document.target.provider}"
        group.warn(findings, "ExperimentalTarget", where, f"experimental: {why}", "stay in mode Observe until you have tried it")


def _group(group: Draft[NodeGroup], policies: dict[str, Draft[NodeGroupPolicy]], findings: Findings) -> None:
    document = group.document
    _target(group, findings)
    if not document.policy_ref or not group.sound("spec.policyRef"):
        return
    policy = policies.get(document.policy_ref)
    if policy is None:
        if findings.torn:
            return  # what is missing may stand in a text that could not be read
        hint = _policy_hint(document.policy_ref, policies)
        message = f"unknown NodeGroupPolicy {shown(document.policy_ref)} in this tree"
        group.report(findings, "UnknownPolicy", "spec.policyRef.name", message, hint)
        return
    _allowed(group, policy, findings)
    _tier(group, "spec.tier", document.tier, policy, findings)
    if document.mode is Mode.ENFORCE and policy.document.mode is Mode.OBSERVE and policy.sound("spec.mode"):
        place = policy.place("spec.mode")
        origin = "says Observe" if policy.written("spec.mode") else "has the default, Observe"
        message = f"mode Enforce is looser than the policy, which {origin}"
        hint = "a group may only be stricter: set the policy to Enforce and other groups to Observe"
        group.report(findings, "LooserMode", "spec.mode", message, hint, related=((place, "the policy"),))


def _allowed(group: Draft[NodeGroup], policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    """Where the policy names the namespaces: custom resources are judged by the same rule when nothing is named."""
    document, target = group.document, group.document.target
    if not (group.sound("metadata.namespace") and group.sound("spec.target") and policy.sound("spec.groupNamespaces")):
        return
    refusal = group_refusal(policy.document.group_namespaces, "", document.namespace, target.namespace, target.name)
    if refusal is not None:
        related = ((policy.place("spec.groupNamespaces"), "what the policy allows"),)
        group.report(findings, refusal.code, refusal.path, refusal.message, refusal.hint, related=related)


def _policy(policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    document = policy.document
    for index, item in enumerate(document.discovery):
        _tier(policy, f"spec.discovery[{index}].tier", item.tier, policy, findings)
    levels = [(f"spec.tiers[{index}].defaults.mode", tier.defaults.mode) for index, tier in enumerate(document.tiers)]
    for path, mode in (*levels, ("spec.defaults.mode", document.defaults.mode)):
        if mode is Mode.ENFORCE and document.mode is Mode.OBSERVE and policy.sound("spec.mode"):
            message = "mode Enforce in defaults is looser than the policy's mode Observe"
            policy.report(findings, "LooserMode", path, message, "set spec.mode to Enforce, or remove this")
    for index, manager in enumerate(document.adopt_from):
        if manager in _controllers():
            message = f"{manager} is a controller that would write replicas again"
            policy.warn(findings, "AdoptsFromController", f"spec.adoptFrom[{index}]", message, _controllers()[manager])
        elif manager in _never_adopted():
            message = f"{manager} has no effect here: the reconciler never takes over what the topology of a Cluster declares"
            policy.warn(findings, "AdoptHasNoEffect", f"spec.adoptFrom[{index}]", message, _never_adopted()[manager])


def _nothing_returns(policy: Draft[NodeGroupPolicy], groups: Iterable[Draft[NodeGroup]], findings: Findings) -> None:
    """A warning where the lowest tier waits for nodes of lower ones. Groups without a tier are below all tiers."""
    document = policy.document
    if not document.tiers or document.tiers[-1].return_after_seconds is None or not policy.sound("spec.tiers"):
        return
    if any(item.tier is None for item in document.discovery):
        return
    below = (one.document for one in groups)
    if any(tier_rank(document, one.tier, one.name, one.labels) is None for one in below):
        return
    message = f"no tier is below {shown(document.tiers[-1].name)}, so no node returns to it"
    hint = "write returnAfter on the preferred tier, to which nodes of lower tiers return"
    policy.warn(findings, "NothingReturns", f"spec.tiers[{len(document.tiers) - 1}].returnAfter", message, hint)


@cache
def _never_adopted() -> dict[str, str]:
    return {name: advice for keys in platform_keys() for name, advice in keys.never_adopted.items()}


@cache
def _controllers() -> dict[str, str]:
    """Managers that would write replicas again, and what to do instead: those that apply manifests, and those of platforms."""
    return {**_APPLIERS, **{manager: advice for keys in platform_keys() for manager, advice in keys.controllers.items()}}


def _policy_hint(name: str, policies: Iterable[str]) -> str:
    known = list(policies)
    # One whose name is no valid one is there under none; its own problem says so.
    valid = [candidate for candidate in known if candidate]
    if valid:
        return choose(name, valid)
    return "fix the name of the NodeGroupPolicy first" if known else "add a document of kind NodeGroupPolicy"


def _tier(draft: AnyDraft, path: str, name: str | None, policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    tiers = [tier.name for tier in policy.document.tiers if tier.name]
    if name is None or name in tiers or not draft.sound(path) or not policy.sound("spec.tiers"):
        return
    hint = choose(name, tiers) if tiers else "the policy has no tiers: add spec.tiers, or remove this"
    related = ((policy.place("spec.tiers"), "the tiers of the policy"),)
    message = f"unknown tier {shown(name)} in NodeGroupPolicy {shown(policy.document.name)}"
    draft.report(findings, "UnknownTier", path, message, hint, related=related)
