"""Who else sizes Auto Scaling groups, what AWS does to them, and what a new node offers, word by word."""

import json
from typing import Any

import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.target import Caution, Machine, OtherWriter
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState
from reconciler.platforms.aws.facts import wire
from reconciler.platforms.aws.facts.notices import Notice, going, notices
from reconciler.platforms.aws.facts.shown import shown, words_of_group
from reconciler.platforms.aws.facts.view import region_of
from reconciler.platforms.aws.facts.wire_beside import ManagedNodeGroup, ScalingActivity
from reconciler.platforms.aws.rules import RULES
from reconciler.platforms.aws.writing.fresh import converted
from reconciler.policy.documents import Discovery
from tests.aws.documents import REGION, SIZERS, TEMPLATE, Object, arn, facts, group, without, world
from tests.aws.test_shapes import GIB, M5_LARGE, PICK, amounts, mixed, template
from tests.aws.test_words import MANAGED, A, B, instance, versions
from tests.cluster.objects import node, world_of

NOTHING: Object = {"ScalingPolicies": [], "ScheduledUpdateGroupActions": []}


@pytest.mark.parametrize(
    ("item", "documents", "evidence"),
    [
        ({"DesiredCapacityType": "vcpu"}, {}, "DesiredCapacityType vcpu: desired capacity 0 does not count nodes"),
        ({"DesiredCapacityType": ""}, {}, ""),
        ({"Operator": {"Principal": ""}}, {}, ""),
        ({"Instances": [instance(WeightedCapacity="2"), instance(name="i-2")]}, {}, "weighted capacity (1, 2)"),
        ({"Instances": [instance(WeightedCapacity="1")]}, {}, ""),
        (mixed({"InstanceType": "m5.large", "WeightedCapacity": "3"}), {}, "weighted capacity (3): desired capacity 0 does not"),
        (
            {},
            {"ScalingPolicies": [{"AutoScalingGroupName": "workers", "PolicyName": "p"}]},
            "scaling policy p sets the desired capacity",
        ),
        (
            {},
            {"ScalingPolicies": [{"AutoScalingGroupName": "workers", "PolicyName": "p", "PolicyType": "T", "Enabled": True,
                                  "TargetTrackingConfiguration": {"DisableScaleIn": True}}]},
            "scaling policy p (T, scale out only) sets the desired capacity",
        ),
        (
            {},
            {"ScalingPolicies": [{"AutoScalingGroupName": "workers", "PolicyName": "p", "PolicyType": "T",
                                  "TargetTrackingConfiguration": {"DisableScaleIn": False}}]},
            "scaling policy p (T) sets the desired capacity",
        ),
        (
            {},
            {"ScalingPolicies": [{"AutoScalingGroupName": "workers", "PolicyName": "p", "PredictiveScalingConfiguration": {}}]},
            "",
        ),
        (
            {},
            {"ScheduledUpdateGroupActions": [{"AutoScalingGroupName": "workers", "ScheduledActionName": "s", "DesiredCapacity": 0,
                                              "StartTime": "2026-12-01T00:00:00Z"}]},
            "scheduled action s sets desired capacity 0 on 2026-12-01T00:00:00Z",
        ),
        (
            {},
            {"ScheduledUpdateGroupActions": [{"AutoScalingGroupName": "workers", "ScheduledActionName": "s", "DesiredCapacity": 0,
                                              "ScheduledActionARN": arn("workers", "us-east-1")}]},
            "",
        ),
        ({}, {"nodegroup": {**MANAGED, "status": "DELETING"}}, "managed node group ng is DELETING: EKS sets its size"),
        ({}, {"nodegroup": {**MANAGED, "status": "ACTIVE"}}, ""),
        ({}, {"nodegroup": MANAGED}, ""),
        ({"WarmPoolConfiguration": {"InstanceReusePolicy": {"ReuseOnScaleIn": False}}}, {}, ""),
        ({"WarmPoolConfiguration": {"InstanceReusePolicy": {}}}, {}, ""),
        ({}, {"InstanceRefreshes": [{"InstanceRefreshId": "r", "AutoScalingGroupName": "workers", "Status": "Baking"}]},
         "instance refresh r is Baking"),
    ],
)  # fmt: skip
def test_who_else_sizes_it(item: Object, documents: dict[str, Any], evidence: str) -> None:
    """Each by its own words; what only looks like it is nobody."""
    found = facts(group(**item), **documents).writers
    assert [one.evidence[: len(evidence)] for one in found] == ([evidence] if evidence else [])


