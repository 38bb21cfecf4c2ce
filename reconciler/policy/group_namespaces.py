"""Which namespaces may have NodeGroups of a policy, and which targets these may size.

Somebody merged each NodeGroup in git. A custom resource may come from anybody who may write in a namespace, and it can name any
policy of the cluster. Therefore the policy lists the namespaces that it allows.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from reconciler.policy.field import Kind
from reconciler.policy.keys import Key
from reconciler.policy.values.pattern import matches_whole


class TargetScope(msgspec.Struct, frozen=True, kw_only=True):
    """Targets in one of these namespaces (none: in that of the NodeGroup) whose name one of these patterns matches as a whole
    (none: any name). A target without a namespace is in scope only by a pattern."""

    namespaces: Annotated[
        tuple[str, ...],
        Key(
            "Targets in these namespaces. If omitted, in the namespace of the NodeGroup.",
            ("capi-team-a",),
            kind=Kind.OBJECT_NAME,
            item="One namespace.",
        ),
    ] = ()
    names: Annotated[
        tuple[str, ...],
        Key(
            "Targets whose whole name matches one of these regular expressions. If omitted, any name. "
            "A target without a namespace (an Auto Scaling group) needs such a name.",
            ("team-a-.*",),
            kind=Kind.REGEX,
            item="One expression.",
        ),
    ] = ()


class GroupNamespace(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace whose NodeGroups count."""

    name: Annotated[str, Key("The namespace.", "team-a", kind=Kind.OBJECT_NAME)]
    targets: Annotated[TargetScope, Key("The targets that its NodeGroups may size. If omitted, those in the same namespace.")] = (
        TargetScope()
    )


class GroupRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a NodeGroup does not count: a stable code, the field that shows it, a sentence and what to do."""

    code: str
    path: str
    message: str
    hint: str


class RefusedGroup(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """An existing NodeGroup that does not count. `title` is its name for people."""

    title: str
    code: str
    message: str


def group_refusal(
    allowed: Sequence[GroupNamespace], own_namespace: str, namespace: str, target_namespace: str, target: str
) -> GroupRefusal | None:
    """Why a NodeGroup in `namespace` may not size that target; None when it may.

    `allowed` is the list of the policy. If it is empty, NodeGroups of `own_namespace` count, with any target: the namespace in
    which a loop with custom resources runs. If that is empty too, the groups come from a merged tree, and all count.
    """
    refused = namespace_refusal(allowed, own_namespace, namespace)
    entry = next((entry for entry in allowed if entry.name == namespace), None)
    if refused is not None or entry is None:
        return refused
    scope = entry.targets
    namespaces = scope.namespaces or (entry.name,)
    if target_namespace and target_namespace not in namespaces:
        return _of_target(entry.name, f"targets in {', '.join(namespaces)}, not in {target_namespace}")
    if scope.names and not any(matches_whole(pattern, target) for pattern in scope.names):
        return _of_target(entry.name, f"targets called like {', '.join(scope.names)}, not {target}")
    if not target_namespace and not scope.names:
        return _of_target(entry.name, f"targets without a namespace only by a name that the policy lists, not {target}")
    return None


def namespace_refusal(allowed: Sequence[GroupNamespace], own_namespace: str, namespace: str) -> GroupRefusal | None:
    """The part of `group_refusal` that needs no field of the NodeGroup, so that it is not read at all."""
    if not allowed:
        if not own_namespace or namespace == own_namespace:
            return None
        return _of_namespace(namespace, f"its own, {own_namespace}")
    if any(entry.name == namespace for entry in allowed):
        return None
    return _of_namespace(namespace, ", ".join(sorted(entry.name for entry in allowed)))


def _of_namespace(namespace: str, taken: str) -> GroupRefusal:
    where = f"namespace {namespace}" if namespace else "no namespace"
    return GroupRefusal(
        code="NamespaceNotAllowed",
        path="metadata.namespace",
        message=f"it is in {where}, but the policy allows only NodeGroups of {taken}",
        hint="an owner of the policy can allow the namespace with spec.groupNamespaces",
    )


def _of_target(namespace: str, why: str) -> GroupRefusal:
    return GroupRefusal(
        code="TargetNotAllowed",
        path="spec.target",
        message=f"NodeGroups of namespace {namespace} may size {why}",
        hint="an owner of the policy can allow the target with spec.groupNamespaces[].targets",
    )
