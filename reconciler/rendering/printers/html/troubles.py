"""What needs attention on the page of a loop: each with since when, what the loop does about it, and what the reader can do."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode
from reconciler.decisions.reasons.owners import GroupHeld
from reconciler.plan.decided import Decision, Fate
from reconciler.plan.plan import ActionKind, GroupLine, OwnerState, Plan
from reconciler.rendering.printers.html.element import Html, arrows, joined, tag
from reconciler.rendering.printers.html.page import counted, fold
from reconciler.rendering.printers.html.recent import lasting
from reconciler.rendering.words.failed_writes import aftermath
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.group_notes import alike_held
from reconciler.rendering.words.next_step import next_step
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import STAY_PENDING
from reconciler.values.clauses import clauses
from reconciler.values.instant import instant_text
from reconciler.values.two_sentences import two_sentences

RECENT_SECONDS = 3600
"""A failure that was not met again is told for so long."""
_SHOWN = 6
"""At first; the others are a click away."""
_BAD = (Fate.FAILED, Fate.REFUSED)
_VERBS = {
    ActionKind.RESIZE: "resize", ActionKind.REMOVE_NODE: "removal", ActionKind.REPLACE: "replacement",
    ActionKind.ADOPT: "adoption", ActionKind.RELEASE: "release", ActionKind.CANCEL: "cancellation",
}  # fmt: skip
CALM = "Nothing needs attention: no write was refused or failed, no machine failed to arrive, no group is held, no pod waits."


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """One thing. `what` names it in a few words, `why` says more. `loop` and `reader` are clauses: what the loop does, and what a
    person can do. `danger`: something broke or was refused."""

    key: str
    what: str
    why: str
    since_seconds: int
    loop: str
    reader: str
    danger: bool = True


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop knows in addition to its plan. `held_since` is by target, `backoffs` the end of each group's back-off. Both
    are in Unix seconds."""

    now_seconds: int
    period_seconds: int
    decisions: Sequence[Decision] = ()
    upcoming: Sequence[UpcomingNode] = ()
    held_since: Mapping[str, int] = {}
    backoffs: Mapping[str, int] = {}


def troubles(plan: Plan, known: Known) -> tuple[tuple[Trouble, ...], ...]:
    """Kind by kind, the most severe first: writes that failed or were refused, machines that do not arrive, held groups."""
    kinds = (_writes(known), _machines(plan, known), _held(plan, known))
    return tuple(entries for kind in kinds if (entries := tuple(kind)))


def trouble_list(plan: Plan, known: Known, doubts: Sequence[str] = ()) -> Html:
    """All of them as the first thing below the summary of a page, or that there is none. `doubts` are what the page says above:
    under them, and where pods stay pending, nobody may read that nothing needs attention."""
    kinds = troubles(plan, known)
    staying = sum(pod.outcome in STAY_PENDING for pod in plan.pods)
    if not kinds and (doubts or staying):
        waits = (
            f"{counted(staying, 'pod')} {'stays' if staying == 1 else 'stay'} pending: the reasons are below. " if staying else ""
        )
        sentence = f"{waits}No write was refused or failed, no machine failed to arrive, and no group is held."
        return tag("p", sentence, id="attention", data_key="waits")
    if not kinds:
        return tag("p", CALM, class_="calm", id="attention", data_key="calm")
    # Turn by turn through the kinds, so that each has its place on the first screen.
    ordered = [kind[at] for at in range(max(map(len, kinds))) for kind in kinds if at < len(kind)]
    parts = [_entry(trouble, known.now_seconds) for trouble in ordered[:_SHOWN]]
    if more := ordered[_SHOWN:]:
        parts.append(tag("li", fold(f"{len(more):,} more", tag("ul", joined(_entry(one, known.now_seconds) for one in more)))))
    heading = tag("h2", f"{counted(len(ordered), 'problem')} to look at", id="attention-title")
    return tag("section", heading, tag("ul", joined(parts)), id="attention", aria_labelledby="attention-title")


def _entry(trouble: Trouble, now_seconds: int) -> Html:
    return tag(
        "li",
        tag("p", tag("b", arrows(trouble.what)), " ", lasting(trouble.since_seconds, now_seconds)),
        tag("p", trouble.why, class_="why") if trouble.why else None,
        tag("p", tag("b", "Loop: "), trouble.loop, ". ", tag("b", "You: "), trouble.reader, ".", class_="next"),
        class_="danger" if trouble.danger else "hold-on",
        data_key=trouble.key,
    )  # fmt: skip


