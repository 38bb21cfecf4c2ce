"""Sizes that infrastructure tools declare for targets of node groups, and whether a tool would write them again."""

from collections.abc import Iterable, Iterator

import msgspec

from reconciler.policy.documents import Discovery, PolicySet, TargetSpec
from reconciler.policy.manifests.infrastructure_tools import (
    TOOLS,
    Resource,
    at,
    at_entry,
    covers,
    field_text,
)
from reconciler.policy.manifests.manifest_object import entry_of, shown
from reconciler.policy.manifests.written_text import CHOSEN, UNKNOWN, Scope, fits, known, shown_pattern, text_in
from reconciler.policy.place import Place
from reconciler.policy.platform.declarations import platform_declarations
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.problem import Severity
from reconciler.policy.yaml_nodes import Mapping as MappingNode
from reconciler.policy.yaml_nodes import Node, Scalar, Sequence, Spot, spot_of, spot_of_entry

_ANY_TAG = ((UNKNOWN, UNKNOWN),)
_LITERAL = Scope()
_KEPT = "its file says that later changes of it are ignored"


class InfrastructureSize(msgspec.Struct, frozen=True, kw_only=True):
    """One declared size. `value` is as written; empty where the resource was not evaluated. `target` and `tags` are the name and
    tags of what it sizes, with gaps (see `written_text`). `kept`: why no tool writes it again; empty if one does."""

    provider: str
    tool: str
    what: str
    path: str
    value: str
    target: str
    region: str
    tags: tuple[tuple[str, str], ...]
    kept: str
    source: Source
    spot: Spot

    @property
    def place(self) -> Place:
        """Where it is written."""
        return self.source.place(self.spot)

    @property
    def sentence(self) -> str:
        """What it declares."""
        if not self.value:
            return f"{self.what} may declare a size: it was not evaluated"
        return f"{self.what} declares {self.path} {self.value}"


def infrastructure_sizes(resources: Iterable[Resource]) -> Iterator[InfrastructureSize]:
    """Every size that resources declare, and every resource that may declare one and was not evaluated."""
    for resource in resources:
        declared = resource.type
        pair = None if resource.body is None else at_entry(resource.body, declared.size)
        if pair is None and resource.body is not None and not _hidden(resource):
            continue
        names = {"key": resource.key, "cluster": _at_either(resource, declared.cluster)}
        name = _name(resource)
        target = (declared.called if name else declared.unnamed).replace("*", CHOSEN).format(**names, name=name)
        made = tuple(
            (key.format(**names, name=name), value.format(**names, name=name or UNKNOWN)) for key, value in declared.made
        )
        label = f"{declared.tool} {declared.type}".rstrip()
        evaluated = pair is not None
        yield InfrastructureSize(
            provider=resource.provider,
            tool=declared.tool,
            what=f"{label} {resource.key}".rstrip(),
            path=field_text(declared.size) if declared.tool == "Terraform" else ".".join(declared.size),
            value=shown(pair[1]) if pair is not None else "",
            target=target if evaluated or declared.size else UNKNOWN,
            region=_at_either(resource, declared.region),
            tags=(*made, *_tags(resource)),
            kept=declared.kept or next((_KEPT for one in resource.ignored if covers(one, declared.size)), ""),
            source=resource.source,
            spot=spot_of_entry(*pair) if pair is not None else spot_of(resource.spot),
        )


def _hidden(resource: Resource) -> bool:
    """Whether a size may be in an expression above its place."""
    paths = (resource.type.size[:count] for count in range(1, len(resource.type.size)))
    return any(isinstance(at(resource.body, path), Scalar) for path in paths)


def _name(resource: Resource) -> str:
    """The name that the tool gives it; empty where its cloud or tool chooses one."""
    if resource.body is None:
        return resource.key or UNKNOWN
    named = resource.named or (at(resource.body, resource.type.name) if resource.type.name else None)
    if named is not None:
        return text_in(named, resource.scope)
    prefix = at(resource.body, resource.type.prefix) if resource.type.prefix else None
    return "" if prefix is None else text_in(prefix, resource.scope) + CHOSEN


def _at_either(resource: Resource, path: tuple[str, ...]) -> str:
    nodes = (at(part, path) if path else None for part in (resource.body, resource.top))
    return text_in(next((node for node in nodes if node is not None), None), resource.scope)


