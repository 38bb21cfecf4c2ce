"""Who may read our pages: what the API server is asked, how often, and what each of its answers means."""

from typing import Any

import msgspec
import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.token_judge import TokenJudge
from reconciler.kube.connection.token_review import Refusal, may

TOKENS, ACCESS = (
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
)
OWN_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
USER = {"username": "ada", "uid": "u-1", "groups": ["dev", "ops"]}
BAD = Refusal(401, "invalid token")
TOO_MANY = Refusal(429, "too many tokens were judged recently: try again in a few seconds")


class Reviews:
    """Reviews as an API server answers them: tokens of `users`, of whom those in `allowed` may."""

    def __init__(self) -> None:
        self.now = 5000.0
        self.users: dict[str, dict[str, Any]] = {"good": USER}
        self.allowed = {"ada"}
        self.fails: Exception | None = None
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def write(self, method: str, path: str, body: Any) -> bytes:
        assert method == "POST"
        if self.fails is not None:
            raise self.fails
        body = msgspec.json.decode(msgspec.json.encode(body))
        self.sent.append((path, body))
        if path == TOKENS:
            user = self.users.get(body["spec"]["token"])
            return msgspec.json.encode({"status": {} if user is None else {"authenticated": True, "user": user}})
        who = body["spec"].get("user", "ada")
        return msgspec.json.encode({"status": {"allowed": who in self.allowed} if who != "unheard-of" else {}})

    def judge(self) -> TokenJudge:
        return TokenJudge(self, lambda: self.now)  # type: ignore[arg-type]

    def asked(self) -> int:
        """How many tokens were reviewed."""
        return sum(path == TOKENS for path, _ in self.sent)


@pytest.fixture
def reviews() -> Reviews:
    return Reviews()


def test_what_the_server_is_asked(reviews: Reviews) -> None:
    """Who holds the token, then whether that user, with its uid and groups, may get the page."""
    assert reviews.judge().refusal("good", "/plan", "10.0.0.1") is None
    spec = {
        "user": "ada",
        "uid": "u-1",
        "groups": ["dev", "ops"],
        "nonResourceAttributes": {"path": "/plan", "verb": "get"},
    }
    assert reviews.sent == [
        (TOKENS, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "good"}}),
        (ACCESS, {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}),
    ]


def test_every_refusal(reviews: Reviews) -> None:
    """No token, a bad one, one that may not, a server that does not answer or not in JSON."""
    judge = reviews.judge()
    nobody = judge.refusal("", "/plan", "10.0.0.1")
    assert nobody is not None
    assert (nobody.status, reviews.sent) == (401, [])
    assert "send a bearer token" in nobody.message
    assert judge.refusal("bad", "/plan", "10.0.0.1") == BAD
    reviews.allowed = set()
    assert judge.refusal("good", "/plan", "10.0.0.1") == Refusal(403, "ada may not get /plan")
    reviews.users["good"] = USER | {"username": "unheard-of"}
    assert judge.refusal("good", "/status", "10.0.0.1") == Refusal(403, "unheard-of may not get /status")
    unknown = Refusal(503, "the API server could not review the token")
    for fails in (ApiError(500, "", "busy"), UnreachableError("gone"), msgspec.DecodeError("odd")):
        reviews.fails = fails
        assert reviews.judge().refusal("good", "/plan", "10.0.0.1") == unknown


def test_an_answer_counts_for_ten_seconds(reviews: Reviews) -> None:
    """Good or bad, for that token and that page; a server that could not say is asked again at once."""
    judge = reviews.judge()
    judge.refusal("good", "/plan", "10.0.0.1")
    judge.refusal("bad", "/plan", "10.0.0.1")
    reviews.now += 9.9
    assert judge.refusal("good", "/plan", "10.0.0.1") is None
    assert judge.refusal("bad", "/plan", "10.0.0.1") == BAD
    assert reviews.asked() == 2
    judge.refusal("good", "/metrics", "10.0.0.1")
    assert reviews.asked() == 3
    reviews.now += 0.1
    reviews.users.clear()
    assert judge.refusal("good", "/plan", "10.0.0.1") == BAD
    reviews.now += 10
    reviews.fails = UnreachableError("gone")
    assert judge.refusal("good", "/plan", "10.0.0.1") != BAD
    reviews.fails = None
    assert judge.refusal("good", "/plan", "10.0.0.1") == BAD


