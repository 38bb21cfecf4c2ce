"""Kustomizations and Helm charts of a tree, rendered by the user's own programs, isolated from everything else.

The tree is only data for them. They get no plugins, functions or network, and an empty home directory instead of our environment.
They read a copy of the tree with only plain files, and a kustomization cannot name anything outside of it. What is not known to
be safe is not rendered.
"""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from reconciler.cluster.snapshots import yaml_texts
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.gitops.isolated_run import IsolatedRunError, isolated_output
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.tree import SUFFIXES
from reconciler.rendering.words.plain import plain, shortened

ENDINGS = (*SUFFIXES, ".tpl", ".txt", ".env", ".properties", ".conf", ".ini", ".toml", "kustomization")
"""The limit for the files that programs get."""
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART = "Chart.yaml"
_ROOTS = ("resources", "bases", "components")
_SAME = frozenset(("apiVersion", "kind", "metadata", "resources"))
# SOURCE: kustomize 5, `types.Kustomization`. Not here, since they start programs, functions or charts: generators, transformers,
# validators, helmCharts, helmChartInflationGenerator, helmGlobals.
_SAFE = _SAME | {
    "bases", "components", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "commonAnnotations", "patches",
    "patchesStrategicMerge", "patchesJson6902", "images", "imageTags", "replicas", "replacements", "vars", "configMapGenerator",
    "secretGenerator", "generatorOptions", "configurations", "crds", "openapi", "sortOptions", "buildMetadata",
}  # fmt: skip
_WORDS = 300
MOST_SECONDS = 60
"""For all places of a tree together. No program is started after that."""
_LATE = f"the places before it took more than {MOST_SECONDS} s"


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The output of one place of a tree: `text` (None: it was not rendered, and `why` states the reason). `source` is the file
    with the instructions, `reads` are the directories that it uses."""

    place: str
    source: str
    command: str
    text: bytes | None = None
    why: str = ""
    reads: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """A path for the rendered text, although it has no file."""
        return f"{self.place} (rendered)"

    def called(self, place: str) -> "Rendered":
        """The same, with the place as the reader would type it."""
        return msgspec.structs.replace(self, place=place, command=f"{self.command.removesuffix(self.place)}{place}")

    def problem(self, path: str) -> Problem:
        """A warning that it was not rendered, at the printable path of `source`."""
        return Problem(
            place=Place(path, 1, 1), code="ManifestUnrendered", severity=Severity.WARNING,
            message=f"this directory is judged as written, not as rendered: {self.why}",
            hint=f"if you trust the tree, run `{self.command}`, and name the directory with its output",
        )  # fmt: skip


def render_places(files: Mapping[str, bytes], which: Callable[[str], str | None] = shutil.which) -> tuple[Rendered, ...]:
    """Everything in a tree that must be rendered, by place: kustomizations that no other one includes, and charts. `files` by
    path with `/`; `which` returns the path of a program."""
    kustomizations = {str(PurePosixPath(path).parent): body for path, body in files.items() if _named(path) in KUSTOMIZATIONS}
    inner = {one for place, body in kustomizations.items() for one in _taken_in(place, body)}
    places = [place for place, body in kustomizations.items() if place not in inner and not _as_written(place, body)]
    charts = [str(PurePosixPath(path).parent) for path in files if _named(path) == CHART]
    tops = [place for place in charts if not any(_below(place, other) for other in charts if other != place)]
    began, rendered = time.monotonic(), []
    for place in sorted((*places, *tops)):
        late = time.monotonic() - began > MOST_SECONDS
        one = render(files, place, _no_program if late else which)
        rendered.append(msgspec.structs.replace(one, why=_LATE) if late else one)
    return tuple(rendered)


def needs_rendering(files: Mapping[str, bytes], place: str) -> bool:
    """Whether a place is a kustomization that changes what it lists, or a chart."""
    path, body = _kustomization(files, place)
    return f"{_prefix(place)}{CHART}" in files or (path != "" and not _as_written(place, body))


def render(files: Mapping[str, bytes], place: str, which: Callable[[str], str | None] = shutil.which) -> Rendered:
    """The output of a place of a tree, or why there is none."""
    chart = f"{_prefix(place)}{CHART}" in files
    name, words = ("helm", ("template", "release", ".")) if chart else ("kustomize", ("build", "."))
    source = f"{_prefix(place)}{CHART}" if chart else _kustomization(files, place)[0]
    reads = tuple(sorted(_reads(files, place)))
    rendered = Rendered(place=place, source=source, command=" ".join((name, *words[:-1], place)), reads=reads)
    refused = _schema_refused(files, place) if chart else _refused(files, place)
    program = which(name)
    if refused or program is None:
        return msgspec.structs.replace(rendered, why=refused or f"cannot find {name} on the PATH")
    if not chart:
        words = (*words, "--load-restrictor", "LoadRestrictionsRootOnly")
    try:
        return msgspec.structs.replace(rendered, text=isolated_output(files, place, (program, *words)))
    except IsolatedRunError as error:
        return msgspec.structs.replace(rendered, why=str(error))


def _no_program(_: str) -> None:
    return None


def _named(path: str) -> str:
    return path.rpartition("/")[2]


def _prefix(place: str) -> str:
    return "" if place in ("", ".") else f"{place}/"


def _below(place: str, other: str) -> bool:
    return place.startswith(_prefix(other)) and place != other


def _kustomization(files: Mapping[str, bytes], place: str) -> tuple[str, bytes]:
    return next(((path, files[path]) for name in KUSTOMIZATIONS if (path := f"{_prefix(place)}{name}") in files), ("", b""))


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        documents = [msgspec.json.decode(part) for part in yaml_texts.json_parts(body)]
    except (yaml_texts.YamlError, *DECODING_ERRORS):
        return None
    return documents[0] if len(documents) == 1 and isinstance(documents[0], dict) else None


def _as_written(place: str, body: bytes) -> bool:
    """Whether it lists files of its own directory and changes nothing."""
    document = _document(body)
    own = document is not None and all(key in _SAME for key in document)
    return own and all(_joined(place, one) is not None and not one.startswith("..") for one in _listed(document or {}, _ROOTS))


def _listed(document: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        items = document.get(key)
        yield from (str(item) for item in (items if isinstance(items, list) else ()))


def _joined(place: str, path: str) -> str | None:
    """A path relative to a place of the tree; None if it leaves the tree."""
    parts: list[str] = []
    for part in (*PurePosixPath(place).parts, *path.split("/")):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return None if path.startswith("/") else "/".join(parts)


def _taken_in(place: str, body: bytes) -> Iterator[str]:
    for one in _listed(_document(body) or {}, _ROOTS):
        joined = _joined(place, one)
        if joined is not None:
            yield joined or "."


def _reads(files: Mapping[str, bytes], place: str) -> set[str]:
    """The place, and every kustomization that it includes."""
    seen: set[str] = set()
    left = [place]
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            left += [inner for inner in _taken_in(one, _kustomization(files, one)[1]) if _kustomization(files, inner)[0]]
    return seen


def _refused(files: Mapping[str, bytes], place: str) -> str:
    """Why a kustomization, or one that it includes, may not be rendered; empty if everything in it is known to be safe."""
    for one in sorted(_reads(files, place)):
        path, body = _kustomization(files, one)
        document = _document(body)
        if document is None:
            return f"cannot read {path}"
        unknown = sorted(key for key in document if key not in _SAFE)
        if unknown:
            return f"{path} has {unknown[0]}, which may start a program"
        for listed in _listed(document, _ROOTS):
            there = _joined(one, listed)
            if there is None or (there not in files and not any(name.startswith(_prefix(there)) for name in files)):
                return f"{path} names {shortened(plain(listed), _WORDS)}, which is not in this tree, and nothing is fetched"
    return ""


_SCHEMA = "values.schema.json"
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_KNOWN_DIALECT = re.compile(r"https?://json-schema\.org/draft(-0[0-9]|/20[0-9]{2}-[0-9]{2})/schema#?")
"""helm has these; it would read any other one from a file."""


def _schema_refused(files: Mapping[str, bytes], place: str) -> str:
    """Why the schemas of a chart's values may not be used; empty if each refers to itself alone."""
    for path in files:
        if path.startswith(_prefix(place)) and _named(path) == _SCHEMA:
            try:
                left = [msgspec.json.decode(files[path])]
            except DECODING_ERRORS:
                return f"cannot read {path}"
            while left:
                value = left.pop()
                left += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
                for key, one in value.items() if isinstance(value, dict) else ():
                    own = not isinstance(one, str) or (
                        _KNOWN_DIALECT.fullmatch(one) if key == "$schema" else key not in _REFERENCES or one.startswith("#")
                    )
                    if not own:
                        return f"{path} refers to {shortened(plain(one), _WORDS)}, which is not in the same file"
    return ""
