"""What somebody asks about a decision: a kind of thing and a name, whole or the beginning of one."""

import difflib
from collections import Counter
from collections.abc import Sequence

import msgspec

from reconciler.cluster.pods.pod import Pod
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import GPU_RESOURCES
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.reasons.pods import GroupRejects
from reconciler.decisions.removal.last_timer import LAST_TIMERS
from reconciler.decisions.removal.utilization import (
    counted_resources,
    ignored_pods,
    requests_of,
    share_permille,
    threshold_percent,
)
from reconciler.plan.plan import NodeLine, PodLine
from reconciler.policy.levels import LEVEL_FIELDS
from reconciler.rendering.printers.lines import paragraph
from reconciler.rendering.printers.text.explanation.case import Case
from reconciler.rendering.printers.text.explanation.document import (
    ExplanationDocument,
    NewNode,
    NodeExplanation,
    PodExplanation,
    Said,
    ThereNode,
    Used,
    ValueExplanation,
)
from reconciler.rendering.printers.text.explanation.group import effective_value, explain_group, group_findings
from reconciler.rendering.printers.text.explanation.turns import turns, turns_lines
from reconciler.rendering.words.alike import alike_blockers, owner_label
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import action_words, blockers_words, count, one_sentence, outcome_words, state_words
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.verdict import Rejection
from reconciler.values.quantity import amount_text, permille_text

# The chain of sources of one effective value.


def value_names(case: Case) -> list[str]:
    """Everything that may be asked for: `group/scaleDown.unneededTime`."""
    return [f"{group.name}/{path}" for group in case.groups for path in group.chains]


def explain_value(case: Case, name: str, width: int) -> list[str]:
    """Lines about one value, named as `value_names` does: all sources in order of precedence, and which of them count."""
    group_name, _, path = name.rpartition("/")
    effective = effective_value(case.group(group_name), path)
    field = LEVEL_FIELDS.get(path)
    lines = paragraph(f"{path} of {group_name} is {effective.value}", width, 0)
    adds = field is not None and field.adds
    if field is not None and adds:
        lines += paragraph(f"of several levels, {field.rule.value}", width, 2)
    for rank, source in enumerate(effective.chain):
        wins = ", which wins" if not rank and not adds else ""
        lines += paragraph(f"{source.value} from {source.source}{wins}", width, 2, f"{rank + 1}. ")
    return lines


# How a node stands, and everything that keeps it.

# What there is to say about a node besides its line in the plan: what its utilization is made of, and what it is measured by.


def node_findings(case: Case, name: str) -> NodeExplanation:
    """Everything about a node of the World. A GPU alone counts where there is one, else the larger of cpu and memory."""
    line, index = case.node_line(name), case.node_index(name)
    shape = case.world.node_shapes[case.world.nodes[index].shape]
    pods = [pod for pod in case.counted_pods() if case.world.pods.node[pod] == index]
    group = case.group(line.group) if line.group is not None else None
    ignored = ignored_pods(case.world, group, pods, case.policy.policy.pods.expendable_below_priority)
    requested, left_out = requests_of(case.world, pods), requests_of(case.world, ignored)
    return NodeExplanation(
        decision=line,
        used=tuple(
            Used(
                resource=resource,
                requested=requested.get(resource) - left_out.get(resource),
                allocatable=max(0, offered - left_out.get(resource)),
                permille=share_permille(requested.get(resource), offered, left_out.get(resource)) or 0,
            )
            for resource in counted_resources(shape)
            if (offered := shape.allocatable.get(resource))
        ),
        pods=len(pods) - len(ignored),
        ignored_pods=tuple(sorted(case.world.pods.key(pod) for pod in ignored)),
        threshold_percent=None if group is None else threshold_percent(group, shape),
        unneeded_time=None if group is None else effective_value(group, "scaleDown.unneededTime"),
        actions=tuple(action for action in case.plan.actions if name in action.nodes),
    )


_FEW_BLOCKERS = 6