def strangers(judge: TokenJudge, count: int, peer: str, begin: int = 0) -> int:
    """How many of so many made-up tokens of a peer went to the server."""
    found = [judge.refusal(f"{peer}-{number}", "/plan", peer) for number in range(begin, begin + count)]
    assert all(one in (BAD, TOO_MANY) for one in found)
    return found.count(BAD)


def test_a_peer_has_ten_questions_and_one_a_second(reviews: Reviews) -> None:
    """After a while of any length no more than ten at once; another peer has its own."""
    judge = reviews.judge()
    assert strangers(judge, 15, "10.0.0.1") == 10
    reviews.now += 1
    assert strangers(judge, 15, "10.0.0.1", 100) == 1
    reviews.now += 3
    assert strangers(judge, 15, "10.0.0.1", 200) == 3
    assert strangers(judge, 2, "10.0.0.2") == 2
    reviews.now += 1000
    assert strangers(judge, 15, "10.0.0.1", 300) == 10


def test_all_peers_have_forty_questions_and_ten_a_second(reviews: Reviews) -> None:
    """However many they are."""
    judge = reviews.judge()
    assert sum(strangers(judge, 9, f"10.0.0.{peer}") for peer in range(6)) == 40
    reviews.now += 1
    assert sum(strangers(judge, 9, f"10.0.1.{peer}") for peer in range(6)) == 10
    reviews.now += 1000
    assert sum(strangers(judge, 9, f"10.0.2.{peer}") for peer in range(6)) == 40


def test_who_was_good_lately_waits_behind_nobody(reviews: Reviews) -> None:
    """For ten minutes after its last good answer, from any peer; not longer, and not once it was bad."""
    judge = reviews.judge()
    assert judge.refusal("good", "/plan", "10.0.0.1") is None
    reviews.now += 599
    for peer in range(6):
        strangers(judge, 9, f"10.0.0.{peer}")
    assert judge.refusal("good", "/plan", "10.0.0.1") is None
    reviews.now += 600
    for peer in range(6):
        strangers(judge, 9, f"10.0.1.{peer}")
    assert judge.refusal("good", "/plan", "10.0.0.9") == TOO_MANY
    reviews.now += 10
    assert judge.refusal("good", "/plan", "10.0.0.9") is None
    reviews.users.clear()
    reviews.now += 10
    assert judge.refusal("good", "/plan", "10.0.0.9") == BAD
    for peer in range(60):
        strangers(judge, 9, f"10.0.2.{peer}")
    reviews.users["good"] = USER
    assert judge.refusal("good", "/other", "10.0.0.9") == TOO_MANY


def test_a_user_that_may_not_is_no_friend(reviews: Reviews) -> None:
    """A valid token that may see nothing is counted like a made-up one, also if it might see something before."""
    judge = reviews.judge()
    reviews.allowed = set()
    found = [judge.refusal("good", f"/{number}", "10.0.0.1") for number in range(12)]
    assert [one.status for one in found if one is not None] == [403] * 10 + [429] * 2


def test_so_many_are_remembered(reviews: Reviews) -> None:
    """1,024 answers; what was asked for longest ago is asked again, and an answer that was given again is young."""
    judge = reviews.judge()
    judge.refusal("good", "/0", "10.0.0.1")
    for number in range(1, 1024):
        judge.refusal("good", f"/{number}", "10.0.0.1")
    before = reviews.asked()
    judge.refusal("good", "/0", "10.0.0.1")
    assert reviews.asked() == before == 1024
    judge.refusal("good", "/1024", "10.0.0.1")
    judge.refusal("good", "/1", "10.0.0.1")
    assert reviews.asked() == before + 1
    judge.refusal("good", "/0", "10.0.0.1")
    assert reviews.asked() == before + 2


def test_whether_we_may_ourselves(reviews: Reviews) -> None:
    """A SelfSubjectAccessReview with the attributes that say something; a subresource has a field of its own."""
    assert may(reviews, "create", "", "pods/eviction", "shop")  # type: ignore[arg-type]
    attributes = {"verb": "create", "resource": "pods", "subresource": "eviction", "namespace": "shop"}
    spec = {"resourceAttributes": attributes}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    assert reviews.sent == [(OWN_ACCESS, body)]
    reviews.allowed = set()
    assert not may(reviews, "get", "apps", "deployments", name="web")  # type: ignore[arg-type]
    assert reviews.sent[1][1]["spec"]["resourceAttributes"] == {
        "verb": "get", "group": "apps", "resource": "deployments", "name": "web"
    }  # fmt: skip
