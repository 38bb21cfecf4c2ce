"""Node pools for one decision: whom a policy or the nodes of a cluster ask for, and what of it may leave the house."""

import json

import msgspec
import pytest

from reconciler.cluster.platform_reading import envelopes
from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.world import World
from reconciler.control.capture import Capture
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.platforms.crusoe.live import LIVE
from reconciler.platforms.crusoe.writing.asked_once import ask_once
from reconciler.platforms.crusoe.writing.polling import CrusoePoll
from reconciler.providers.cloud_answers import CloudAnswer, CloudError, CloudQuestion
from tests.aws.policies import policy_set
from tests.crusoe.loops import HEAD, KINDS, group_text, node_of, pending, running
from tests.crusoe.service.server import Service
from tests.crusoe.service.state import LOCATION
from tests.crusoe.writes import Writer, ids

POLICY = policy_set(HEAD + group_text())
DENIED = (403, {"code": "unauthorized", "message": "no"}, {})


def world(answer: CloudAnswer) -> World:
    intake = Intake()
    for document in answer.documents:
        intake.read(document, stamps=False)
    return assemble(intake, Manifest(captured_seconds=1_800_000_000, kinds=frozenset(KINDS)))


def asked(service: Service, question: CloudQuestion) -> CloudAnswer:
    return ask_once(Writer(service).account, question)


def test_what_a_policy_asks_for(service: Service) -> None:
    """The same facts as those that the loop polls, whatever nodes there are."""
    service.account.reservations["r1"] = 4
    service.account.add(count=2, reservation="r1")
    answer = asked(service, CloudQuestion(policies=(POLICY,), provider_ids=("kind://docker/x",)))
    writer = Writer(service)
    poll = CrusoePoll(writer.account, writer.keeper, lambda: POLICY)
    poll.ask()
    # Both were read at an instant of their own.
    ours, polled = (
        [msgspec.structs.replace(facts, read_seconds=0) for facts in world(one).targets]
        for one in (answer, CloudAnswer(documents=poll.documents()))
    )
    assert (ours, answer.unread) == (polled, ())
    assert ours[0].rooms[0].left == 2


def test_what_a_policy_asks_for_and_nobody_can_read(service: Service) -> None:
    """A plan without them would be another plan; what is only beside them is told."""
    service.account.faults.append(("GET", "nodepools", DENIED))
    with pytest.raises(CloudError, match="node pools of Crusoe: unauthorized: no"):
        asked(service, CloudQuestion(policies=(POLICY,)))
    service.account.add(count=1)
    service.account.faults.append(("GET", "/capacities", DENIED))
    assert asked(service, CloudQuestion(policies=(POLICY,))).unread == ("CrusoeCapacity: unauthorized: no",)


def test_pools_of_the_clusters_own_nodes(service: Service) -> None:
    """All of a cluster one of whose machines is a node here, in capitals too; none of another cluster, which is told."""
    pool = service.account.add(count=1)
    service.account.add("empty")
    (machine,) = ids(service, pool)
    mine = asked(service, CloudQuestion(own=True, provider_ids=(f"crusoe://{machine.upper()}", "kind://docker/x")))
    assert [facts.ref.name for facts in world(mine).targets] == ["empty", "h100"]
    for others in ((), ("crusoe://another",), (f"aws:///{machine}",)):
        answer = asked(service, CloudQuestion(own=True, provider_ids=others))
        assert answer.documents == ()
        assert "no machine of the 2 that these credentials show is a node here" in answer.unread[0]


def test_own_pools_that_nobody_may_read_are_told(service: Service) -> None:
    """Nothing asks for them but their nodes: no command fails for it."""
    service.account.faults.append(("GET", "nodepools", DENIED))
    answer = asked(service, CloudQuestion(own=True))
    assert (answer.documents, answer.unread) == ((), ("node pools of Crusoe (those of this cluster's nodes): unauthorized: no",))


def test_nobody_is_asked_where_nothing_is_meant_for_it(service: Service) -> None:
    """Nodes of Crusoe alone make no call, and a policy of another platform makes none."""
    assert LIVE.asked(CloudQuestion(own=True, provider_ids=("crusoe://x",)), {}) == CloudAnswer()
    assert asked(service, CloudQuestion(policies=(policy_set(HEAD),))) == CloudAnswer()
    assert service.account.calls == []


def test_a_snapshot_that_leaves_the_house(service: Service) -> None:
    """Written and read again it is the same plan, redacted too; names, keys and messages of the user are not in it."""
    service.account.reservations["r1"] = 3
    pool = service.account.add("secret-pool", count=2, reservation="r1", labels={"team": "a", "cost-centre": "research-17"})
    pool.extra["nvlink_domain_id"] = "domain-of-the-user"
    under_way = {"operation_id": "o1", "state": "SUCCEEDED", "metadata": {"reason": "of-the-user", "pool": pool.id}}
    service.account.remediations.append(under_way)
    answer = asked(service, CloudQuestion(policies=(POLICY,)))
    keys = {kind: envelope.list_key for envelope, kind in envelopes()}
    listings = [
        Listing(
            file=keys[one.kind].lower(),
            api_version="",
            kind=one.kind,
            items=[json.loads(bytes(item)) for item in one.items],
            list_key=keys[one.kind],
        )
        for one in answer.documents
    ]
    machines = ids(service, pool)
    full = [running(f"on-{machine[-4:]}", machine) for machine in machines]
    pods = Listing(file="pods", api_version="v1", kind="Pod", items=[*full, *pending(3)])
    joined = [node_of(machine) for machine in machines]
    nodes = Listing(file="nodes", api_version="v1", kind="Node", items=joined)
    kinds = tuple(sorted({*KINDS, *(one.kind for one in listings)}))
    whole = Capture(cluster="prod", captured_seconds=1_800_000_000, capi_group="", listings=(*listings, nodes, pods), kinds=kinds)
    shown = whole.redacted(Pseudonyms(b"salt", words={"team", "a", "secret-pool", LOCATION}))
    policy = policy_set(HEAD + group_text("secret-pool"))
    plans = [decide(one.world(), policy, Memory(), 1_800_000_000)[0] for one in (whole, shown)]
    assert plans[0].summary == plans[1].summary
    assert [(one.from_, one.to) for one in plans[0].actions] == [(2, 3)]
    text = b"".join(shown.files().values())
    assert [word for word in (b"cost-centre", b"research-17", b"domain-of-the-user", b"of-the-user") if word in text] == []
