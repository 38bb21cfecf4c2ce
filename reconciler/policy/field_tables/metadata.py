"""What every document carries: apiVersion, kind, metadata, status."""

from reconciler.policy.field import Field, Kind


def document(kind: str, description: str, metadata: Field, spec: Field) -> Field:
    """The root of a document of `kind`."""
    return Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description=description,
        required=True,
        children=(
            Field(
                yaml_key="apiVersion",
                kind=Kind.STRING,
                description="API group and version of this document.",
                enum=("reconciler.dev/v1alpha1",),
                required=True,
            ),
            Field(yaml_key="kind", kind=Kind.STRING, description="The kind of this document.", enum=(kind,), required=True),
            metadata,
            spec,
            Field(yaml_key="status", kind=Kind.OPAQUE, description="Written by the loop; ignored in a policy tree."),
        ),
    )


def metadata(*, namespaced: bool) -> Field:
    """The `metadata` of a document. What API servers add is accepted, so that an exported object can be checked."""
    name = Field(
        yaml_key="name",
        kind=Kind.OBJECT_NAME,
        description="The name; unique among NodeGroups of one policy, and among policies.",
        examples=("general-a",) if namespaced else ("prod",),
        required=True,
        attribute="name",
    )
    namespace = Field(
        yaml_key="namespace",
        kind=Kind.OBJECT_NAME,
        description="The namespace in which this object lives when it is applied as a custom resource.",
        examples=("reconciler",),
        attribute="namespace",
    )
    labels = Field(
        yaml_key="labels",
        kind=Kind.LABEL_MAP,
        description="Labels; limits select groups by them." if namespaced else "Labels, for people and other software.",
        examples=("reserve: h100",) if namespaced else ("team: platform",),
        attribute="labels",
    )
    added = tuple(
        Field(yaml_key=key, kind=Kind.OPAQUE, description="Written by the API server or by other software; ignored.")
        for key in (
            "annotations",
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "finalizers",
            "generateName",
            "generation",
            "managedFields",
            "ownerReferences",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    )
    return Field(
        yaml_key="metadata",
        kind=Kind.OBJECT,
        description="Name and labels of the object.",
        required=True,
        children=(name, *((namespace,) if namespaced else ()), labels, *added),
    )
