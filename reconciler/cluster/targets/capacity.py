"""What annotations, tags and infrastructure templates say about one new node."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.devices.resource_slice import Attribute, AttributeKind, Device, ResourceSlice
from reconciler.cluster.nodes.node import ATTACH_LIMIT, Taint
from reconciler.cluster.values import quantity
from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from reconciler.cluster.values.unreadable import UnreadableError

PREFIX = "capacity.cluster-autoscaler.kubernetes.io/"
CPU_KEY, MEMORY_KEY, DISK_KEY = PREFIX + "cpu", PREFIX + "memory", PREFIX + "ephemeral-disk"
GPU_TYPE_KEY, GPU_COUNT_KEY, MAX_PODS_KEY = PREFIX + "gpu-type", PREFIX + "gpu-count", PREFIX + "maxPods"
LABELS_KEY, TAINTS_KEY = PREFIX + "labels", PREFIX + "taints"
VOLUMES_KEY, DEVICES_KEY = PREFIX + "csi-driver", PREFIX + "dra-driver"
KEYS = (
    CPU_KEY,
    MEMORY_KEY,
    DISK_KEY,
    GPU_TYPE_KEY,
    GPU_COUNT_KEY,
    MAX_PODS_KEY,
    LABELS_KEY,
    TAINTS_KEY,
    VOLUMES_KEY,
    DEVICES_KEY,
)
DEFAULT_MAX_PODS = 110
_MOST_DEVICES = 128
"""In one ResourceSlice. SOURCE: `ResourceSliceMaxDevices` of resource.k8s.io/v1."""
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_COUNT = re.compile(r"[+-]?[0-9]{1,18}")


TEMPLATE_POOL = "template"
"""The pool of the devices of a node that is not there yet."""


class Capacity(msgspec.Struct, frozen=True):
    """Amounts by resource name (cpu in milli), sentences about values that could not be read, and limits of volumes by driver.
    `devices` are those of a driver of dynamic resource allocation."""

    amounts: Mapping[str, int]
    problems: tuple[str, ...] = ()
    attach_limits: tuple[tuple[str, int], ...] = ()
    devices: tuple[ResourceSlice, ...] = ()


def annotated(annotations: Mapping[str, str]) -> Capacity:
    """The amounts that the capacity annotations give; one that cannot be read is left out and reported."""
    amounts: dict[str, int] = {}
    problems: list[str] = []
    for key, resource in ((CPU_KEY, CPU), (MEMORY_KEY, MEMORY), (DISK_KEY, EPHEMERAL_STORAGE), (MAX_PODS_KEY, PODS)):
        if key in annotations:
            _read(amounts, problems, resource, key, annotations[key])
    devices = _gpus(annotations, amounts, problems)
    limits, unread = _attach_limits(annotations.get(VOLUMES_KEY, ""))
    return Capacity(amounts, (*problems, *unread), limits, devices)


def _gpus(annotations: Mapping[str, str], amounts: dict[str, int], problems: list[str]) -> tuple[ResourceSlice, ...]:
    """The count is of devices of a driver, or of a resource of a device plugin. The resource goes into `amounts`.

    SOURCE: cluster-autoscaler, Cluster API provider. The devices are gpu-0, gpu-1 and so on, and have one attribute, their type.
    """
    resource, driver = (annotations.get(key, "").strip() for key in (GPU_TYPE_KEY, DEVICES_KEY))
    named = [key for key, text in ((GPU_TYPE_KEY, resource), (DEVICES_KEY, driver)) if text]
    if GPU_COUNT_KEY not in annotations:
        problems.extend(f"{key} is ignored: {GPU_COUNT_KEY} is missing, and it applies only with both" for key in named)
        return ()
    if not named:
        problems.append(f"{GPU_COUNT_KEY} is ignored: it needs {GPU_TYPE_KEY} or {DEVICES_KEY}, and both are missing")
        return ()
    if resource:
        _read(amounts, problems, resource, GPU_COUNT_KEY, annotations[GPU_COUNT_KEY])
    if not driver:
        return ()
    if resource:
        problems.append(f"{GPU_TYPE_KEY} and {DEVICES_KEY} both count the GPUs: remove the one that the nodes do not offer")
    found: dict[str, int] = {}
    _read(found, problems, driver, GPU_COUNT_KEY, annotations[GPU_COUNT_KEY])
    number = found.get(driver, 0)
    if number > _MOST_DEVICES:
        problems.append(f"{GPU_COUNT_KEY}: {number} is more than the {_MOST_DEVICES} devices of one ResourceSlice")
    if not 0 < number <= _MOST_DEVICES:
        return ()
    kind = (Attribute("type", AttributeKind.STRING, "gpu"),)
    devices = tuple(Device(name=f"gpu-{index}", attributes=kind) for index in range(number))
    return (ResourceSlice(name=driver, driver=driver, pool=TEMPLATE_POOL, slice_count=1, devices=devices),)


def apart(amounts: Mapping[str, int]) -> tuple[dict[str, int], tuple[tuple[str, int], ...]]:
    """Amounts without those that state how many volumes a driver attaches, and these by driver, sorted."""
    limits = {name.removeprefix(ATTACH_LIMIT): number for name, number in amounts.items() if name.startswith(ATTACH_LIMIT)}
    rest = {name: number for name, number in amounts.items() if not name.startswith(ATTACH_LIMIT)}
    return rest, tuple(sorted(limits.items()))


def amount(resource: str, text: str) -> int:
    """One amount in the unit of its resource. Raises `UnreadableError`."""
    value = quantity.milli(text) if resource == CPU else quantity.whole(text)
    if value < 0:
        raise UnreadableError(f'"{text}" is negative')
    return value


def count(text: str) -> int:
    """A whole number from 0 without a unit. Raises `UnreadableError`."""
    if not _COUNT.fullmatch(text) or int(text) < 0:
        raise UnreadableError(f'"{text[:64]}" is not a whole number of at least 0')
    return int(text)


def complete(amounts: Mapping[str, int], origins: str) -> tuple[Resources | None, tuple[str, ...]]:
    """The vector of one node, or None: a group cannot add nodes for a pod if their cpu or memory is unknown.

    As upstream, the default is 110 pods.
    """
    if not amounts:
        return None, ()
    missing = [name for name in (CPU, MEMORY) if not amounts.get(name)]
    if missing:
        return None, (f"the capacity of a new node is unknown: {' and '.join(missing)} is missing in {origins}",)
    return Resources.of({PODS: DEFAULT_MAX_PODS, **amounts}), ()


def label_list(text: str, key: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Labels written `k=v,k2=v2`; an item that is none is left out and reported with its position."""
    labels: dict[str, str] = {}
    problems: list[str] = []
    for position, item in _items(text):
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            problems.append(f'{key}: item {position} ("{item}") is not a label key=value')
        else:
            labels[name.strip()] = value.strip()
    return labels, tuple(problems)