def _writes(known: Known) -> Iterator[Trouble]:
    """The newest end of each kind of action on each target, where that is bad: met in the last turn, or not long ago. Nodes of a
    group that stay for the same are one."""
    newest: dict[tuple[object, ...], list[Decision]] = {}
    for entry in sorted(known.decisions, key=lambda entry: entry.last_seconds):
        ends = newest.setdefault((entry.kind, entry.target, entry.nodes), [])
        if ends and (entry.fate not in _BAD or entry.code != ends[-1].code):
            ends.clear()
        ends.append(entry)
    lots: dict[tuple[object, ...], list[Decision]] = {}
    for ends in newest.values():
        last = ends[-1]
        if last.fate in _BAD and known.now_seconds - max(last.last_seconds, last.fate_seconds) <= RECENT_SECONDS:
            lots.setdefault((last.kind, last.target, last.fate, last.code), []).extend(ends)
    order = list(_VERBS)
    for entries in sorted(lots.values(), key=lambda entries: (order.index(entries[0].kind), -entries[0].at_seconds)):
        yield _write(entries, known)


def _write(entries: Sequence[Decision], known: Known) -> Trouble:
    last = entries[-1]
    nodes = tuple(dict.fromkeys(name for entry in entries for name in entry.nodes))
    size = f" {last.from_} -> {last.to}" if last.from_ != last.to and not nodes else ""
    named = f" of {listed(nodes, NAMES_SHOWN)}" if nodes else ""
    end = "refused" if last.fate is Fate.REFUSED else "failed"
    tries = sum(entry.times for entry in entries) if not nodes else last.times
    after = aftermath(last.kind, last.code, known.period_seconds, last.retry_seconds)
    return Trouble(
        key=f"write {last.kind} {last.target} {last.code}",
        what=f"{last.group or last.target}: {_VERBS[last.kind]}{size}{named} {end}",
        why=(f"{counted(tries, 'try', 'tries')}: " if tries > 1 else "") + last.words,
        since_seconds=min(entry.fate_seconds for entry in entries),
        loop=after.loop,
        reader=after.reader,
    )  # fmt: skip


def _machines(plan: Plan, known: Known) -> Iterator[Trouble]:
    """Those that failed, a group and reason."""
    lots: dict[tuple[str, str], list[UpcomingNode]] = {}
    for node in known.upcoming:
        if node.failed:
            lots.setdefault((node.group, node.failed), []).append(node)
    cancelled = {action.group for action in plan.actions if action.kind is ActionKind.CANCEL}
    held = {line.name for line in plan.groups if line.held}
    for (group, why), nodes in sorted(lots.items(), key=lambda entry: min(node.since_seconds for node in entry[1])):
        names = tuple(node.machine for node in nodes if node.machine)
        subject = f"machine {names[0]}" if len(nodes) == len(names) == 1 else counted(len(nodes), "machine")
        until = known.backoffs.get(group, 0)
        steps = []
        if group in held:
            steps.append("nothing is written while the group is held")
        else:
            steps += ["the request is taken back"] if group in cancelled else []
            steps += [f"the group does not grow until {instant_text(until)}"] if until > known.now_seconds else []
        named = f" ({listed(names, NAMES_SHOWN)})" if len(nodes) > 1 and names else ""
        yield Trouble(
            key=f"machine {group} {why}",
            what=f"{group}: {subject} will not arrive{named}",
            why=why,
            since_seconds=min(node.since_seconds for node in nodes),
            loop=clauses(steps) or "the request stays for now",
            reader=two_sentences("fix the cause that the message names", _at_once(group) if until > known.now_seconds else ""),
        )


def _at_once(group: str) -> str:
    return f"to retry now, `reconciler hold {group}` and then the same with --release"


def _held(plan: Plan, known: Known) -> Iterator[Trouble]:
    """Those of one owner for one reason are one."""
    lines = {line.name: line for line in plan.groups}
    for lot in alike_held([line for line in plan.groups if line.held]):
        those = [lines[name] for name in lot.groups]
        first = those[0]
        yield Trouble(
            key=f"held {first.target}",
            what=f"{listed(lot.groups, NAMES_SHOWN)}: held{_by(first)}",
            why=_why_held(first, lot.sentences),
            since_seconds=min(known.held_since.get(line.target, known.now_seconds) for line in those),
            loop=f"nothing is written{_wanted(those)}",
            reader=next_step(first, lot.groups) or "remove the cause that the evidence names. Nothing else ends this hold",
            danger=False,
        )  # fmt: skip


def _why_held(line: GroupLine, sentences: Sequence[str]) -> str:
    """The words of a hold, which somebody wrote; else the evidence."""
    if line.owner.state is OwnerState.OURS:
        return next((reason.message for reason in line.reasons if reason.code == GroupHeld.code), "")
    return sentences[0].removeprefix("evidence: ") if sentences else ""


def _by(line: GroupLine) -> str:
    """Who decides instead of us. A group of ours under a hold is held by nobody else."""
    return f" by {line.owner.by}" if line.owner.by and line.owner.state is not OwnerState.OURS else ""


def _wanted(those: Sequence[GroupLine]) -> str:
    waiting = [line for line in those if line.wanted not in (None, line.current)]
    if not waiting:
        return ", and no size would change"
    first = waiting[0]
    more = f", and {counted(len(waiting) - 1, 'more group')} would change" if len(waiting) > 1 else ""
    return f", and {first.name} would go {first.current} -> {first.wanted}{more}"
