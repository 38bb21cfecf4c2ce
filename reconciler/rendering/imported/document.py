"""What was found elsewhere as policy files with comments: what each value came from, and why something is missing."""

from collections.abc import Iterable

from reconciler.cluster.platform_reading import known_kind
from reconciler.cluster.target import TargetRef
from reconciler.decisions.platform_rules import rules_of
from reconciler.policy.documents import API_VERSION
from reconciler.policy.platform_keys import platform_keys
from reconciler.rendering.first_policy import policy_name
from reconciler.rendering.imported.conversion import Conversion, Note
from reconciler.rendering.imported.settings import Found, Sized
from reconciler.rendering.policy_yaml import Value, block, comment, flow

_DEFAULTS_THAT_DIFFER = (
    "Defaults that differ on purpose: system pods without a disruption budget keep their node for ever (the Cluster Autoscaler's "
    "is drain.systemPodTimeout: 1h), balancing is off until asked for, ties are broken by name."
)


def imported_policy(found: Found, name: str, region: str = "") -> tuple[dict[str, str], tuple[Note, ...]]:
    """File name -> YAML, and what is not in it. Raises `PlaceNeededError`."""
    region = region or found.region
    conversion = Conversion(region, prioritized=bool(found.priorities))
    for setting in found.settings:
        conversion.take(setting)
    conversion.finish()
    groups = [_sized(one, name) for one in found.sized]
    for low, high, named, setting in conversion.nodes:
        origin = f"from {setting.name}={setting.value} ({setting.file})"
        target: Value = {key: dict(value) for key, value in named.target.items()}
        groups.append(_group(origin, named.name, named.namespace, name, target, low, high))
    if not groups and "discovery" not in conversion.spec:
        conversion.spec["discovery"] = [
            {"name": keys.default_discovery, keys.provider: {}} for keys in platform_keys() if keys.default_discovery
        ]
    if found.priorities:
        conversion.spec["tiers"] = [
            {"name": f"priority-{priority}", "match": {"names": list(names)}} for priority, names in found.priorities
        ]
    files = {"policy.yaml": "\n".join(_policy(conversion, found, name)) + "\n"}
    if groups:
        files["groups.yaml"] = "---\n".join("\n".join(lines) + "\n" for lines in groups)
    return files, tuple(conversion.notes)


def _policy(conversion: Conversion, found: Found, name: str) -> Iterable[str]:
    yield from comment("Converted from another autoscaler's settings. Read every comment, then `reconciler plan`.")
    yield from comment(_DEFAULTS_THAT_DIFFER)
    if found.annotated:
        yield from comment(
            f"{found.annotated} targets carry their sizes in annotations, which are read as they are: they need no NodeGroup."
        )
    yield f"apiVersion: {API_VERSION}"
    yield "kind: NodeGroupPolicy"
    yield f"metadata: {{name: {flow(name)}}}"
    yield "spec:"
    yield "  mode: Observe  # nothing is written; Enforce once the other autoscaler is gone and the plan says what you want"
    yield "  adoptFrom: [cluster-autoscaler]"
    yield from _commented(conversion)
    if found.deployment:
        names = ", ".join(dict.fromkeys(found.deployment))
        yield from comment(f"Values that say how the other autoscaler is deployed, not what it decides: {names}.", 2)
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


def _sized(found: Sized, policy: str) -> list[str]:
    one = found.target
    ref = TargetRef(kind=known_kind(one.api_group, one.kind), namespace=one.namespace, name=one.name)
    rules = rules_of(ref.kind)
    target: Value = dict(rules.policy_value(ref)) if rules is not None else {}
    origin = f"from {one.by} for {one.kind} {one.namespace}/{one.name} ({found.file})"
    return _group(origin, one.name, one.namespace, policy, target, one.min_size, one.max_size)


def _group(origin: str, name: str, namespace: str, policy: str, target: Value, low: int, high: int) -> list[str]:
    return [
        *comment(origin),
        f"apiVersion: {API_VERSION}",
        "kind: NodeGroup",
        f"metadata: {flow({'name': policy_name(name), 'namespace': namespace or 'reconciler'})}",
        "spec:",
        f"  policyRef: {{name: {flow(policy)}}}",
        f"  target: {flow(target)}",
        f"  size: {{min: {low}, max: {high}}}",
    ]
