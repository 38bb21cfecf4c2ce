"""What launches, types and templates of Auto Scaling groups say, word by word and number by number."""

from typing import Any

import pytest

from reconciler.cluster.target import LaunchFailure
from reconciler.platforms.aws.facts.activities import classified, failure_text
from reconciler.platforms.aws.facts.instance_types import described_type as read_type
from reconciler.platforms.aws.facts.instance_types import known_types
from reconciler.platforms.aws.facts.type_requirements import allowed_types
from reconciler.platforms.aws.facts.wire_beside import ScalingActivity
from reconciler.platforms.aws.facts.wire_launch import InstanceRequirements, InstanceType
from reconciler.platforms.aws.writing.fresh import converted
from tests.aws.documents import REGION, Object, facts, group, template_version
from tests.aws.test_launch_failures import STOCK, activity, failure
from tests.aws.test_shapes import GIB, PICK, mixed, template

A, B = f"{REGION}a", f"{REGION}b"
BEST_EFFORT = {"AvailabilityZoneDistribution": {"CapacityDistributionStrategy": "balanced-best-effort"}}


def instance(state: str = "InService", name: str = "i-1", **rest: Any) -> Object:
    return {"InstanceId": name, "LifecycleState": state, "AvailabilityZone": A, "InstanceType": "m5.large", **rest}


@pytest.mark.parametrize(
    ("state", "missing"),
    [
        ("InService", False), ("Pending:Wait", False), ("Terminating:Wait", True), ("Terminated", True), ("Warmed:Stopped", True),
        ("Detaching", True), ("Standby", True),
    ],
)  # fmt: skip
def test_whether_an_instance_is_there(state: str, *, missing: bool) -> None:
    """What is on its way out, beside or outside the group leaves its place empty; what is on its way in does not."""
    assert (failure(activity(1), zones=(A,), Instances=[instance(state)]) is not None) is missing


def test_without_a_list_of_instances() -> None:
    """All of them are missing; of a group that wants none nothing is."""
    item = group(DesiredCapacity=1, AvailabilityZones=[A])
    del item["Instances"]
    assert facts(item, Activities=[activity(1)]).launch_failure is not None
    assert facts({**item, "AvailabilityZones": None}, Activities=[activity(1)]).launch_failure is not None
    assert facts({**item, "DesiredCapacity": 0}, Activities=[activity(1)]).launch_failure is None


def test_zones_that_are_balanced_as_can_be() -> None:
    """The others are tried first, as without the word; so they are where AWS names no zone of the group."""
    assert failure(activity(1), **BEST_EFFORT) is None
    assert failure(activity(1), zones=()) is not None
    assert (failure(), failure(zones=())) == (None, None)


def test_a_failure_that_names_no_zone() -> None:
    """It speaks for all of them."""
    assert failure(activity(1, Details="{}")) is not None


def test_of_one_second_success_is_the_later_word() -> None:
    """A launch that failed and one that came, at once: something has come."""
    assert failure(activity(1), activity(1, status="Successful", ActivityId="z"), zones=(A,)) is None
    assert failure(activity(1, status="Successful", ActivityId="a"), activity(1), zones=(A,)) is None


def test_the_newest_failure_is_told() -> None:
    """Of one second that of the later name; of a zone its newest alone; one whose time cannot be read says nothing."""
    found = failure(activity(3, zone=B, ActivityId="b"), activity(3, ActivityId="a"), activity(2))
    assert found == LaunchFailure(id="b", at_seconds=1_795_330_803, kind="Stock", message=STOCK)
    assert failure(activity(1, StartTime="lately"), zones=(A,)) is None


def test_what_is_launched_for_the_warm_pool() -> None:
    """It says nothing of what the group asked for."""
    into_pool = activity(2, status="Successful", Description="Launching a new EC2 instance into warm pool: i-2")
    assert failure(activity(1), into_pool, zones=(A,)) is not None
    failed = activity(1, Description="Launching a new EC2 instance into warm pool.  Status Reason: " + STOCK)
    assert failure(failed, zones=(A,)) is None


