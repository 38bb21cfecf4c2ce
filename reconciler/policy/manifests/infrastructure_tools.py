"""Resources in files of infrastructure tools: Terraform's HCL, JSON and plans, CloudFormation, eksctl, Pulumi, Crossplane, ACK.

Files are data: nothing in them is executed, fetched or followed. A module in another place is not read.

SOURCE: Terraform's language, its JSON syntax and the JSON format of `terraform show -json`. The anatomy of CloudFormation
templates, `eksctl.io/v1alpha5` and Pulumi YAML. The definitions of Crossplane and AWS Controllers for Kubernetes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from reconciler.policy.manifests.manifest_object import entry_of, objects_of, text_of, texts_of
from reconciler.policy.manifests.written_text import Scope, Written, resolved, text_in
from reconciler.policy.platform.declarations import DeclaredType, platform_declarations
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.hcl_text import hcl_body
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.yaml_nodes import Mapping as MappingNode
from reconciler.policy.yaml_nodes import Node, Scalar, Sequence

HCL_ENDINGS = (".tf", ".tofu", ".tfvars")
ENDINGS = (*HCL_ENDINGS, ".template")
"""The endings of files that tools read, besides those of YAML and JSON."""
_MOST_VALUES, _MOST_DEFINITIONS = 50, 8
_ALWAYS = ("terraform.tfvars", "terraform.tfvars.json", ".auto.tfvars", ".auto.tfvars.json")
_TEXTS = Scope(templates=True)
_MODULE_SIZES = frozenset({"desired_size", "desired_capacity", "asg_desired_capacity", "desired_nodes"})
_ANY_MODULE = DeclaredType(tool="Terraform", type="module", size=(), name=())


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """`writes`: when a tool writes a size that it declares. `instead`: what to write; `{path}` is the declared field."""

    writes: str
    instead: str


TOOLS: Mapping[str, Tool] = {
    "Terraform": Tool(writes="every apply", instead="write lifecycle {{ ignore_changes = [{path}] }} in this resource"),
    "CloudFormation": Tool(writes="an update of the stack", instead="delete this line: without it CloudFormation keeps the size"),
    "eksctl": Tool(writes="`eksctl scale` with this file", instead="delete this line: a new group begins with minSize"),
    "Pulumi": Tool(writes="`pulumi up`", instead="write options: {{ignoreChanges: [{path}]}} in this resource"),
    "Crossplane": Tool(
        writes="every reconciliation",
        instead="move it from spec.forProvider to spec.initProvider, which applies only when the group is made",
    ),
    "ACK": Tool(
        writes="every reconciliation",
        instead="add the annotation eks.services.k8s.aws/desired-size-managed-by: external-autoscaler",
    ),
}


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a tool, of a type that declares a size. `key` is what the tool calls it, `body` has its fields and is
    None where it was not evaluated: then `spot` is what was not. `top` has the name of the cluster where that is not in the body.
    `ignored` are the fields of which its file says that later changes have no effect; `*`: all."""

    provider: str
    type: DeclaredType
    key: str
    body: Node | None
    scope: Scope
    source: Source
    spot: Node
    named: Node | None = None
    top: Node | None = None
    ignored: tuple[str, ...] = ()


class ReadManifest(msgspec.Struct, frozen=True):
    """One file as it was read: YAML and JSON as documents, HCL as one."""

    source: Source
    documents: tuple[Node, ...]


def read_manifest(path: str, data: bytes, findings: Findings) -> ReadManifest | None:
    """The file at `path`, with what is wrong with it in `findings`; None if it is not text."""
    decoded = read_source(path, data, findings)
    if decoded is None:
        return None
    if path.endswith(HCL_ENDINGS):
        body = hcl_body(*decoded, findings)
        return ReadManifest(decoded[0], () if body is None else (body,))
    return ReadManifest(decoded[0], tuple(compose_documents(*decoded, findings, tags=True)))


