"""How infrastructure tools (Terraform, eksctl, CloudFormation …) declare the sizes of one platform's targets."""

from functools import cache

import msgspec

from reconciler import registered_platforms


class DeclaredType(msgspec.Struct, frozen=True, kw_only=True):
    """One type of resource of a tool, with the path to the size of the target that comes of it.

    `tool` is one of `policy.manifests.infrastructure_tools`. `type` is the tool's name of the type. For an object of an API
    server it is `Kind.group`, and `list.Kind.group` where the object lists groups. For a module it is the input that lists groups
    (empty: the module is one group). `size` is a path below the resource. `name` is the path to its name, and `called` is
    what its target is then called: `{name}` is that name, `*` what a cloud chooses. `prefix` is the path to the beginning of
    a name. `unnamed` is the target's name where neither is there; `{key}` is what the tool calls the resource. `cluster` is
    the path to the cluster's name, which is `{cluster}` in `called` and in `made`, the tags that come by themselves. `tags`
    are paths to other tags of the target. `module` are texts of which one is in the source of a Terraform module that makes
    such targets. `kept`: why a later change of the size has no effect (empty: it has one). `keep` is an input with which a
    module ignores the size.
    """

    tool: str
    type: str
    size: tuple[str, ...]
    name: tuple[str, ...] = ("name",)
    prefix: tuple[str, ...] = ()
    called: str = "{name}"
    unnamed: str = "*"
    cluster: tuple[str, ...] = ()
    region: tuple[str, ...] = ("region",)
    tags: tuple[tuple[str, ...], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    module: tuple[str, ...] = ()
    kept: str = ""
    keep: str = ""


class PlatformDeclarations(msgspec.Struct, frozen=True, kw_only=True):
    """The types of one platform. `provider` is its key in policies."""

    provider: str
    types: tuple[DeclaredType, ...]


@cache
def platform_declarations() -> tuple[PlatformDeclarations, ...]:
    """Those of all platforms whose targets such tools make."""
    return registered_platforms.parts("declared_types", "DECLARATIONS")
