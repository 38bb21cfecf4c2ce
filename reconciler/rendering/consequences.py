"""What a reviewer must know of a policy change before all else: that it starts to write, takes over, lifts or loosens."""

from collections.abc import Iterator, Sequence

from reconciler.plan.plan import OwnerState, Plan
from reconciler.plan.preview import Preview
from reconciler.policy.comparison import PolicyChange
from reconciler.rendering.fold import NAMES_SHOWN
from reconciler.rendering.plain import listed
from reconciler.rendering.wording import count
from reconciler.values.whole_number import whole_number

_ENFORCE = "Enforce"


def consequences(preview: Preview) -> tuple[str, ...]:
    """Sentences, the gravest first; none for a change that only tightens, and none where there is nothing to compare with."""
    if preview.comparison is None:
        return ()
    changes = preview.changes
    found = [
        *_writes(changes, preview.plan),
        *_takes_over(changes, preview.plan),
        *_lifted(changes),
        *_wider(changes),
        *_budgets(changes),
        *_approvals(changes),
        *_evictions(changes),
    ]
    if told := rest_words(preview.plan):
        found.append(told)
    return tuple(found)


def rest_words(plan: Plan) -> str:
    """`No action now; at rest 445 nodes fewer (1523 -> 1078)`; empty where the loop comes to rest at what it does now."""
    desired = sum(group.desired for group in plan.groups)
    rest = sum(group.desired if group.settled is None else group.settled for group in plan.groups)
    if rest == desired:
        return ""
    more = f"{count(abs(rest - desired), 'node')} {'fewer' if rest < desired else 'more'} ({desired} -> {rest})"
    return f"{'' if plan.actions else 'No action now; '}{'At' if plan.actions else 'at'} rest {more}."


def _writes(changes: Sequence[PolicyChange], plan: Plan) -> Iterator[str]:
    started = [change for change in changes if change.path == "mode" and change.after == _ENFORCE]
    if not started:
        return
    whole = any(change.kind == "NodeGroupPolicy" for change in started)
    names = listed(tuple(change.name for change in started if change.kind != "NodeGroupPolicy"), NAMES_SHOWN)
    where = "" if whole else f" to {names}"
    if not plan.actions:
        yield f"This starts writing{where}: mode Observe -> Enforce. No action follows now."
    else:
        yield f"This starts writing{where}: mode Observe -> Enforce. {count(len(plan.actions), 'action')} now: {plan.summary}"


def _takes_over(changes: Sequence[PolicyChange], plan: Plan) -> Iterator[str]:
    given = [change for change in changes if _first(change.path) == "adoptFrom" and change.after is not None]
    if not given:
        return
    adopted = tuple(group.name for group in plan.groups if not group.held and group.owner.state is OwnerState.ADOPTABLE)
    who = ", ".join(dict.fromkeys(change.after or "" for change in given))
    yield (
        f"This takes over replicas that others declare (adoptFrom {who}): "
        + (f"{count(len(adopted), 'group')}, {listed(adopted, NAMES_SHOWN)}." if adopted else "no group now.")
    )


def _lifted(changes: Sequence[PolicyChange]) -> Iterator[str]:
    lifted = tuple(change.name for change in changes if change.path == "hold" and change.after is None)
    if lifted:
        yield f"This lifts the hold of {listed(lifted, NAMES_SHOWN)}: its replicas are decided again."


def _wider(changes: Sequence[PolicyChange]) -> Iterator[str]:
    wider = []
    for change in changes:
        key = change.path.rsplit(".", 1)[-1]
        low, high = _number(change.before), _number(change.after)
        grows = key in ("max", "nodes") or ".max." in change.path
        falls = key == "min" or ".min." in change.path
        bound = _first(change.path) in ("size", "limits") or ".size." in change.path
        if not bound or (change.before is None and not falls):
            continue
        gone = change.after is None
        raised = low is not None and high is not None and ((grows and high > low) or (falls and high < low))
        if gone or raised:
            wider.append(f"{change.name} {change.path} {change.before} -> {'none' if gone else change.after}")
    if wider:
        yield f"This widens bounds: {listed(tuple(wider), NAMES_SHOWN)}."


def _budgets(changes: Sequence[PolicyChange]) -> Iterator[str]:
    looser = []
    for change in changes:
        if _first(change.path) != "budgets" or change.before is None:
            continue
        before, after = _number(change.before), _number(change.after)
        same_unit = change.before.endswith("%") == (change.after or "").endswith("%")
        if change.after is None or not same_unit or (before is not None and after is not None and after > before):
            looser.append(f"{change.path} {change.before} -> {change.after or 'none'}")
    if looser:
        yield f"This lets more nodes leave at a time: {listed(tuple(looser), NAMES_SHOWN)}."


def _approvals(changes: Sequence[PolicyChange]) -> Iterator[str]:
    for change in changes:
        before, after = _number(change.before), _number(change.after)
        if change.path == "pace.requireApprovalAbove" and before is not None and (after is None or after > before):
            raised = f"{before} -> {'none' if after is None else after}"
            yield f"This lets more nodes leave without an approval: {change.path} {raised}."


def _evictions(changes: Sequence[PolicyChange]) -> Iterator[str]:
    for change in changes:
        if change.path == "drain.blockedNamespaces":
            opened = tuple(sorted(_names(change.before) - _names(change.after)))
            if opened:
                yield f"This lets pods be evicted in {listed(opened, NAMES_SHOWN)}."


def _names(text: str | None) -> set[str]:
    return {name for name in (text or "").strip("[]").split(", ") if name}


def _first(path: str) -> str:
    return path.split(".", 1)[0].split("[", 1)[0]


def _number(text: str | None) -> int | None:
    return whole_number((text or "").rstrip("%"))
