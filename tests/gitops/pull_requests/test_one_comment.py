"""Which comment is ours and what becomes of it, on a host in memory; and what a job hands on, at its bounds."""

from collections.abc import Iterator

import pytest

from reconciler.gitops.pull_requests.comment import (
    MOST_AHEAD,
    Comment,
    CommitStatus,
    Message,
    Outcome,
    Posted,
    Standing,
    base_stamp,
    body,
    marker,
    post,
    standing,
)
from reconciler.gitops.pull_requests.job_outputs import annotations, output_text, summary_text
from reconciler.gitops.pull_requests.pull_request import NoPullRequestError, PullRequest, pull_request
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT, length

FIRST = Message(key="prod", digest="sha256:1", head="abc", order=1000, markdown="Plan\n\ntext\n\n<sub>foot</sub>\n")


class Notes:
    """A pull request whose comments are a list; what is asked of it is kept."""

    limit = GITHUB_LIMIT
    shown = staticmethod(str)

    def __init__(self, *bodies: str, author: str = "bot") -> None:
        self.kept = [Comment(id=number, author=author, body=text, url=f"u{number}") for number, text in enumerate(bodies)]
        self.done: list[str] = []

    def author(self) -> str:
        return "bot"

    def comments(self) -> Iterator[Comment]:
        return iter(list(self.kept))

    def create(self, text: str) -> Comment:
        self.done.append("create")
        self.kept.append(Comment(id=len(self.kept), author="bot", body=text, url="new"))
        return self.kept[-1]

    def update(self, comment: Comment, text: str) -> Comment:
        self.done.append(f"update {comment.id}")
        return Comment(id=comment.id, author=comment.author, body=text, url=comment.url)

    def set_status(self, status: CommitStatus) -> None:
        raise AssertionError(status)

    def delete(self, comment: Comment) -> None:
        self.done.append(f"delete {comment.id}")


def changed(**fields: object) -> Message:
    return Message(**{name: getattr(FIRST, name) for name in FIRST.__struct_fields__} | fields)  # type: ignore[arg-type]


def foot(text: str) -> str:
    """A text whose last line is a foot of so many characters."""
    return f"Plan\n\n<sub>{text[len('<sub></sub>') :]}</sub>\n"


def test_marker_and_stamp() -> None:
    """In the first two lines; what is told of comes after."""
    assert body(FIRST) == (
        "<!-- reconciler-preview prod -->\n<!-- reconciler-stamp digest=sha256:1 head=abc order=1000 -->\n"
        "Plan\n\ntext\n\n<sub>foot</sub>\n"
    )


def test_the_stamp_says_what_was_compared_with() -> None:
    """Another base is told although the text is the same: the foot names it. It is one by name, or by what is there."""
    stamps = [base_stamp(name, content) for name, content in (("main", "1"), ("main", "2"), ("forged", "1"), ("main1", ""))]
    assert len(set(stamps)) == 4
    told = changed(base=stamps[0])
    assert f" base={stamps[0]} order=" in body(told)
    assert standing(Notes(body(told)), "prod") == Standing(digest="sha256:1", head="abc", base=stamps[0], order=1000)
    for base, posted in ((stamps[0], Posted.UNCHANGED), (stamps[1], Posted.UPDATED), ("", Posted.UPDATED)):
        assert post(Notes(body(told)), changed(base=base)).posted is posted


@pytest.mark.parametrize(
    ("there", "message", "done", "posted"),
    [
        ([], FIRST, ["create"], Posted.CREATED),
        (["hello", body(changed(key="test"))], FIRST, ["create"], Posted.CREATED),
        ([body(FIRST)], FIRST, [], Posted.UNCHANGED),
        ([body(FIRST)], changed(order=2000, head="def"), [], Posted.UNCHANGED),
        ([body(FIRST)], changed(markdown="Plan\n\ntext\n\n<sub>another foot</sub>\n"), [], Posted.UNCHANGED),
        ([body(FIRST).replace("\n", "\r\n")], FIRST, ["update 0"], Posted.UPDATED),
        ([body(FIRST)], changed(digest="sha256:2"), ["update 0"], Posted.UPDATED),
        ([body(FIRST)], changed(markdown="Plan\n\nother\n\n<sub>foot</sub>\n"), ["update 0"], Posted.UPDATED),
        ([body(FIRST)], changed(markdown="Plan\n\ntext\n"), ["update 0"], Posted.UPDATED),
        ([body(FIRST)], changed(markdown="Other\n\ntext\n\n<sub>foot</sub>\n"), ["update 0"], Posted.UPDATED),
        ([body(FIRST)], changed(order=999), [], Posted.NEWER),
        ([body(FIRST), body(FIRST)], FIRST, ["delete 1"], Posted.UNCHANGED),
        ([body(FIRST), body(changed(order=3000))], changed(order=2000), [], Posted.NEWER),
        ([marker("prod"), body(FIRST)], changed(order=2000), ["delete 1", "update 0"], Posted.UPDATED),
        ([body(changed(order=1000 + MOST_AHEAD))], FIRST, [], Posted.NEWER),
        ([body(changed(order=1001 + MOST_AHEAD))], changed(digest="sha256:2"), ["update 0"], Posted.UPDATED),
        ([marker("prod") + "\nedited"], FIRST, ["update 0"], Posted.UPDATED),
        ([marker("prod") + "\nedited"], changed(order=0), ["update 0"], Posted.UPDATED),
        ([body(changed(markdown="Plan\n\na\n"))], changed(markdown="Plan\n\nb\n"), ["update 0"], Posted.UPDATED),
        ([body(changed(markdown=""))], changed(markdown=""), [], Posted.UNCHANGED),
        ([body(changed(markdown=foot("a" * 1000)))], changed(markdown=foot("b" * 1000)), [], Posted.UNCHANGED),
        ([body(changed(markdown=foot("a" * 1001)))], changed(markdown=foot("b" * 1001)), ["update 0"], Posted.UPDATED),
    ],
)
def test_exactly_one_comment(there: list[str], message: Message, done: list[str], posted: Posted) -> None:
    """Written, updated, left alone; a later run's is not overwritten, unless it claims to come from the far future."""
    host = Notes(*there)
    found = post(host, message)
    if posted is Posted.UPDATED and done == ["update 0"] and "\r" in there[0]:
        assert found.posted in (Posted.UPDATED, Posted.UNCHANGED)
        return
    assert (host.done, found) == (done, Outcome(posted=posted, url="new" if posted is Posted.CREATED else "u0"))


