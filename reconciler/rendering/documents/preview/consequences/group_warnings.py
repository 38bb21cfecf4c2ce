"""What a plan newly says of groups: what is asked of them that they cannot do, and templates that their nodes contradict."""

from collections.abc import Callable, Iterator, Mapping

from reconciler.plan.comparison import Pair, PlanComparison
from reconciler.plan.plan import GroupLine
from reconciler.plan.reason import Reason, Scalar
from reconciler.rendering.documents.blocks import Foreign, Sentence, foreign_sentence, names_listed
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.values.plural import count_text, verb_for

_ABOUT_TEMPLATES = ("SmallerThanTemplate", "TemplateUntried", "TemplateUnknown", "MixedShapes")
"""Reasons that say how a template and the live nodes differ."""


def _headroom(data: Mapping[str, Scalar]) -> str:
    return f"headroom for {count_text(int(str(data['missing'])), str(data['what']).removesuffix('s'))}"


_CANNOT: dict[str, Callable[[Sentence, Mapping[str, Scalar], int], Sentence]] = {
    "HeadroomShort": lambda who, data, number: (*who, f" {verb_for(number, 'lacks', 'lack')} ", _headroom(data)),
    "MaxPodsGuessed": lambda who, _, __: ("how many pods a new node of ", *who, " takes is a guess"),
    "MinNotReached": lambda who, data, number: (*who, f" cannot reach {verb_for(number, 'its', 'their')} minimum {data['min']}"),
    "NoMaxSize": lambda who, _, number: (*who, f" {verb_for(number, 'has no maximum', 'have no maximum')}"),
    "PlatformBound": lambda who, data, _: ("the platform bounds ", *who, f" at {data['allowed']}"),
    "ShareNotReached": lambda _, data, __: (
        "tier ",
        Foreign(str(data["tier"])),
        f" has less than its share of {data['percent']}%",
    ),
}
"""Reasons that say what a group cannot do, each in a few words."""


def new_reasons(pair: Pair[GroupLine], comparison: PlanComparison) -> tuple[Reason, ...]:
    """Those of a group with words that main has not for the same target, whatever its name is there."""
    if pair.after is None:
        return ()
    known = {reason.message for line in _earlier(pair.after, pair, comparison) for reason in line.reasons}
    return tuple(reason for reason in pair.after.reasons if reason.message not in known)


def warned_of(pair: Pair[GroupLine], comparison: PlanComparison) -> tuple[Reason, ...]:
    """The new reasons that are warnings. A group that already could not do something gives no new one."""
    if pair.after is None:
        return ()
    codes = {reason.code for line in _earlier(pair.after, pair, comparison) for reason in line.reasons}
    return tuple(
        reason
        for reason in new_reasons(pair, comparison)
        if reason.code in _ABOUT_TEMPLATES or (reason.code in _CANNOT and reason.code not in codes)
    )


def _earlier(line: GroupLine, pair: Pair[GroupLine], comparison: PlanComparison) -> tuple[GroupLine, ...]:
    if pair.before is not None:
        return (pair.before,)
    return tuple(other.before for other in comparison.groups if other.before is not None and other.before.target == line.target)


def group_warnings(comparison: PlanComparison) -> Iterator[Consequence]:
    """One for each sentence, with the groups that it is about."""
    lots: dict[tuple[str, str], tuple[Reason, list[str]]] = {}
    for pair in comparison.groups:
        for reason in warned_of(pair, comparison):
            lots.setdefault((reason.code, reason.message), (reason, []))[1].append(pair.either.name)
    for reason, groups in lots.values():
        templates = reason.code in _ABOUT_TEMPLATES
        who, number = names_listed(groups, 1), len(groups)
        short = f"{count_text(number, 'group')} cannot follow the policy"
        if templates:
            short = f"{verb_for(number, 'a template differs', f'{number} templates differ')} from the nodes"
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.TEMPLATE_DIFFERS if templates else Code.GROUP_WARNINGS,
            sentence=(*names_listed(groups, NAMES_SHOWN), ": ", *foreign_sentence(reason.message), "."),
            short=short,
            named=("the template of ", *who, f" differs from {verb_for(number, 'its', 'their')} nodes") if templates
            else _CANNOT[reason.code](who, reason.data, number),
            data={"groups": tuple(groups), "reason": reason.code},
        )  # fmt: skip
