"""One `kind: NodeGroup` document: which target it sizes, and how."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from reconciler.policy.documents.group_fields import GroupFields, Hold
from reconciler.policy.field import Kind, Loosens
from reconciler.policy.keys import Key
from reconciler.policy.place import Place
from reconciler.policy.values.label_selector import Selector


def named(example: str) -> Key:
    """The name of a document."""
    return Key("The name, unique among the NodeGroups of one policy and among policies.", example, kind=Kind.OBJECT_NAME)


def policy_named(reference: Key) -> Key:
    """The name in a reference to a policy."""
    return Key("Its name.", "prod", yaml_key="name", kind=Kind.OBJECT_NAME, required=True, within=reference)


def clusters_of(what: str) -> Key:
    """In which workload clusters a document counts, which is called `what` in the description."""
    return Key(
        f"The workload clusters of this {what}, in a tree for many clusters. If omitted, all clusters. "
        "Custom resources cannot have it.",
        exactly_one_of=("names", "labels"),
        loosens=Loosens.SAFE,
    )


class TargetSpec(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Which object a NodeGroup sizes: exactly one provider key. `provider` is the key of a platform in policies."""

    provider: str
    kind: str = ""
    namespace: str = ""
    name: str
    region: str = ""
    # The role for AWS when the group is in another account. No other platform uses it, and the name is AWS's. It stays here
    # because saved plans and approvals hold the digest of the policy. The digest covers each attribute of a group by its name,
    # so another name or a struct of the platform would change every digest.
    role_arn: str = ""


class ClusterMatch(msgspec.Struct, frozen=True, kw_only=True):
    """In which workload clusters a document counts: those with one of the `names` (`name` or `namespace/name`), or those whose
    Cluster object has `labels`. Neither: in every cluster."""

    names: Annotated[
        tuple[str, ...],
        Key(
            "Names of clusters, with or without the namespace of the Cluster object.",
            ("prod-7", "fleet/prod-8"),
            minimum=1,
            item="One cluster.",
            pattern="([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?",
        ),
    ] = ()
    labels: Annotated[Selector | None, Key("Labels of the Cluster object.")] = None


class NodeGroup(GroupFields, frozen=True, kw_only=True):
    """One `kind: NodeGroup` document. `places` maps a field path (`spec.size.min`) to where it was written."""

    name: Annotated[str, named("general-a")]
    namespace: Annotated[str, Key("The namespace of this object as a custom resource.", "reconciler", kind=Kind.OBJECT_NAME)] = ""
    labels: Annotated[
        tuple[tuple[str, str], ...], Key("Labels, by which limits select groups.", "reserve: h100", kind=Kind.LABEL_MAP)
    ] = ()
    policy_ref: Annotated[
        str,
        policy_named(Key("The NodeGroupPolicy that this group belongs to.", yaml_key="policyRef", loosens=Loosens.SAFE)),
    ]
    clusters: Annotated[ClusterMatch, clusters_of("group")] = ClusterMatch()
    target: Annotated[TargetSpec, Key("The object whose replicas this group sizes.")]
    nodes: Annotated[Selector | None, Key("The nodes of the group. Set it only if the target does not show them.")] = None
    tier: Annotated[
        str | None,
        Key(
            "The tier of the group. If omitted, the first tier that matches the group.",
            "on-demand",
            kind=Kind.NAME,
            loosens=Loosens.SAFE,
        ),
    ] = None
    place: Place
    places: Mapping[str, Place] = {}

    def held(self, hold: Hold, place: Place) -> "NodeGroup":
        """Its name and its target alone, under this hold: the rest may be wrong."""
        return NodeGroup(
            name=self.name, namespace=self.namespace, labels=self.labels, policy_ref=self.policy_ref, target=self.target,
            hold=hold, place=self.place, places={**self.places, "spec.hold": place},
        )  # fmt: skip
