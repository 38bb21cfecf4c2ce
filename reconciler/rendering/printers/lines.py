"""Colour on a terminal: meaning first, ANSI codes last, and none at all where they are not wanted."""

from enum import StrEnum

from reconciler.rendering.words.wording import GROWS, HELD, OTHER, SHRINKS


class Tone(StrEnum):
    """What a piece of text means; the value is its SGR code. Red is failure and danger, amber what is held; up and down are
    neither good nor bad."""

    HEADING = "1"
    FAINT = "2"
    DANGER = "31"
    GOOD = "32"
    HELD = "33"
    MOVES = "36"


TONES = {GROWS: Tone.MOVES, SHRINKS: Tone.MOVES, HELD: Tone.HELD, OTHER: Tone.MOVES}


class Style:
    """Paints text, or leaves it alone."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def paint(self, text: str, tone: Tone | None) -> str:
        """The text in its tone; widths are measured before."""
        return f"\x1b[{tone}m{text}\x1b[0m" if self._colour and tone is not None and text else text
