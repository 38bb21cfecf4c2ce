"""A preview as markdown for a pull request."""

import msgspec

from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.documents.preview.document import preview_document, side_words
from reconciler.rendering.printers.markdown.code import code
from reconciler.rendering.printers.markdown.document import document_markdown, problem_lines
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT
from reconciler.rendering.printers.markdown.plan import plan_comment
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.refusal import refusal
from reconciler.rendering.words.wording import MAIN, THIS_PR


def preview_markdown(preview: Preview, *, limit: int = GITHUB_LIMIT) -> str:
    """At most `limit` UTF-16 units; the last line names the head's commit, that of the digest covers everything above it. An
    alarm about the snapshot stands before everything else. Without a comparison the plan follows."""
    document = preview_document(preview, Fold())
    if preview.comparison is None:
        plan = plan_comment(preview.plan)
        document = msgspec.structs.replace(document, blocks=(*document.blocks, *plan.blocks), digest=plan.digest, note=plan.note)
    return document_markdown(document, limit)


def refused_markdown(problems: tuple[Problem, ...], base: PreviewSide, head: PreviewSide) -> str:
    """What is wrong with a head that cannot be used, for a pull request."""
    why = refusal(problems)
    body = problem_lines(render_text(problems))
    foot = f"<sub>{MAIN}: {code(side_words(base))} · {THIS_PR}: {code(side_words(head))}</sub>"
    return "\n".join([f"## {why.title}", "", why.explanation, "", *body, "", foot]) + "\n"
