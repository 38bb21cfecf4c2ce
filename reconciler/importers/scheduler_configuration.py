"""kube-scheduler's own configuration: the default constraints of its plugin PodTopologySpread.

SOURCE: `kubescheduler.config.k8s.io/v1`, kube-scheduler 1.36: `PodTopologySpreadArgs` with its defaults and its validation.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reconciler.policy.import_fragment import Fragment, Leftover, Piece
from reconciler.policy.object_part import ObjectPart

SCHEDULER_CONFIGURATION = ("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration")
CALLED = "kube-scheduler's KubeSchedulerConfiguration"
"""What people call the kind."""
_DEFAULT_SCHEDULER = "default-scheduler"
_PLUGIN = "PodTopologySpread"
_KEPT = ("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")
_SYSTEM = "With `defaultingType: System`, the default constraints only score. So they change no decision here."
_OWN_PROCESS = "it decides nothing about where a pod fits"
_OTHER_PLUGIN = "verdicts are those of this plugin in its default configuration"
_REASONS = {
    **dict.fromkeys(
        (
            "clientConnection", "delayCacheUntilActive", "enableContentionProfiling", "enableProfiling", "healthzBindAddress",
            "leaderElection", "metricsBindAddress", "parallelism", "percentageOfNodesToScore", "podInitialBackoffSeconds",
            "podMaxBackoffSeconds", "profiles[].percentageOfNodesToScore",
        ),
        _OWN_PROCESS,
    ),
    "extenders": "extenders are not asked: their verdicts are unknown here",
    "profiles[].plugins": "verdicts are those of the filter plugins of the default profile",
    "profiles[].pluginConfig[].args": _OTHER_PLUGIN,
}  # fmt: skip


def scheduler_configuration(item: Mapping[str, Any], _: Callable[[], str]) -> Fragment:
    """The policy fragment for a KubeSchedulerConfiguration: that of the profile `default-scheduler`, or of the only profile."""
    whole = ObjectPart(item)
    whole.value("apiVersion"), whole.value("kind")
    profiles = [(one.text("schedulerName") or _DEFAULT_SCHEDULER, one) for one in whole.parts("profiles")]
    chosen = next((pair for pair in profiles if pair[0] == _DEFAULT_SCHEDULER), profiles[0] if len(profiles) == 1 else None)
    pieces: list[Piece] = []
    left: list[Leftover] = []
    remarks: list[str] = []
    for pair in profiles:
        name, profile = pair
        for config in profile.parts("pluginConfig"):
            if config.text("name") != _PLUGIN:
                continue
            if pair is not chosen:
                left.append(config.leftover("args", "a policy describes one profile, which is that of `default-scheduler`"))
            elif _is_disabled(profile):
                left.append(config.leftover("args", f"the profile disables {_PLUGIN}, while verdicts here are with it"))
            else:
                pieces.extend(_constraints(config.part("args"), left, remarks))
                if pieces and name != _DEFAULT_SCHEDULER:
                    pieces.append(profile.piece("schedulerName", {"pods": {"schedulerNames": [name]}}))
    return Fragment(
        title="KubeSchedulerConfiguration",
        pieces=tuple(pieces),
        leftovers=(*left, *whole.leftovers(_REASONS)),
        remarks=tuple(remarks),
    )


def _constraints(args: ObjectPart, left: list[Leftover], remarks: list[str]) -> Iterator[Piece]:
    args.value("apiVersion"), args.value("kind")
    kind = args.text("defaultingType") or "System"
    constraints = args.parts("defaultConstraints")
    if kind != "List":
        remarks.extend([] if constraints else [_SYSTEM])
        left.extend(
            Leftover(path=one.here, value=one.content, why="kube-scheduler accepts it with `defaultingType: List` only")
            for one in constraints
        )
        return
    for one in constraints:
        written = {key: one.value(key) for key in _KEPT if one.value(key) is not None}
        if one.value("matchLabelKeys") is not None:
            left.append(one.leftover("matchLabelKeys", "kube-scheduler replaces the selector, so these keys have no effect"))
        if one.value("labelSelector") is not None:
            left.append(one.leftover("labelSelector", "kube-scheduler does not accept a selector in a default constraint"))
            continue
        yield Piece(path=one.here, value=one.content, tree={"scheduler": {"defaultConstraints": [written]}})


def _is_disabled(profile: ObjectPart) -> bool:
    """Whether the profile runs without the plugin. What a profile enables again is on."""
    plugins = profile.value("plugins")
    points = [plugins.get(point) for point in ("multiPoint", "filter")] if isinstance(plugins, Mapping) else []
    named = {
        key: {
            one.get("name")
            for point in points
            if isinstance(point, Mapping)
            for one in point.get(key) or ()
            if isinstance(one, Mapping)
        }
        for key in ("enabled", "disabled")
    }
    return bool({_PLUGIN, "*"} & named["disabled"]) and _PLUGIN not in named["enabled"]
