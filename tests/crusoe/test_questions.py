"""What Crusoe is asked word for word, and after how many seconds again."""

import pytest

from reconciler.platforms.crusoe.live import LIVE
from reconciler.platforms.crusoe.writing import asked_once
from reconciler.platforms.crusoe.writing.asking import Known
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Intent, Notes, UnnotedError
from reconciler.platforms.crusoe.writing.polling import CrusoePoll, named
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion
from tests.aws.policies import policy_set
from tests.crusoe.documents import CLUSTER, TYPE, Object, instance, machine_id, pool
from tests.crusoe.loops import HEAD, group_text
from tests.crusoe.scripted import DENIED, POOLS, P, Scripted

A, B = machine_id(1), machine_id(2)
CALLS = f"{P}/kubernetes/autocluster-operations"
POLICY = policy_set(HEAD + group_text())
LISTED = ("GET", POOLS, {"cluster_id": CLUSTER}, None)
REPLACED = ("GET", CALLS, {"cluster_id": CLUSTER}, None)
STOCK = ("GET", "/capacities", {"product_name": f"a40.1x,{TYPE}"}, None)
RESERVED = ("GET", "/organizations/o%2F1/reservations", None, None)
ITSELF = ("GET", f"{P}/kubernetes/clusters/{CLUSTER}", None, None)
TYPES = ("GET", f"{P}/compute/vms/types", None, None)
OPERATIONS = ("GET", f"{POOLS}/operations", None, None)


def machines(name: str) -> tuple[str, str, dict[str, str], None]:
    return ("GET", f"{POOLS}/pool-{name}/vms", {"limit": "100"}, None)


def rested(**more: object) -> Scripted:
    """Two pools at rest."""
    both = [pool("a", 1, (A,)), pool("b", 0, type="a40.1x")]
    return Scripted(
        {"/nodepools": {"items": both}, "/pool-a/vms": {"items": [instance(A)]}, **more}, CRUSOE_ORGANIZATION_ID="o/1"
    )


def known(crusoe: Scripted) -> Known:
    return Known(crusoe.account, Notes(InMemoryKeeper()))


def test_the_first_round() -> None:
    """Pools with their machines and what replaces those, then what is left of their types, and what hardly changes."""
    crusoe = rested()
    found = known(crusoe)
    assert found.ask(0)
    assert {one.is_list for one in found.documents()} == {True}, "an empty list counts as read"
    assert crusoe.told() == [
        LISTED, machines("a"), machines("b"), REPLACED, STOCK, RESERVED, ITSELF, TYPES, OPERATIONS
    ]  # fmt: skip


def test_a_lost_answer_of_what_hardly_changes() -> None:
    """Without its cluster nobody knows where a pool is: it is asked for again within a minute, and what was read once holds."""
    itself = {"id": CLUSTER, "location": "us-east1-a"}
    crusoe = rested(**{f"/clusters/{CLUSTER}": (DENIED, itself, DENIED)})
    found = known(crusoe)
    found.ask(0)
    assert "CrusoeCluster" not in found.items()
    found.ask(60)
    assert (found.items()["CrusoeCluster"], found.problems) == ([itself], ())
    found.ask(1860)
    assert (found.items()["CrusoeCluster"], len(found.problems)) == ([itself], 1)


def test_at_rest() -> None:
    """Stock and reservations every minute, the cluster, types and operations every half hour."""
    crusoe = rested()
    found = known(crusoe)
    found.ask(0)
    often = [LISTED, machines("a"), machines("b"), REPLACED]
    crusoe.told()
    for seconds, more in (
        (59, []),
        (60, [STOCK, RESERVED]),
        (119, []),
        (1799, [STOCK, RESERVED]),
        (1800, [ITSELF, TYPES, OPERATIONS]),
        (3599, [STOCK, RESERVED]),
        (3600, [ITSELF, TYPES, OPERATIONS]),
    ):
        assert not found.ask(seconds)
        assert (seconds, crusoe.told()) == (seconds, [*often, *more])
    assert found.heard == 3600


def test_a_pool_without_a_type() -> None:
    """There is no stock that could be asked for; beside others theirs alone is."""
    bare = pool("a", 1, (A,))
    del bare["type"]
    for pools, asked in (([bare], []), ([bare, pool("b", 0)], [{"product_name": TYPE}])):
        crusoe = rested()
        crusoe.answers["/nodepools"] = [{"items": pools}]
        known(crusoe).ask(0)
        assert [query for _, path, query, _ in crusoe.told() if path == "/capacities"] == asked


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", False),
        ("discovery: [{name: a, crusoe: {location: us-east1-a}}]", True),
        ("discovery: [{name: a, openshift: {}}]", False),
        ("discovery: [{name: a, openshift: {}}, {name: b, crusoe: {location: us-east1-a}}]", True),
    ],
)
def test_whether_a_policy_is_about_pools(spec: str, *, expected: bool) -> None:
    """By what it discovers, or by a group that it names."""
    head = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: p}\n"
    assert named(policy_set(f"{head}spec: {{{spec}}}\n")) is expected
    assert (named(POLICY), named(None)) == (True, False)


