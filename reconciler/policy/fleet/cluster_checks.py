"""Problems of a tree for many clusters that do not depend on the cluster."""

from reconciler.policy.documents import ClusterMatch
from reconciler.policy.fleet.clusters import Rank, every_draft, rank, selected
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.suggestion import choose
from reconciler.policy.reading.draft import AnyDraft, Drafts
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.shown_text import shown


def check_overrides(drafts: Drafts, findings: Findings) -> None:
    """Every override names a policy of this tree and its clusters, and no group names an override."""
    policies = {draft.document.name: draft for draft in drafts.policies}
    bases = [name for name, draft in policies.items() if not draft.document.base_policy]
    for draft in drafts.policies:
        document, where = draft.document, "spec.basePolicyRef.name"
        if not document.base_policy or not draft.sound("spec.basePolicyRef"):
            continue
        base = policies.get(document.base_policy)
        if base is None and not findings.torn:
            message = f"unknown NodeGroupPolicy {shown(document.base_policy)} in this tree"
            draft.report(findings, "UnknownPolicy", where, message, choose(document.base_policy, bases))
        elif base is not None and base.document.base_policy:
            message = f"{shown(document.base_policy)} overrides {shown(base.document.base_policy)} and has no overrides itself"
            draft.report(findings, "OverrideOfOverride", where, message, f"write {base.document.base_policy} here")
        if rank(document.clusters) is Rank.EVERYWHERE and draft.sound("spec.clusters"):
            message = "this document overrides a policy and does not say in which clusters"
            hint = "write clusters with names or labels, or set the values in the policy itself"
            draft.report(findings, "OverrideWithoutClusters", where, message, hint)
    for group in drafts.groups:
        named = policies.get(group.document.policy_ref)
        if named is not None and named.document.base_policy:
            message = f"{shown(group.document.policy_ref)} overrides {shown(named.document.base_policy)} and has no groups itself"
            hint = f"write {named.document.base_policy}, and name the clusters under spec.clusters"
            group.report(findings, "UnknownPolicy", "spec.policyRef.name", message, hint)


def check_alone(draft: AnyDraft, findings: Findings) -> None:
    """A document that is read without a tree, such as a custom resource, belongs to the one cluster where it is."""
    for path in ("spec.clusters", "spec.basePolicyRef"):
        if draft.written(path):
            key = path.removeprefix("spec.")
            message = f"{key} has no meaning in a custom resource, so this document is ignored"
            hint = f"remove {key}, or keep policies for many clusters in git"
            draft.report(findings, "ClustersInResource", path, message, hint)


def check_labels_read(drafts: Drafts, cluster: ClusterIdentity, findings: Findings) -> None:
    """A cluster whose labels nobody read may be any of those that documents select by labels."""
    for draft in every_draft(drafts):
        if (unread := not_read(draft.document.clusters, cluster)) is not None:
            key, message, hint = unread
            draft.report(findings, "LabelsNotRead", f"spec.clusters.{key}", message, hint)


def not_read(match: ClusterMatch, cluster: ClusterIdentity) -> tuple[str, str, str] | None:
    """Why nobody can say whether a cluster is one of those that are meant: the key, the sentence and what to do. Else None."""
    if match.labels is not None and selected(match.labels, cluster) is None:
        if cluster.hidden:
            message = f"the snapshot of {cluster.title} is redacted and hides labels that this selector may need"
            return "labels", message, "capture it with --readable-policy, or name the clusters"
        message = f"no Cluster object of {cluster.title} was read, so its labels are unknown"
        return "labels", message, "name the clusters. For a snapshot, capture the Cluster object as well"
    if cluster.labels is None and not cluster.namespace and any(name.endswith(f"/{cluster.name}") for name in match.names):
        message = f"no Cluster object of {cluster.title} was read, so its namespace is unknown"
        return "names", message, "leave out the namespace. For a snapshot, capture the Cluster object as well"
    return None
