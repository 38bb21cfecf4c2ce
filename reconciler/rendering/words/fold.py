"""The one rule of folding: how much of a plan a page shows before it counts."""

import msgspec

NAMES_SHOWN = 3


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each are shown; 0: all of them.

    `names` of a list, `rows` of the table of groups, `reasons` of one pod. `lots` are sets of things that the same sentence
    describes; `reasoned` lots of pods are shown with their reasons.
    """

    names: int = NAMES_SHOWN
    rows: int = 24
    lots: int = 10
    reasons: int = 4
    reasoned: int = 4

    def shown(self, number: int, most: int) -> int:
        """How many of `number` are shown where `most` are: one more is shown too, since telling of it takes as much room."""
        return number if not most or number <= most + 1 else most


EVERYTHING = Fold(names=0, rows=0, lots=0, reasons=0, reasoned=0)