def resources_of(files: Iterable[ReadManifest]) -> Iterator[Resource]:
    """Those of all files. Terraform's references are followed within a directory."""
    directories: dict[str, list[ReadManifest]] = {}
    for one in files:
        if one.source.path.removesuffix(".json").endswith(HCL_ENDINGS):
            directories.setdefault(one.source.path.rpartition("/")[0], []).append(one)
            continue
        for document in one.documents:
            yield from _of_document(document, one.source)
    for members in directories.values():
        values = _references(members)
        for one in members:
            scope = Scope(values=values, bare=not one.source.path.endswith(".json"), templates=True)
            for document in one.documents if not _has_values(one) else ():
                yield from _of_configuration(document, one.source, scope)


def _has_values(one: ReadManifest) -> bool:
    return one.source.path.removesuffix(".json").endswith(".tfvars")


def _of_document(document: Node, source: Source) -> Iterator[Resource]:
    if not isinstance(document, MappingNode):
        return
    if entry_of(document, "resource_changes") is not None:
        yield from _planned(document, source)
    elif isinstance(entry_of(document, "Resources"), MappingNode):
        yield from _of_stack(document, source)
    elif isinstance(entry_of(document, "resources"), MappingNode) and not text_of(document, "apiVersion"):
        yield from _of_pulumi(document, source)
    else:
        for item in objects_of(document):
            yield from _of_object(item, source)


def _types(tool: str, kind: str) -> Iterator[tuple[str, DeclaredType]]:
    for platform in platform_declarations():
        for one in platform.types:
            if (one.tool, one.type) == (tool, kind):
                yield platform.provider, one


def _many(node: Node | None) -> Iterator[Node]:
    """A block, or each of those that JSON lists."""
    if isinstance(node, Sequence):
        yield from node.items
    elif node is not None:
        yield node


def _pairs(node: Node | None) -> Iterator[tuple[Scalar, Node]]:
    for one in _many(node):
        for key, value in one.pairs if isinstance(one, MappingNode) else ():
            if isinstance(key, Scalar):
                yield key, value


def _blocks(body: Node, kind: str) -> Iterator[Node]:
    for key, value in _pairs(body):
        if key.text == kind:
            yield from _many(value)


def _references(members: Iterable[ReadManifest]) -> dict[str, tuple[Written, ...]]:
    """What variables and locals of one directory may stand for. Values that are always read replace defaults. A name with more
    definitions than people write is not known."""
    always: dict[str, list[Written]] = {}
    others: dict[str, list[Written]] = {}
    for one in members:
        for body in one.documents:
            if _has_values(one):
                into = always if one.source.path.endswith(_ALWAYS) else others
                for key, value in _pairs(body):
                    into.setdefault(f"var.{key.text}", []).append(Written(one.source, value))
                continue
            for key, variable in (pair for block in _blocks(body, "variable") for pair in _pairs(block)):
                if (default := entry_of(variable, "default")) is not None:
                    others.setdefault(f"var.{key.text}", []).append(Written(one.source, default))
            for key, value in (pair for block in _blocks(body, "locals") for pair in _pairs(block)):
                always.setdefault(f"local.{key.text}", []).append(Written(one.source, value))
    return {name: tuple(values) for name, values in (others | always).items() if len(values) <= _MOST_DEFINITIONS}


def _of_configuration(body: Node, source: Source, scope: Scope) -> Iterator[Resource]:
    for block in _blocks(body, "resource"):
        for kind, named in _pairs(block):
            for provider, declared in _types("Terraform", kind.text):
                for key, resource in _pairs(named):
                    for one in _many(resource):
                        lifecycle = entry_of(one, "lifecycle")
                        ignored = [entry_of(each, "ignore_changes") for each in _many(lifecycle)]
                        yield Resource(
                            provider=provider, type=declared, key=key.text, body=one, scope=scope, source=source, spot=key,
                            ignored=tuple(_listed(item) for item in ignored for item in _many(item)),
                        )  # fmt: skip
    for block in _blocks(body, "module"):
        for key, module in _pairs(block):
            for one in _many(module):
                yield from _of_module(key, one, source, scope)