def test_all_who_size_it() -> None:
    """In one order, whatever they are read in."""
    schedules = [
        {"AutoScalingGroupName": "workers", "ScheduledActionName": name, "DesiredCapacity": 1, "Recurrence": "* * * * *"}
        for name in ("b", "a")
    ]
    assert facts(group(), ScheduledUpdateGroupActions=schedules).writers == tuple(
        OtherWriter(by=f"scheduled action {name}", evidence=f"scheduled action {name} sets desired capacity 1 at * * * * *")
        for name in ("a", "b")
    )


@pytest.mark.parametrize(
    ("item", "tags", "documents", "message"),
    [
        ({"AvailabilityZones": [A, B]}, {}, {}, "it spans 2 zones and AZRebalance runs: AWS ends instances to even them out"),
        ({"AvailabilityZones": None}, {}, {}, ""),
        ({"MaxInstanceLifetime": 604_800}, {}, {}, "AWS replaces instances after 7 days, and nobody drains their nodes"),
        ({"MaxInstanceLifetime": 0}, {}, {}, ""),
        ({"CapacityRebalance": False}, {}, {}, ""),
        ({}, {"a": "made by OpenTofu", "terraform-x": "y"}, {}, "Terraform seems to manage it (tag a): an apply resets"),
        ({}, {"terraform-x": "y"}, {}, "Terraform seems to manage it (tag terraform-x)"),
        ({}, {"aws:cloudformation:stack-name": ""}, {}, ""),
        ({"DesiredCapacity": 5}, {"reconciler.dev/desired": "4.1"}, {}, "its desired capacity is 5, and the last"),
        ({"DesiredCapacity": 5}, {"reconciler.dev/desired": "5.1"}, {}, ""),
        ({}, {}, {"ScheduledUpdateGroupActions": [
            {"AutoScalingGroupName": "workers", "ScheduledActionName": "s", "MinSize": 0}]}, "scheduled action s sets"),
        ({}, {}, {"ScheduledUpdateGroupActions": [
            {"AutoScalingGroupName": "workers", "ScheduledActionName": "s", "MaxSize": 0}]}, "scheduled action s sets"),
        ({}, {}, {"ScheduledUpdateGroupActions": [{"AutoScalingGroupName": "workers", "ScheduledActionName": "s"}]}, ""),
        ({}, {}, {"nodegroup": {**MANAGED, "health": {}}}, ""),
        ({}, {}, {"nodegroup": {**MANAGED, "health": {"issues": [{"code": "C", "message": "m"}]}}},
         "EKS reports for node group ng: C: m"),
    ],
)  # fmt: skip
def test_what_its_people_should_know(item: Object, tags: dict[str, str], documents: dict[str, Any], message: str) -> None:
    """One sentence each, with its numbers."""
    found = facts(group(tags=tags, **item), **{**NOTHING, **documents}).cautions
    assert [one.message[: len(message)] for one in found] == ([message] if message else [])


def test_writers_that_were_not_captured() -> None:
    """What might size the group and was not read is unknown: it is held, and the gap is named with the call that fills it."""
    assert facts(group()).unseen == ""
    for missing, told in (
        (("ScalingPolicies",), "ScalingPolicy was not captured"),
        (("InstanceRefreshes",), "InstanceRefresh was not captured"),
        (("ScheduledUpdateGroupActions", "ScalingPolicies"), "ScalingPolicy and ScheduledAction were not captured"),
        (SIZERS, "InstanceRefresh and ScalingPolicy and ScheduledAction were not captured"),
    ):
        found = without(group(), missing)
        assert found.unseen.startswith(f"{told}, so it is unknown whether AWS sizes the group by itself: put the output of")
        ownership = judge(found, Terms(now_seconds=1, first_seen_seconds=0)).ownership
        assert (ownership.state, ownership.evidence) == (OwnerState.UNKNOWN, (found.unseen,))


def test_suspended_processes_and_deletion() -> None:
    """What keeps instances from coming or going pauses it; a status says that it is being deleted. a hold has its words."""
    names = [{"ProcessName": name} for name in ("Terminate", "Launch", "AlarmNotification")]
    assert facts(group(SuspendedProcesses=names)).owner.paused == "suspended processes: Launch, Terminate"
    assert facts(group(SuspendedProcesses=names[2:])).owner.paused == ""
    assert [facts(group(Status=status)).owner.deleting for status in (None, "Delete in progress")] == [False, True]
    assert facts(group(tags={"reconciler.dev/hold": "x"})).owner.hold == "x"


