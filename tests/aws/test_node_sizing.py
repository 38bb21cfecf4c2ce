"""The formulas for what pods get of an EC2 machine, against published figures."""

import csv
from pathlib import Path

import pytest

import reconciler.platforms.aws.facts as package
from reconciler.platforms.aws.facts.instance_types import known_types
from reconciler.platforms.aws.facts.node_sizing import (
    MIB,
    Machine,
    allocatable,
    max_pods,
    reserved_cpu_milli,
    reserved_memory_mib,
)

TABLE = Path(package.__path__[0]) / "instance_types.csv"


@pytest.mark.parametrize(("vcpus", "milli"), [(0, 0), (1, 60), (2, 70), (3, 75), (4, 80), (5, 82), (6, 85), (8, 90), (96, 310)])
def test_reserved_cpu(vcpus: int, milli: int) -> None:
    """2, 4 and 8 as platform documentation has them."""
    assert reserved_cpu_milli(vcpus) == milli


@pytest.mark.parametrize(("interfaces", "addresses", "pods"), [(3, 10, 29), (4, 15, 58), (15, 50, 737), (2, 2, 4)])
def test_max_pods(interfaces: int, addresses: int, pods: int) -> None:
    """m5.large, m5.xlarge, p4d.24xlarge, t3.micro as eni-max-pods.txt of amazon-eks-ami has them."""
    assert max_pods(interfaces, addresses) == pods


def test_reserved_memory() -> None:
    """m5.large: 11 MiB for each of 29 pods and 255 MiB."""
    assert reserved_memory_mib(29) == 574


def test_a_machine_with_less_than_is_reserved() -> None:
    """Nothing is left of it for pods, and no less than nothing."""
    found = allocatable(Machine(vcpus=1, memory_mib=1024, architecture="amd64", max_pods=110, disk_gib=1))
    assert (found.memory_bytes, found.ephemeral_bytes, found.cpu_milli) == (0, 0, 940)


def test_every_row_of_the_published_table() -> None:
    """What Karpenter's documentation says of every type comes out of the formulas."""
    text = "\n".join(line for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 1363
    for row in rows:
        usable = allocatable(known_types()[row["instance_type"]].machine)
        assert f"{usable.cpu_milli}m" == row["allocatable_cpu"], row
        assert f"{usable.memory_bytes // MIB}Mi" == row["allocatable_memory"], row
        assert str(usable.pods) == row["allocatable_pods"], row
        assert usable.ephemeral_bytes == 17 << 30, row
        devices = ";".join(f"{name}={count}" for name, count in usable.extended)
        assert devices == row["allocatable_gpu"], row


def test_the_table_names_its_date_and_licence() -> None:
    """Facts of somebody else are marked as such."""
    head = "\n".join(TABLE.read_text().splitlines()[:3])
    assert "2026-07-20" in head
    assert "Apache License 2.0" in head
