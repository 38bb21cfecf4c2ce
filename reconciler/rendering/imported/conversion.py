"""Settings of another autoscaler, value by value, as those of a policy; what has no equivalent keeps a reason.

Which setting is which field stands in the table of fields (`equivalents`), as in the reference.
"""

from collections.abc import Callable

import msgspec

from reconciler.decisions.groups.accelerators import ACCELERATOR_LABELS
from reconciler.decisions.groups.discovery_spec import DiscoverySpecError, discovery_of
from reconciler.policy.field import Field, Kind
from reconciler.policy.fields import document_kinds, walk
from reconciler.policy.values.duration import DurationError, format_duration, parse_duration
from reconciler.rendering.imported.settings import Setting
from reconciler.rendering.policy_yaml import Value

Tree = dict[str, Value]
_EXPANDERS = {
    "least-waste": "LeastWaste", "leastwaste": "LeastWaste", "least-nodes": "LeastNodes",
    "most-pods": "MostPods", "price": "LeastCost",
}  # fmt: skip
_GIB = "Gi"
_REASONS = {"--max-drain-parallelism": ("Underutilized", "Unready"), "--max-empty-bulk-delete": ("Empty",)}
_OF_RUN = {
    "cloud-provider": "the kind of target says it", "kubeconfig": "run --kubeconfig",
    "cloud-config": "run --management-kubeconfig",
    "aws-use-static-instance-list": "types are asked of AWS where the rights allow it, else the table of the program stands",
    "clusterapi-cloud-config-authoritative": "run --management-kubeconfig", "namespace": "run --namespace",
    "leader-elect": "run always leads by a Lease", "leader-elect-lease-duration": "run --lease-duration",
    "scan-interval": "run --period", "max-pod-eviction-time": "run --drain-timeout", "address": "run --listen",
    "enforce-node-group-min-size": "always so", "spec.enforceNodeGroupMinSize": "always so",
    "max-graceful-termination-sec": "pods get their own grace period in full",
    "spec.maxPodGracePeriod": "pods get their own grace period in full",
    "cordon-node-before-terminating": "a leaving node is tainted before its pods go",
    "spec.scaleDown.cordonNodeBeforeTerminating": "a leaving node is tainted before its pods go",
    "v": "run --log-level", "spec.logVerbosity": "run --log-level", "stderrthreshold": "logs go to stderr",
    "logtostderr": "logs go to stderr",
}  # fmt: skip


# What off and on of a switch are called by enums that are not Disabled and Enabled.
_SWITCH_WORDS = (("Allow", "Block"), ("Count", "Ignore"))


_BALANCING = {"aws": "AWS", "azure": "Azure", "gce": "GCP"}
"""Providers that ignore labels of their own when they compare groups."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that is not in the policy, and why."""

    setting: Setting
    why: str


class RegionNeededError(Exception):
    """A setting names Auto Scaling groups without saying where they are."""


class _NoEquivalentError(Exception):
    """The value cannot be said in a policy; the message says why."""