def test_words_that_stand_in_the_description_alone() -> None:
    """Everything behind AWS's own words, also where those come again."""
    told = ScalingActivity(
        activity_id="a", auto_scaling_group_name="g", description="Launching. Status Reason: no. Status Reason: twice"
    )
    assert failure_text(told) == "no. Status Reason: twice"
    told.status_message = "no, in AWS's own field"
    assert failure_text(told) == "no, in AWS's own field"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Could not launch Spot Instances. SpotMaxPriceTooLow - Your Spot request price of 0.01 is lower", "Stock"),
        ("Could not launch Spot Instances. InsufficientFreeAddressesInSubnet – none", "Stock"),  # noqa: RUF001 - as AWS writes it
        ("Could not launch On-Demand Instances. VolumeLimitExceeded - x", "Quota"),
        ("Capacity Block reservation cr-1 has expired", "Stock"),
        ("the reservation does not have sufficient room", "Stock"),
        ("maximum Fleet Requests reached", "Quota"),
        ("VcpuLimitExceeded", "Configuration"),
        ("We have sufficient " + "x" * 70 + " capacity", "Configuration"),
    ],
)
def test_more_of_aws_own_words(message: str, kind: str) -> None:
    """Codes before a dash, else fragments of sentences."""
    assert classified(message) == kind


def versions(data: Object) -> dict[str, Any]:
    return {"LaunchTemplateVersions": [template_version(data)]}


def disk(*devices: tuple[str, int | None]) -> list[Object]:
    return [{"DeviceName": name, **({"Ebs": {"VolumeSize": size}} if size is not None else {})} for name, size in devices]


@pytest.mark.parametrize(
    ("devices", "usable"),
    [
        (None, 17),
        ([], 17),
        (disk(("/dev/xvda", 50)), 44),
        (disk(("/dev/xvda", 50), ("/dev/xvdb", 100)), 89),
        (disk(("/dev/xvdb", 100), ("/dev/xvda", 50)), 89),
        (disk(("/dev/xvdc", 100)), 17),
        (disk(("/dev/xvda", None)), 17),
    ],
)
def test_the_disk_that_pods_use(devices: list[Object] | None, usable: int) -> None:
    """SOURCE: Amazon Linux and Bottlerocket: 20 GiB where nothing is said; a tenth and 1 GiB of it are kept."""
    found = template(group(LaunchTemplate=PICK), **versions({"InstanceType": "m5.large", "BlockDeviceMappings": devices}))
    assert found.allocatable is not None
    assert found.allocatable.ephemeral_bytes == usable * GIB


def test_the_disk_of_a_launch_configuration() -> None:
    """It says it itself."""
    told = {"LaunchConfigurationName": "old", "InstanceType": "m5.large", "BlockDeviceMappings": disk(("/dev/xvda", 50))}
    found = template(group(LaunchConfigurationName="old"), LaunchConfigurations=[told])
    assert found.allocatable is not None
    assert found.allocatable.ephemeral_bytes == 44 * GIB


MANAGED = {"nodegroupName": "ng", "clusterName": "prod", "resources": {"autoScalingGroups": [{"name": "workers"}]}}


