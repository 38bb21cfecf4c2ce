"""Where empty, ready nodes of a group differ from what its template promises: no node is added for pods that depend on it."""

from collections.abc import Iterator

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import PodShape, Toleration
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.refutations import Refutations
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.view import View
from reconciler.plan.finding import Finding
from reconciler.values.clauses import clauses

_OF_PROBES = "reconciler.dev"


def cross_check_findings(view: View) -> Iterator[Finding]:
    """One per group. The rule is that of decisions (`TemplateRefuted`); it is asked about pods that want one fact each."""
    draft = view.draft(lift_holds=True)
    refutations = Refutations(draft)
    for group in draft.groups:
        template = group.group.template
        if template is None:
            continue
        probes = (draft.state.add_shape(probe) for probe in _probes(draft, group, template))
        refuted = [seen for probe in probes if (seen := refutations.refuted_template(group, probe)) is not None]
        if refuted:
            yield Finding(
                code="TemplateRefuted",
                object=f"NodeGroup {group.group.name}",
                message=f"its template accepts pods that its empty, ready node {refuted[0].node} rejects: "
                + clauses(one.why for one in refuted),
                advice="correct the template of the policy or of the target: no node is added for such pods until they agree",
                nodes=(refuted[0].node,),
            )


def _probes(draft: Draft, group: GroupDraft, template: NodeShape) -> Iterator[PodShape]:
    """Pods that the template accepts: one that tolerates its taints alone, one per label, one each for free cpu and memory."""
    tolerations = tuple(Toleration(taint.key, "Equal", taint.value, taint.effect) for taint in template.taints)
    bare = Resources(pods=1)
    yield PodShape(namespace=_OF_PROBES, requests=bare, tolerations=tolerations)
    everything = (Toleration("", "Exists", "", ""),)
    for pair in template.labels:
        yield PodShape(namespace=_OF_PROBES, requests=bare, node_selector=(pair,), tolerations=everything)
    used = Resources()
    for daemon in group.daemons:
        used = used.plus(draft.state.pod_shape(daemon).requests)
    free = template.allocatable.plus(used, -1)
    for amount in (Resources(pods=1, cpu_milli=free.cpu_milli), Resources(pods=1, memory_bytes=free.memory_bytes)):
        if max(amount.cpu_milli, amount.memory_bytes) > 0:
            yield PodShape(namespace=_OF_PROBES, requests=amount, tolerations=everything)
