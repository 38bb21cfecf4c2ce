"""What a new node of an Auto Scaling group offers, from everything that says so."""

from typing import Any

import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.target import TargetTemplate
from tests.aws.documents import TEMPLATE, Object, facts, group, template_version

MIB, GIB = 1 << 20, 1 << 30
PICK = {"LaunchTemplateId": "lt-1", "Version": "$Default"}
# Allocatable of m5.large and r5.xlarge as Karpenter's documentation has them.
M5_LARGE = (1930, 6903 * MIB, 29)


def template(item: Object, **documents: Any) -> TargetTemplate:
    return facts(item, **documents).template


def amounts(found: TargetTemplate) -> tuple[int, int, int]:
    assert found.allocatable is not None
    return found.allocatable.cpu_milli, found.allocatable.memory_bytes, found.allocatable.pods


def mixed(*overrides: Object, **distribution: Any) -> Object:
    policy = {"LaunchTemplate": {"LaunchTemplateSpecification": PICK, "Overrides": list(overrides)}}
    return {"MixedInstancesPolicy": {**policy, "InstancesDistribution": distribution}}


def test_s66_launch_template_from_zero() -> None:
    """S66: an empty group has the shape of the type that its launch template names."""
    found = template(group(LaunchTemplate=PICK), LaunchTemplateVersions=[template_version({"InstanceType": "m5.large"})])
    assert amounts(found) == M5_LARGE
    assert dict(found.labels)["node.kubernetes.io/instance-type"] == "m5.large"
    assert found.origins == ("the launch template, the instance table of 2026-07-20",)


def test_launch_configuration_from_zero() -> None:
    """S66: the older kind of template."""
    found = template(
        group(LaunchConfigurationName="old"),
        LaunchConfigurations=[{"LaunchConfigurationName": "old", "InstanceType": "m5.large"}],
    )
    assert amounts(found) == M5_LARGE
    assert "launch configuration" in found.origins[0]


@pytest.mark.parametrize(("version", "kind"), [("$Default", "m5.large"), ("$Latest", "c5.large"), ("2", "m5.xlarge")])
def test_version_of_the_template(version: str, kind: str) -> None:
    """The version that new instances are made from now, and no other."""
    versions = [
        template_version({"InstanceType": "m5.large"}),
        template_version({"InstanceType": "m5.xlarge"}, version=2, default=False),
        template_version({"InstanceType": "c5.large"}, version=3, default=False),
    ]
    found = template(group(LaunchTemplate={**PICK, "Version": version}), LaunchTemplateVersions=versions)
    assert dict(found.labels)["node.kubernetes.io/instance-type"] == kind


def test_version_that_was_not_captured() -> None:
    """Another version says nothing of the nodes to come."""
    found = facts(
        group(LaunchTemplate={**PICK, "Version": "7"}), LaunchTemplateVersions=[template_version({"InstanceType": "m5.large"})]
    )
    assert found.template.capacity is None
    assert "launch template was not captured" in found.problems[0]


def test_s55_least_of_all_types() -> None:
    """S55, incident 18: of several types the least of each amount counts, and both sizes are told."""
    found = template(
        group(**mixed({"InstanceType": "c5.xlarge"}, {"InstanceType": "r5.large"})),
        LaunchTemplateVersions=[template_version({"InstanceType": "m5.24xlarge"})],
    )
    assert found.capacity is not None
    # r5.large has 2 vCPU and 16 GiB, c5.xlarge 4 vCPU and 8 GiB.
    assert (found.capacity.cpu_milli, found.capacity.memory_bytes) == (2000, (8192 - 615) * MIB)
    assert amounts(found)[0] == 1930
    assert len(found.sizes) == 2
    assert "node.kubernetes.io/instance-type" not in dict(found.labels)


def test_attach_limits_by_tag() -> None:
    """How many volumes a driver attaches is no resource that a pod requests, and says nothing of the machine."""
    tag = "k8s.io/cluster-autoscaler/node-template/resources/attachable-volumes-csi-ebs.csi.aws.com"
    documents = {"LaunchTemplateVersions": [template_version({"InstanceType": "m5.large"})]}
    found = template(group(LaunchTemplate=PICK, tags={tag: "25"}), **documents)
    assert found.attach_limits == (("ebs.csi.aws.com", 25),)
    assert found.capacity == template(group(LaunchTemplate=PICK), **documents).capacity
    assert found.estimated


