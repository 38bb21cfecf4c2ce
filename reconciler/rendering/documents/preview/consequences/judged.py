"""What does not judge the change as before: new problems, tests, declared sizes, documents for other clusters."""

from collections.abc import Iterator, Sequence

from reconciler.plan.comparison import PlanComparison
from reconciler.plan.finding import Finding
from reconciler.plan.policy_tests import LostBy, PolicyTestRun
from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.documents.blocks import Foreign, Sentence, foreign_sentence, names_listed
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import MAIN, count
from reconciler.values.plural import verb_for
from reconciler.values.two_sentences import two_sentences

TEMPLATE_FINDINGS = frozenset({"LargerThanTemplate", "SmallerThanTemplate"})
"""What `doctor` finds where nodes and the template of their group differ."""


def other_clusters(clusters: Sequence[str]) -> Iterator[Consequence]:
    """Documents that do not count in the cluster of the preview."""
    if clusters:
        one = "documents for other clusters change"
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.OTHER_CLUSTERS,
            sentence=(
                f"Documents for {'cluster' if len(clusters) == 1 else 'clusters'} ", *names_listed(clusters, NAMES_SHOWN),
                " changed, which this preview does not judge. Run `reconciler preview --fleet` with a snapshot of each.",
            ),
            short=one,
            data={"clusters": tuple(clusters)},
        )  # fmt: skip


def new_problems(comparison: PlanComparison) -> Iterator[Consequence]:
    """Problems of the plan that main does not have."""
    new = [pair.after for pair in comparison.problems if pair.after is not None and pair.before in (None, pair.after)]
    if new:
        first = new[0]
        about = foreign_sentence(f"{f'{first.object}: ' if first.object else ''}{first.message} [{first.code}]")
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.NEW_PROBLEMS,
            sentence=(f"{count(len(new), 'new problem')}{first_of(new)}", *about),
            short=count(len(new), "new problem"),
            named=foreign_sentence(first.message) if len(new) == 1 else (),
            detail=() if len(new) == 1 else None,
            data={"problems": len(new), "codes": tuple(sorted({problem.code for problem in new}))},
        )


def first_of(many: Sequence[object]) -> str:
    """What stands between their number and the first of them."""
    return ": " if len(many) == 1 else ", the first: "


def new_findings(findings: Sequence[Finding], comparison: PlanComparison) -> Iterator[Consequence]:
    """What `doctor` finds under this PR alone, without what the plan says of the same group under the same code."""
    told = {
        (reason.code, f"NodeGroup {pair.after.name}")
        for pair in comparison.groups if pair.after is not None for reason in pair.after.reasons
    }  # fmt: skip
    for one in findings:
        if (one.code, one.object) not in told:
            yield Consequence(
                grade=Grade.WARNING,
                code=Code.NEW_FINDINGS,
                sentence=(Foreign(one.object), ": ", *foreign_sentence(two_sentences(one.message, one.advice)), "."),
                short="`doctor` has a new warning",
                named=_template_words(one) or (Foreign(one.object), ": ", *foreign_sentence(one.message)),
                data={"finding": one.code, "object": one.object},
            )


def _template_words(finding: Finding) -> Sentence:
    """`the template of big differs from its nodes`; empty for any other finding."""
    if finding.code not in TEMPLATE_FINDINGS:
        return ()
    return ("the template of ", Foreign(finding.object.rpartition(" ")[2]), " differs from its nodes")


def tests_lost(run: PolicyTestRun | None) -> Iterator[Consequence]:
    """Tests that judge the policy on main, and not in this PR, or not as they did."""
    if run is not None and run.lost:
        number = len(run.lost)
        short = f"{count(number, 'policy test')} of {MAIN} {verb_for(number, 'does', 'do')} not judge it as before"
        if all(one.why is LostBy.NOT_RUN for one in run.lost):
            short = f"{count(number, 'policy test')} of {MAIN} {verb_for(number, 'was', 'were')} not run"
        labels = [f"{one.suite}: {one.name}" for one in run.lost]
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.TESTS_LOST,
            sentence=(f"{short}: ", *names_listed(labels, NAMES_SHOWN), "."),
            short=short,
            data={"tests": tuple(labels), "causes": tuple(sorted({one.why.value for one in run.lost}))},
        )


def policy_warnings(warnings: Sequence[Problem]) -> Iterator[Consequence]:
    """Problems in the files of the change that are not errors: all of them are listed below."""
    if warnings:
        short, first = count(len(warnings), "warning") + " about the policy", warnings[0]
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.POLICY_WARNINGS,
            sentence=(f"{short}{first_of(warnings)}", *foreign_sentence(f"{first.place}: {first.message} [{first.code}]")),
            short=short,
            named=foreign_sentence(first.message) if len(warnings) == 1 else (),
            detail=() if len(warnings) == 1 else None,
            data={"warnings": len(warnings), "codes": tuple(sorted({problem.code for problem in warnings}))},
        )


def declared_sizes(sizes: Sequence[SizeChange]) -> Iterator[Consequence]:
    """Manifests of the change that declare a size that a node group decides, or that move a declared size."""
    against = sum(size.problem is not None for size in sizes)
    if sizes:
        one = len(sizes) == 1
        short = f"{count(len(sizes), 'declared size')} of node groups {'differs' if one else 'differ'}"
        if against == len(sizes):
            short = f"{count(against, 'manifest value')} {'declares' if one else 'declare'} a size that a node group decides"
        yield Consequence(
            grade=Grade.WARNING if against else Grade.NOTE,
            code=Code.DECLARED_SIZES,
            sentence=(f"{short[0].upper()}{short[1:]}. The first: ", Foreign(sizes[0].what), ", ", Foreign(sizes[0].path), "."),
            short=short,
            data={"sizes": len(sizes), "decidedByGroups": against, "objects": tuple(sorted({size.what for size in sizes}))},
        )
