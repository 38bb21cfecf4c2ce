"""Names: unique where required, and references to something that exists."""

from collections.abc import Iterable, Sequence
from functools import cache

from reconciler.policy.documents import Mode, NodeGroup, NodeGroupPolicy
from reconciler.policy.group_namespaces import group_refusal
from reconciler.policy.levels import tier_rank
from reconciler.policy.platform.policy_keys import platform_keys
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.suggestion import choose
from reconciler.policy.reading.draft import AnyDraft, Draft, Drafts
from reconciler.values.shown_text import shown

_ALL_PERCENT = 100
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
        groups = drafts.groups_of(policy.document.name)
        _nothing_returns(policy, groups, findings)
        _shares(policy, groups, findings)


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
    _own_account(group, policy, findings)
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
        related = ((policy.place("spec.groupNamespaces"), "allowed namespaces"),)
        group.report(findings, refusal.code, refusal.path, refusal.message, refusal.hint, related=related)


def _policy(policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    document = policy.document
    for index, item in enumerate(document.discovery):
        _tier(policy, f"spec.discovery[{index}].tier", item.tier, policy, findings)
        _account(policy, index, findings)
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
            message = (
                f"{manager} has no effect here: the reconciler never takes over replicas that the topology of a Cluster declares"
            )
            policy.warn(findings, "AdoptHasNoEffect", f"spec.adoptFrom[{index}]", message, _never_adopted()[manager])


def _account(policy: Draft[NodeGroupPolicy], index: int, findings: Findings) -> None:
    """An error where an earlier item discovers targets of the same region with another role: two accounts may have targets of one
    name there."""
    items = policy.document.discovery
    mine = items[index]
    place = (mine.provider, mine.region)
    other = next((at for at, one in enumerate(items[:index]) if mine.region and (one.provider, one.region) == place), None)
    if other is not None and items[other].role_arn != mine.role_arn:
        message = f"{shown(mine.name)} and {shown(items[other].name)} discover targets of two accounts in {mine.region}"
        related = ((policy.place(f"spec.discovery[{other}]"), "the other one"),)
        hint = "write one policy for each account, or the same roleARN"
        policy.report(findings, "OneAccountInRegion", f"spec.discovery[{index}]", message, hint, related=related)


def _own_account(group: Draft[NodeGroup], policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    """An error for a group without a role where discovery takes targets of another account: both may have that name."""
    target = group.document.target
    items = policy.document.discovery
    place = (target.provider, target.region)
    at = next((at for at, one in enumerate(items) if target.region and (one.provider, one.region) == place), None)
    if at is not None and items[at].role_arn and not target.role_arn and group.sound("spec.target"):
        item = items[at]
        message = f"{shown(item.name)} discovers targets of another account in {target.region}, and this target is of our own"
        related = ((policy.place(f"spec.discovery[{at}]"), "the discovery item"),)
        group.report(findings, "OneAccountInRegion", "spec.target", message, f"write roleARN: {item.role_arn}", related=related)


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


def _shares(policy: Draft[NodeGroupPolicy], groups: Sequence[Draft[NodeGroup]], findings: Findings) -> None:
    """An error where the shares of tiers are more than everything, and a warning for a tier with a share and without groups."""
    document = policy.document
    if not policy.sound("spec.tiers"):
        return
    paths = {f"spec.tiers[{index}].share": tier for index, tier in enumerate(document.tiers) if tier.share_percent}
    total = sum(tier.share_percent for tier in paths.values())
    if total > _ALL_PERCENT:
        *others, last = paths
        related = tuple(
            (policy.place(path), f"{paths[path].share_percent}% of tier {shown(paths[path].name)}") for path in others
        )
        message = f"the shares of {len(paths)} tiers are {total}% together"
        policy.report(findings, "SharesAbove100", last, message, "lower one of them", related=related)
    if not groups or any(item.tier is None for item in document.discovery):
        return
    ranks = {tier_rank(document, one.document.tier, one.document.name, one.document.labels) for one in groups}
    found = {document.tiers[rank].name for rank in ranks if rank is not None} | {item.tier for item in document.discovery}
    for path, tier in paths.items():
        if tier.name not in found:
            message = f"no group is of tier {shown(tier.name)}, so its share of {tier.share_percent}% is never reached"
            policy.warn(findings, "ShareWithoutGroups", path, message, "name the tier in a group, or remove the share")


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