def test_a_group_as_a_target() -> None:
    """Its size, bounds and tags; our own marks stand apart."""
    found = facts(group(tags={"team": "a", "reconciler.dev/policy": "prod"}, MinSize=1, MaxSize=7, DesiredCapacity=3))
    assert (found.replicas, found.min_size, found.max_size, found.uid) == (3, 1, 7, arn("workers"))
    assert found.size_origin == "MinSize and MaxSize of the Auto Scaling group"
    assert (found.annotations, dict(found.labels)["team"]) == ((("reconciler.dev/policy", "prod"),), "a")
    assert found.unrecorded_owner == "an Auto Scaling group does not record who owns its desired capacity"


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (f"{TEMPLATE}labels/team", True),
        (f"{TEMPLATE}label/team", False),
        (f"{TEMPLATE}autoscaling-option/scaledownunneededtime", True),
        ("k8s.io/cluster-autoscaler/prod", False),
        ("k8s.io/cluster-autoscaler/enabled", False),
    ],
)
def test_tags_that_are_nearly_right(key: str, *, told: bool) -> None:
    """Below a prefix that is not quite one of those that are read."""
    assert bool(facts(group(tags={key: "x"})).problems) is told


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("InService", False), ("Pending", False), ("Standby", False), ("Terminating:Wait", True), ("Terminated", True),
        ("Detaching", True), ("Detached", True),
    ],
)  # fmt: skip
def test_instances_as_machines(state: str, *, expected: bool) -> None:
    """With the provider id that their nodes have."""
    found = world(group(Instances=[instance(state)]))
    target = found.targets[0].ref
    assert found.machines == (
        Machine(
            namespace=REGION,
            name="i-1",
            target=target,
            provider_id=f"aws:///{A}/i-1",
            deleting=expected,
            phase=state,
            zone=A,
            outdated=False,
        ),
    )


def test_notices_by_their_taints() -> None:
    """By the instance of the node that bears them, the most certain one where there are several."""
    handler = "aws-node-termination-handler/"
    assert facts(group(Instances=[instance()])).cautions == ()
    nodes = world_of(node("n1", spec={"providerID": f"aws:///{A}/i-1"})).nodes
    both = (Taint(f"{handler}scheduled-maintenance", "", "NoSchedule"), Taint(f"{handler}spot-itn", "", "NoSchedule"))
    interrupted = Notice(code="SpotInterruption", words="AWS takes it back within two minutes", ends=True)
    assert notices({"n1": both}, nodes) == {"i-1": interrupted}
    assert notices({"n1": ()}, nodes) == notices({}, nodes) == {}


TERMINATING = "Terminating EC2 instance: i-1"


GOES = "nothing: the loop places its pods elsewhere and waits for its successor"
MAY_GO = "nothing, if another tool drains the node in time. The loop does not shrink the group for it"


@pytest.mark.parametrize(
    ("state", "ends", "expected"),
    [
        ("InService", False, [Caution(code="C", message="i-1: w", advice=MAY_GO)]),
        ("InService", True, [Caution(code="C", message="i-1: w", advice=GOES)]),
        ("InService", None, []),
        ("Terminating", True, []),
    ],
)
def test_what_was_announced(state: str, expected: list[Caution], *, ends: bool | None) -> None:
    """Told while the instance runs."""
    item = converted(group(Instances=[instance(state)]), wire.AutoScalingGroup)
    noticed = {"i-1": Notice(code="C", words="w", ends=ends)} if ends is not None else {}
    assert list(going(item, noticed, ())) == expected


@pytest.mark.parametrize(
    ("state", "activities", "cause"),
    [
        ("Terminating:Wait", [(TERMINATING, "a spot interruption")], "a spot interruption"),
        ("Terminated", [(f"{TERMINATING} - more", "its maximum instance lifetime")], "its maximum lifetime"),
        ("Terminating", [("Terminating EC2 instance: i-2", "a health check")], ""),
        ("Terminating", [("Launching i-1", "a health check")], ""),
        ("Terminating", [(TERMINATING, "a user request")], ""),
        ("Terminating", [(TERMINATING, "a status check"), (TERMINATING, "a user request")], "a health check"),
        ("Terminating", [(TERMINATING, "a difference between desired and actual capacity")], "a lower desired capacity"),
        ("InService", [(TERMINATING, "a health check")], ""),
    ],
)
def test_what_aws_takes(state: str, activities: list[tuple[str, str]], cause: str) -> None:
    """By the newest activity that ends it; what we asked for is ours."""
    item = converted(group(Instances=[instance(state)]), wire.AutoScalingGroup)
    told = tuple(
        ScalingActivity(activity_id=str(number), auto_scaling_group_name="workers", description=text, cause=why)
        for number, (text, why) in enumerate(activities)
    )
    taken = Caution(code="TakenByAws", message=f"i-1 is {state}: {cause}", advice=GOES)
    assert list(going(item, {}, told)) == ([taken] if cause else [])