@pytest.mark.parametrize(
    ("item", "documents", "priced"),
    [
        ({}, {}, True),
        ({"LaunchConfigurationName": "spot", "LaunchTemplate": None}, {}, False),
        ({"LaunchConfigurationName": "plain", "LaunchTemplate": None}, {}, True),
        ({}, {"nodegroup": {**MANAGED, "capacityType": "ON_DEMAND"}}, True),
        ({}, {"nodegroup": {**MANAGED, "capacityType": "SPOT"}}, False),
        ({}, {"nodegroup": {**MANAGED, "capacityType": "CAPACITY_BLOCK"}}, False),
        (mixed(OnDemandPercentageAboveBaseCapacity=100), {}, True),
        (mixed(OnDemandPercentageAboveBaseCapacity=99), {}, False),
        (mixed(OnDemandBaseCapacity=2), {}, True),
        ({"MixedInstancesPolicy": {"LaunchTemplate": {"LaunchTemplateSpecification": PICK}}}, {}, True),
    ],
)
def test_spot_has_no_price(item: Object, documents: dict[str, Any], *, priced: bool) -> None:
    """The list is of machines on demand, which all are where nobody says otherwise."""
    configurations = [
        {"LaunchConfigurationName": "plain", "InstanceType": "m5.large"},
        {"LaunchConfigurationName": "spot", "InstanceType": "m5.large", "SpotPrice": "0.1"},
    ]
    found = facts(
        group(region="us-east-1", **{"LaunchTemplate": PICK, **item}),
        **versions({"InstanceType": "m5.large"}),
        LaunchConfigurations=configurations,
        **documents,
    )
    assert (found.price_per_hour, bool(found.price_origin)) == (("0.096", True) if priced else ("", False))
    if priced:
        assert found.price_origin == "the price list of us-east-1 of 2026-07-20, Linux on demand"


@pytest.mark.parametrize(
    ("distribution", "base"),
    [
        ({}, 0),
        ({"OnDemandBaseCapacity": 2}, 0),
        ({"OnDemandBaseCapacity": 2, "OnDemandPercentageAboveBaseCapacity": 100}, 0),
        ({"OnDemandBaseCapacity": 2, "OnDemandPercentageAboveBaseCapacity": 0}, 2),
        ({"OnDemandBaseCapacity": 2, "OnDemandPercentageAboveBaseCapacity": 50}, 2),
        ({"OnDemandPercentageAboveBaseCapacity": 0}, 0),
    ],
)
def test_how_many_are_on_demand_beside_spot(distribution: Object, base: int) -> None:
    """SOURCE: InstancesDistribution: 100 percent above the base, the default, leaves no spot."""
    assert facts(group(**mixed(**distribution)), **versions({})).on_demand_base == base
    assert facts(group()).on_demand_base == 0


@pytest.mark.parametrize(
    ("item", "documents", "kinds", "problem"),
    [
        (
            group(LaunchTemplate=PICK),
            {},
            0,
            "its launch template was not captured, so the capacity of a new node is unknown from it",
        ),
        (
            group(LaunchConfigurationName="old"),
            {},
            0,
            "its launch configuration was not captured, so the capacity of a new node is unknown from it",
        ),
        (group(LaunchTemplate=PICK, Instances=[instance()]), {}, 0, ""),
        (group(), {}, 0, ""),
        (
            group(LaunchTemplate=PICK),
            versions({"InstanceType": "z9.nano"}),
            0,
            "instance type z9.nano is not in the instance table, and describe-instance-types was not captured",
        ),
        (
            group(LaunchTemplate=PICK),
            versions({"InstanceRequirements": {"VCpuCount": {"Min": 9000}}}),
            0,
            "no known instance type fulfills the InstanceRequirements of the group",
        ),
        (group(LaunchTemplate={"LaunchTemplateName": "name-of-lt-1"}), versions({"InstanceType": "m5.large"}), 1, ""),
        (group(LaunchTemplate={"LaunchTemplateName": "other"}), versions({"InstanceType": "m5.large"}), 0, "its launch template"),
        (
            group(LaunchTemplate={"LaunchTemplateId": "lt-2", "LaunchTemplateName": "name-of-lt-1"}),
            versions({"InstanceType": "m5.large"}),
            0,
            "its launch template",
        ),
        (group(LaunchTemplate={"LaunchTemplateId": "lt-2"}), versions({"InstanceType": "m5.large"}), 0, "its launch template"),
        (group(**mixed({"InstanceType": "c5.large"}, {})), versions({"InstanceType": "m5.large"}), 1, ""),
        (group(**mixed({}, {})), versions({"InstanceType": "m5.large"}), 1, ""),
        (
            group(LaunchTemplate={**PICK, "Version": "2"}),
            {
                "LaunchTemplateVersions": [
                    template_version({"InstanceType": "m5.large"}, version=1),
                    template_version({}, version=2),
                ]
            },
            0,
            "its launch template was not captured",
        ),
    ],
)
def test_where_types_are_told(item: Object, documents: dict[str, Any], kinds: int, problem: str) -> None:
    """Overrides, templates, configurations; what was not captured is said where no instance says it either."""
    found = facts(item, **documents)
    assert (found.template.capacity is not None) is bool(kinds)
    assert [text for text in found.problems if text.startswith(problem or "its launch")] == (
        [] if not problem else [found.problems[0]]
    )