def test_a_comment_of_somebody_else_is_not_ours() -> None:
    """Whatever its first line says."""
    host = Notes(body(FIRST), author="mallory")
    assert post(host, FIRST).posted is Posted.CREATED
    assert standing(Notes(body(FIRST), author="mallory"), "prod") is None


def test_what_a_comment_says_of_itself() -> None:
    """The first of ours; nothing where its second line was edited away."""
    odd = changed(digest="sha256:a b", head="x/y")
    assert standing(Notes(body(odd), body(FIRST)), "prod") == Standing(digest="sha256:a b", head="x/y", order=1000)
    assert standing(Notes(marker("prod") + "\n\n" + body(FIRST)), "prod") == Standing(digest="", head="", order=0)
    assert standing(Notes("hello"), "prod") is None


def test_a_text_is_whole_up_to_its_bound() -> None:
    """And one unit longer it is cut at a line, with a word about it."""
    top = length(body(changed(markdown="")))
    text = "a\n" * 400
    assert body(changed(markdown=text), top + 800).endswith("a\na\n")
    told = "\n\n<sub>This comment was too long and ends here. The log of the job has the whole preview.</sub>\n"
    for limit, lines in ((799, 351), (798, 351), (797, 350)):  # the word about it has 96 characters
        assert body(changed(markdown=text), top + limit) == body(changed(markdown="a\n" * lines + told))


@pytest.mark.parametrize(("markdown", "closing"), [
    ("```\n" + "x\n" * 400, "\n```\n"),
    ("```\na\n```\n" + "x\n" * 400, ""),
    ("````\n```\n" + "x\n" * 400, "\n````\n"),
    ("<details>\n<details>\n</details>\n" + "x\n" * 400, "\n</details>"),
    ("</details>\n" + "x\n" * 400, ""),
    ("```\n<details>\n" + "x\n" * 400, "\n```\n"),
    ("x\n" * 400, ""),
    ("<details>\n" * 9 + "x\n" * 400, "\n</details>" * 9),
])  # fmt: skip
def test_what_is_open_is_closed(markdown: str, closing: str) -> None:
    """Fences by as many ticks as opened them, folds outside of them; what is closed already is not closed again."""
    cut = body(changed(markdown=markdown), 600)
    assert length(cut) in (599, 600)
    text = cut.partition("\n\n<sub>This comment was too long")[0]
    kept = text[: len(text) - len(closing)] if closing else text
    assert text.endswith(closing)
    assert kept.endswith("x\n")


def problems(count: int, severity: Severity = Severity.ERROR) -> tuple[Problem, ...]:
    return tuple(
        Problem(place=Place("a.yaml", line, 1), code="X", message="m", severity=severity) for line in range(1, count + 1)
    )


@pytest.mark.parametrize(("errors", "warnings", "shown", "more"), [
    (0, 0, 0, None), (10, 0, 10, None), (11, 0, 9, 2), (12, 10, 19, 3), (11, 11, 18, 4),
])  # fmt: skip
def test_how_many_annotations(errors: int, warnings: int, shown: int, more: int | None) -> None:
    """Ten of a severity; of more nine, and how many there are besides."""
    lines = annotations(problems(errors) + problems(warnings, Severity.WARNING)).splitlines()
    told = [line for line in lines if "more problems" in line]
    assert len(lines) - len(told) == shown
    assert told == ([] if more is None else [
        f"::notice title=reconciler::{more} more problems of the policy are in the log and in the summary"
    ])  # fmt: skip