def test_amounts_in_tags() -> None:
    """They stand for those of the machine; one that cannot be read is told, and all of them alone make a shape."""
    tags = {f"{TEMPLATE}resources/cpu": "4", f"{TEMPLATE}resources/memory": "8Gi"}
    alone = facts(group(tags=tags)).template
    assert alone.capacity is not None
    assert (alone.capacity.cpu_milli, alone.capacity.memory_bytes, alone.origins) == (4000, 8 * GIB, ("node-template tags",))
    wrong = facts(group(tags={f"{TEMPLATE}resources/cpu": "many"}))
    assert wrong.problems[0].startswith(f"tag {TEMPLATE}resources/cpu: ")
    unknown = facts(group(tags=tags, LaunchTemplate=PICK), **versions({"InstanceType": "z9.nano"}))
    assert (unknown.problems, unknown.template.capacity) == ((), alone.capacity)
    half = facts(group(tags={f"{TEMPLATE}resources/cpu": "4"}, LaunchTemplate=PICK), **versions({"InstanceType": "z9.nano"}))
    assert "z9.nano" in half.problems[0]


@pytest.mark.parametrize(
    ("region", "tags", "taken"),
    [
        (REGION, {}, True),
        ("", {}, True),
        ("us-east-1", {}, False),
        (REGION, {"team": "ml"}, True),
        (REGION, {"team": "other"}, False),
        (REGION, {"team": ""}, True),
        (REGION, {"none": ""}, False),
        (REGION, {"team": "ml", "owned": ""}, True),
        (REGION, {"team": "ml", "none": ""}, False),
        (REGION, {"team": "other", "owned": ""}, False),
        ("us-east-1", {"team": "ml"}, False),
    ],
)
def test_what_an_item_of_discovery_takes(region: str, tags: dict[str, str], *, taken: bool) -> None:
    """In its region, with every tag; an empty value takes any."""
    found = facts(group(tags={"team": "ml", "owned": "yes"}))
    item = Discovery(name="d", provider="aws", region=region, tags=tuple(sorted(tags.items())))
    assert RULES.takes(item, found) is taken
    assert RULES.policy_value(found.ref) == {"aws": {"autoScalingGroup": "workers", "region": REGION}}


@pytest.mark.parametrize(
    ("tags", "told"), [({"cpu": "4"}, True), ({"memory": "8Gi"}, True), ({"cpu": "4", "memory": "8Gi"}, False)]
)
def test_a_type_that_is_missed(tags: dict[str, str], *, told: bool) -> None:
    """It is told unless tags say both what pods ask for most."""
    item = group(tags={f"{TEMPLATE}resources/{name}": text for name, text in tags.items()}, LaunchTemplate=PICK)
    problems = facts(item, **versions({"InstanceType": "z9.nano"})).problems
    assert any("z9.nano" in text for text in problems) is told


def test_whether_a_shape_is_an_estimate() -> None:
    """That of a type is; where tags say amounts it is their word."""
    plain = template(group(LaunchTemplate=PICK), **versions({"InstanceType": "m5.large"}))
    tagged = template(
        group(LaunchTemplate=PICK, tags={f"{TEMPLATE}resources/cpu": "4"}), **versions({"InstanceType": "m5.large"})
    )
    assert (amounts(plain), plain.estimated, tagged.estimated) == (M5_LARGE, True, False)
    assert tagged.origins == ("node-template tags", "the launch template, the instance table of 2026-07-20")
    small = template(
        group(LaunchTemplate=PICK, tags={f"{TEMPLATE}resources/cpu": "10m"}), **versions({"InstanceType": "m5.large"})
    )
    assert small.allocatable is not None
    assert small.allocatable.cpu_milli == 0


def test_labels_of_a_new_node() -> None:
    """One zone, region, type and architecture; what EKS and the tags say of it."""
    tags = {"eks:nodegroup-name": "ng", f"{TEMPLATE}label/team": "a"}
    found = template(group(LaunchTemplate=PICK, tags=tags), **versions({"InstanceType": "m5.large"}))
    assert dict(found.labels) == {
        "topology.kubernetes.io/zone": A,
        "topology.kubernetes.io/region": REGION,
        "node.kubernetes.io/instance-type": "m5.large",
        "kubernetes.io/arch": "amd64",
        "eks.amazonaws.com/nodegroup": "ng",
        "team": "a",
    }
    nowhere = template(group(AvailabilityZones=None, AutoScalingGroupARN="", tags={"eks:nodegroup-name": ""}))
    assert (nowhere.labels, nowhere.zone, nowhere.architecture, nowhere.origins) == ((), "", "", ())


