"""Topology domains that this plan could open: zones of groups that may grow but have no node there yet."""

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft


def open_domains(draft: Draft, groups: list[GroupDraft], shapes: list[int]) -> None:
    """Make the domains of `groups` known to the scheduling state, by a closed node without any room in each new one.

    kube-scheduler spreads over the domains that exist. From zero there is none, so all pods would be legal in the first
    zone that gets a node, and the spread that the workload asks for would be lost; the Cluster Autoscaler does just that
    (reference: one node a loop, or all in one zone). Counting the zones that groups could open gives every zone its
    share in one plan.
    """
    keys = {c.topology_key for shape in shapes for c in draft.state.pod_shape(shape).spread} - {HOSTNAME_LABEL}
    if not keys:
        return
    # Labels of nodes are looked up among the keys, not the other way round: pods name as many keys as they like.
    known = {pair for node in range(draft.state.node_count) for pair in draft.state.shape_of(node).labels if pair[0] in keys}
    for group in groups:
        template = group.group.template
        if template is None or draft.room(group, template)[0] <= 0:
            continue
        own = {pair for pair in template.labels if pair[0] in keys}
        if own <= known:
            continue
        known |= own
        empty = msgspec.structs.replace(template, allocatable=Resources(), capacity=Resources())
        draft.state.close(draft.state.add_node(f"{group.group.name}-domain", empty))
