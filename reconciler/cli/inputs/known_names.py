"""Names that an argument may have: of groups, nodes, pods and namespaces, from the snapshot or cluster that the options name.

For completion alone: a person waits for the answer, so there is little time, and errors are not reported.
"""

import contextlib
import io
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from reconciler.values.decoding import decode

if TYPE_CHECKING:
    from reconciler.cluster.world import World


PATIENCE_SECONDS = 3.0
LARGEST_SNAPSHOT_BYTES = 64 << 20
"""A larger one takes longer to read than anybody waits."""
MOST_OBJECTS = 500
"""That a server is asked for, in the order of their names."""


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Item(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Listed(msgspec.Struct):
    items: list[_Item] = msgspec.field(default_factory=list)


def known_names(what: str, options: Mapping[str, Any], incomplete: str, *, pending: bool = False) -> list[str]:
    """Names of all `group`, `value` (group/field), `node`, `pod` or `namespace` there are, sorted; none where they cannot be had
    soon. `pending`: of pods those without a node."""
    path = options.get("cluster_path")
    names: list[str] = []

    def look() -> None:
        with contextlib.suppress(Exception):
            names.extend(
                _in_snapshot(what, path, options, pending=pending) if path else _live(what, options, incomplete, pending)
            )

    with contextlib.redirect_stderr(io.StringIO()):
        # A thread that is left behind ends with the process, which is about to end.
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(PATIENCE_SECONDS)
    return sorted(set(names))


def _in_snapshot(what: str, path: Path, options: Mapping[str, Any], *, pending: bool) -> list[str]:
    from reconciler.cli.inputs.cluster_files import load_world

    files = [path] if path.is_file() else path.rglob("*")
    if sum(file.stat().st_size for file in files if file.is_file()) > LARGEST_SNAPSHOT_BYTES:
        return []
    world = load_world(path)
    if what in ("group", "value"):
        return _groups(world, options, values=what == "value")
    if what == "node":
        return [node.name for node in world.nodes]
    pods = world.pods
    keys = [pods.key(index) for index in range(len(pods)) if not pending or pods.node[index] < 0]
    return keys if what == "pod" else [key.partition("/")[0] for key in keys]


def _groups(world: "World", options: Mapping[str, Any], *, values: bool) -> list[str]:
    """As the policy calls them, or the fields of each that have a value; `fit` reads none and calls them as their targets are
    called."""
    if "policy_path" not in options:
        from reconciler.scheduling.fit import targets_of_nodes

        return list(targets_of_nodes(world).values())
    from reconciler.cli.inputs.plan_inputs import read_policy
    from reconciler.cluster.world import identity_of
    from reconciler.decisions.groups.effective_groups import effective_groups

    now_seconds = world.captured_seconds or int(time.time())
    policy = read_policy(options["policy_path"], options.get("name"), now_seconds, identity_of(world))
    groups = effective_groups(world, policy, now_seconds)
    if values:
        return [f"{group.name}/{field}" for group in groups for field in group.chains]
    return [group.name for group in groups]


def _live(what: str, options: Mapping[str, Any], incomplete: str, pending: bool) -> list[str]:  # noqa: FBT001 - one caller
    from reconciler.cli.inputs.connections import ConnectionChoice

    names = ConnectionChoice.__struct_fields__
    choice = ConnectionChoice(**{name: options[name] for name in names if options.get(name)})
    if what in ("group", "value"):
        from reconciler.cli.inputs.live_inputs import LiveInputs

        return _groups(LiveInputs(choice).world(targets_only=True), options, values=what == "value")
    from reconciler.kube.connection.transport import connect

    api = connect(choice.kubeconfig, choice.context, timeout_seconds=PATIENCE_SECONDS)

    def listed(path: str, **query: str) -> list[_Meta]:
        body = api.get(path, {"limit": str(MOST_OBJECTS), **query})
        return [item.metadata for item in decode(body, _Listed).items]

    if what == "node":
        return [meta.name for meta in listed("/api/v1/nodes")]
    if what == "namespace":
        return [meta.name for meta in listed("/api/v1/namespaces")]
    namespace, slash, _ = incomplete.partition("/")
    selector = {"fieldSelector": "spec.nodeName="} if pending else {}
    pods = listed(f"/api/v1/namespaces/{namespace}/pods" if slash else "/api/v1/pods", **selector)
    return [f"{meta.namespace}/{meta.name}" for meta in pods]
