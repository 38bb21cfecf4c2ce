"""What became of a saved plan, as lines for people."""

from collections.abc import Iterator

from reconciler.rendering.documents.apply import AppliedAction, ApplyDocument
from reconciler.rendering.printers.lines import Style, Tone
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.plain import plain

DONE = "Done"
WIDTH = 100


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
