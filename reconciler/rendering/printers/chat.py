"""A document as the body of a request to a chat: Slack's incoming webhooks and the Workflows webhooks of Teams.

SOURCE: Slack's reference of messages: `&`, `<` and `>` are escaped, and a text should stay below 4,000 characters. Microsoft's
reference: a message with one Adaptive Card, below 28 KB.
"""

from collections.abc import Sequence

from reconciler.rendering.documents.blocks import Document
from reconciler.rendering.printers.text.document import document_text

MOST_CHARACTERS = 3500


def slack_body(document: Document) -> dict[str, object]:
    """One text in a fixed-width block."""
    lead, lines = _parts(document)
    escaped = [_escaped(text) for text in (lead, *lines)]
    return {"text": f"*{escaped[0]}*\n```\n" + "\n".join(escaped[1:]) + "\n```"}


def teams_body(document: Document) -> dict[str, object]:
    """One Adaptive Card."""
    lead, lines = _parts(document)
    texts = [
        {"type": "TextBlock", "text": lead, "weight": "Bolder", "wrap": True},
        {"type": "TextBlock", "text": "\n\n".join(lines), "fontType": "Monospace", "wrap": True},
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": texts,
    }
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": content_type, "content": card}]}


def _parts(document: Document) -> tuple[str, Sequence[str]]:
    """The lead, and the other lines as far as there is room."""
    lead = "".join(document.lead)
    room = MOST_CHARACTERS - len(lead)
    shown: list[str] = []
    for line in document_text(document, width=0).splitlines():
        room -= len(_escaped(line)) + 1
        if room < 0:
            return lead, [*shown, "…"]
        shown.append(line)
    return lead, shown


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'")
