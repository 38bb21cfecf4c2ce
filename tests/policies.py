"""Policies by short calls, for tests."""

import msgspec

from reconciler.policy.documents import Mode, NodeGroup, NodeGroupPolicy, PolicySet, Size, TargetSpec
from reconciler.policy.place import Place

_PLACE = Place("policies/test.yaml", 1, 1)


def node_group(name: str, *, min: int | None = 0, max: int | None = 10, namespace: str = "prod", **fields: object) -> NodeGroup:  # noqa: A002
    """A NodeGroup on the MachineDeployment of the same name. `fields` are those of the document type."""
    document = NodeGroup(
        name=name,
        policy_ref="test",
        target=TargetSpec(provider="clusterAPI", kind="MachineDeployment", namespace=namespace, name=name),
        size=Size(min=min, max=max),
        place=_PLACE,
    )
    return msgspec.structs.replace(document, **fields)


def policy(*groups: NodeGroup, mode: Mode = Mode.ENFORCE, **fields: object) -> PolicySet:
    """A policy over groups, Enforce unless told. `fields` are those of NodeGroupPolicy."""
    document = msgspec.structs.replace(NodeGroupPolicy(name="test", mode=mode, place=_PLACE), **fields)
    return PolicySet(policy=document, groups=tuple(sorted(groups, key=lambda group: group.name)), digest="sha256:test")