def test_overrides_with_a_template_of_their_own() -> None:
    """A choice may bring another template, whose type is one more; the origin is told."""
    other = {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-2", "Version": "$Latest"}}
    documents = [
        template_version({"InstanceType": "m5.large"}),
        template_version({"InstanceType": "c5.large"}, template="lt-2"),
        template_version({"InstanceType": "r5.large"}, template="lt-2", version=2, default=False),
    ]
    found = template(group(**mixed({"InstanceType": "m5.xlarge"}, other)), LaunchTemplateVersions=documents)
    assert found.capacity is not None
    assert (found.capacity.cpu_milli, found.capacity.memory_bytes // GIB, len(found.sizes)) == (2000, 14, 2)
    assert found.origins == ("the overrides of the mixed instances policy, the instance table of 2026-07-20",)


@pytest.mark.parametrize("overrides", [({"InstanceType": "c5.large"}, {}), ({}, {"InstanceType": "c5.large"})])
def test_a_choice_that_names_no_type(overrides: tuple[Object, ...]) -> None:
    """It says nothing beside one that does: the template's own type is none that an instance may be of."""
    found = template(group(**mixed(*overrides)), **versions({"InstanceType": "m5.large"}))
    assert dict(found.labels)["node.kubernetes.io/instance-type"] == "c5.large"
    assert found.origins == ("the overrides of the mixed instances policy, the instance table of 2026-07-20",)


def test_types_of_instances_that_are_there() -> None:
    """Their nodes say more: the types are a label alone."""
    found = facts(group(Instances=[instance(), instance(name="i-2", InstanceType="")], DesiredCapacity=2)).template
    assert (found.capacity, dict(found.labels)["node.kubernetes.io/instance-type"], found.origins) == (None, "m5.large", ())


def told_type(**rest: Any) -> Object:
    return {
        "InstanceType": "z9.nano", "VCpuInfo": {"DefaultVCpus": 2}, "MemoryInfo": {"SizeInMiB": 8192}, **rest
    }  # fmt: skip


NETWORK = {"MaximumNetworkInterfaces": 3, "Ipv4AddressesPerInterface": 10, "DefaultNetworkCardIndex": 0}


@pytest.mark.parametrize(
    ("rest", "pods", "architecture", "devices"),
    [
        ({}, 110, "amd64", ()),
        ({"NetworkInfo": NETWORK}, 29, "amd64", ()),
        ({"NetworkInfo": {**NETWORK, "Ipv4AddressesPerInterface": 0}}, 110, "amd64", ()),
        ({"NetworkInfo": {**NETWORK, "MaximumNetworkInterfaces": 0}}, 110, "amd64", ()),
        (
            {"NetworkInfo": {**NETWORK, "DefaultNetworkCardIndex": 1, "NetworkCards": [
                {"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 9}, {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 2}]}},
            20, "amd64", (),
        ),
        ({"NetworkInfo": {**NETWORK, "NetworkCards": [{"NetworkCardIndex": 5, "MaximumNetworkInterfaces": 9}]}}, 29, "amd64", ()),
        ({"ProcessorInfo": {"SupportedArchitectures": ["i386", "arm64"]}}, 110, "arm64", ()),
        ({"ProcessorInfo": {"SupportedArchitectures": ["i386"]}}, 110, "amd64", ()),
        (
            {"GpuInfo": {"Gpus": [
                {"Name": "A", "Manufacturer": "AMD", "Count": 2}, {"Name": "B", "Manufacturer": "AMD", "Count": 1},
                {"Name": "C", "Manufacturer": "Nobody", "Count": 4}, {"Name": "D", "Manufacturer": "NVIDIA", "Count": 0}]}},
            110, "amd64", (("amd.com/gpu", 3),),
        ),
        ({"InstanceType": "g5.xlarge"}, 110, "amd64", (("nvidia.com/gpu", 1),)),
        ({"InstanceType": "g5.xlarge", "GpuInfo": {"Gpus": [{"Name": "V", "Manufacturer": "NVIDIA", "Count": 2}]}}, 110, "amd64",
         (("nvidia.com/gpu", 2),)),
    ],
)  # fmt: skip
def test_a_type_as_aws_tells_it(rest: Object, pods: int, architecture: str, devices: tuple[tuple[str, int], ...]) -> None:
    """SOURCE: DescribeInstanceTypes: pods by the default network card, devices by their make; where it is silent the table
    stands, and 110 pods where not even that says more."""
    item = told_type(**rest)
    found = template(group(LaunchTemplate=PICK), **versions({"InstanceType": item["InstanceType"]}), InstanceTypes=[item])
    assert found.capacity is not None
    assert (found.capacity.pods, found.architecture, found.capacity.extended) == (pods, architecture, devices)
    assert found.origins == ("the launch template, describe-instance-types",)


@pytest.mark.parametrize(
    ("name", "model", "cards", "price"),
    [("m5.large", "", 0, "0.096"), ("g5.2xlarge", "a10g", 1, "1.212"), ("p4d.24xlarge", "a100", 8, "21.957642")],
)
def test_a_type_of_the_table(name: str, model: str, cards: int, price: str) -> None:
    """SOURCE: the rows of these types in the table of 2026-07-20."""
    known_types.cache_clear()  # so that it is read here
    found = known_types()[name]
    assert (found.name, found.accelerator, found.accelerators, found.price_per_hour) == (name, model, cards, price)
    assert dict(found.machine.devices) == ({"nvidia.com/gpu": cards} if cards else {})


def test_the_price_of_a_type_that_aws_told() -> None:
    """That of the table, since AWS tells none here; of one that is newer nobody knows it."""
    for name, price in (("m5.large", "0.096"), ("z9.nano", "")):
        item = group(region="us-east-1", LaunchTemplate=PICK)
        assert (
            facts(item, **versions({"InstanceType": name}), InstanceTypes=[told_type(InstanceType=name)]).price_per_hour == price
        )


def allowed(**wanted: Any) -> list[str]:
    """Which of these types requirements allow: their names are those of all that AWS was asked for."""
    card = {"GpuInfo": {"Gpus": [{"Name": "A10G", "Manufacturer": "NVIDIA", "Count": 2}]}}
    items = [
        told_type(InstanceType="m9.large"),
        told_type(InstanceType="m9.metal", VCpuInfo={"DefaultVCpus": 4}, MemoryInfo={"SizeInMiB": 16384}),
        told_type(InstanceType="t3.zero", VCpuInfo={"DefaultVCpus": 0}),
        told_type(InstanceType="g9.large", **card),
        told_type(InstanceType="r9.large", MemoryInfo={"SizeInMiB": 16384}),
    ]
    types = {item["InstanceType"]: read_type(converted(item, InstanceType)) for item in items}
    return [one.name for one in allowed_types(converted(wanted, InstanceRequirements), types)]


@pytest.mark.parametrize(
    ("most", "names"), [(None, []), (4, ["inf1.2xlarge", "inf1.xlarge"]), (1, []), (2, ["inf1.2xlarge", "inf1.xlarge"])]
)
def test_cards_that_have_no_model(most: int | None, names: list[str]) -> None:
    """The table has no number of cards for Inferentia: its devices count, of which these two offer two kinds."""
    wanted = {"AllowedInstanceTypes": ["inf1.x*", "inf1.2x*"], **({"AcceleratorCount": {"Min": 1, "Max": most}} if most else {})}
    types = {name: one for name, one in known_types().items() if name.startswith("inf1.")}
    assert [one.name for one in allowed_types(converted(wanted, InstanceRequirements), types)] == names


@pytest.mark.parametrize("network", [{"Ipv4AddressesPerInterface": 10}, {"MaximumNetworkInterfaces": 3}])
def test_what_aws_does_not_say_of_a_type_is_none(network: dict[str, int]) -> None:
    """No core, no memory and no card, and as many pods as where nothing is said of its network."""
    gpus = [{"Name": "A10G", "Manufacturer": "NVIDIA"}]
    item = {"InstanceType": "z9.nano", "VCpuInfo": {}, "MemoryInfo": {}, "GpuInfo": {"Gpus": gpus}, "NetworkInfo": network}
    found = read_type(converted(item, InstanceType))
    assert (found.machine.vcpus, found.machine.memory_mib, found.machine.devices, found.accelerators) == (0, 0, (), 0)
    assert found.machine.max_pods == 110


def test_one_card_is_a_card() -> None:
    """It comes where cards are asked for, and nowhere else; a make of which there is none is no device."""
    types = {name: known_types()[name] for name in ("g5.2xlarge", "m5.large")}
    for wanted, names in (({}, ["m5.large"]), ({"AcceleratorCount": {"Min": 1}}, ["g5.2xlarge"])):
        assert [one.name for one in allowed_types(converted(wanted, InstanceRequirements), types)] == names
    none = told_type(GpuInfo={"Gpus": [{"Name": "D", "Manufacturer": "NVIDIA", "Count": 0}]})
    assert read_type(converted(none, InstanceType)).machine.devices == ()


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({}, ["m9.large", "r9.large"]),
        ({"VCpuCount": {"Min": 2, "Max": 2}}, ["m9.large", "r9.large"]),
        ({"VCpuCount": {"Min": 3}}, []),
        ({"VCpuCount": {"Max": 1}}, []),
        ({"MemoryMiB": {"Min": 8192, "Max": 8192}}, ["m9.large"]),
        ({"MemoryMiB": {"Min": 8193}}, ["r9.large"]),
        ({"MemoryGiBPerVCpu": {"Min": 8, "Max": 8}}, ["r9.large"]),
        ({"MemoryGiBPerVCpu": {"Max": 4}}, ["m9.large"]),
        ({"BareMetal": "included"}, ["m9.large", "m9.metal", "r9.large"]),
        ({"BareMetal": "required"}, ["m9.metal"]),
        ({"BareMetal": "excluded"}, ["m9.large", "r9.large"]),
        ({"BurstablePerformance": "included"}, ["m9.large", "r9.large", "t3.zero"]),
        ({"BurstablePerformance": "required"}, ["t3.zero"]),
        ({"BurstablePerformance": "required", "MemoryGiBPerVCpu": {"Min": 1}}, []),
        ({"AllowedInstanceTypes": ["m9.*"]}, ["m9.large"]),
        ({"AllowedInstanceTypes": ["x.*", "r*"]}, ["r9.large"]),
        ({"ExcludedInstanceTypes": ["m9.*"]}, ["r9.large"]),
        ({"AcceleratorCount": {"Min": 1}}, ["g9.large"]),
        ({"AcceleratorCount": {"Min": 2, "Max": 2}}, ["g9.large"]),
        ({"AcceleratorCount": {"Min": 3}}, []),
        ({"AcceleratorNames": ["A10G"]}, ["g9.large"]),
        ({"AcceleratorNames": ["h100"]}, []),
    ],
)
def test_attribute_by_attribute(wanted: Object, names: list[str]) -> None:
    """SOURCE: InstanceRequirements: bare metal, burstable and accelerated types only where they are asked for."""
    assert allowed(**wanted) == names