def test_what_eks_says_of_a_new_node() -> None:
    """Its labels and taints are told as such; a taint of an effect that Kubernetes does not have is none."""
    taints = [{"key": "a", "effect": "NO_EXECUTE"}, {"key": "b", "value": "x", "effect": "NEVER"}]
    found = template(group(), nodegroup={**MANAGED, "taints": taints})
    assert (found.taints, found.origins) == ((Taint("a", "", "NoExecute"),), ("the managed node group",))
    assert template(group(), nodegroup={**MANAGED, "labels": {"a": "b"}}).origins == ("the managed node group",)
    assert template(group(), nodegroup=MANAGED).origins == ()
    types = template(group(), nodegroup={**MANAGED, "instanceTypes": ["m5.large", "m5.xlarge"]})
    assert types.origins == ("the managed node group, the instance table of 2026-07-20",)


@pytest.mark.parametrize(
    ("text", "region"), [(arn("a"), REGION), ("arn:aws:autoscaling:us-east-1", "us-east-1"), ("arn:aws", ""), ("", "")]
)
def test_the_region_of_an_arn(text: str, region: str) -> None:
    """Its fourth part."""
    assert region_of(text) == region


def test_what_leaves_the_house() -> None:
    """Without account numbers and words of people; labels, taints and tags in the words of the snapshot, amounts as they are."""
    words = Pseudonyms(b"salt", words={"team"})
    tags = {
        f"{TEMPLATE}label/secret": "x", f"{TEMPLATE}resources/secret": "5", f"{TEMPLATE}resources/other": "text",
        f"{TEMPLATE}other": "kept", "k8s.io/cluster-autoscaler/prod": "owned", "secret": "y",
    }  # fmt: skip
    found = shown(wire.AutoScalingGroup, group(tags=tags), words)
    assert ":000000000000:" in found["AutoScalingGroupARN"]
    read = [(tag["Key"], tag["Value"]) for tag in found["Tags"]]
    hidden = words.word("secret")
    assert read[0] == (f"{TEMPLATE}label/{hidden}", words.tokens(words.value("secret", "x")))
    assert read[1] == (f"{TEMPLATE}resources/{hidden}", "5")
    assert "text" not in read[2][1]
    assert read[3:5] == [(f"{TEMPLATE}other", "kept"), ("k8s.io/cluster-autoscaler/prod", "owned")]
    assert read[5] == (hidden, words.value("secret", "y"))
    asked = ScalingActivity(activity_id="a", auto_scaling_group_name="g", cause="somebody", description="in 123456789012")
    cleaned = shown(ScalingActivity, json.loads(json.dumps({"ActivityId": "a", "AutoScalingGroupName": "g", "Cause": asked.cause,
                                                            "Description": asked.description})), words)  # fmt: skip
    assert ("Cause" in cleaned, cleaned["Description"], "EndTime" in cleaned) == (False, "in 000000000000", False)
    taints = [{"key": "secret", "value": value, "effect": "NO_SCHEDULE"} for value in (None, "x")]
    managed = shown(ManagedNodeGroup, {**MANAGED, "labels": {"secret": "z"}, "taints": taints}, words)
    assert managed["labels"] == {hidden: words.value("secret", "z")}
    assert managed["taints"] == [
        {"key": hidden, "value": words.value("secret", text), "effect": "NO_SCHEDULE"} for text in ("", "x")
    ]


@pytest.mark.parametrize(("prefix", "kept"), [("resources", True), ("label", False), ("taint", False)])
def test_amounts_stay_as_they_are(prefix: str, *, kept: bool) -> None:
    """Those of resources, which say what a node offers; the same text elsewhere is a word of the user's."""
    found = shown(wire.AutoScalingGroup, group(tags={f"{TEMPLATE}{prefix}/secret": "8Gi"}), Pseudonyms(b"salt"))
    assert (found["Tags"][0]["Value"] == "8Gi") is kept


def test_words_that_nodes_may_say() -> None:
    """The group's name, its zones, its instances and theirs."""
    assert list(words_of_group(group(Instances=[instance(), {}]))) == ["workers", A, "i-1", A, "", ""]
    assert list(words_of_group({})) == [""]