def test_while_something_moves() -> None:
    """Operations say why machines do not come: they are asked for every time."""
    crusoe = rested()
    crusoe.answers["/nodepools"] = [{"items": [pool("a", 2, (A,))]}]
    found = known(crusoe)
    for seconds in (0, 10, 20):
        found.ask(seconds)
        assert OPERATIONS in crusoe.told()


def test_after_a_write() -> None:
    """What is left of stock and reservations is old."""
    crusoe = rested()
    found = known(crusoe)
    found.ask(0)
    found.wrote()
    crusoe.told()
    found.ask(10)
    assert [one for one in crusoe.told() if one in (STOCK, RESERVED, ITSELF, TYPES)] == [STOCK, RESERVED]


def test_without_pools_nothing_is_asked_of_stock() -> None:
    """There is no type to ask for; without an organization no reservations either."""
    crusoe = Scripted()
    found = known(crusoe)
    found.ask(0)
    assert crusoe.told() == [LISTED, REPLACED, ITSELF, TYPES, OPERATIONS]
    assert (found.items()["CrusoeCapacity"], "CrusoeReservation" in found.items()) == ([], False)


def test_what_may_not_be_read() -> None:
    """It is told by its kind, known no more, and forgotten as soon as it can be read."""
    crusoe = rested(**{"/reservations": ({"items": [{"id": "r1", "quantity": 1}]}, DENIED, {"items": []})})
    found = known(crusoe)
    found.ask(0)
    assert found.items()["CrusoeReservation"] == [{"id": "r1", "quantity": 1}]
    assert found.ask(60)
    assert (found.problems, "CrusoeReservation" in found.items()) == (("CrusoeReservation: unauthorized: no",), False)
    found.ask(120)
    assert (found.problems, found.items()["CrusoeReservation"]) == ((), [])


@pytest.mark.parametrize("ending", ["/nodepools", "/pool-a/vms", "/autocluster-operations"])
def test_without_any_of_these_there_is_no_view(ending: str) -> None:
    """What is known stays as it was."""
    crusoe = rested()
    found = known(crusoe)
    found.ask(0)
    before = found.items()
    crusoe.answers[ending] = [DENIED]
    with pytest.raises(CrusoeError, match="unauthorized: no"):
        found.ask(10)
    assert (found.items(), found.heard) == (before, 0)


@pytest.mark.parametrize(
    ("count", "state", "states", "moving"),
    [
        (1, "STATE_RUNNING", ("STATE_RUNNING",), False),
        (2, "STATE_RUNNING", ("STATE_RUNNING",), True),
        (0, "STATE_RUNNING", ("STATE_RUNNING",), True),
        (1, "STATE_RUNNING", ("STATE_DEFINING",), True),
        (1, "STATE_RUNNING", ("STATE_RUNNING", "STATE_SHUTOFF"), False),
        (1, "STATE_RUNNING", ("STATE_RUNNING", "STATE_DELETING"), False),
        (2, "STATE_RUNNING", ("STATE_RUNNING", "STATE_DEFINING"), True),
        (1, "STATE_UPDATING", ("STATE_RUNNING",), True),
        (1, "STATE_PROVISIONING", ("STATE_RUNNING",), True),
        (1, "STATE_ROTATING", ("STATE_RUNNING",), False),
    ],
)
def test_what_moves(count: int, state: str, states: tuple[str, ...], *, moving: bool) -> None:
    """A pool that is not what it is to be: machines are missing, too many, or not running yet, or it changes by itself."""
    names = tuple(machine_id(number) for number in range(len(states)))
    crusoe = Scripted({
        "/nodepools": {"items": [pool("a", count, names, state=state)]},
        "/vms": {"items": [instance(name, one) for name, one in zip(names, states, strict=True)]},
    })  # fmt: skip
    found = known(crusoe)
    assert not found.moving()
    found.ask(0)
    assert found.moving() is moving


def test_notes_are_read_anew_every_minute() -> None:
    """Another process may have led since: what it left is in the view, by what it is about."""
    keeper = InMemoryKeeper()
    crusoe = rested()
    found = Known(crusoe.account, Notes(keeper))
    found.ask(0)
    assert found.items()["CrusoeBehaviour"] == [{"lowering": "", "passed_over": {}, "leaving": {}}]
    other = Notes(keeper)
    other.put(A, Intent(pool="pool-a", count=3, beside=()))
    other.put(B, Intent(pool="pool-a", count=2, beside=(), cancelled=True))
    other.pass_over("pool-b", "another one left")
    found.ask(59)
    assert found.items()["CrusoeBehaviour"][0]["leaving"] == {}
    assert found.ask(60)
    assert found.items()["CrusoeBehaviour"] == [
        {"lowering": "", "passed_over": {"pool-b": "another one left"}, "leaving": {A: 3}, "cancelled": [B]}
    ]
    other.drop(A)
    found.ask(119)
    assert found.items()["CrusoeBehaviour"][0]["leaving"] == {A: 3}
    found.ask(120)
    assert found.items()["CrusoeBehaviour"][0]["leaving"] == {}


