"""Who approves the head of a pull request, on servers that behave as those of six hosts do, and what follows for its status."""

import pytest

from reconciler.gitops.pull_requests.approvals import ApprovalRule, ApprovalRuleError, Verdict, approval_rule, verdict
from reconciler.gitops.pull_requests.comment import Approvals, CommentHost, HostCode, HostError
from reconciler.rendering.documents.preview.consequences.consequence import Grade
from tests.gitops.hosts import Host
from tests.gitops.pull_requests.test_comment import HOSTS, both, other  # noqa: F401 - fixtures

OLD, HEAD = "a" * 40, "b" * 40
TWO = {Grade.CAUTION: 2, Grade.NOTE: 9}
ALICE = (ApprovalRule(grade=Grade.CAUTION, names=("alice", "bob")),)


@pytest.fixture
def pull(both: tuple[Host, CommentHost]) -> tuple[Host, CommentHost]:  # noqa: F811
    """Pull request 7 of mallory, pushed twice."""
    host, client = both
    host.push(OLD)
    host.push(HEAD)
    return host, client


def people(client: CommentHost, head: str = HEAD) -> set[str]:
    """Who approves, where a host has no second name for a person."""
    return {name for name in client.approvals(head, ()).names if not name.startswith("id-")}


def test_approvals_of_the_head(pull: tuple[Host, CommentHost]):
    host, client = pull
    assert people(client) == set()
    host.review("Alice")
    host.review("carol", "changes")
    host.review("dave", "comment")
    assert people(client) == {"alice"}


def test_the_author_does_not_count(pull: tuple[Host, CommentHost]):
    host, client = pull
    host.review("mallory")
    assert people(client) == set()


def test_an_approval_of_an_earlier_commit_does_not_count(both: tuple[Host, CommentHost]):  # noqa: F811
    """Where a host does not tell it, that is said."""
    host, client = both
    host.push(OLD)
    host.review("alice", commit=OLD)
    host.push(HEAD)
    found = client.approvals(HEAD, ())
    assert found.names == (frozenset({"alice"}) if host.kind == "azure" else frozenset())
    assert bool(found.caveat) == (host.kind == "azure")
    host.review("alice", commit=HEAD)
    assert people(client) == {"alice"}
    # A job for the commit before does not take the approval of this one for its own.
    assert client.approvals(OLD, ()).names == frozenset()


def test_pushed_back_to_an_earlier_commit(both: tuple[Host, CommentHost]):  # noqa: F811
    """The approval of the commit counts again only where hosts know which commit it was."""
    host, client = both
    for commit in (OLD, HEAD):
        host.push(commit)
        if commit == OLD:
            host.review("alice", commit=OLD)
    host.push(OLD)
    assert people(client, OLD) == (set() if host.kind in ("gitlab", "cloud") else {"alice"})


@pytest.mark.parametrize(("states", "counts"), [
    (["changes", "approved"], True), (["approved", "changes"], False), (["approved", "dismissed"], False),
    (["approved", "comment"], True), (["dismissed", "approved"], True),
])  # fmt: skip
def test_the_last_opinion_of_a_person(pull: tuple[Host, CommentHost], states: list[str], *, counts: bool):
    host, client = pull
    for state in states:
        host.review("alice", state)
    assert people(client) == ({"alice"} if counts else set())


def test_many_others(pull: tuple[Host, CommentHost]):
    """On later pages, and somebody whose account was deleted."""
    host, client = pull
    host.review("alice")
    host.review("")
    for number in range(130):
        host.review(f"user{number}", "comment")
    host.review("bob")
    assert people(client) == {"alice", "bob"}


def test_an_approval_before_many_updates(pull: tuple[Host, CommentHost]):
    """A host that writes down each update of the title does so with the same commit."""
    host, client = pull
    host.review("alice")
    for _ in range(60):
        host.push(HEAD)
    assert people(client) == {"alice"}


def test_members_of_a_team(pull: tuple[Host, CommentHost]):
    """Of those that are asked about; a name of a person is no name of a team."""
    host, client = pull
    host.teams = {"team/oncall": [f"user{number}" for number in range(70)] + ["Alice"], "team/others": ["carol"]}
    assert client.approvals(HEAD, ["@team/oncall"]).names == frozenset()
    host.review("alice" if host.kind != "azure" else "Alice")
    host.review("dave")
    teams = ["@team/oncall", "@team/others"]
    if host.kind in ("cloud", "server"):
        with pytest.raises(HostError, match="name people"):
            client.approvals(HEAD, teams)
        return
    assert client.approvals(HEAD, teams).names == {"alice", "dave", "@team/oncall"}


def test_a_team_that_the_token_does_not_see(pull: tuple[Host, CommentHost]):
    host, client = pull
    if host.kind in ("cloud", "server", "azure"):
        return
    host.review("alice")
    with pytest.raises(HostError, match="the team @team/secret does not exist, or the token may not see its members") as refused:
        client.approvals(HEAD, ["@team/secret"])
    assert refused.value.code in (HostCode.NOT_FOUND, HostCode.FORBIDDEN)


def test_a_token_without_the_right(pull: tuple[Host, CommentHost]):
    """Nothing is granted, and the line says why."""
    host, _ = pull
    host.review("alice")
    found = verdict(ALICE, TWO, other(host, "wr0ng"), HEAD)
    assert found is not None
    assert (found.granted, found.line.startswith("cannot read approvals: the token may not do this")) == (False, True)


