"""The instance types that are known without asking AWS, and those that AWS described."""

import csv
import pkgutil
from collections.abc import Mapping
from functools import cache

import msgspec

from reconciler.platforms.aws.facts.node_sizing import Machine, max_pods
from reconciler.platforms.aws.facts.wire_launch import InstanceType

TABLE_DATE = "2026-07-20"
TABLE_ORIGIN = f"the instance table of {TABLE_DATE}"
DESCRIBED_ORIGIN = "describe-instance-types"
PRICED_REGION = "us-east-1"
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_GPU_RESOURCES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}


class KnownType(msgspec.Struct, frozen=True, kw_only=True):
    """One instance type. `accelerator` is the model's name in lower case (`a10g`), and `accelerators` is their number.
    `price_per_hour` is the price of Linux on demand in `PRICED_REGION`, empty if unknown. `origin` names the source."""

    name: str
    machine: Machine
    accelerator: str = ""
    accelerators: int = 0
    price_per_hour: str = ""
    origin: str = TABLE_ORIGIN


@cache
def known_types() -> Mapping[str, KnownType]:
    """All types of the built-in table."""
    text = (pkgutil.get_data(__package__, "instance_types.csv") or b"").decode()
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["instance_type"]: _known(row) for row in rows}


def _known(row: Mapping[str, str]) -> KnownType:
    devices = (item.partition("=") for item in row["allocatable_gpu"].split(";") if item)
    return KnownType(
        name=row["instance_type"],
        machine=Machine(
            vcpus=int(row["vcpu"]),
            memory_mib=int(row["memory_mib"]),
            architecture=row["arch"],
            max_pods=int(row["allocatable_pods"]),
            devices=tuple(sorted((name, int(count)) for name, _, count in devices)),
        ),
        accelerator=row["gpu_name"],
        accelerators=int(row["gpu_count"] or 0),
        price_per_hour=row["usd_per_hour_us_east_1"],
    )


def described_type(item: InstanceType) -> KnownType:
    """What AWS says about a type now. The price comes from the table, since this answer has none. A card of an unknown make does
    not count as a device: the person who installs its plugin declares it in a tag."""
    network, known = item.network_info, known_types().get(item.instance_type)
    interfaces = addresses = 0
    if network is not None:
        cards = network.network_cards or ()
        default = next((card for card in cards if card.network_card_index == network.default_network_card_index), None)
        interfaces = default.maximum_network_interfaces if default is not None else network.maximum_network_interfaces
        addresses = network.ipv4_addresses_per_interface
    gpus = (item.gpu_info.gpus if item.gpu_info else None) or []
    devices: dict[str, int] = dict(known.machine.devices) if known is not None and not gpus else {}
    for gpu in gpus:
        resource = _GPU_RESOURCES.get(gpu.manufacturer)
        if resource and gpu.count:
            devices[resource] = devices.get(resource, 0) + gpu.count
    supported = (item.processor_info.supported_architectures if item.processor_info else None) or []
    architecture = next((_ARCHITECTURES[name] for name in supported if name in _ARCHITECTURES), "amd64")
    return KnownType(
        name=item.instance_type,
        machine=Machine(
            vcpus=item.v_cpu_info.default_v_cpus,
            memory_mib=item.memory_info.size_in_mi_b,
            architecture=architecture,
            max_pods=max_pods(interfaces, addresses) if interfaces and addresses else 110,
            devices=tuple(sorted(devices.items())),
        ),
        accelerator=gpus[0].name.lower() if gpus else "",
        accelerators=sum(gpu.count for gpu in gpus),
        price_per_hour=known.price_per_hour if known is not None else "",
        origin=DESCRIBED_ORIGIN,
    )
