"""Auto Scaling groups for one decision: whom a policy or the nodes of a cluster ask for, and what of it may leave the house."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from reconciler.cluster.platform_reading import envelopes
from reconciler.cluster.snapshots.document import documents
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.world import World
from reconciler.control.capture import Capture
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.platforms.aws.live import LIVE
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asked_once import ask_once
from reconciler.policy.tree import read_tree
from reconciler.providers.cloud_answers import CloudAnswer, CloudError, CloudQuestion
from tests.aws.documents import REGION, read
from tests.aws.policies import policy_set
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.test_asking import POLICY, TAG
from tests.aws.writes import client, workers

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "eks"


def asked(service: Service, question: CloudQuestion, region: str = REGION) -> CloudAnswer:
    return ask_once(Accounts(lambda place, role: client(place, role, service.url)), question, region)


def names(answer: CloudAnswer) -> list[str]:
    intake = Intake()
    for document in answer.documents:
        intake.read(document, stamps=False)
    return [facts.ref.name for facts in read(intake).targets]


def test_what_a_policy_asks_for(service: Service) -> None:
    """By its tags, and nothing else; what stands around the groups comes with them."""
    service.account.add(workers("mine", tags={TAG: "owned"}))
    service.account.add(workers("others"))
    answer = asked(service, CloudQuestion(policies=(policy_set(POLICY),), provider_ids=("aws:///eu-central-1a/i-1",)))
    assert (names(answer), answer.unread) == (["mine"], ())
    assert {"LaunchTemplateVersion", "ScalingPolicy", "ScheduledAction"} <= {one.kind for one in answer.documents}


def test_what_a_policy_asks_for_and_nobody_can_read(service: Service) -> None:
    """A plan without them would be another plan."""
    service.account.faults["DescribeAutoScalingGroups"] = [ServiceError("AccessDenied", "not authorized", 403)]
    with pytest.raises(CloudError, match=f"Auto Scaling groups of {REGION}: AccessDenied: not authorized"):
        asked(service, CloudQuestion(policies=(policy_set(POLICY),)))


def test_groups_of_the_clusters_own_nodes(service: Service) -> None:
    """Those with a node here, and empty ones of the same cluster; those of another cluster of the account stay out."""
    mine = service.account.add(workers("mine", desired=1, tags={TAG: "owned", f"{TAG}".replace("prod", "enabled"): "true"}))
    service.account.add(workers("empty", desired=0, tags={TAG: "owned"}))
    service.account.add(workers("managed", desired=0, tags={"eks:cluster-name": "prod"}))
    service.account.add(workers("staging", desired=1, tags={TAG.replace("prod", "enabled"): "true", "team": "a"}))
    service.account.add(workers("untagged", desired=1))
    (instance,) = mine.instances
    nodes = (f"aws:///{REGION}a/{instance}", "kind://docker/x", "")
    assert names(asked(service, CloudQuestion(own=True, provider_ids=nodes), "")) == ["empty", "managed", "mine"]


def test_a_policy_and_the_nodes_together(service: Service) -> None:
    """No group twice."""
    group = service.account.add(workers("mine", desired=1, tags={TAG: "owned"}))
    other = service.account.add(workers("beside", desired=1))
    nodes = tuple(f"aws:///{REGION}a/{name}" for one in (group, other) for name in one.instances)
    question = CloudQuestion(policies=(policy_set(POLICY),), own=True, provider_ids=nodes)
    assert names(asked(service, question)) == ["beside", "mine"]


def test_own_groups_that_nobody_may_read_are_told(service: Service) -> None:
    """Nothing asks for them but their nodes: what is missing is said, and no command fails for it."""
    service.account.faults["DescribeAutoScalingGroups"] = [ServiceError("AccessDenied", "not authorized", 403)]
    answer = asked(service, CloudQuestion(own=True))
    assert (answer.documents, answer.unread) == (
        (),
        (f"Auto Scaling groups of {REGION} (those of this cluster's nodes): AccessDenied: not authorized",),
    )


def test_nobody_is_asked_where_nothing_is_meant_for_it() -> None:
    """Clusters on AWS need not be kept by Auto Scaling groups: their nodes alone make no call."""
    question = CloudQuestion(own=True, provider_ids=(f"aws:///{REGION}a/i-0123456789abcdef0",))
    assert LIVE.asked(question, {}) == CloudAnswer()


def _listings() -> list[Listing]:
    """The example's files as a capture would hold them."""
    keys = {kind: envelope.list_key for envelope, kind in envelopes()}
    found = []
    for file in sorted((EXAMPLE / "cluster").glob("*.json")):
        for document in documents(file.name, file.read_bytes()):
            items = [json.loads(bytes(item)) for item in document.items]
            found.append(
                Listing(
                    file=f"{file.stem}-{document.kind}", api_version=document.api_version, kind=document.kind, items=items,
                    list_key="" if document.api_version else keys.get(document.kind, ""),
                )
            )  # fmt: skip
    return found


def _capture() -> Capture:
    listings = tuple(_listings())
    manifest = yaml.safe_load((EXAMPLE / "cluster" / "snapshot.yaml").read_bytes())
    kinds = tuple(sorted({*manifest["kinds"], *(one.kind for one in listings)}))
    at = unix_seconds(manifest["capturedAt"])
    return Capture(cluster="prod", captured_seconds=at, capi_group="", listings=listings, kinds=kinds)


def _decided(world: World) -> object:
    tree = read_tree({file.name: file.read_bytes() for file in (EXAMPLE / "policies").glob("*.yaml")}, now_seconds=0)
    (policy,) = tree.sets
    plan, _ = decide(world, policy, Memory(), world.captured_seconds)
    return plan.summary, [(one.kind, one.group, one.from_, one.to, one.nodes) for one in plan.actions]


def test_a_capture_is_read_as_the_commands_output() -> None:
    """Files of a capture hold lists as AWS's own commands print them, and give the same plan."""
    files = _capture().files()
    assert sum(b'{"AutoScalingGroups":[' in body for body in files.values()) == 1
    printed = {file.name: file.read_bytes() for file in (EXAMPLE / "cluster").iterdir()}
    assert _decided(_capture().world()) == _decided(read_snapshot(printed))


def test_a_snapshot_that_leaves_the_house() -> None:
    """The plan stays the same; account numbers, tags and labels of the user are not in it."""
    words = Pseudonyms(b"salt", words={"eu-central-1"})
    whole = _capture()
    group = next(item for listing in whole.listings if listing.list_key == "AutoScalingGroups" for item in listing.items)
    group["Tags"].append({"Key": "cost-centre", "Value": "research-17"})
    shown = whole.redacted(words)
    text = b"".join(shown.files().values())
    assert _decided(shown.world()) == _decided(whole.world())
    assert [word for word in (b"123456789012", b"cost-centre", b"research-17", b"Cause") if word in text] == []
    assert msgspec.json.encode(group["AutoScalingGroupName"]) in text