def _listed(item: Node) -> str:
    """A field of a list of ignored ones."""
    text = item.text if isinstance(item, Scalar) else ""
    return "*" if text == "all" else text


def _of_module(key: Scalar, module: Node, source: Source, scope: Scope) -> Iterator[Resource]:
    origin = text_of(module, "source")
    read: set[str] = set()
    found = [
        (platform.provider, one)
        for platform in platform_declarations()
        for one in platform.types
        if one.module and any(text in origin for text in one.module)
    ]
    whole = "//modules/" in origin
    for provider, declared in found:
        if declared.type and not whole:
            yield from _of_input(provider, declared, module, source, scope, read)
        elif not declared.type and declared.module[0].startswith("modules/") == whole:
            read.update(declared.size)
            keep = text_in(entry_of(module, declared.keep), scope) == "true" if declared.keep else False
            yield Resource(
                provider=provider, type=declared, key=key.text, body=module, scope=scope, source=source, spot=key,
                ignored=("*",) if keep else (),
            )  # fmt: skip
    for name, value in _pairs(module):
        if name.text not in read:
            for spot in islice(_named_sizes(name, value), _MOST_VALUES):
                yield Resource(
                    provider="", type=_ANY_MODULE, key=key.text, body=None, scope=scope, source=source, spot=spot
                )  # fmt: skip


def _of_input(
    provider: str, declared: DeclaredType, module: Node, source: Source, scope: Scope, read: set[str]
) -> Iterator[Resource]:
    """The groups that an input of the common module lists, or the defaults of all."""
    value = entry_of(module, declared.type)
    if value is None:
        return
    read.add(declared.type)
    for written in islice(resolved(Written(source, value), scope), _MOST_VALUES):
        entries: Iterable[tuple[str, Node, Node]]
        if declared.type.endswith("_defaults"):
            entries = (("defaults", written.node, written.node),)
        elif isinstance(written.node, Sequence):
            entries = ((str(number), item, item) for number, item in enumerate(written.node.items))
        else:
            entries = ((key.text, key, item) for key, item in _pairs(written.node))
        if isinstance(written.node, Scalar):
            entries = (("", written.node, written.node),)
        for key, spot, item in entries:
            for body in islice(resolved(Written(written.source, item), scope), _MOST_VALUES):
                evaluated = isinstance(body.node, MappingNode)
                yield Resource(
                    provider=provider, type=declared, key=key, body=body.node if evaluated else None, scope=scope,
                    source=body.source if evaluated else written.source, spot=spot, top=module,
                )  # fmt: skip


def _named_sizes(name: Scalar, value: Node) -> Iterator[Node]:
    """Where an input of an unknown module is called like a size, however deep."""
    if name.text in _MODULE_SIZES:
        yield name
    for key, below in _pairs(value):
        yield from _named_sizes(key, below)


def _planned(document: MappingNode, source: Source) -> Iterator[Resource]:
    """What a plan of Terraform changes: it has the size that is there, and the one that an apply writes."""
    for change in _many(entry_of(document, "resource_changes")):
        for provider, declared in _types("Terraform", text_of(change, "type")):
            changed = entry_of(change, "change")
            before, after = (entry_of(changed, side) for side in ("before", "after"))
            sizes = [text_in(at(side, declared.size), _TEXTS) for side in (before, after)]
            if before is not None and after is not None and sizes[0] != sizes[1]:
                key = text_of(change, "name")
                yield Resource(
                    provider=provider, type=declared, key=key, body=after, scope=Scope(), source=source, spot=change
                )  # fmt: skip


def _of_stack(document: MappingNode, source: Source) -> Iterator[Resource]:
    parameters = {
        key.text: (Written(source, default),)
        for key, value in _pairs(entry_of(document, "Parameters"))
        if (default := entry_of(value, "Default")) is not None
    }
    scope = Scope(values=parameters)
    for key, resource in _pairs(entry_of(document, "Resources")):
        for provider, declared in _types("CloudFormation", text_of(resource, "Type")):
            body = entry_of(resource, "Properties")
            yield Resource(provider=provider, type=declared, key=key.text, body=body, scope=scope, source=source, spot=key)