def test_single_calls_by_their_paths() -> None:
    """What stands in a path is escaped; of a write nothing but the count is sent."""
    answer = {"operation": {"operation_id": "e-1"}}
    crusoe = Scripted({"/p%2F1": (answer, {}, {"operation": None}), "/operations/e-1": {"state": "SUCCEEDED"}})
    account = crusoe.account
    assert [account.set_count("p/1", 0, 3) for _ in range(3)] == ["e-1", "", ""]
    assert account.operation("e-1") == {"state": "SUCCEEDED"}
    account.delete_machine("m/1")
    account.quotas()
    assert account.reservations() is None
    assert crusoe.told() == [
        *[("PATCH", f"{POOLS}/p%2F1", None, {"count": 3})] * 3,
        ("GET", f"{POOLS}/operations/e-1", None, None),
        ("DELETE", f"{P}/compute/vms/instances/m%2F1", None, None),
        ("GET", f"{P}/quotas", None, None),
    ]


@pytest.mark.parametrize(("status", "known"), [(403, True), (404, True), (401, False), (405, False), (500, False)])
def test_operations_that_are_not_known_any_more(status: int, *, known: bool) -> None:
    """SOURCE: one that has expired is answered as one of another user, with the code of a missing right."""
    account = Scripted({"/operations/e": CrusoeError("x", "y", status=status)}).account
    if known:
        assert account.operation("e") is None
    else:
        with pytest.raises(CrusoeError):
            account.operation("e")


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_how_long_the_thread_pauses() -> None:
    """Ten seconds before the first answer and while something moves, else thirty."""
    crusoe, clock = rested(), Clock()
    poll = CrusoePoll(crusoe.account, InMemoryKeeper(), lambda: POLICY, clock)
    assert poll._pause_seconds() == 10
    poll.ask()
    assert poll._pause_seconds() == 30
    crusoe.answers["/nodepools"] = [{"items": [pool("a", 5, (A,))]}]
    poll.ask()
    assert poll._pause_seconds() == 10


def test_what_is_told_of_the_stream() -> None:
    """How old the list is and how many pools it has; nothing is lost while it fails."""
    crusoe, clock = rested(), Clock()
    clock.seconds = 1000
    poll = CrusoePoll(crusoe.account, InMemoryKeeper(), lambda: POLICY, clock)
    assert poll.ask()
    clock.seconds = 1007
    (state,) = poll.states()
    assert (state.phase, state.heard_seconds, state.objects, state.message) == ("Synced", 7, 2, "")
    documents = poll.documents()
    crusoe.answers["/nodepools"] = [DENIED]
    assert poll.ask(), "that it fails is news"
    assert not poll.ask(), "that it still does is none"
    assert poll.documents() == documents
    assert (poll.states()[0].phase, poll.states()[0].list_calls) == ("Synced", 3)


def test_a_policy_that_names_it_no_more() -> None:
    """Its documents are gone at once, which is news, and once; what failed before is forgotten."""
    crusoe, policy = rested(), [POLICY]
    poll = CrusoePoll(crusoe.account, InMemoryKeeper(), lambda: policy[0], Clock())
    poll.ask()
    policy[0] = policy_set(HEAD)
    assert (poll.ask(), poll.documents(), poll.states()) == (True, (), ())
    assert not poll.ask()


def test_notes_that_cannot_be_read() -> None:
    """There is no view without them: which machines are to go would not be known."""

    class Broken(InMemoryKeeper):
        def load(self, part: str) -> bytes | None:
            raise OSError("the ConfigMap cannot be read")

    poll = CrusoePoll(rested().account, Broken(), lambda: POLICY, Clock())
    poll.ask()
    assert (poll.states()[0].phase, poll.documents()) == ("Waiting", ())
    with pytest.raises(UnnotedError, match="cannot be read"):
        Notes(Broken()).read()


def test_pools_whose_machines_are_not_listed() -> None:
    """Without machines none of them can be a node here; of several one is enough."""
    bare: Object = pool("a")
    del bare["instance_ids"]
    account = Scripted({"/nodepools": {"items": [bare]}}).account
    question = CloudQuestion(own=True, provider_ids=(f"crusoe://{A}", "crusoe://other"))
    assert asked_once.ask_once(account, question).documents == ()
    account = Scripted({"/nodepools": {"items": [bare, pool("b", 2, (B, A))]}}).account
    assert asked_once.ask_once(account, question).documents != ()
    assert asked_once.ask_once(Scripted().account, question) == CloudAnswer()


def test_credentials_alone_ask_nothing() -> None:
    """Whose targets a command is about is the question's to say."""
    assert LIVE.asked(CloudQuestion(), {"CRUSOE_ACCESS_KEY": "a"}) == CloudAnswer()
    assert [LIVE.configured({name: "x"}) for name in ("CRUSOE_CREDENTIALS_DIRECTORY", "CRUSOE_ACCESS_KEY", "OTHER")] == [
        True, True, False
    ]  # fmt: skip