def explain_node(case: Case, name: str, width: int) -> list[str]:
    """Lines about one node of the World."""
    findings = node_findings(case, name)
    line = findings.decision
    where = f"group {line.group}" if line.group else "no group"
    lines = paragraph(f"node {name}: {state_words(line.state)}, {where}", width, 0)
    lines += _utilization(findings, width)
    for action in findings.actions:
        lines += paragraph(f"this plan: {action_words(action)}", width, 0)
        lines += paragraph(f"{action.reason.message} [{action.reason.code}]", width, 2, "- ")
    if line.blockers:
        keeps = "it may go, but not now" if line.removable else "it stays"
        lines += paragraph(f"{keeps}, for {count(len(line.blockers), 'reason')}:", width, 0)
        lines += _blockers(line, width)
    elif not findings.actions:
        lines += paragraph("nothing keeps it", width, 0)
    if line.unneeded_since:
        lines += paragraph(f"unneeded since {line.unneeded_since}", width, 0)
    if line.removable_at:
        lines += paragraph(f"may go at {line.removable_at}{_timer(findings)}", width, 0)
    return lines


def _timer(explanation: NodeExplanation) -> str:
    """Which timer the node waits for last."""
    line, after = explanation.decision, explanation.unneeded_time
    last = (blocker for blocker in line.blockers if blocker.data.get("until", "") in ("", line.removable_at))
    ended = next((words for blocker in last if (words := LAST_TIMERS.get(blocker.code))), "")
    if ended:
        return f", {ended}"
    return f", {after.value} after it was first unneeded ({after.chain[0].source})" if after and line.unneeded_since else ""


def _blockers(line: NodeLine, width: int) -> list[str]:
    """One by one; of many those with equal words together."""
    lines: list[str] = []
    if not width or len(line.blockers) <= _FEW_BLOCKERS:
        for blocker in line.blockers:
            about = f"pod {blocker.pod}: " if blocker.pod else ""
            lines += paragraph(f"{about}{blocker.message} [{blocker.code}]", width, 2, "- ")
        return lines
    for sentence in blockers_words(alike_blockers(line.blockers), NAMES_SHOWN):
        lines += paragraph(sentence, width, 2, "- ")
    return lines


def _utilization(explanation: NodeExplanation, width: int) -> list[str]:
    parts = [
        f"{used.resource} {amount_text(used.resource, used.requested)} of {amount_text(used.resource, used.allocatable)}"
        f" = {permille_text(used.permille)}"
        for used in explanation.used
    ]
    permille = explanation.decision.utilization_permille
    share = "unknown" if permille is None else permille_text(permille)
    gpu = any(used.resource in GPU_RESOURCES for used in explanation.used)
    rule = "only the GPU counts" if gpu else "the larger counts"
    lines = paragraph(
        f"utilization: {share}, requests of {count(explanation.pods, 'pod')} over allocatable, {rule}: {', '.join(parts)}",
        width,
        0,
    )
    if explanation.ignored_pods:
        left_out = f"left out, with the room that they take: {', '.join(explanation.ignored_pods)}"
        lines += paragraph(f"{left_out} (scaleDown.daemonSetUtilization, scaleDown.mirrorPodUtilization)", width, 2, "- ")
    if explanation.threshold_percent is None:
        return lines
    return lines + paragraph(f"threshold: {explanation.threshold_percent}%, removable at or below it", width, 0)


# Why a pod is where it is, or nowhere: every group, and every node by what it says.

# What there is to say about a pod: its line in the plan, and what a new node of each group and every node there say to it.


def pod_findings(case: Case, indices: Sequence[int]) -> PodExplanation:
    """Everything about the first of several pods that are alike."""
    pods = case.world.pods
    pod = pods[indices[0]]
    shape = case.world.pod_shapes[pod.shape]
    line = next((line for line in case.plan.pods if line.pod == pod.key), None)
    state = case.state()
    wants_place = line is not None or (pod.node < 0 and not pod.finished and not pod.unknown_node)
    unknown = state.modelled(pod.shape)
    asked = wants_place and not unknown
    node = case.world.nodes[pod.node].name if pod.node >= 0 else pod.unknown_node or None
    blocks = case.node_line(node).blockers if node is not None and pod.node >= 0 else ()
    new_nodes = tuple(_new_node(case, state, group, pod.shape) for group in case.asked_groups()) if asked else ()
    bound = turns(case, [one.group for one in new_nodes if one.fits])
    return PodExplanation(
        pod=pod.key,
        alike=tuple(pods.key(index) for index in indices[1:]),
        phase=pod.phase.value,
        priority=shape.priority,
        requests={name: amount for name, amount in shape.requests.items() if name != "pods"},
        decision=line,
        node=node,
        blocks=tuple(blocker for blocker in blocks if blocker.pod == pod.key),
        not_modelled=unknown,
        default_spread=case.default_spread(pod.shape),
        new_nodes=new_nodes,
        node_within_seconds=None if bound is None else bound.within_seconds,
        nodes=tuple(_there(case, state, index, pod.shape) for index in case.asked_nodes()) if asked else (),
    )


