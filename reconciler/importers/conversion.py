"""Settings of another autoscaler, value by value, as those of a policy. What has no equivalent keeps a reason.

The table of fields (`cluster_autoscaler`, `elsewhere`) maps settings to fields, as in the reference.
"""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.decisions.groups.new_node import ACCELERATOR_LABELS
from reconciler.importers.amounts import CAPITAL, AmountError, number, parts, whole_number
from reconciler.importers.flag_reasons import RELEASE, WHY_NOT
from reconciler.importers.settings import Setting
from reconciler.policy.balancing import preset_of_cloud
from reconciler.policy.field import Field, Kind
from reconciler.policy.fields import document_kinds, walk
from reconciler.policy.platform.autoscaler_flags import NamedTarget, PlaceNeededError, flags_of, platform_flags
from reconciler.policy.values.pattern import CLUSTER_AUTOSCALER_EXPANDERS
from reconciler.rendering.manifests.policy_yaml import Value
from reconciler.values.decoding import decode
from reconciler.values.duration import DurationError, duration_text, parse_duration

Tree = dict[str, Value]
# OpenShift writes `LeastWaste`.
_EXPANDERS = CLUSTER_AUTOSCALER_EXPANDERS | {name.replace("-", ""): here for name, here in CLUSTER_AUTOSCALER_EXPANDERS.items()}
_GIB = "Gi"
_UNKNOWN = "$("
_REASONS = {"--max-drain-parallelism": ("Underutilized", "Unready"), "--max-empty-bulk-delete": ("Empty",)}
_OF_RUN = {
    "cloud-provider": "the kind of target defines it", "kubeconfig": "run --kubeconfig", "namespace": "run --namespace",
    "leader-elect": "run always leads by a Lease", "leader-elect-lease-duration": "run --lease-duration",
    "scan-interval": "run --period", "max-pod-eviction-time": "run --drain-timeout", "address": "run --listen",
    "enforce-node-group-min-size": "always so",
    "max-graceful-termination-sec": "pods get their own grace period in full",
    "cordon-node-before-terminating": "a leaving node is tainted before its pods go",
    "v": "run --log-level", "stderrthreshold": "logs go to stderr",
    "logtostderr": "logs go to stderr",
}  # fmt: skip


