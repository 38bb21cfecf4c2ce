"""What a change of manifests does to the sizes that they declare, read by what `validate --manifests` reads them with."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.policy.documents import PolicySet
from reconciler.policy.manifests.declared_sizes import manifest_problems
from reconciler.policy.manifests.infrastructure_sizes import infrastructure_sizes
from reconciler.policy.manifests.infrastructure_tools import HCL_ENDINGS, ReadManifest, read_manifest, resources_of
from reconciler.policy.manifests.manifest_object import (
    ManifestObject,
    entry_of,
    manifest_objects,
    pair_of,
    shown,
    text_of,
    topology_entries,
)
from reconciler.policy.manifests.parent_sizes import parent_sizes
from reconciler.policy.place import Place
from reconciler.policy.platform.declarations import platform_declarations
from reconciler.policy.platform.manifests import manifests_by_group, platform_manifests, workers_field
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem import Problem
from reconciler.policy.yaml_nodes import Node, spot_of, spot_of_entry

_UNREADABLE = "ManifestUnreadable"


class SizeChange(msgspec.Struct, frozen=True, kw_only=True):
    """One declared size, or annotation that bounds one, that a change of manifests brings, changes or takes away.

    `what` names the object and `path` the place in it; `before` and `after` are as written, None: not there. `problem` is what
    `validate --manifests` says of it at the head (None: nothing, since no group of the policies decides it).
    """

    place: Place
    what: str
    path: str
    before: str | None
    after: str | None
    problem: Problem | None = None


class _Holder(msgspec.Struct, frozen=True):
    """What declares sizes: an object, or an entry of a topology, whose path is `prefix`. `kind` is with its API group."""

    kind: str
    title: str
    prefix: str = ""


class _Size(msgspec.Struct, frozen=True):
    what: str
    value: str
    place: Place


class _Declared(msgspec.Struct):
    """All sizes of some files by holder and path below the object, and where each holder is named."""

    sizes: dict[tuple[_Holder, str], _Size]
    named: dict[_Holder, tuple[str, Place]]


def size_changes(
    base: tuple[Mapping[str, bytes], tuple[PolicySet, ...]],
    head: tuple[Mapping[str, bytes], tuple[PolicySet, ...]],
    group: str = "",
) -> tuple[SizeChange, ...]:
    """By place at the head. Files map a path, as it is to be printed, to bytes, and may move; `group` is as in
    `manifests_by_group`. For a file that does not change, only what the policies newly claim is reported."""
    old_files, new_files = (_concerned(files, group) for files in (base[0], head[0]))
    before, after = _declared(old_files, group), _declared(new_files, group)
    then, now = _problems(old_files, base[1], group), _problems(new_files, head[1], group)
    kept = frozenset(old_files.values())
    changes = []
    for key, size in after.sizes.items():
        old, problem = before.sizes.get(key), now.get(size.place)
        same_object = old is not None and old.place in then and new_files[size.place.path] in kept
        if (problem is not None and not same_object) or (old is not None and old.value != size.value):
            value = None if old is None else old.value
            changes.append(_change(size.what, key[1], size.place, value, size.value, problem))
    for key, old in before.sizes.items():
        if key not in after.sizes and key[0] in after.named:
            what, place = after.named[key[0]]
            changes.append(_change(what, key[1], place, old.value, None, None if "annotations" in key[1] else now.get(place)))
    for holder, (what, place) in after.named.items():
        path = _replicas(holder)
        if place in now and (holder, path) not in before.sizes and new_files[place.path] not in kept:
            changes.append(_change(what, path, place, None, None, now[place]))
    return tuple(sorted(changes, key=lambda one: (one.place, one.path)))


def _change(
    what: str, path: str, place: Place, before: str | None, after: str | None, problem: Problem | None
) -> SizeChange:  # fmt: skip
    return SizeChange(place=place, what=what, path=path, before=before, after=after, problem=problem)


def _concerned(files: Mapping[str, bytes], group: str) -> dict[str, bytes]:
    """Files that name an API group or a type of which objects declare sizes: reading YAML takes long. Of Terraform's, all: one
    names what another has."""
    parents = {parent.group for platform in platform_manifests() for parent in platform.parents}
    types = {one.type.partition(".")[2] or one.type for platform in platform_declarations() for one in platform.types if one.type}
    names = [name.encode() for name in (*manifests_by_group(group), *parents, *types)]
    return {
        path: data
        for path, data in files.items()
        if path.removesuffix(".json").endswith(HCL_ENDINGS) or any(name in data for name in names)
    }


def _problems(files: Mapping[str, bytes], sets: tuple[PolicySet, ...], group: str) -> dict[Place, Problem]:
    problems = manifest_problems(files, sets, group) if files else ()
    return {problem.place: problem for problem in problems if problem.code != _UNREADABLE}


def _declared(files: Mapping[str, bytes], group: str) -> _Declared:
    declared = _Declared(sizes={}, named={})
    platforms = manifests_by_group(group)
    read: list[ReadManifest] = []
    for path in sorted(files):
        manifest_file = read_manifest(path, files[path], Findings())
        if manifest_file is None:
            continue
        read.append(manifest_file)
        source = manifest_file.source
        for document in manifest_file.documents:
            for item in manifest_objects(document, source, platforms):
                if not _captured(item):
                    _of_object(item, declared)
            for size in parent_sizes(document):
                one = size.declared
                holder = _Holder(one.parent.known_as, one.title)
                what = f"{one.parent.kind} {one.title}"
                place = source.place(size.spot)
                declared.sizes[holder, one.path] = _Size(what, shown(one.value), place)
                declared.named.setdefault(holder, (what, place))
    for written in infrastructure_sizes(resources_of(read)):
        if written.value:
            holder = _Holder(written.tool, written.what)
            declared.sizes[holder, written.path] = _Size(written.what, written.value, written.place)
    return declared


def _captured(item: ManifestObject) -> bool:
    """Whether it was read from an API server and is not a manifest: a snapshot may be in the same repository."""
    return bool(text_of(entry_of(item.node, "metadata"), "uid"))


def _of_object(item: ManifestObject, declared: _Declared) -> None:
    kind, what = f"{item.kind}.{item.group}", f"{item.kind} {item.title}"
    if not item.topology:
        metadata = entry_of(item.node, "metadata")
        _add(item, _Holder(kind, item.title), what, (entry_of(item.node, "spec"), metadata, metadata), declared)
        return
    for made, entry in topology_entries(item):
        prefix = f"spec.topology.workers.{workers_field(made)}[name={text_of(entry, 'name')}]."
        _add(item, _Holder(kind, item.title, prefix), what, (entry, entry, entry_of(entry, "metadata")), declared)


def _replicas(holder: _Holder) -> str:
    return f"{holder.prefix}replicas" if holder.prefix else "spec.replicas"


def _add(
    item: ManifestObject, holder: _Holder, what: str, parts: tuple[Node | None, Node | None, Node | None], declared: _Declared
) -> None:
    """`parts` have the replicas, the name and the annotations."""
    spec, named, metadata = parts
    name = pair_of(named, "name")
    declared.named[holder] = (what, item.source.place(spot_of(item.node) if name is None else spot_of_entry(*name)))
    for path, pair in _pairs(item, holder, spec, metadata):
        declared.sizes[holder, path] = _Size(what, shown(pair[1]), item.source.place(spot_of_entry(*pair)))


def _pairs(
    item: ManifestObject, holder: _Holder, spec: Node | None, metadata: Node | None
) -> Iterator[tuple[str, tuple[Node, Node]]]:
    if (pair := pair_of(spec, "replicas")) is not None:
        yield _replicas(holder), pair
    annotations = entry_of(metadata, "annotations")
    for key in item.sizes:
        if (pair := pair_of(annotations, key)) is not None:
            yield f"{holder.prefix}metadata.annotations[{key}]", pair
