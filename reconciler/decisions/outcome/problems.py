"""What a reader of a plan must know as well as its actions."""

from collections.abc import Iterator
from itertools import groupby

from reconciler.cluster.platform_reading import of_any_group
from reconciler.cluster.workloads.capacity_buffer import BUFFER
from reconciler.cluster.world import World
from reconciler.decisions.buffers import left_alone
from reconciler.decisions.draft import Draft
from reconciler.decisions.groups.new_node import accelerator_label
from reconciler.decisions.limits import UnknownLimit
from reconciler.decisions.memory import Memory
from reconciler.decisions.outcome.request_lines import request_problems
from reconciler.decisions.outcome.share_reasons import shares_of_nobody
from reconciler.decisions.outcome.unexamined import unexamined
from reconciler.decisions.outcome.unread_targets import without_targets
from reconciler.decisions.reasons.buffers import BufferRefused
from reconciler.decisions.reasons.sizes import LimitUnknown
from reconciler.decisions.removal.drains.do_not_disrupt import unreadable
from reconciler.decisions.removal.utilization import has_gpu
from reconciler.plan.plan import PlanProblem
from reconciler.policy.group_namespaces import RefusedGroup
from reconciler.values.plural import count_text


def plan_problems(
    draft: Draft, halted: tuple[str, ...], memory: Memory, refused: tuple[RefusedGroup, ...]
) -> tuple[PlanProblem, ...]:
    """Sorted; empty when all is well."""
    problems = [PlanProblem(code="RemovalsHalted", message=sentence) for sentence in halted]
    problems.extend(
        PlanProblem(code=problem.code, object=problem.object, message=problem.message) for problem in draft.world.problems
    )
    problems.extend(_unread(draft.world))
    for group in draft.groups:
        facts = group.group.facts
        if facts is None:
            continue
        problems.extend(PlanProblem(code="TargetProblem", object=str(facts.ref), message=text) for text in facts.problems)
    problems.extend(
        PlanProblem(code="NodeClaimedTwice", object=f"Node {node}", message=why) for node, why in draft.members.conflicts
    )
    problems.extend(PlanProblem(code=entry.code, object=entry.title, message=entry.message) for entry in refused)
    problems.extend(
        PlanProblem(code=LimitUnknown.code, object=limit.name, message=f"no node is added: {limit.why}")
        for limit in draft.policy.limits
        if isinstance(limit, UnknownLimit)
    )
    problems.extend(
        PlanProblem(code=BufferRefused.code, object=f"{BUFFER} {one.key}", message=why.sentence())
        for one in (draft.world.buffers if draft.policy.headroom_from.reads_buffers else ())
        if isinstance(why := left_alone(one, draft.policy), BufferRefused)
    )
    problems.extend(request_problems(draft))
    problems.extend(_unknown_accelerators(draft))
    problems.extend(_unreadable_holds(draft.world))
    problems.extend(shares_of_nobody(draft))
    problems.extend(_daemons_left_out(draft))
    problems.extend(without_targets(draft.world, draft.policy, [group.group for group in draft.groups]))
    if memory.known_groups and not draft.groups and not draft.world.unread:
        message = f"the policy has no groups any more. It had {len(memory.known_groups)}: nothing is released"
        problems.append(PlanProblem(code="AllGroupsGone", message=message))
    problems.extend(unexamined(draft))
    return tuple(sorted(set(problems)))


def _unread(world: World) -> Iterator[PlanProblem]:
    """What cannot be read, one problem per kind and namespace: a tenant may have made very many such objects. Templates are left
    to the groups that need them."""
    told = (one for one in world.unread if not of_any_group(one.kind))
    for (kind, namespace), several in groupby(told, lambda one: (one.kind, one.namespace)):
        first, *more = several
        others = f" (and {count_text(len(more), 'more object')} of {kind} in {namespace})" if more else ""
        yield PlanProblem(code="Unread", object=first.title, message=f"it cannot be read: {first.why}{others}")


def _daemons_left_out(draft: Draft) -> Iterator[PlanProblem]:
    """DaemonSets of which nobody knows what their pods take of a new node."""
    for daemon in draft.world.daemon_pods:
        if unknown := draft.state.modelled(daemon.shape):
            message = f"its pods are counted on no new node: {unknown}"
            yield PlanProblem(code="DaemonSetNotCounted", object=f"DaemonSet {daemon.namespace}/{daemon.name}", message=message)


def _unreadable_holds(world: World) -> Iterator[PlanProblem]:
    """Pods and nodes whose `do-not-disrupt` has a value that nobody understands, so that it holds without an end."""
    by_traits = {
        number: found
        for number, traits in enumerate(world.pod_traits)
        if traits.annotations and not (traits.mirror or traits.daemonset) and (found := unreadable(traits.annotations))
    }
    pods = world.pods
    held = [
        (f"Pod {pods.key(row)}", by_traits[number])
        for row, number in enumerate(pods.traits if by_traits else ())
        if number in by_traits and not pods.finished(row)
    ]
    held += [(f"Node {node.name}", unreadable(node.annotations)) for node in world.nodes if node.annotations]
    for about, found in held:
        yield from (PlanProblem(code=because.code, object=about, message=because.sentence()) for because in found)


def _unknown_accelerators(draft: Draft) -> Iterator[PlanProblem]:
    """Nodes that nobody manages, with a label that names an accelerator and none to offer: they count as nodes without one.

    Source: kubernetes/autoscaler#10301, where one such node ended every scale-up with an error.
    """
    for index, node in enumerate(draft.world.nodes):
        if draft.members.group_of[index] >= 0:
            continue
        shape = draft.world.node_shapes[node.shape]
        label = accelerator_label(shape)
        if label is not None and not has_gpu(shape):
            message = (
                f"label {label[0]}={label[1]} names an accelerator, it offers none and no group manages it: it counts without"
            )
            yield PlanProblem(code="AcceleratorUnknown", object=f"Node {node.name}", message=message)