def _new_node(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> NewNode:
    line = case.group_line(group.name)
    verdict = () if group.template is None else new_node_verdict(case, state, group, shape)
    return NewNode(
        group=group.name,
        fits=group.template is not None and not verdict,
        rejections=_rejections(verdict),
        unknown=group.template_problem if group.template is None else "",
        current=line.current,
        desired=line.desired,
        max=line.max,
        held=line.held,
    )


def new_node_verdict(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> tuple[Rejection, ...]:
    """What a new node of a group whose template is known says to one more pod; its DaemonSet pods are there first."""
    if group.template is None:
        return ()
    mark = state.mark()
    node = state.add_node(f"{group.name}-new", group.template)
    for daemon in case.world.daemon_pods:
        state.place(daemon.shape, 1, [node])
    verdict = state.verdict(shape, node)
    state.undo(mark)
    return verdict


def _there(case: Case, state: SchedulingState, index: int, shape: int) -> ThereNode:
    verdict = state.verdict(shape, index)
    return ThereNode(node=case.world.nodes[index].name, fits=not verdict, rejections=_rejections(verdict))


def _rejections(verdict: Sequence[Rejection]) -> tuple[Said, ...]:
    return tuple(Said(rejection.plugin, rejection.message) for rejection in verdict)


_RUNS = "would run it"
_FEW_GROUPS = 12
_KINDS_SHOWN = 5
_MOST_KINDS = 50
"""As values: every one of them says what each node says."""


class _NewNode(msgspec.Struct, frozen=True):
    """What a new node of a group says. Answers of one `kind` differ in figures at most: the same plugins say no."""

    group: str
    kind: tuple[str, ...]
    sentence: str


class _Kinds(msgspec.Struct, frozen=True):
    """Pods that several begin like. `waiting` are those without a node, alike ones together; the others need no place."""

    waiting: tuple[tuple[int, ...], ...]
    running: tuple[int, ...]
    finished: int

    @property
    def first(self) -> tuple[int, ...]:
        """The pods that the first answer is about."""
        return self.waiting[0] if self.waiting else self.running


def _kinds(case: Case, indices: Sequence[int]) -> _Kinds:
    """Pods are alike if the same sentences describe them: one shape, and the same outcome for the same reasons."""
    pods = case.world.pods
    lines = {line.pod: line for line in case.plan.pods}
    waiting: dict[object, list[int]] = {}
    running, finished = [], 0
    for index in indices:
        pod = pods[index]
        if pod.finished:
            finished += 1
        elif pod.node >= 0 or pod.unknown_node:
            running.append(index)
        else:
            line = lines.get(pod.key)
            encoded = b"" if line is None else msgspec.json.encode(msgspec.structs.replace(line, pod=""))
            waiting.setdefault((pods.shape[index], pods.traits[index], encoded), []).append(index)
    return _Kinds(tuple(map(tuple, waiting.values())), tuple(running), finished)


def _alike_running(case: Case, indices: Sequence[int]) -> bool:
    """Whether the same sentences describe the running pods: one shape on one node."""
    pods = case.world.pods
    return len({(pods.shape[index], pods.traits[index], pods.node[index]) for index in indices}) == 1


def explain_pods(case: Case, subject: str, indices: Sequence[int], width: int) -> list[str]:
    """Lines about every kind of pod that waits, each once, then how many others begin so. What nodes say to pods of one shape is
    told once."""
    kinds = _kinds(case, indices)
    shapes: dict[int, list[tuple[int, ...]]] = {}
    for kind in kinds.waiting:
        shapes.setdefault(case.world.pods.shape[kind[0]], []).append(kind)
    lots = list(shapes.values())
    shown = _KINDS_SHOWN if width else len(lots)
    lines: list[str] = []
    for lot in lots[:shown]:
        answer = _explain_kind(case, lot[0], width) if len(lot) == 1 else _explain_shape(case, lot, width)
        lines += [*([""] if lines else []), *answer]
    if left := lots[shown:]:
        number = sum(len(kind) for lot in left for kind in lot)
        more = f"{count(number, 'pod')} of {count(len(left), 'more kind')} wait: --wide tells all, a longer name fewer"
        lines += ["", *paragraph(more, width, 0)]
    if kinds.running and not kinds.waiting and _alike_running(case, kinds.running):
        lines += _explain_kind(case, kinds.running, width)
    elif kinds.running:
        lines += [*([""] if lines else []), *paragraph(_running(case, subject, kinds), width, 0)]
    if kinds.finished and (kinds.waiting or kinds.running):
        lines += paragraph(f"{count(kinds.finished, 'pod')} that begin so have finished", width, 0)
    return lines or _explain_kind(case, indices, width)


def _running(case: Case, subject: str, kinds: _Kinds) -> str:
    pods = case.world.pods
    nodes = len({pods[index].node for index in kinds.running})
    on = f"{count(len(kinds.running), 'pod')} on {count(nodes, 'node')}"
    named = listed(tuple(sorted(pods.key(index) for index in kinds.running)), NAMES_SHOWN)
    if kinds.waiting:
        return f"Running, not told here: {on}; name one for what it keeps: {named}"
    return f"No pod that begins with {subject} waits for a node. Running: {on}; name one for what it keeps: {named}"


def _explain_kind(case: Case, indices: Sequence[int], width: int) -> list[str]:
    """Lines about the first of several pods that are alike, and who the others are."""
    lines = explain_pod(case, indices[0], width)
    others = tuple(case.world.pods.key(index) for index in indices[1:])
    if others:
        lines += ["", *paragraph(f"The same holds for {count(len(others), 'pod')}: {listed(others, 10)}", width, 0)]
    return lines


def _explain_shape(case: Case, kinds: Sequence[Sequence[int]], width: int) -> list[str]:
    """Lines about pods of one shape that stand differently."""
    pods = case.world.pods
    first = pods[kinds[0][0]]
    labels = tuple(dict.fromkeys(owner_label(pods.key(index)) for kind in kinds for index in kind))
    number = sum(map(len, kinds))
    lines = paragraph(f"{count(number, 'pod')} {listed(labels, NAMES_SHOWN)}: {_requests(case, first)}", width, 0)
    lines += _spread(case, first.shape, width)
    for kind in kinds:
        names = listed(tuple(pods.key(index) for index in kind), NAMES_SHOWN)
        lines += paragraph(f"{count(len(kind), 'pod')}: {names}", width, 0)
        lines += [f"  {line}" for line in _waiting(case, kind[0], max(0, width - 2))]
    return [*lines, *_placing(case, first.shape, width)]


def explain_pod(case: Case, index: int, width: int) -> list[str]:
    """Lines about one pod of the World."""
    pod = case.world.pods[index]
    lines = [*paragraph(f"pod {pod.key}: {_requests(case, pod)}", width, 0), *_spread(case, pod.shape, width)]
    if pod.finished:
        return [*lines, *paragraph("it has finished: it needs no place and keeps no node", width, 0)]
    if pod.node >= 0:
        return [*lines, *_bound(case, pod.key, case.world.nodes[pod.node].name, width)]
    if pod.unknown_node:
        return [*lines, *paragraph(f"it is bound to node {pod.unknown_node}, which the snapshot does not hold", width, 0)]
    return [*lines, *_waiting(case, index, width), *_placing(case, pod.shape, width)]


def _requests(case: Case, pod: Pod) -> str:
    shape = case.world.pod_shapes[pod.shape]
    return f"{pod.phase}, requests {_amounts(shape.requests)}, priority {shape.priority}"


def _spread(case: Case, shape: int, width: int) -> list[str]:
    return [line for one in case.default_spread(shape) for line in paragraph(f"{one.message} [{one.code}]", width, 0)]


def _waiting(case: Case, index: int, width: int) -> list[str]:
    """What this plan does for a pod without a node, but for what nodes say to it."""
    pod = case.world.pods[index]
    line = next((line for line in case.plan.pods if line.pod == pod.key), None)
    if line is not None:
        groups = frozenset[str]() if case.state().modelled(pod.shape) else frozenset(group.name for group in case.asked_groups())
        return _pending(line, groups, width)
    why = (
        "its scheduling gates are closed"
        if pod.gated
        else "it is terminating"
        if pod.deletion_seconds
        else "it does not count as demand"
    )
    return paragraph(f"{why}, so no node is added for it", width, 0)


def _pending(line: PodLine, groups: frozenset[str], width: int) -> list[str]:
    """The outcome with its reasons, but for what a new node of `groups` says: that is told below."""
    where = line.node or line.group
    lines = paragraph(f"outcome: {outcome_words(line.outcome)}" + (f" ({where})" if where else ""), width, 0)
    for reason in line.reasons:
        if reason.code != GroupRejects.code or reason.data.get("group") not in groups:
            lines += paragraph(f"{reason.message} [{reason.code}]", width, 2, "- ")
    return lines


def _bound(case: Case, key: str, node: str, width: int) -> list[str]:
    line = case.node_line(node)
    group = f" of group {line.group}" if line.group else ", which no group holds"
    lines = paragraph(f"it is on node {node}{group}", width, 0)
    own = [blocker for blocker in line.blockers if blocker.pod == key]
    if not own:
        return lines + paragraph("nothing about it keeps the node", width, 0)
    lines += paragraph("it keeps the node:", width, 0)
    for blocker in own:
        lines += paragraph(f"{blocker.message} [{blocker.code}]", width, 2, "- ")
    return lines


def _placing(case: Case, shape: int, width: int) -> list[str]:
    """What a new node of each group and every node that is there say to one more pod of this shape."""
    state = case.state()
    feature = state.modelled(shape)
    if feature:
        return ["", *paragraph(f"it uses {feature}, which is not modelled: nothing is said about nodes", width, 0)]
    return ["", *_on_new_nodes(case, state, shape, width), "", *_on_nodes(case, state, shape, width)]


def _on_new_nodes(case: Case, state: SchedulingState, shape: int, width: int) -> list[str]:
    """A line a group; of many groups those that say the same are told together, those that would run it first."""
    groups = case.asked_groups()
    answers = [_on_new_node(case, state, group, shape) for group in groups]
    lines, bound = (
        ["A new node of each group:"],
        turns_lines(case, [one.group for one in answers if one.sentence == _RUNS], width),
    )
    if not width or len(groups) <= _FEW_GROUPS:
        for entry in answers:
            lines += paragraph(f"{entry.group}: {entry.sentence} ({_size(case, entry.group)})", width, 2, "- ")
        return [*lines, *bound]
    lots: dict[tuple[str, ...], list[_NewNode]] = {}
    for entry in answers:
        lots.setdefault(entry.kind, []).append(entry)
    for those in sorted(lots.values(), key=lambda those: (those[0].sentence != _RUNS, -len(those))):
        names = tuple(entry.group for entry in those)
        sentence = one_sentence([entry.sentence for entry in those], names) or f"for example {those[0].sentence}"
        who = names[0] if len(names) == 1 else f"{count(len(names), 'group')} ({listed(names, NAMES_SHOWN)})"
        size = f" ({_size(case, names[0])})" if len(names) == 1 else ""
        lines += paragraph(f"{who}: {sentence}{size}", width, 2, "- ")
    return [*lines, *bound]


def _size(case: Case, name: str) -> str:
    line = case.group_line(name)
    return f"size {line.current}, after this plan {line.desired}, at most {line.max}" + (", held" if line.held else "")


def _on_new_node(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> _NewNode:
    if group.template is None:
        return _NewNode(group.name, ("unknown",), f"unknown: {group.template_problem}")
    verdict = new_node_verdict(case, state, group, shape)
    return _NewNode(group.name, tuple(rejection.plugin for rejection in verdict), _rejection_text(verdict) if verdict else _RUNS)


def _on_nodes(case: Case, state: SchedulingState, shape: int, width: int) -> list[str]:
    verdicts = [(state.verdict(shape, node), case.world.nodes[node].name) for node in case.asked_nodes()]
    if not verdicts:
        return ["There are no nodes."]
    free = [name for verdict, name in verdicts if not verdict]
    lines = [f"Existing nodes: {len(free)} of {count(len(verdicts), 'node')} would run it"]
    plugins = Counter(rejection.plugin for verdict, _ in verdicts for rejection in verdict)
    for plugin, number in sorted(plugins.items(), key=lambda entry: (-entry[1], entry[0])):
        lines += paragraph(f"{plugin} says no on {count(number, 'node')}", width, 2, "- ")
    if free:
        return lines + paragraph(f"the first is {free[0]}", width, 2, "- ")
    verdict, name = min(verdicts, key=lambda entry: (len(entry[0]), entry[1]))
    return lines + paragraph(f"closest is {name}: {_rejection_text(verdict)}", width, 2, "- ")


def _rejection_text(verdict: Sequence[Rejection]) -> str:
    return "; ".join(f"{rejection.message} [{rejection.plugin}]" for rejection in verdict)


def _amounts(resources: Resources) -> str:
    parts = [f"{amount_text(name, amount)} {name}" for name, amount in resources.items() if name != "pods"]
    return ", ".join(parts) or "nothing"


KINDS = ("pod", "node", "group", "value")
_SHOWN, _NEAR = 10, 3
_ALIKE = 0.8


class UnknownSubjectError(Exception):
    """There is nothing of that name, or several; the message says which names there are."""


def explained_lines(case: Case, what: str, subject: str, width: int) -> list[str]:
    """The answer as lines of at most `width` characters (0: as long as they are). Raises `UnknownSubjectError`."""
    if what == "pod":
        return explain_pods(case, subject, _pods(case, subject), width)
    if what == "node":
        return explain_node(case, _node(case, subject), width)
    if what == "group":
        return explain_group(case, _group(case, subject), width)
    return explain_value(case, _chosen(what, subject, value_names(case)), width)


def explained(case: Case, what: str, subject: str) -> ExplanationDocument:
    """The answer as values. Raises `UnknownSubjectError`."""
    plan = case.plan
    pod = node = group = value = None
    more: tuple[PodExplanation, ...] = ()
    running = 0
    if what == "pod":
        indices = _pods(case, subject)
        kinds = _kinds(case, indices)
        if len(kinds.waiting) > _MOST_KINDS or (
            not kinds.waiting and len(kinds.running) > 1 and not _alike_running(case, kinds.running)
        ):
            raise _several("pod", subject, [case.world.pods.key(index) for index in indices])
        pod = pod_findings(case, kinds.first or indices)
        more = tuple(pod_findings(case, kind) for kind in kinds.waiting[1:])
        running = len(kinds.running) if kinds.waiting else 0
    elif what == "node":
        node = node_findings(case, _node(case, subject))
    elif what == "group":
        group = group_findings(case, _group(case, subject))
    else:
        name, _, path = _chosen(what, subject, value_names(case)).rpartition("/")
        value = ValueExplanation(group=name, effective=effective_value(case.group(name), path))
    return ExplanationDocument(
        what=what, now=plan.now, cluster=plan.cluster, policy=plan.policy, pod=pod, node=node, group=group, value=value,
        more_pods=more, running_pods=running,
    )  # fmt: skip


def _node(case: Case, subject: str) -> str:
    return _chosen("node", subject, [case.world.nodes[index].name for index in case.asked_nodes()])


def _group(case: Case, subject: str) -> str:
    return _chosen("group", subject, [group.name for group in case.asked_groups()])


def chosen_group(subject: str, names: Sequence[str]) -> str:
    """The group that is meant by a name or the beginning of one. Raises `UnknownSubjectError`."""
    return _chosen("group", subject, names)


def _pods(case: Case, subject: str) -> list[int]:
    """The pod that is meant, or all that begin so."""
    pods = case.world.pods
    keys = {key: index for index in range(len(pods)) if case.chosen.about_pod(key := pods.key(index))}
    if not subject:
        raise _several("pod", subject, list(keys))
    named = [(key if "/" in subject else key.partition("/")[2], index) for key, index in keys.items()]
    indices = [index for name, index in named if name == subject]
    indices = indices or [index for name, index in named if name.startswith(subject)]
    if indices:
        return indices
    chosen = _chosen("pod", subject, [name for name, _ in named])
    return [next(index for name, index in named if name == chosen)]


def _chosen(what: str, subject: str, names: Sequence[str]) -> str:
    """The name that is meant: exactly, or as the only one that begins so."""
    if subject in names:
        return subject
    starting = [name for name in names if name.startswith(subject)]
    if len(starting) == 1:
        return starting[0]
    if starting:
        raise _several(what, subject, starting)
    near = _near(subject, names)
    meant = f" Did you mean {' or '.join(near)}?" if near else f" There are {len(names)}: {_some(sorted(names))}."
    raise UnknownSubjectError(f"no {what} {subject!r} in this cluster and policy.{meant if names else ' There is none at all.'}")


def _near(subject: str, names: Sequence[str]) -> list[str]:
    """The names most like `subject`, else those whose beginning is: whoever types `batch/gaint` leaves the hash out."""
    whole = difflib.get_close_matches(subject, names, n=_NEAR)
    if whole:
        return whole
    beginning = {name[: len(subject)]: name for name in sorted(names, reverse=True)}
    return [beginning[match] for match in difflib.get_close_matches(subject, beginning, n=_NEAR, cutoff=_ALIKE)]


def _several(what: str, subject: str, names: Sequence[str]) -> UnknownSubjectError:
    if not subject:
        return UnknownSubjectError(f"name a {what}; there are {len(names)}: {_some(names)}")
    return UnknownSubjectError(f"{what} {subject}: several begin so, and their answers differ; name one: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