# The words for off and on of a switch in enums other than Disabled and Enabled.
_SWITCH_WORDS = (("Allow", "Block"), ("Count", "Ignore"))


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that is not in the policy, and why."""

    setting: Setting
    why: str


class UnsupportedCloudError(Exception):
    """The settings are for a cloud without a platform here, so nobody would size its groups; the message names them."""


class _NoEquivalentError(Exception):
    """A policy has no equivalent for the value; the message states why."""


class Conversion:
    """A policy's `spec` that grows by one setting after the other."""

    def __init__(self, region: str = "", cloud: str = "", *, prioritized: bool = False) -> None:
        """`region` is where a cloud's targets are: the Cluster Autoscaler takes it from its environment. `cloud` is the value of
        `--cloud-provider`, if no flag has it. `prioritized`: the priorities of its expander are known."""
        self._region = region
        self.prioritized = prioritized
        self.provider = cloud
        self.spec: Tree = {}
        self.notes: list[Note] = []
        self.taken: dict[str, list[str]] = {}
        """Path in the policy -> the settings that it comes from."""
        self.nodes: list[tuple[int, int, NamedTarget, Setting]] = []
        """Targets that flags name: min, max, and the flag."""
        self._targets: list[Setting] = []
        """Flags about targets, read once their platform is known."""
        self._accelerators: list[Setting] = []
        """Limits of accelerators, whose label depends on the platform."""
        self._fields = _equivalents()
        self._special: dict[str, Callable[[Setting], None]] = {
            "--nodes": self._targets.append, "--node-group-auto-discovery": self._targets.append, "--expander": self._expanders,
            "spec.expanders": self._expanders, "--startup-taint": self._startup_taint, "--ignore-taint": self._startup_taint,
            "--startup-taint-prefix": self._startup_prefix,
            "--max-empty-bulk-delete": self._budget, "spec.startupTaints": self._startup_taint,
            "--max-scale-down-parallelism": self._budget, "--max-drain-parallelism": self._budget,
            "--max-nodes-total": self._nodes_total, "spec.resourceLimits.maxNodesTotal": self._nodes_total,
            "--cores-total": self._range, "--memory-total": self._range, "--gpu-total": self._accelerators.append,
            "spec.resourceLimits.gpus": self._accelerators.append,
            **{f"spec.resourceLimits.{key}.{end}": self._bound for key in ("cores", "memory") for end in ("min", "max")},
        }  # fmt: skip

    def take(self, setting: Setting) -> None:
        """Add one setting, or a note about it. Raises `UnsupportedCloudError`."""
        if setting.name == "--cloud-provider":
            if not flags_of(setting.value):
                raise UnsupportedCloudError(f"--cloud-provider={setting.value} ({setting.file})")
            self.provider = setting.value
        self._noted(setting, self._taken)

    def _noted(self, setting: Setting, take: Callable[[Setting], None]) -> None:
        try:
            take(setting)
        except PlaceNeededError:
            raise PlaceNeededError(f"{setting.name}={setting.value} ({setting.file}) names no region") from None
        except (_NoEquivalentError, ValueError, DurationError) as error:
            self.notes.append(Note(setting=setting, why=str(error)))

    def _taken(self, setting: Setting) -> None:
        if _UNKNOWN in setting.value:
            raise _NoEquivalentError("it names a variable, and the file does not have its value")
        special, field = self._special.get(setting.name), self._fields.get(setting.name)
        elsewhere = settings_elsewhere().get(setting.name.removeprefix("--"), "")
        if special is not None:
            special(setting)
        elif elsewhere or field is None:
            raise _NoEquivalentError(elsewhere or _why_not(setting, self._fields))
        else:
            self._put(field.path, self._value(field, setting.value), setting)

    def _value(self, field: Field, text: str) -> Value:
        match field.kind:
            case Kind.DURATION:
                return duration_text(parse_duration(text))
            case Kind.INTEGER:
                return whole_number(text)
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
                raise _NoEquivalentError(f"it is written in another form: see {field.path}")

    def _there(self, path: str) -> list[Value]:
        values = self._at(path)
        return list(values) if isinstance(values, list) else []

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

    def _target(self, setting: Setting) -> None:
        """One flag that names targets, in the form of the platform in `--cloud-provider`. Without that flag, the form identifies
        the platform."""
        platforms = flags_of(self.provider)
        if not platforms:
            raise _NoEquivalentError(f"--cloud-provider={self.provider} has no platform here")
        if setting.name == "--nodes":
            low, high, name = parts(setting.value, "MIN:MAX:NAME")
            named = next((target for one in platforms if (target := one.named(name, self.place)) is not None), None)
            if named is None:
                raise _NoEquivalentError(f"{name} is not a target of --cloud-provider={self.provider}")
            self.nodes.append((whole_number(low), whole_number(high), named, setting))
            return
        items = self._there("spec.discovery")
        # What is discovered names its provider itself.
        of_all = (one.discovered(setting.value, self.place) for one in platform_flags())
        discovery = next((item for item in of_all if item is not None), None)
        if discovery is None:
            raise _NoEquivalentError(f"{setting.value.partition(':')[0]} is not a form of any platform here")
        self._put("spec.discovery", [*items, {"name": f"imported-{len(items) + 1}", **discovery}], setting)

    def place(self) -> str:
        """The region of the targets. Raises `PlaceNeededError` if nothing names it."""
        if not self._region:
            raise PlaceNeededError
        return self._region

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
        return "tiers are the priority: also name the file of ConfigMap cluster-autoscaler-priority-expander to get the tiers"

    def finish(self) -> None:
        """Add what follows from several settings together. Raises `PlaceNeededError`."""
        for setting in self._targets:
            self._noted(setting, self._target)
        for setting in self._accelerators:
            self._noted(setting, self._gpus)
        similar = self._at("spec.defaults.balanceWith") == "Auto"
        preset = preset_of_cloud(self.provider)
        if similar and preset and not self._there("spec.balancing.presets"):
            setting = Setting(name="--cloud-provider", value=self.provider, file="")
            self._put("spec.balancing.presets", [preset], setting)

    def known(self, setting: Setting) -> bool:
        """Whether another autoscaler has a setting of this name, if this program knows it."""
        flag = setting.name.removeprefix("--")
        if flag == setting.name and any(one in settings_elsewhere() or one in WHY_NOT for one in _flags_of_path(flag)):
            return True
        return setting.name in self._special or setting.name in self._fields or flag in settings_elsewhere() or flag in WHY_NOT

    def _startup_taint(self, setting: Setting) -> None:
        key, _, effect = setting.value.partition(":")
        key, _, value = key.partition("=")
        taint: Tree = {"key": key}
        if value:
            taint["value"] = value
        taint["effect"] = effect or "NoSchedule"
        path = "spec.defaults.template.startupTaints"
        self._put(path, [*self._there(path), taint], setting)

    def _startup_prefix(self, setting: Setting) -> None:
        """Cluster Autoscaler 1.36 looks at the beginning of the key alone, whatever the effect."""
        path = "spec.defaults.template.startupTaints"
        if not setting.value:
            return  # The default of the flag: no prefix.
        taints = [{"key": f"{setting.value}*", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
        self._put(path, [*self._there(path), *taints], setting)

    def _budget(self, setting: Setting) -> None:
        count = whole_number(setting.value)
        budget: Tree = {"nodes": count}
        reasons = _REASONS.get(setting.name)
        if reasons:
            budget["reasons"] = list(reasons)
        self._put("spec.budgets", [*self._there("spec.budgets"), budget], setting)

    def _nodes_total(self, setting: Setting) -> None:
        count = whole_number(setting.value)
        if count == 0:
            raise _NoEquivalentError("0 means no limit")
        self._limit("max", "nodes", count, setting)

    def _range(self, setting: Setting) -> None:
        low, high = map(whole_number, parts(setting.value, "MIN:MAX"))
        memory = setting.name == "--memory-total"
        for end, amount in (("min", low), ("max", high)):
            if amount:
                self._limit(end, "memory" if memory else "cpu", f"{amount}{_GIB}" if memory else amount, setting)

    def _bound(self, setting: Setting) -> None:
        _, _, resource, end = setting.name.split(".")
        amount = whole_number(setting.value)
        if amount:
            memory = resource == "memory"
            self._limit(end, "memory" if memory else "cpu", f"{amount}{_GIB}" if memory else amount, setting)

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
            try:
                gpus = decode(setting.value, dict[str, int | str])
            except DECODING_ERRORS:
                raise AmountError(f"{setting.value} is not a limit of one type of accelerator: {{type, min, max}}") from None
            kind, (low, high) = str(gpus.get("type", "")), (whole_number(str(gpus.get(end, 0))) for end in ("min", "max"))
        else:
            kind, first, second = parts(setting.value, "TYPE:MIN:MAX")
            low, high = whole_number(first), whole_number(second)
        own = next((one.accelerator_label for one in flags_of(self.provider) if self.provider), "")
        label, resource = (own or ACCELERATOR_LABELS[0], "nvidia.com/gpu") if "/" not in kind else ("", kind)
        limit: Tree = {"name": f"gpu-{kind.replace('/', '-')}"}
        if label:
            limit["nodes"] = {"matchLabels": {label: kind}}
        limit |= {end: {resource: amount} for end, amount in (("max", high), ("min", low)) if amount}
        self._put("spec.limits", [*self._there("spec.limits"), limit], setting)


def settings_elsewhere() -> dict[str, str]:
    """Flags without effect on decisions, and the setting here that replaces them: those of the program and those of platforms."""
    return {**_OF_RUN, **{flag: where for one in platform_flags() for flag, where in one.elsewhere.items()}}


def _flags_of_path(path: str) -> tuple[str, ...]:
    """The flags that a path in an object may stand for: its platform's name, its words, its last word."""
    known = [one.alike[path] for one in platform_flags() if path in one.alike]
    words = [CAPITAL.sub(lambda match: f"-{match[0].lower()}", part) for part in path.split(".")[1:]]
    return (*known, "-".join(words), *words[-1:])


def _reason_of_path(path: str, fields: Mapping[str, Field]) -> str:
    reasons = {**WHY_NOT, **settings_elsewhere()}
    flags = _flags_of_path(path)
    field = next((fields[f"--{flag}"] for flag in flags if f"--{flag}" in fields), None)
    unknown = f"it is unknown: its object has no such setting{f'. Write {field.path}' if field else ''}"
    return next((reasons[flag] for flag in flags if flag in reasons), unknown)


def _why_not(setting: Setting, fields: Mapping[str, Field]) -> str:
    flag = setting.name.removeprefix("--")
    if flag == setting.name:
        return _reason_of_path(setting.name, fields)
    return WHY_NOT.get(flag, f"it is unknown: the Cluster Autoscaler {RELEASE} has no such flag")


def _equivalents() -> dict[str, Field]:
    """Flag or path -> its field."""
    fields: dict[str, Field] = {}
    root = next(kind.root for kind in document_kinds() if kind.kind == "NodeGroupPolicy")
    for field in walk(root):
        if "[]" in field.path or field.path.startswith("spec.defaults.windows"):
            continue
        for name in (field.cluster_autoscaler, *field.elsewhere.values()):
            if name and " " not in name:
                fields.setdefault(name, field)
    return fields


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text} is neither true nor false")
    return text.lower() == "true"


def _percent(field: Field, text: str) -> int:
    """Utilization thresholds are fractions of one elsewhere; other percentages are written as such."""
    share = field.yaml_key.endswith("ThresholdPercent")
    value = number(text) * (100 if share else 1)
    if abs(value - round(value)) > 1e-9:
        raise _NoEquivalentError(f"{text} is not a whole percent: {field.path} takes {round(value)}")
    return round(value)
