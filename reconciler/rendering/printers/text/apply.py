"""What became of a saved plan, as JSON and as lines for people."""

from collections.abc import Iterator

import msgspec

from reconciler.rendering.printers.lines import Style, Tone, paragraph
from reconciler.rendering.words.plain import plain

FORMAT_VERSION = "1.0"
DONE = "Done"
WIDTH = 100


class WhyNot(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that stood against an action: a stable code and a sentence."""

    code: str
    message: str


class AppliedAction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One action of the saved plan. `state` is Done, Skipped, Refused or Failed. A removal or replacement is Done once its nodes
    have left, and Failed if a node stays. `plannedTo` is the size in the saved plan. `to` is the size that was written or would
    have been. `later`: an additional iteration did it, after a first one adopted or wrote the target and read it back."""

    kind: str
    group: str
    target: str
    from_: int = msgspec.field(name="from")
    to: int
    planned_to: int
    nodes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    state: str
    later: bool = False
    reasons: tuple[WhyNot, ...] = ()


class ApplyDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`plan` is the digest of the saved plan, `decision` that of the decision of now, `unavailable` why it stopped early.

    `complete`: all of the plan was done. `happened` are sentences about what came of it: how each drain ended; on a simulated
    cluster everything until steady state.
    """

    format_version: str = FORMAT_VERSION
    plan: str
    decision: str
    planned_at: str
    now: str
    cluster: str
    policy: str
    complete: bool
    actions: tuple[AppliedAction, ...] = ()
    happened: tuple[str, ...] = ()
    unavailable: str = ""


def apply_text(document: ApplyDocument, *, colour: bool = False, width: int = WIDTH) -> str:
    """One line an action with every reason against it, then what happened, then the count."""
    style = Style(colour=colour)
    head = f"cluster {document.cluster} · policy {document.policy} · planned at {document.planned_at} · now {document.now}"
    lines = [*paragraph(head, width, 0), ""]
    for action in document.actions:
        done = action.state == DONE
        words = _words(action) + (", in a further turn" if action.later else "") + ("" if done else f": {action.state.lower()}")
        bullet = "+ " if done else "! "
        lines += [style.paint(line, Tone.GOOD if done else Tone.HELD) for line in paragraph(words, width, 2, bullet)]
        for reason in action.reasons:
            lines += paragraph(f"{reason.message} [{reason.code}]", width, 6, "- ")
    if not document.actions:
        lines.append("The plan has no actions.")
    if document.happened:
        lines += ["", style.paint("What happened", Tone.HEADING)]
        lines += [line for sentence in document.happened for line in paragraph(sentence, width, 2)]
    lines += ["", *_last(document, style)]
    return "\n".join(lines) + "\n"


def _last(document: ApplyDocument, style: Style) -> Iterator[str]:
    if document.unavailable:
        yield style.paint(f"stopped early: {plain(document.unavailable)}", Tone.DANGER)
    done = sum(action.state == DONE for action in document.actions)
    left = len(document.actions) - done
    later = sum(action.later for action in document.actions)
    more = (f", {later} of them in a further turn" if later else "") + (f", {left} not done" if left else "")
    yield style.paint(f"Applied: {done} of {len(document.actions)} actions{more}.", Tone.HEADING)
    yield style.paint(plain(document.plan), Tone.FAINT)


def _words(action: AppliedAction) -> str:
    size = f"{action.from_} -> {action.to}"
    planned = f" ({action.planned_to} planned)" if action.state == DONE and action.to != action.planned_to else ""
    names = ", ".join((*action.nodes, *action.machines))
    verbs = {"Resize": "resize", "RemoveNode": "remove", "Replace": "replace", "Adopt": "adopt", "Release": "release"}
    verb = verbs.get(action.kind, action.kind.lower())
    match action.kind:
        case "Adopt" | "Release":
            return f"{action.group}: {verb} {action.target} at {action.to}"
        case "RemoveNode":
            planned = ""  # removals are counted down anew, which says nothing about this one
    return f"{action.group}: {verb} {f'{names} ' if names else ''}{size}{planned}"
