"""A preview on the pull request that a CI job runs for: the comment, and on GitHub annotations, step summary and outputs."""

import hashlib
import os
import secrets
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell
from reconciler.cli.outputs.workflow_commands import WORKFLOW_COMMANDS
from reconciler.gitops.pull_requests.approvals import ApprovalRuleError, approval_rule, verdict
from reconciler.gitops.pull_requests.comment import (
    STAMP_ROOM,
    CommentHost,
    CommitStatus,
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
from reconciler.rendering.printers.markdown.host_length import length

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.cli.inputs.preview_sides import Side
    from reconciler.gitops.pull_requests.approvals import Grades, Verdict
    from reconciler.plan.preview import Preview
    from reconciler.policy.problems.problem import Problem

_MOST_EVENT_BYTES = 32 << 20
_TOKEN_NAMES = {
    HostKind.GITHUB: "GITHUB_TOKEN",
    HostKind.GITEA: "GITHUB_TOKEN",
    HostKind.GITLAB: "GITLAB_TOKEN",
    HostKind.BITBUCKET_CLOUD: "BITBUCKET_TOKEN",
    HostKind.BITBUCKET_SERVER: "BITBUCKET_TOKEN",
    HostKind.AZURE: "SYSTEM_ACCESSTOKEN",
}
_ACTIONS = (HostKind.GITHUB, HostKind.GITEA)
_DONE = {
    Posted.CREATED: "comment written",
    Posted.UPDATED: "comment updated",
    Posted.UNCHANGED: "comment left alone: nothing changed",
    Posted.NEWER: "comment left alone: a later run wrote it",
}


class ReportContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a comment says. `digest` is over the content, `head` is the commit, `summary` is one line, and `changed` says whether
    anything differs. `base` is what the change was compared with (see `base_stamp`). `untouched`: the change does not reach the
    policies; only a comment that exists already says so. `refused`: the policies cannot be used, or a policy test fails.
    `grades` counts the consequences, None: they are not known. `markdown` renders the content within a number of UTF-16 units."""

    digest: str
    head: str
    summary: str
    changed: bool
    base: str
    untouched: bool = False
    refused: bool = False
    grades: "Grades | None" = None
    problems: "tuple[Problem, ...]"
    markdown: "Callable[[int], str]"


def preview_content(preview: "Preview", before: "Side", after: "Side") -> ReportContent:
    """A preview that was made."""
    from reconciler.rendering.documents.preview.consequences.all import consequences
    from reconciler.rendering.printers.markdown.preview import preview_markdown

    return ReportContent(
        digest=preview.digest,
        head=preview.head.revision or "",
        summary=preview.plan.summary,
        refused=bool(preview.tests and preview.tests.failed),
        grades=Counter(one.grade for one in consequences(preview)) if preview.comparison is not None else None,
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
        refused=True,
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
        refused=True,
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


def asked_for(*, mark: bool, rules: "Sequence[str]" = ()) -> PullRequest:
    """The pull request of this job; `mark`: with a commit status; `rules` are those for approvals. Raises `InputError` before any
    work is done."""
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
    try:
        approvals = tuple(approval_rule(rule) for rule in rules)
    except ApprovalRuleError as error:
        raise InputError(f"--approval: {error}") from None
    return msgspec.structs.replace(request, mark=mark, approvals=approvals)


def annotate(request: PullRequest, content: ReportContent) -> None:
    """Problems as annotations of the job; to be called before anything is printed."""
    if request.kind in _ACTIONS:
        WORKFLOW_COMMANDS.print(annotations(content.problems))


def report(request: PullRequest, key: str, content: ReportContent) -> None:
    """Write everything else. A token that may only read, like those of forks, is not a failure. Raises `InputError` for
    others."""
    url, failure = "", ""
    if request.kind in _ACTIONS:
        _append("GITHUB_STEP_SUMMARY", summary_text(content.markdown(SUMMARY_LIMIT)))
    try:
        if not request.token:
            raise HostError(HostCode.FORBIDDEN, "a change from a fork has no token")
        host = _host(request)
        # Each change of a queue has its approvals already: it comes in only after the status of its pull request.
        judged = verdict(request.approvals, content.grades, host, request.change) if request.number else None
        try:
            url = _comment(host, request, key, content, judged)
        finally:
            if request.mark:
                failure = _mark(host, request, key, content, judged, url)
    except HostError as error:
        if error.code is not HostCode.FORBIDDEN:
            failure = f"--comment: {error}"
        else:
            where = " and in the step summary" if request.kind in _ACTIONS else ""
            why = "changes from forks run with a token that only reads" if request.fork else "see the permissions of the token"
            tell(f"no comment was written: {error}. {why}. The preview is above{where}.")
    if request.kind in _ACTIONS:
        values = {
            "has-changes": "true" if content.changed else "false",
            "digest": content.digest,
            "summary": content.summary,
            "comment-url": url,
        }
        _append("GITHUB_OUTPUT", output_text(values, f"reconciler-{secrets.token_hex(16)}"))
    if failure:
        raise InputError(failure)


def _comment(host: CommentHost, request: PullRequest, key: str, content: ReportContent, judged: "Verdict | None") -> str:
    """Write the comment, or leave it alone; its address."""
    if not request.number:
        tell("no comment was written: this is a merge queue, with the changes of several pull requests")
        return ""
    if content.untouched and standing(host, key) is None:
        tell("no comment was written: the change does not reach the policies")
        return ""
    line = "" if judged is None else _approval_line(judged)
    message = Message(
        key=key,
        digest=content.digest,
        head=content.head,
        base=content.base,
        order=request.order,
        markdown=line + content.markdown(host.limit - STAMP_ROOM - length(line)),
    )
    outcome = post(host, message)
    tell(f"{_DONE[outcome.posted]} {outcome.url}".rstrip())
    return outcome.url


def _approval_line(judged: "Verdict") -> str:
    """One paragraph. Names are shown as code, so that no host takes one for a person to notify."""
    from reconciler.rendering.printers.markdown.code import code

    return f"Approvals: {code(judged.line)}{f'. {judged.caveat}.' if judged.caveat else ''}\n\n"


def _mark(host: CommentHost, request: PullRequest, key: str, content: ReportContent, judged: "Verdict | None", url: str) -> str:
    """Set the commit status, with the headline or the approvals that are missing. A token without that right leads to a line in
    the log. Where approvals depend on the status, that is a failure of the job, which is returned."""
    why = ""
    if not request.commit:
        why = "the job does not name the head of the pull request"
    missing = judged is not None and not judged.granted
    mark = CommitStatus(
        commit=request.commit, context=f"reconciler/{key}", failed=content.refused or missing, url=url,
        description=judged.line if judged is not None and missing and not content.refused else content.summary,
    )  # fmt: skip
    try:
        if request.commit:
            host.set_status(mark)
            tell(f"commit status {mark.context} set: {'failed' if mark.failed else 'success'}")
    except HostError as error:
        why = str(error)
    if judged is not None:
        tell(f"approvals: {judged.line}")
    if why and request.approvals:
        return f"--approval: no commit status was set: {why}"
    if why:
        tell(f"no commit status was set: {why}")
    return ""


def _host(request: PullRequest) -> CommentHost:
    try:
        if request.kind is HostKind.GITHUB:
            from reconciler.gitops.pull_requests.github import GitHubPullRequest

            return GitHubPullRequest(request.token, request.repository, request.number, api_url=request.url)
        if request.kind is HostKind.GITLAB:
            from reconciler.gitops.pull_requests.gitlab import GitLabMergeRequest

            return GitLabMergeRequest(
                request.token, request.repository, request.number, url=request.url, web_url=request.web_url
            )  # fmt: skip
        from reconciler.gitops.pull_requests import rest_forges

        forges: dict[HostKind, Callable[..., CommentHost]] = {
            HostKind.GITEA: rest_forges.GiteaPullRequest,
            HostKind.BITBUCKET_CLOUD: rest_forges.BitbucketCloudPullRequest,
            HostKind.BITBUCKET_SERVER: rest_forges.BitbucketServerPullRequest,
            HostKind.AZURE: rest_forges.AzurePullRequest,
        }
        return forges[request.kind](
            request.token, request.url, request.number, web_url=request.web_url, collection=request.collection
        )
    except ImportError:
        raise InputError("--comment needs the clients of code hosts: pip install 'nodegroup-reconciler[pullrequest]'") from None


def _append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        tell(f"{variable}: {error.strerror or error}")
