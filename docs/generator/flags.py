"""Every flag of the Cluster Autoscaler, and what `import` does with it."""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from docs.generator.table import code, table
from reconciler.importers.conversion import Conversion
from reconciler.importers.flag_reasons import RELEASE
from reconciler.importers.settings import Setting
from reconciler.policy.fields import document_kinds, walk
from reconciler.policy.platform.autoscaler_flags import PlaceNeededError

_FLAGS = Path(__file__).with_name("cluster_autoscaler_flags.csv")


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """A flag: its area, name, default, and a value to test the importer with."""

    area: str
    name: str
    default: str
    example: str


def flags() -> list[Flag]:
    """All flags. SOURCE: the defaults in config/flags of the Cluster Autoscaler 1.36."""
    with _FLAGS.open(encoding="utf-8", newline="") as file:
        return [Flag(**row) for row in csv.DictReader(file)]


def becomes(flag: Flag) -> tuple[str, str]:
    """What the importer makes of the flag: the keys of a policy, or nothing and the reason."""
    conversion = Conversion("eu-central-1", prioritized=True)
    try:
        conversion.take(Setting(name=f"--{flag.name}", value=flag.example or flag.default, file="flags"))
        conversion.finish()
    except PlaceNeededError as error:
        return "", str(error)
    if conversion.nodes:
        return "NodeGroup `size` and `target`", ""
    if conversion.taken:
        return ", ".join(code(path) for path in conversion.taken), ""
    return "", conversion.notes[0].why if conversion.notes else ""


def default_here(flag: Flag) -> str:
    """Our default of the same setting, if it has one."""
    here, why = becomes(flag)
    found = _defaults().get(here.strip("`").replace("spec.defaults.", "spec."))
    return "" if why or found is None else code(found)


@cache
def _defaults() -> dict[str, str]:
    fields = [field for kind in document_kinds() for field in walk(kind.root)]
    return {
        field.path: str(field.default) for field in fields if field.default is not None and not isinstance(field.default, tuple)
    }


def flags_page() -> str:
    """The table, area by area."""
    text = (
        f"# Every flag of the Cluster Autoscaler\n\nThese are the flags of the {RELEASE} release. The third column shows what "
        "`reconciler import` makes of each one; the generator of this page runs that code. "
        "If it makes nothing, the last column states why. "
        "[Concepts](../explanation/concepts.md) explains what differs on purpose.\n"
    )
    everything = flags()
    for area in dict.fromkeys(flag.area for flag in everything):
        text += f"\n## {area}\n\n" + table(
            ["flag", "default there", "here", "default here", "why not, or instead"], _rows(everything, area)
        )
    return text


def _rows(everything: list[Flag], area: str) -> Iterator[tuple[str, ...]]:
    for flag in everything:
        if flag.area == area:
            here, why = becomes(flag)
            yield code(f"--{flag.name}"), code(flag.default), here, default_here(flag), why