def test_a_summary_at_its_bound() -> None:
    """1 MiB less 4 KiB; what is longer ends with a whole line, and each ends with one line break."""
    most = 1_044_480
    assert summary_text("a\n\n\n") == "a\n"
    assert summary_text("x" * (most - 1) + "\n") == "x" * (most - 1) + "\n"
    assert summary_text("a\n" + "x" * (most - 1)) == "a\n"


def test_outputs_of_a_job() -> None:
    """Each between delimiters, in their order."""
    assert output_text({"a": "1", "b": ""}, "EOF") == "a<<EOF\n1\nEOF\nb<<EOF\n\nEOF\n"


GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "team/x", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_RUN_ID": "5"}
GITLAB = {"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_ID": "42", "CI_PIPELINE_ID": "9"}


def test_a_run_of_github() -> None:
    """Everything from its variables, with GitHub's own address where none is said."""
    found = pull_request(GITHUB | {"GITHUB_TOKEN": "t", "GITHUB_RUN_ATTEMPT": "3"}, None)
    assert (found.url, found.repository, found.number, found.order) == ("https://api.github.com", "team/x", 7, 5003)
    assert (found.token, found.fork, found.web_url) == ("t", False, "")
    assert pull_request(GITHUB | {"GITHUB_API_URL": "https://ghe/api"}, None).url == "https://ghe/api"


@pytest.mark.parametrize(("run", "attempt", "order"), [
    ("5", "", 5000), ("", "2", 2), ("x", "y", 0), ("5", "999", 5999), ("5", "1000", 5000), ("5", "1001", 5001),
])  # fmt: skip
def test_the_order_of_runs(run: str, attempt: str, order: int) -> None:
    """Attempts count inside a run."""
    assert pull_request(GITHUB | {"GITHUB_RUN_ID": run, "GITHUB_RUN_ATTEMPT": attempt}, None).order == order


@pytest.mark.parametrize(("event", "fork"), [
    (b'{"pull_request":{"number":9}}', False), (b'{"pull_request":{"number":9,"head":{}}}', False),
    (b'{"pull_request":{"number":9,"head":{"repo":null}}}', False), (b'{"pull_request":{"number":9,"head":{"repo":{}}}}', False),
    (b'{"pull_request":{"number":9,"head":{"repo":{"fork":true}}}}', True),
])  # fmt: skip
def test_forks_of_github(event: bytes, fork: bool) -> None:
    """As the event says; a fork that was deleted says nothing."""
    found = pull_request(GITHUB, event)
    assert (found.number, found.fork) == (9, fork)


@pytest.mark.parametrize("changes", [
    {"GITHUB_REPOSITORY": "team"}, {"GITHUB_REPOSITORY": "../x"}, {"GITHUB_REPOSITORY": "team/.."},
    {"GITHUB_REPOSITORY": "a/b/c"},
    {"GITHUB_REF": "refs/heads/main"}, {"GITHUB_REF": "refs/pull/7/merge/x"}, {"GITHUB_REF": ""}, {"GITHUB_ACTIONS": "yes"},
])  # fmt: skip
def test_runs_without_a_pull_request(changes: dict[str, str]) -> None:
    """A repository that is none, another event, another program."""
    with pytest.raises(NoPullRequestError):
        pull_request(GITHUB | changes, None)


def test_an_event_without_a_pull_request_leaves_the_ref() -> None:
    """An empty file too."""
    assert pull_request(GITHUB, b"{}").number == pull_request(GITHUB, b"").number == 7


def test_a_job_of_gitlab() -> None:
    """The project that it goes into, the page to link to, a fork by another source project."""
    found = pull_request(GITLAB | {"GITLAB_TOKEN": "t", "CI_PROJECT_URL": "https://g/x"}, None)
    assert (found.url, found.repository, found.number, found.order, found.token) == ("https://gitlab.com", "42", 7, 9000, "t")
    assert (found.web_url, found.fork) == ("https://g/x/-/merge_requests/7", False)
    target = {"CI_MERGE_REQUEST_PROJECT_ID": "41", "CI_MERGE_REQUEST_PROJECT_URL": "https://g/y", "CI_SERVER_URL": "https://g"}
    found = pull_request(GITLAB | target, None)
    assert (found.url, found.repository, found.web_url, found.fork) == ("https://g", "41", "https://g/y/-/merge_requests/7", True)
    assert pull_request(GITLAB, None) == PullRequest(
        kind=found.kind, url="https://gitlab.com", repository="42", number=7, order=9000
    )  # fmt: skip
    assert pull_request(GITLAB | {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "42"}, None).fork is False
    assert pull_request(GITLAB | {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "43"}, None).fork is True


@pytest.mark.parametrize("changes", [{"CI_MERGE_REQUEST_IID": "x"}, {"CI_MERGE_REQUEST_IID": ""}, {"CI_PROJECT_ID": ""}])
def test_jobs_without_a_merge_request(changes: dict[str, str]) -> None:
    """Said with what to do."""
    with pytest.raises(NoPullRequestError, match="merge_request_event"):
        pull_request(GITLAB | changes, None)
