"""A preview on the pull request that a CI job runs for: the comment, and on GitHub annotations, step summary and outputs."""

import hashlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell
from reconciler.cli.outputs.workflow_commands import WORKFLOW_COMMANDS
from reconciler.gitops.pull_requests.comment import (
    STAMP_ROOM,
    CommentHost,
    HostCode,
    HostError,
    Message,
    Posted,
    base_stamp,
    post,
    standing,
)
from reconciler.gitops.pull_requests.job_outputs import SUMMARY_LIMIT, annotations, output_text, summary_text
from reconciler.gitops.pull_requests.pull_request import HostKind, NoPullRequestError, PullRequest, pull_request
from reconciler.rendering.printers.markdown.document import GITHUB_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.cli.inputs.preview_sides import Side
    from reconciler.plan.preview import Preview
    from reconciler.policy.problems.findings import Problem

_MOST_EVENT_BYTES = 32 << 20
_TOKEN_NAMES = {HostKind.GITHUB: "GITHUB_TOKEN", HostKind.GITLAB: "GITLAB_TOKEN"}
_DONE = {
    Posted.CREATED: "comment written",
    Posted.UPDATED: "comment updated",
    Posted.UNCHANGED: "comment left alone: nothing changed",
    Posted.NEWER: "comment left alone: a later run wrote it",
}


class ReportContent(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said: `digest` over it, `head` the commit, `summary` one line, `changed` whether anything differs.
    `base` is what it was compared with (see `base_stamp`). `untouched`: the change does not reach the policies,
    which is told only where a comment stands. `markdown` renders it for so many UTF-16 units."""

    digest: str
    head: str
    summary: str
    changed: bool
    base: str
    untouched: bool = False
    problems: "tuple[Problem, ...]"
    markdown: "Callable[[int], str]"


def preview_content(preview: "Preview", before: "Side", after: "Side") -> ReportContent:
    """A preview that was made."""
    from reconciler.rendering.printers.markdown.preview import preview_markdown

    return ReportContent(
        digest=preview.digest,
        head=preview.head.revision or "",
        summary=preview.plan.summary,
        changed=preview.changed,
        base=base_of(before),
        untouched=_untouched(before, after)
        and not preview.sizes
        and not (preview.snapshot and preview.snapshot.changed)
        and not (preview.tests and preview.tests.failed),
        problems=(*preview.warnings, *(size.problem for size in preview.sizes if size.problem is not None)),
        markdown=lambda limit: preview_markdown(preview, limit=limit),
    )


def refusal_content(before: "Side", after: "Side") -> ReportContent:
    """A head that cannot be used."""
    from reconciler.rendering.printers.markdown.preview import refused_markdown
    from reconciler.rendering.words.refusal import refusal

    digest = hashlib.sha256(msgspec.json.encode(after.problems)).hexdigest()
    markdown = refused_markdown(after.problems, before.side, after.side)
    return ReportContent(
        digest=f"sha256:{digest}",
        head=after.side.revision or "",
        summary=f"{refusal(after.problems).title}.",
        changed=after.conflicting,
        base=base_of(before),
        untouched=_untouched(before, after),
        problems=after.problems,
        markdown=lambda _: markdown,
    )


def failure_content(before: "Side", after: "Side", why: str) -> ReportContent:
    """A valid head that still has nothing to preview: no policy in it, or several to choose from."""
    from reconciler.rendering.printers.markdown.document import problem_lines

    markdown = "\n".join(["## This change cannot be previewed", "", *problem_lines(why), ""])
    return ReportContent(
        digest=f"sha256:{hashlib.sha256(why.encode()).hexdigest()}",
        head=after.side.revision or "",
        summary="This change cannot be previewed.",
        changed=True,
        base=base_of(before),
        problems=(),
        markdown=lambda _: markdown,
    )


def base_of(before: "Side") -> str:
    """The stamp of what a change was compared with."""
    return base_stamp(before.side.source, before.content)


def _untouched(before: "Side", after: "Side") -> bool:
    """Whether merging leaves the policies as they are, files and all."""
    return bool(before.content) and before.content == after.content


def asked_for() -> PullRequest:
    """The pull request of this job. Raises `InputError` before any work is done."""
    path = os.environ.get("GITHUB_EVENT_PATH", "")
    try:
        with Path(path).open("rb") if path else Path(os.devnull).open("rb") as stream:
            event = stream.read(_MOST_EVENT_BYTES)
        request = pull_request(os.environ, event)
    except OSError as error:
        raise InputError(f"GITHUB_EVENT_PATH: {error.strerror or error}") from None
    except NoPullRequestError as error:
        raise InputError(f"--comment: {error}") from None
    if not request.token and not request.fork:
        raise InputError(f"--comment needs a token in the variable {_TOKEN_NAMES[request.kind]}")
    return request


def annotate(request: PullRequest, content: ReportContent) -> None:
    """Problems as annotations of the job; to be called before anything is printed."""
    if request.kind is HostKind.GITHUB:
        WORKFLOW_COMMANDS.print(annotations(content.problems))


def report(request: PullRequest, key: str, content: ReportContent) -> None:
    """Write everything else. A token that may only read, like those of forks, is not a failure. Raises `InputError` for
    others."""
    url, failure = "", ""
    if request.kind is HostKind.GITHUB:
        _append("GITHUB_STEP_SUMMARY", summary_text(content.markdown(SUMMARY_LIMIT)))
    message = Message(
        key=key,
        digest=content.digest,
        head=content.head,
        base=content.base,
        order=request.order,
        markdown=content.markdown(GITHUB_LIMIT - STAMP_ROOM),
    )
    try:
        if not request.token:
            raise HostError(HostCode.FORBIDDEN, "a change from a fork has no token")
        host = _host(request)
        if content.untouched and standing(host, key) is None:
            tell("no comment was written: the change does not reach the policies")
        else:
            outcome = post(host, message)
            url = outcome.url
            tell(f"{_DONE[outcome.posted]} {url}".rstrip())
    except HostError as error:
        if error.code is not HostCode.FORBIDDEN:
            failure = f"--comment: {error}"
        else:
            where = " and in the step summary" if request.kind is HostKind.GITHUB else ""
            why = "changes from forks run with a token that only reads" if request.fork else "see the permissions of the token"
            tell(f"no comment was written: {error}. {why}. The preview is above{where}.")
    if request.kind is HostKind.GITHUB:
        values = {
            "has-changes": "true" if content.changed else "false",
            "digest": content.digest,
            "summary": content.summary,
            "comment-url": url,
        }
        _append("GITHUB_OUTPUT", output_text(values, f"reconciler-{secrets.token_hex(16)}"))
    if failure:
        raise InputError(failure)


def _host(request: PullRequest) -> CommentHost:
    try:
        if request.kind is HostKind.GITHUB:
            from reconciler.gitops.pull_requests.github import GitHubPullRequest

            return GitHubPullRequest(request.token, request.repository, request.number, api_url=request.url)
        from reconciler.gitops.pull_requests.gitlab import GitLabMergeRequest

        return GitLabMergeRequest(request.token, request.repository, request.number, url=request.url, web_url=request.web_url)
    except ImportError:
        raise InputError("--comment needs the clients of both hosts: pip install 'nodegroup-reconciler[pullrequest]'") from None


def _append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        tell(f"{variable}: {error.strerror or error}")