class Conversion:
    """A policy's `spec` that grows by one setting after the other."""

    def __init__(self, region: str = "", *, prioritized: bool = False) -> None:
        """`region` is where Auto Scaling groups are: the Cluster Autoscaler takes it from its environment. `prioritized`: the
        priorities of its expander are known."""
        self.region = region
        self.prioritized = prioritized
        self.provider = ""
        self.spec: Tree = {}
        self.notes: list[Note] = []
        self.taken: dict[str, list[str]] = {}
        """Path in the policy -> the settings it came from."""
        self.nodes: list[tuple[int, int, str, Setting]] = []
        """Groups that flags name: min, max, name, and the flag."""
        self._fields = _equivalents()
        self._special: dict[str, Callable[[Setting], None]] = {
            "--nodes": self._node_group, "--node-group-auto-discovery": self._discovery, "--expander": self._expanders,
            "spec.expanders": self._expanders, "--startup-taint": self._startup_taint, "--ignore-taint": self._startup_taint,
            "--max-empty-bulk-delete": self._budget, "spec.startupTaints": self._startup_taint,
            "--max-scale-down-parallelism": self._budget, "--max-drain-parallelism": self._budget,
            "--max-nodes-total": self._nodes_total, "spec.resourceLimits.maxNodesTotal": self._nodes_total,
            "--cores-total": self._range, "--memory-total": self._range, "--gpu-total": self._gpus,
            "spec.resourceLimits.gpus": self._gpus,
            **{f"spec.resourceLimits.{key}.{end}": self._bound for key in ("cores", "memory") for end in ("min", "max")},
        }  # fmt: skip

    def take(self, setting: Setting) -> None:
        """Add one setting, or a note about it."""
        name = setting.name.removeprefix("--")
        if name == "cloud-provider":
            self.provider = setting.value
        special, field = self._special.get(setting.name), self._fields.get(setting.name)
        try:
            if special is not None:
                special(setting)
            elif name in _OF_RUN:
                raise _NoEquivalentError(_OF_RUN[name])
            elif field is None:
                raise _NoEquivalentError("there is no equivalent")
            else:
                self._put(field.path, self._value(field, setting.value), setting)
        except (_NoEquivalentError, ValueError, DurationError, DiscoverySpecError) as error:
            self.notes.append(Note(setting=setting, why=str(error)))

    def _value(self, field: Field, text: str) -> Value:
        match field.kind:
            case Kind.DURATION:
                return format_duration(parse_duration(text))
            case Kind.INTEGER:
                return int(text)
            case Kind.PERCENT:
                return _percent(field, text)
            case Kind.LIST:
                return [*self._there(field.path), *(part.strip() for part in text.split(",") if part.strip())]
            case Kind.ENUM:
                on = _switch(text)
                words = next((pair for pair in _SWITCH_WORDS if pair[1] in field.enum), ("Disabled", "Enabled"))
                return words[on]
            case _:
                if field.yaml_key == "balanceWith":
                    return "Auto" if _switch(text) else "Off"
                raise _NoEquivalentError(f"it is written otherwise: see {field.path}")

    def _there(self, path: str) -> list[Value]:
        found = self._at(path)
        return list(found) if isinstance(found, list) else []

    def _at(self, path: str) -> Value | None:
        value: Value | None = self.spec
        for key in path.removeprefix("spec.").split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def _put(self, path: str, value: Value, setting: Setting) -> None:
        *above, last = path.removeprefix("spec.").split(".")
        tree = self.spec
        for key in above:
            inner = tree.setdefault(key, {})
            assert isinstance(inner, dict)  # noqa: S101 - paths of one table never cross
            tree = inner
        tree[last] = value
        self.taken.setdefault(path, []).append(f"{setting.name}={setting.value}")

    def _node_group(self, setting: Setting) -> None:
        low, high, name = setting.value.split(":", 2)
        if "/" not in name:
            self._region(setting)
        self.nodes.append((int(low), int(high), name, setting))

    def _discovery(self, setting: Setting) -> None:
        items = self._there("spec.discovery")
        name = f"imported-{len(items) + 1}"
        if setting.value.startswith("asg:tag="):
            keys = setting.value.removeprefix("asg:tag=").split(",")
            tags: Tree = {key.partition("=")[0]: key.partition("=")[2] for key in keys}
            items.append({"name": name, "aws": {"region": self._region(setting), "tags": tags}})
        else:
            found = discovery_of(setting.value)
            item: Tree = {}
            if found.namespaces:
                item["namespaces"] = list(found.namespaces)
            if found.cluster_name:
                item["clusterName"] = found.cluster_name
            if found.labels:
                labels: Tree = {**dict(found.labels)}
                item["labels"] = labels
            items.append({"name": name, "clusterAPI": item})
        self._put("spec.discovery", items, setting)

    def _region(self, setting: Setting) -> str:
        if not self.region:
            raise RegionNeededError(f"{setting.name}={setting.value} ({setting.file}) names no region")
        return self.region

    def _expanders(self, setting: Setting) -> None:
        names = self._there("spec.expanders")
        for word in setting.value.split(","):
            known = _EXPANDERS.get(word.strip().lower())
            if known is not None and known not in names:
                names.append(known)
                self._put("spec.expanders", names, setting)
            elif known is None:
                why = {"priority": self._priority_words(), "random": "ties are broken by name"}.get(word.lower(), "unknown")
                self.notes.append(Note(setting=setting, why=f"{word}: {why}"))

    def _priority_words(self) -> str:
        if self.prioritized:
            return "tiers are the priority"
        return "tiers are the priority: name the file of ConfigMap cluster-autoscaler-priority-expander too, and they are written"

    def finish(self) -> None:
        """What follows from several settings together."""
        similar = self._at("spec.defaults.balanceWith") == "Auto"
        if similar and self.provider in _BALANCING and not self._there("spec.balancing.presets"):
            setting = Setting(name="--cloud-provider", value=self.provider, file="")
            self._put("spec.balancing.presets", [_BALANCING[self.provider]], setting)

    def known(self, setting: Setting) -> bool:
        """Whether another autoscaler has a setting of this name, as far as this program knows."""
        return setting.name in self._special or setting.name in self._fields or setting.name.removeprefix("--") in _OF_RUN

    def _startup_taint(self, setting: Setting) -> None:
        key, _, effect = setting.value.partition(":")
        key, _, value = key.partition("=")
        taint: Tree = {"key": key}
        if value:
            taint["value"] = value
        taint["effect"] = effect or "NoSchedule"
        path = "spec.defaults.template.startupTaints"
        self._put(path, [*self._there(path), taint], setting)

    def _budget(self, setting: Setting) -> None:
        count = int(setting.value)
        budget: Tree = {"nodes": count}
        reasons = _REASONS.get(setting.name)
        if reasons:
            budget["reasons"] = list(reasons)
        self._put("spec.budgets", [*self._there("spec.budgets"), budget], setting)

    def _nodes_total(self, setting: Setting) -> None:
        if int(setting.value) == 0:
            raise _NoEquivalentError("0 means no limit")
        self._limit("max", "nodes", int(setting.value), setting)

    def _range(self, setting: Setting) -> None:
        low, _, high = setting.value.partition(":")
        memory = setting.name == "--memory-total"
        for end, text in (("min", low), ("max", high)):
            if int(text):
                self._limit(end, "memory" if memory else "cpu", f"{int(text)}{_GIB}" if memory else int(text), setting)

    def _bound(self, setting: Setting) -> None:
        _, _, resource, end = setting.name.split(".")
        if int(setting.value):
            memory = resource == "memory"
            self._limit(
                end, "memory" if memory else "cpu", f"{int(setting.value)}{_GIB}" if memory else int(setting.value), setting
            )

    def _limit(self, end: str, resource: str, amount: Value, setting: Setting) -> None:
        limits = self._there("spec.limits")
        cluster = next((one for one in limits if isinstance(one, dict) and one["name"] == "cluster"), None)
        if cluster is None:
            cluster = {"name": "cluster"}
            limits.insert(0, cluster)
        bounds = cluster.setdefault(end, {})
        assert isinstance(bounds, dict)  # noqa: S101 - made so in this method alone
        bounds[resource] = amount
        self._put("spec.limits", limits, setting)

    def _gpus(self, setting: Setting) -> None:
        if setting.value.startswith("{"):
            found = msgspec.json.decode(setting.value, type=dict[str, int | str])
            kind, low, high = str(found.get("type", "")), int(found.get("min", 0)), int(found.get("max", 0))
        else:
            kind, first, second = setting.value.split(":")
            low, high = int(first), int(second)
        label, resource = (ACCELERATOR_LABELS[0], "nvidia.com/gpu") if "/" not in kind else ("", kind)
        limit: Tree = {"name": f"gpu-{kind.replace('/', '-')}"}
        if label:
            limit["nodes"] = {"matchLabels": {label: kind}}
        limit |= {end: {resource: amount} for end, amount in (("max", high), ("min", low)) if amount}
        self._put("spec.limits", [*self._there("spec.limits"), limit], setting)


def _equivalents() -> dict[str, Field]:
    """Flag or path -> the field that it is."""
    found: dict[str, Field] = {}
    root = next(kind.root for kind in document_kinds() if kind.kind == "NodeGroupPolicy")
    for field in walk(root):
        if "[]" in field.path or field.path.startswith("spec.defaults.windows"):
            continue
        for name in (field.equivalents.cluster_autoscaler, field.equivalents.openshift):
            if name and " " not in name:
                found.setdefault(name, field)
    return found


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text} is neither true nor false")
    return text.lower() == "true"


def _percent(field: Field, text: str) -> int:
    """Thresholds of utilization are shares of one elsewhere, other percentages are written as such."""
    share = field.yaml_key.endswith("ThresholdPercent")
    value = float(text) * (100 if share else 1)
    if abs(value - round(value)) > 1e-9:
        raise _NoEquivalentError(f"{text} is no whole percent: {field.path} takes {round(value)}")
    return round(value)
