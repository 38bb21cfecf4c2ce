"""Values that let more happen than before, and how grave each is."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from reconciler.plan.plan import Plan
from reconciler.policy.changes.loosening import Loosened, ratio
from reconciler.rendering.documents.blocks import Foreign, Sentence, capitalized
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.consequences.looser_words import looser_words, reached_words

_OWN_SENTENCE = ("mode", "adoptFrom")
"""Besides targets: groups that come, leave or lose theirs."""
_FAMILIES = (
    "drain", "hold", "scaleDown.mode", "limits", "health", "size", "pace", "scaleDown", "humanHoldTime", "scaleUp", "headroom",
    "windows", "budgets",
)  # fmt: skip
"""What may become looser, the gravest first; what is not named is graver than all of them."""
_BRIEF = 24
_ITEM = re.compile(r"\[[^\]]*\]")


def looser_values(loosened: Sequence[Loosened], plan: Plan) -> Iterator[Consequence]:
    """Everything else that lets more happen, and what may: nobody knows which of two schedules is the narrower one."""
    values = [one for one in loosened if one.path not in _OWN_SENTENCE and not one.path.startswith("target.")]
    for one in sorted(values, key=lambda value: (not value.certain, *looser_order(value.path, value.before, value.after), value)):
        own = not one.groups and not one.discovered
        reaches = bool(plan.groups) if own else True
        whose: Sentence = () if own else (" (", *reached_words(one.groups, discovered=one.discovered), ")")
        verb = "This loosens " if one.certain else "This may loosen "
        words = looser_words(one)
        change: Sentence = (Foreign(one.path), " ", Foreign(one.before), " -> ", Foreign(one.after))
        yield Consequence(
            grade=Grade.WARNING if reaches else Grade.NOTE,
            code=Code.LOOSENS if one.certain else Code.MAY_LOOSEN,
            sentence=(*(capitalized(words) or (verb, *change, *whose)), "."),
            short="1 value becomes looser" if one.certain else "1 value may become looser",
            named=words or _changed(one),
            data={
                "path": one.path, "today": one.before, "after": one.after, "groups": one.groups, "discovered": one.discovered,
            },
        )  # fmt: skip


def _changed(one: Loosened) -> Sentence:
    """`scaleUp.maxNodeProvisionTime of spot 10m -> 10s`, if both values are short."""
    if max(len(one.before), len(one.after)) > _BRIEF:
        return ()
    own = not one.groups and not one.discovered
    whose: Sentence = () if own else (" of ", *reached_words(one.groups, discovered=one.discovered))
    return (Foreign(one.path), *whose, " ", Foreign(one.before), " -> ", Foreign(one.after))


def looser_rank(path: str) -> int:
    """How grave it is where the value at `path` (with the items of its lists) becomes looser; smaller is graver."""
    family = value_family(path)
    ranks = (rank for rank, name in enumerate(_FAMILIES, 1) if family == name or family.startswith(f"{name}."))
    return next(ranks, 0)


def looser_order(path: str, before: str, after: str) -> tuple[int, bool, Fraction]:
    """Sorts values that become looser, the gravest first: by field, then by how far each goes, furthest without a number."""
    far = ratio(before, after)
    return looser_rank(path), far is not None, -(far or Fraction(0))


def value_family(path: str) -> str:
    """The path without the items of its lists: `limits.max.cpu` of `limits[cluster].max.cpu`."""
    return _ITEM.sub("", path)