def taint_list(text: str, key: str) -> tuple[list[Taint], tuple[str, ...]]:
    """Taints written `k=v:Effect,k2:Effect`; an item that is none is left out and reported with its position."""
    taints: list[Taint] = []
    problems: list[str] = []
    for position, item in _items(text):
        pair, _, effect = item.rpartition(":")
        name, _, value = pair.partition("=")
        if not name.strip() or effect.strip() not in _EFFECTS:
            problems.append(f'{key}: item {position} ("{item}") is not a taint key=value:Effect with {", ".join(_EFFECTS)}')
        else:
            taints.append(Taint(name.strip(), value.strip(), effect.strip()))
    return taints, tuple(problems)


def merged_taints(lower: Iterable[Taint], upper: Iterable[Taint]) -> tuple[Taint, ...]:
    """Taints of both; one of `upper` replaces that of `lower` with the same key and effect. Sorted."""
    taints = {(taint.key, taint.effect): taint for taint in (*lower, *upper)}
    return tuple(sorted(taints.values()))


def _attach_limits(text: str) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Limits written `driver=number,driver2=number`; an item that is none is left out and reported with its position.

    Source: cluster-autoscaler, Cluster API provider, annotation `capacity.cluster-autoscaler.kubernetes.io/csi-driver`.
    """
    limits: dict[str, int] = {}
    problems: list[str] = []
    for position, item in _items(text):
        driver, _, number = item.partition("=")
        try:
            limits[driver.strip()] = count(number.strip())
        except UnreadableError as error:
            problems.append(f'{VOLUMES_KEY}: item {position} ("{item}") is not a limit driver=number: {error}')
    return tuple(sorted(limits.items())), tuple(problems)


def _read(amounts: dict[str, int], problems: list[str], resource: str, key: str, text: str) -> None:
    try:
        amounts[resource] = count(text) if key in (MAX_PODS_KEY, GPU_COUNT_KEY) else amount(resource, text)
    except UnreadableError as error:
        problems.append(f"{key}: {error}")


def _items(text: str) -> Iterable[tuple[int, str]]:
    return ((position, item.strip()) for position, item in enumerate(text.split(","), 1) if item.strip())
