"""What `doctor` says of node pools: every right that the loop reads with, and what nobody has tried yet."""

import pytest

from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.checking import checks
from reconciler.platforms.crusoe.writing.client import HttpCrusoe
from reconciler.platforms.crusoe.writing.credentials import Credentials, read_credentials
from reconciler.policy.documents import PolicySet
from reconciler.providers.findings import Check, State
from tests.aws.policies import policy_set
from tests.crusoe.documents import TYPE
from tests.crusoe.loops import HEAD, group_text
from tests.crusoe.service.server import Service
from tests.crusoe.writes import Writer

POLICY = policy_set(HEAD + group_text())
DENIED = (403, {"code": "unauthorized", "message": "no"}, {})
BROKEN = (500, {"code": "internal_error", "message": "try later"}, {})
ALLOW, LOOK = "allow this user to read it", "check the network and the state of Crusoe"
EXPERIMENTAL = Check(
    code="Crusoe",
    state=State.WARN,
    message="experimental: the calls that size node pools of Crusoe were tried only on a server of our own",
    advice="go through the checklist of examples/crusoe before mode Enforce",
)


def read(count: int) -> Check:
    return Check(code="Crusoe", state=State.PASS, message=f"NodePools read: {count}")


def found(service: Service, policy: PolicySet | None = POLICY, lowering: str = "Keeps") -> list[Check]:
    return list(checks(Writer(service, lowering=lowering).account, policy))


def test_all_is_as_it_should_be(service: Service) -> None:
    """Only that it is experimental is left to say."""
    for name, kind in (("h100", TYPE), ("more", TYPE), ("cpu", "c1a.8x")):
        service.account.add(name, type=kind)
    assert found(service) == [read(3), EXPERIMENTAL]


@pytest.mark.parametrize("policy", [None, policy_set(HEAD)])
def test_nothing_is_asked_where_no_policy_names_it(service: Service, policy: PolicySet | None) -> None:
    """A process that sizes nothing of Crusoe has nothing to be told."""
    assert (found(service, policy), service.account.calls) == ([], [])


def test_a_pool_that_is_not_there(service: Service) -> None:
    """Each one that the policy names and nobody lists, by name; groups of other platforms are none of it."""
    aws = """---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: elsewhere, namespace: r}
spec: {policyRef: {name: prod}, target: {aws: {autoScalingGroup: elsewhere, region: eu-central-1}}}
"""
    service.account.add("there")
    gone = [
        Check(
            code="Crusoe",
            state=State.FAIL,
            message=f"cannot find node pool {name}",
            advice="check spec.target.crusoe of its NodeGroup",
        )
        for name in ("a", "b")
    ]
    policy = policy_set(HEAD + group_text("there") + group_text("b") + group_text("a") + aws)
    assert found(service, policy) == [read(1), *gone, EXPERIMENTAL]


@pytest.mark.parametrize(
    ("answer", "told", "advice"),
    [(DENIED, "node pools: unauthorized: no", ALLOW), (BROKEN, "node pools: internal_error: try later", LOOK)],
)
def test_pools_that_cannot_be_read(service: Service, answer: object, told: str, advice: str) -> None:
    """Nothing else is asked for then."""
    service.account.faults.append(("GET", "nodepools", answer))
    assert found(service) == [Check(code="Crusoe", state=State.FAIL, message=told, advice=advice)]
    assert len(service.account.calls) == 1


def test_without_credentials() -> None:
    """What is missing is named, and what to do."""
    client = HttpCrusoe(lambda: read_credentials({"CRUSOE_ACCESS_KEY": "a"}))
    (check,) = checks(Account(client, client.credentials), POLICY)
    assert (check.state, check.advice) == (State.FAIL, "set the variables, or mount them as files")
    assert "CRUSOE_SECRET_KEY, CRUSOE_PROJECT_ID, CRUSOE_CLUSTER_ID not set" in check.message


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/quotas", "quotas"),
        ("/capacities", "capacities"),
        ("/nodepools/operations", "operations on node pools"),
        ("/autocluster-operations", "operations of AutoClusters"),
        ("/vms/types", "machine types"),
        ("/reservations", "reservations"),
    ],
)
@pytest.mark.parametrize(
    ("answer", "why", "advice"), [(DENIED, "unauthorized: no", ALLOW), (BROKEN, "internal_error: try later", LOOK)]
)
def test_a_right_that_is_missing(service: Service, path: str, what: str, answer: object, why: str, advice: str) -> None:
    """The loop goes on without it, so that it is a warning, and the rest is looked at all the same."""
    service.account.add()
    service.account.faults.append(("GET", path, answer))
    warned = Check(code="Crusoe", state=State.WARN, message=f"{what} cannot be read: {why}", advice=advice)
    assert found(service) == [read(1), warned, EXPERIMENTAL]


@pytest.mark.parametrize(
    ("lowering", "message"),
    [
        ("Trims", "lowering a count deletes machines here, so the loop removes no node"),
        ("", "CRUSOE_LOWERING is neither Keeps nor Trims, so the loop removes no node"),
        ("keeps", "CRUSOE_LOWERING is neither Keeps nor Trims, so the loop removes no node"),
    ],
)
def test_what_lowering_a_count_does(service: Service, lowering: str, message: str) -> None:
    """Where it deletes machines, and where nobody has said, nodes stay: that is told."""
    service.account.add()
    told = Check(
        code="Crusoe", state=State.WARN, message=message, advice="see the first line of the checklist of examples/crusoe"
    )
    assert found(service, lowering=lowering) == [read(1), told, EXPERIMENTAL]


def test_no_organization(service: Service) -> None:
    """Reservations are told by the organization: without its name no ceiling is kept for them, and nobody is asked."""
    service.account.add()
    environment = {**service.environment(), "CRUSOE_ORGANIZATION_ID": ""}
    client = HttpCrusoe(lambda: Credentials(environment))
    told = Check(
        code="Crusoe",
        state=State.WARN,
        message="CRUSOE_ORGANIZATION_ID is not set: the room in reservations is unknown, so the loop has no ceiling for them",
        advice="set it, or write a limit with max nodes over the groups of a reservation",
    )
    assert list(checks(Account(client, client.credentials), POLICY)) == [read(1), told, EXPERIMENTAL]
    assert service.count("GET", "reservations") == 0