def test_a_rate_limit_that_lasts(pull: tuple[Host, CommentHost], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    host, client = pull
    host.failures = [(429, {"Retry-After": "3600"}, "slow down")] * 20
    found = verdict(ALICE, TWO, client, HEAD)
    assert found is not None
    assert (found.granted, "rate limit" in found.line) == (False, True)


def test_a_server_that_fails_for_a_while(pull: tuple[Host, CommentHost], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    host, client = pull
    host.review("alice")
    host.failures = [(502, {}, "bad gateway")]
    assert people(client) == {"alice"}


def test_an_answer_of_another_form(pull: tuple[Host, CommentHost], monkeypatch: pytest.MonkeyPatch):
    """It grants nothing, and is no traceback."""
    host, client = pull
    host.review("alice")
    host.pushes = [(HEAD, "soon")]
    for review in host.reviews:
        review["at"] = None
    host.opener = None  # type: ignore[assignment]
    found = verdict(ALICE, TWO, client, HEAD)
    assert found is not None
    assert found.granted == (host.kind in ("github", "gitea", "server", "azure"))


def test_names_of_bitbucket_cloud():
    """Anybody may choose the nickname of somebody else: it names nobody."""
    server, client = HOSTS["cloud"]
    with server() as host:
        host.push(HEAD)
        host.review("{c0ffee}")
        assert client(host).approvals(HEAD, ()).names == {"{c0ffee}", "id-{c0ffee}"}


class Told:
    """A host that tells one thing about approvals; what was asked is kept."""

    def __init__(self, *names: str, caveat: str = "") -> None:
        self.found, self.asked = Approvals(names=frozenset(names), caveat=caveat), []

    def approvals(self, head: str, teams: list[str]) -> Approvals:
        self.asked.append((head, teams))
        return self.found


def said(*rules: str, grades: dict[Grade, int] | None, host: Told, head: str = HEAD) -> Verdict | None:
    return verdict([approval_rule(rule) for rule in rules], grades, host, head)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rules", "grades", "names", "granted", "line"), [
    (["caution=alice,bob"], TWO, [], False, "needs an approval of alice or bob: 2 cautions"),
    (["caution=alice,bob"], TWO, ["bob"], True, "approved by bob: 2 cautions"),
    (["caution=Alice"], {Grade.CAUTION: 1}, ["alice"], True, "approved by Alice: 1 caution"),
    (["caution=alice"], TWO, ["carol"], False, "needs an approval of alice: 2 cautions"),
    (["warning=alice"], {Grade.CAUTION: 1, Grade.WARNING: 3}, [], False, "needs an approval of alice: 1 caution and 3 warnings"),
    (["caution=alice", "warning=bob"], TWO, ["bob"], False, "needs an approval of alice: 2 cautions"),
    (["caution=alice", "warning=bob"], TWO, [], False,
     "needs an approval of alice: 2 cautions, and needs an approval of bob: 2 cautions"),
    (["caution=alice", "warning=bob"], {Grade.WARNING: 1}, ["bob"], True, "approved by bob: 1 warning"),
    (["caution=alice,@team/oncall"], TWO, ["@team/oncall"], True, "approved by @team/oncall: 2 cautions"),
    (["warning=alice"], None, [], False, "needs an approval of alice: its consequences are not known"),
    (["caution=a,b,c,d,e,f,g"], TWO, [], False, "needs an approval of a, b, c, d, e or 2 more: 2 cautions"),
])  # fmt: skip
def test_what_a_change_needs(rules: list[str], grades: dict[Grade, int] | None, names: list[str], line: str, *, granted: bool):
    assert said(*rules, grades=grades, host=Told(*names)) == Verdict(granted=granted, line=line)


def test_the_host_is_asked_only_where_a_rule_is_reached():
    """About the teams of those rules."""
    host = Told()
    assert said("caution=alice", grades={Grade.WARNING: 1, Grade.NOTE: 1}, host=host) is None
    assert said(grades=None, host=host) is None
    assert host.asked == []
    said("caution=@b/c,alice,@a/b", "warning=@a/b", grades=TWO, host=host)
    assert host.asked == [(HEAD, ["@a/b", "@b/c"])]


def test_a_job_without_a_head_grants_nothing():
    found = said("caution=alice", grades=TWO, host=Told("alice"), head="")
    assert found is not None
    assert not found.granted


def test_what_a_host_does_not_tell_is_said():
    found = said("caution=alice", grades=TWO, host=Told("alice", caveat="votes stay"))
    assert found == Verdict(granted=True, line="approved by alice: 2 cautions", caveat="votes stay")


@pytest.mark.parametrize(("text", "told"), [
    ("alice", "invalid grade"), ("note=alice", "invalid grade"), ("Caution=alice", "invalid grade"), ("caution=", "not a name"),
    ("caution=a,,b", "not a name"), ("caution=a b", "not a name"), ("caution=@", "not a name"), ("caution=`x`", "not a name"),
    ("caution=" + ",".join(f"n{number}" for number in range(101)), "more than 100 names"), ("caution=" + "x" * 201, "not a name"),
])  # fmt: skip
def test_rules_that_are_none(text: str, told: str):
    with pytest.raises(ApprovalRuleError, match=told):
        approval_rule(text)


def test_a_rule():
    assert approval_rule("warning=alice,@a/b,alice") == ApprovalRule(grade=Grade.WARNING, names=("alice", "@a/b"))