def _of_pulumi(document: MappingNode, source: Source) -> Iterator[Resource]:
    values: dict[str, tuple[Written, ...]] = {}
    for part in ("config", "configuration", "variables"):
        for key, value in _pairs(entry_of(document, part)):
            default = value if isinstance(value, Scalar) else entry_of(value, "default") or entry_of(value, "value")
            values[key.text] = () if default is None else (Written(source, default),)
    scope = Scope(values=values, templates=True)
    for key, resource in _pairs(entry_of(document, "resources")):
        for provider, declared in _types("Pulumi", text_of(resource, "type")):
            ignored = entry_of(entry_of(resource, "options"), "ignoreChanges")
            yield Resource(
                provider=provider, type=declared, key=key.text, body=entry_of(resource, "properties"), scope=scope, source=source,
                spot=key, ignored=tuple(_listed(item) for item in _many(ignored)),
            )  # fmt: skip


def _of_object(item: MappingNode, source: Source) -> Iterator[Resource]:
    group, kind = text_of(item, "apiVersion").partition("/")[0], text_of(item, "kind")
    for part, listed in _pairs(item):
        for provider, declared in _types("eksctl", f"{part.text}.{kind}.{group}"):
            for one in _many(listed):
                yield Resource(
                    provider=provider, type=declared, key=text_of(one, "name"), body=one, scope=Scope(), source=source, spot=one,
                    top=item,
                )  # fmt: skip
    for tool in ("Crossplane", "ACK"):
        for provider, declared in _types(tool, f"{kind}.{group}"):
            metadata, spec = entry_of(item, "metadata"), entry_of(item, "spec")
            annotations = texts_of(entry_of(metadata, "annotations"))
            policies = [_listed(one) for one in _many(entry_of(spec, "managementPolicies"))]
            ours = annotations.get("eks.services.k8s.aws/desired-size-managed-by") == "external-autoscaler"
            kept = ours or (bool(policies) and not {"*", "Update"} & set(policies))
            yield Resource(
                provider=provider, type=declared, key=text_of(metadata, "name"), body=item, scope=Scope(), source=source,
                spot=item, ignored=("*",) if kept else (),
                named=entry_of(entry_of(metadata, "annotations"), "crossplane.io/external-name"),
            )  # fmt: skip
    for _, value in item.pairs:  # compositions and templates have objects in them
        for below in _many(value):
            if isinstance(below, MappingNode):
                yield from _of_object(below, source)


def at(node: Node | None, path: tuple[str, ...]) -> Node | None:
    """The value at a path: of the first where a list is in the way, and of what a `dynamic` block makes."""
    pair = at_entry(node, path)
    return None if pair is None else pair[1]


def at_entry(node: Node | None, path: tuple[str, ...]) -> tuple[Node, Node] | None:
    """Key and value there."""
    *above, last = path
    for key in above:
        node = next(_many(node), None)
        below = entry_of(node, key)
        if below is None:
            below = entry_of(entry_of(entry_of(node, "dynamic"), key), "content")
        node = below
    node = next(_many(node), None)
    pairs = node.pairs if isinstance(node, MappingNode) else ()
    found = next(((key, value) for key, value in pairs if isinstance(key, Scalar) and key.text == last), None)
    return None if found is None or (isinstance(found[1], Scalar) and found[1].plain and found[1].text == "null") else found


def field_text(path: tuple[str, ...]) -> str:
    """A path as Terraform writes it: blocks are lists."""
    return "[0].".join(path)


def covers(ignored: str, path: tuple[str, ...]) -> bool:
    """Whether a field of a list of ignored ones is the size, or has it in it."""
    plain = re.sub(r"\[[0-9]+\]|\.[0-9]+(?=\.|$)", "", ignored)
    return plain == "*" or f"{'.'.join(path)}.".startswith(f"{plain}.")