def test_types_of_one_size() -> None:
    """Families of one size are no mixture."""
    found = template(
        group(**mixed({"InstanceType": "m5.large"}, {"InstanceType": "m5a.large"})),
        LaunchTemplateVersions=[template_version({})],
    )
    assert (amounts(found), found.sizes) == (M5_LARGE, ())


def test_attribute_based_requirements() -> None:
    """S41: the least of what the requirements allow; burstable, bare metal and accelerated types only where asked for."""
    wanted = {
        "VCpuCount": {"Min": 4, "Max": 8},
        "MemoryMiB": {"Min": 16384, "Max": 32768},
        "AllowedInstanceTypes": ["m5.*", "t3.*"],
    }
    found = template(group(**mixed({"InstanceRequirements": wanted})), LaunchTemplateVersions=[template_version({})])
    assert found.capacity is not None
    assert found.capacity.cpu_milli == 4000
    assert found.capacity.memory_bytes == (16384 - 1229) * MIB  # 7.5 percent, rounded up
    names = facts(
        group(**mixed({"InstanceRequirements": {**wanted, "AllowedInstanceTypes": ["t3.*"]}})),
        LaunchTemplateVersions=[template_version({})],
    )
    assert names.template.capacity is None
    assert "no known instance type fulfills" in names.problems[0]


def test_requirements_with_accelerators() -> None:
    """A named accelerator."""
    wanted = {"VCpuCount": {"Min": 1}, "MemoryMiB": {"Min": 1}, "AcceleratorNames": ["a10g"], "AcceleratorCount": {"Min": 4}}
    found = template(group(LaunchTemplate=PICK), LaunchTemplateVersions=[template_version({"InstanceRequirements": wanted})])
    assert found.capacity is not None
    assert found.capacity.extended == (("nvidia.com/gpu", 4),)


def test_unknown_type() -> None:
    """A type that nobody knows may be smaller than the known ones beside it: nothing is guessed."""
    found = facts(
        group(**mixed({"InstanceType": "m5.large"}, {"InstanceType": "z9.nano"})), LaunchTemplateVersions=[template_version({})]
    )
    assert found.template.capacity is None
    assert "z9.nano" in found.problems[0]


def test_type_that_aws_told() -> None:
    """`describe-instance-types` wins over the table, with pods by the default network card alone."""
    told = {
        "InstanceType": "z9.nano",
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8192},
        "ProcessorInfo": {"SupportedArchitectures": ["i386", "x86_64"]},
        "NetworkInfo": {
            "MaximumNetworkInterfaces": 7,
            "Ipv4AddressesPerInterface": 10,
            "DefaultNetworkCardIndex": 0,
            "NetworkCards": [
                {"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 3},
                {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 4},
            ],
        },
        "GpuInfo": {"Gpus": [{"Name": "T4", "Manufacturer": "NVIDIA", "Count": 2}]},
    }
    found = template(
        group(LaunchTemplate=PICK),
        LaunchTemplateVersions=[template_version({"InstanceType": "z9.nano"})],
        InstanceTypes=[told],
    )
    assert amounts(found) == M5_LARGE
    assert found.capacity is not None
    assert found.capacity.extended == (("nvidia.com/gpu", 2),)
    assert found.architecture == "amd64"


def test_s67_s68_s69_tags() -> None:
    """Resources, labels and taints by tag; a taint in EKS's short form as well as in the Cluster Autoscaler's."""
    tags = {
        f"{TEMPLATE}resources/vpc.amazonaws.com/PrivateIPv4Address": "5",
        f"{TEMPLATE}label/team": "a",
        f"{TEMPLATE}taint/dedicated": "NoSchedule",
        f"{TEMPLATE}taint/gpu": "true:NoExecute",
    }
    found = facts(group(tags=tags, LaunchTemplate=PICK), LaunchTemplateVersions=[template_version({"InstanceType": "m5.large"})])
    assert found.problems == ()
    assert found.template.capacity is not None
    assert found.template.capacity.get("vpc.amazonaws.com/PrivateIPv4Address") == 5
    assert found.template.taints == (Taint("dedicated", "", "NoSchedule"), Taint("gpu", "true", "NoExecute"))
    assert dict(found.template.labels)["team"] == "a"


def test_taint_without_effect() -> None:
    """A tag that the Cluster Autoscaler drops without a word is told."""
    found = facts(group(tags={f"{TEMPLATE}taint/dedicated": "gpu"}))
    assert f"{TEMPLATE}taint/dedicated" in found.problems[0]


