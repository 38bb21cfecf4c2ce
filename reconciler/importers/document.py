"""Imported settings as policy files with comments: the origin of each value, and why something is missing."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.platform_reading import known_kind
from reconciler.cluster.target import TargetRef
from reconciler.decisions.platform_rules import rules_of
from reconciler.importers.assembly import Assembly, PlannedGroup, assemble, to_write
from reconciler.importers.conversion import Conversion, Note
from reconciler.importers.merging import merge
from reconciler.importers.settings import ImportedSettings, Setting, Sized
from reconciler.importers.sources import NOT_THERE
from reconciler.policy.documents import API_VERSION
from reconciler.policy.platform.autoscaler_flags import flags_of
from reconciler.policy.platform.policy_keys import platform_keys
from reconciler.rendering.manifests.group_names import group_names
from reconciler.rendering.manifests.policy_yaml import Value, block, comment, flow
from reconciler.rendering.manifests.usable_groups import commented_out
from reconciler.values.plural import count_text

_DEFAULTS_THAT_DIFFER = (
    "Some defaults differ on purpose. System pods without a disruption budget keep their node forever (the Cluster Autoscaler: "
    "drain.systemPodTimeout: 1h). Balancing is off by default. Ties are broken by name."
)
_EXPANDER = ("--expander", "spec.expanders")


def imported_policy(imported: ImportedSettings, name: str, region: str = "") -> tuple[dict[str, str], tuple[Note, ...]]:
    """File name -> YAML, and what is not in it. Raises `PlaceNeededError` and `UnsupportedCloudError`."""
    region = region or imported.region
    conversion = Conversion(region, imported.cloud, prioritized=bool(imported.priorities))
    for setting in imported.settings:
        conversion.take(setting)
    conversion.finish()
    conversion.notes += [Note(setting=setting, why=NOT_THERE) for setting in dict.fromkeys(imported.missing)]
    made = [_sized(one) for one in imported.sized]
    for low, high, named, setting in conversion.nodes:
        origin = f"from {setting.name}={setting.value} ({setting.file})"
        target: Value = {key: dict(value) for key, value in named.target.items()}
        made.append(_Group(origin, named.name, named.namespace, target, low, high))
    assembly = assemble(imported.objects, conversion, conversion.place)
    names = group_names(
        [
            *((one.name, f"{flow(one.target)}") for one in made),
            *((one.group.name, f"{one.group.name} {number}") for number, one in enumerate(assembly.groups)),
        ]
    )
    groups = [_group(one, called, name) for one, called in zip(made, names, strict=False)]
    groups += [_waiting(one, called, name) for one, called in zip(assembly.groups, names[len(made) :], strict=True)]
    if not groups and "discovery" not in conversion.spec:
        conversion.spec["discovery"] = _discovery(conversion.provider)
    other = _other_expander(imported)
    if imported.priorities and other:
        priorities = Setting(name="priorities", value=", ".join(str(one) for one, _ in imported.priorities), file="")
        why = f"{other}, so the Cluster Autoscaler reads no priorities. To turn them into tiers, set --expander=priority"
        conversion.notes.append(Note(setting=priorities, why=why))
    elif imported.priorities:
        tiers = [{"name": f"priority-{priority}", "match": {"names": list(names)}} for priority, names in imported.priorities]
        merge(conversion.spec, {"tiers": tiers})
    files = {"policy.yaml": "\n".join(_policy(conversion, imported, name, assembly)) + "\n"}
    if groups:
        files["groups.yaml"] = "---\n".join("\n".join(lines) + "\n" for lines in groups)
    return files, tuple(conversion.notes)


def _discovery(cloud: str) -> list[Value]:
    """The items that need only their platform, if nothing tells which targets are meant. They are those of the cloud, or of each
    platform if no cloud is named."""
    meant = {one.provider for one in flags_of(cloud)} if cloud else {keys.provider for keys in platform_keys()}
    return [
        {"name": keys.default_discovery or keys.provider.lower(), keys.provider: {}}
        for keys in platform_keys()
        if keys.provider in meant and keys.discovery is not None and not keys.in_cloud and (cloud or keys.default_discovery)
    ]


def _other_expander(imported: ImportedSettings) -> str:
    """The set expander, if it reads no priorities; empty if it does, or if nothing shows how the autoscaler runs."""
    expanders = [word.strip().lower() for one in imported.settings if one.name in _EXPANDER for word in one.value.split(",")]
    if "priority" in expanders or not any(one.name.startswith("--") for one in imported.settings):
        return ""
    return f"the expander is {', '.join(expanders)}" if expanders else "no expander is set"


def _policy(conversion: Conversion, imported: ImportedSettings, name: str, assembly: Assembly) -> Iterable[str]:
    yield from comment("Converted from another autoscaler's settings. Read every comment, then run `reconciler plan`.")
    yield from comment(_DEFAULTS_THAT_DIFFER)
    if imported.annotated:
        yield from comment(
            f"The loop reads sizes in annotations of {count_text(imported.annotated, 'target')}, so no NodeGroup is needed there."
        )
    yield f"apiVersion: {API_VERSION}"
    yield "kind: NodeGroupPolicy"
    yield f"metadata: {{name: {flow(name)}}}"
    yield "spec:"
    yield "  mode: Observe  # nothing is written. Set Enforce once the other autoscaler is gone and you agree with the plan"
    if imported.settings or imported.sized or imported.priorities or imported.annotated or not assembly.groups:
        # A cluster with Karpenter or eksctl alone has no Cluster Autoscaler to take over from.
        yield "  adoptFrom: [cluster-autoscaler]"
    for remark in assembly.remarks:
        yield from comment(remark, 2)
    yield from _commented(conversion)
    if imported.deployment:
        names = ", ".join(dict.fromkeys(imported.deployment))
        yield from comment(f"Values about the other autoscaler's deployment, not about its decisions: {names}.", 2)
    if conversion.notes:
        yield from comment("Not converted:", 2)
    for note in conversion.notes:
        yield from comment(f"{note.setting.name}={note.setting.value} ({note.setting.file}): {note.why}", 2)


def _commented(conversion: Conversion) -> Iterable[str]:
    for key, value in conversion.spec.items():
        sources = [text for path, texts in conversion.taken.items() if _below(path, key) for text in texts]
        if sources:
            yield from comment(f"from {', '.join(dict.fromkeys(sources))}", 2)
        yield from block({key: value}, 2)


def _below(path: str, key: str) -> bool:
    return path.removeprefix("spec.").partition(".")[0] == key


class _Group(msgspec.Struct, frozen=True):
    """A target with its range, and the source of both."""

    origin: str
    name: str
    namespace: str
    target: Value
    low: int
    high: int


def _sized(entry: Sized) -> _Group:
    one = entry.target
    ref = TargetRef(kind=known_kind(one.api_group, one.kind), namespace=one.namespace, name=one.name)
    rules = rules_of(ref.kind)
    target: Value = dict(rules.policy_value(ref)) if rules is not None else {}
    origin = f"from {one.by} for {one.kind} {one.namespace}/{one.name} ({entry.file})"
    return _Group(origin, one.name, one.namespace, target, one.min_size, one.max_size)


def _group(made: _Group, name: str, policy: str) -> list[str]:
    return [
        *comment(made.origin),
        f"apiVersion: {API_VERSION}",
        "kind: NodeGroup",
        f"metadata: {flow({'name': name, 'namespace': made.namespace or 'reconciler'})}",
        "spec:",
        f"  policyRef: {{name: {flow(policy)}}}",
        f"  target: {flow(made.target)}",
        f"  size: {{min: {made.low}, max: {made.high}}}",
    ]


def _waiting(planned: PlannedGroup, name: str, policy: str) -> list[str]:
    """A group that takes effect only once somebody writes its target."""
    group = planned.group
    meta: dict[str, Value] = {"name": name, "namespace": "reconciler"}
    if group.labels:
        meta["labels"] = dict(group.labels)
    lines = [
        *comment(planned.origin),
        f"apiVersion: {API_VERSION}",
        "kind: NodeGroup",
        f"metadata: {flow(meta)}",
        "spec:",
        f"  policyRef: {{name: {flow(policy)}}}",
        f"  target: {flow(dict(group.target))}  # {to_write(group)}",
        *block(planned.fields, 2),
    ]
    return commented_out(lines, group.missing)