def _tags(resource: Resource) -> tuple[tuple[str, str], ...]:
    """Tags that the resource writes, with what is unknown of them."""
    tags: list[tuple[str, str]] = []
    if resource.body is None:
        return _ANY_TAG
    for path in resource.type.tags:
        above = at(resource.body, path[:-1]) if path[:-1] else resource.body
        pairs = above.pairs if isinstance(above, MappingNode) else ()
        for key, value in pairs:
            if text_in(key, _LITERAL) == path[-1]:
                tags += _tags_of(value, resource)
        if entry_of(entry_of(above, "dynamic"), path[-1]) is not None:
            tags += _ANY_TAG
    return tuple(tags)


def _tags_of(node: Node, resource: Resource) -> Iterator[tuple[str, str]]:
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _tags_of(item, resource)
        return
    if not isinstance(node, MappingNode):
        yield from _ANY_TAG
        return
    for key, value in (("key", "value"), ("Key", "Value")):
        if (named := entry_of(node, key)) is not None:
            yield text_in(named, resource.scope), text_in(entry_of(node, value), resource.scope)
            return
    for key_node, value_node in node.pairs:
        yield text_in(key_node, _LITERAL), text_in(value_node, resource.scope)


class _Claim(msgspec.Struct, frozen=True):
    who: str
    place: Place
    certain: bool


def judge_sizes(
    sizes: Iterable[InfrastructureSize], sets: tuple[PolicySet, ...], findings: Findings
) -> Iterator[InfrastructureSize]:
    """Report the sizes that a node group decides, or may decide. The rest is returned: sizes of no group, and those kept."""
    for size in sizes:
        findings.open(size.source)
        claim = _claim(size, sets)
        if claim is None or size.kept:
            yield size
            continue
        tool = TOOLS[size.tool]
        related = ((claim.place, f"{claim.who} is written here"),)
        instead = tool.instead.format(path=size.path)
        if claim.certain and size.value:
            message = f"{size.sentence}, and {claim.who} decides it: {tool.writes} would write it"
            findings.add("ReplicasInManifest", size.source, size.spot, message, instead, related=related)
            continue
        target = f" of {shown_pattern(size.target)}" if size.value else ""
        message = f"{size.sentence}{target}. Whether {claim.who} decides it is not known from these files"
        hint = f"if it does, {instead}" if size.value else "if it declares a size of that group, let its resource ignore changes"
        findings.add("SizeNotEvaluated", size.source, size.spot, message, hint, severity=Severity.WARNING, related=related)


def _claim(size: InfrastructureSize, sets: tuple[PolicySet, ...]) -> _Claim | None:
    """The group or the discovery that sizes the same target; one that surely does before one that may."""
    claims = list(_claims(size, sets))
    return next((one for one in claims if one.certain), claims[0] if claims else None)


def _claims(size: InfrastructureSize, sets: tuple[PolicySet, ...]) -> Iterator[_Claim]:
    for entry in sets:
        for group in entry.groups:
            if _same_place(size, group.target) and fits(size.target, group.target.name):
                yield _Claim(f"NodeGroup {group.name}", group.place, known(size.target))
        for item in entry.policy.discovery:
            if not _same_place(size, item) or not item.tags:
                continue
            matches = [[pair for pair in size.tags if _tagged(pair, *wanted)] for wanted in item.tags]
            if all(matches):
                certain = all(any(known("".join(pair)) for pair in match) for match in matches)
                who = f"discovery {item.name} of NodeGroupPolicy {entry.policy.name}"
                yield _Claim(who, entry.policy.place, certain)


def _tagged(pair: tuple[str, str], key: str, value: str) -> bool:
    return fits(pair[0], key) and (not value or fits(pair[1], value))


def _same_place(size: InfrastructureSize, place: Discovery | TargetSpec) -> bool:
    clouds = (size.provider,) if size.provider else tuple(one.provider for one in platform_declarations())
    return place.provider in clouds and (not place.region or not size.region or fits(size.region, place.region))


_MOST_NOTES = 20


def other_sizes(sizes: Iterable[InfrastructureSize]) -> tuple[str, ...]:
    """A note for each declared size that causes no problem, so that none is passed over in silence."""
    notes = [f"note: {size.place}: {size.sentence}: {size.kept or 'no group of the policies decides it'}" for size in sizes]
    more = len(notes) - _MOST_NOTES
    return (*notes[:_MOST_NOTES], *((f"note: {more} more declared sizes cause no problem",) if more > 0 else ()))