def test_tagged_amount_keeps_what_is_reserved() -> None:
    """A tag states a capacity: what kubelet keeps of the machine stays kept."""
    found = template(
        group(tags={f"{TEMPLATE}resources/cpu": "4"}, LaunchTemplate=PICK),
        LaunchTemplateVersions=[template_version({"InstanceType": "m5.large"})],
    )
    assert found.capacity is not None
    assert found.allocatable is not None
    assert (found.capacity.cpu_milli, found.allocatable.cpu_milli) == (4000, 3930)


def test_s43_managed_node_group() -> None:
    """S43: labels and taints of EKS's own node group, which has no tags for them at zero; its labels win over tags."""
    managed = {
        "nodegroupName": "ng",
        "clusterName": "prod",
        "status": "ACTIVE",
        "capacityType": "SPOT",
        "instanceTypes": ["m5.large"],
        "labels": {"team": "b"},
        "taints": [{"key": "dedicated", "value": "x", "effect": "PREFER_NO_SCHEDULE"}],
        "diskSize": 100,
        "resources": {"autoScalingGroups": [{"name": "workers"}]},
    }
    tags = {"eks:nodegroup-name": "ng", "eks:cluster-name": "prod", f"{TEMPLATE}label/team": "a"}
    found = facts(group(tags=tags), nodegroup=managed)
    labels = dict(found.template.labels)
    assert amounts(found.template) == M5_LARGE
    assert found.template.allocatable is not None
    assert found.template.allocatable.ephemeral_bytes == 89 * GIB
    assert labels["team"] == "b"
    assert labels["eks.amazonaws.com/nodegroup"] == "ng"
    assert labels["eks.amazonaws.com/capacityType"] == "SPOT"
    assert found.template.taints == (Taint("dedicated", "x", "PreferNoSchedule"),)
    assert found.price_per_hour == ""


@pytest.mark.parametrize(
    ("image", "system"), [("WINDOWS_FULL_2025_x86_64", "windows"), ("AL2023_x86_64_STANDARD", None), ("CUSTOM", None)]
)
def test_operating_system_of_a_managed_node_group(image: str, system: str | None) -> None:
    """EKS names the image of its node group; where that says nothing, no label is stated."""
    managed = {
        "nodegroupName": "ng",
        "clusterName": "prod",
        "amiType": image,
        "instanceTypes": ["m5.large"],
        "resources": {"autoScalingGroups": [{"name": "workers"}]},
    }
    found = facts(group(tags={"eks:nodegroup-name": "ng", "eks:cluster-name": "prod"}), nodegroup=managed)
    assert dict(found.template.labels).get("kubernetes.io/os") == system


def test_zone_and_architecture() -> None:
    """One zone and one architecture are labels of every node to come; two are nobody's."""
    one = template(group(LaunchTemplate=PICK), LaunchTemplateVersions=[template_version({"InstanceType": "m7g.large"})])
    assert (one.zone, one.architecture) == ("eu-central-1a", "arm64")
    two = facts(
        group(AvailabilityZones=["a", "b"], **mixed({"InstanceType": "m7g.large"}, {"InstanceType": "m5.large"})),
        LaunchTemplateVersions=[template_version({})],
    )
    assert (two.template.zone, two.template.architecture) == ("", "")
    assert any("several architectures" in problem for problem in two.problems)


@pytest.mark.parametrize(
    ("region", "kind", "rest", "price"),
    [
        ("us-east-1", "m5.large", {}, "0.096"),
        ("eu-central-1", "m5.large", {}, ""),
        ("us-east-1", "m5.large", {"InstanceMarketOptions": {"MarketType": "spot"}}, ""),
    ],
)
def test_price(region: str, kind: str, rest: Object, price: str) -> None:
    """The list holds for its own region and for machines on demand; elsewhere the price is not known."""
    found = facts(
        group(region=region, LaunchTemplate=PICK), LaunchTemplateVersions=[template_version({"InstanceType": kind, **rest})]
    )
    assert found.price_per_hour == price
    assert bool(found.price_origin) is bool(price)


def test_s84_price_of_several_types() -> None:
    """Nobody knows which one comes: the dearest counts. A share of spot has no price."""
    overrides = ({"InstanceType": "m5.large"}, {"InstanceType": "m5a.large"})
    versions = [template_version({})]
    assert facts(group(region="us-east-1", **mixed(*overrides)), LaunchTemplateVersions=versions).price_per_hour == "0.096"
    spot = mixed(*overrides, OnDemandPercentageAboveBaseCapacity=0)
    assert facts(group(region="us-east-1", **spot), LaunchTemplateVersions=versions).price_per_hour == ""
