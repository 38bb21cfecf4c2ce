"""Every reason that a plan can carry, from its type."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import msgspec

import reconciler
from docs.generator.table import code, table
from reconciler.decisions.removal.keeps import KEEPS
from reconciler.plan.plan import ActionKind, NodeState, OwnerState, PodOutcome
from reconciler.plan.reason import Because

_PACKAGES = ("decisions", "plan", "control.saved_plans", "platforms")
_WORDS = {
    ActionKind: "What an action does",
    PodOutcome: "The outcome for a pending pod",
    NodeState: "The state of a node",
    OwnerState: "The owner of the replicas",
}


def reasons() -> list[type[Because]]:
    """All reason types, by code; a code that groups and nodes share has a type for each."""
    for package in _PACKAGES:
        found = importlib.import_module(f"{reconciler.__name__}.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            importlib.import_module(module.name)
    return sorted((one for one in _below(Because) if one.code), key=lambda one: (one.code, one.__module__))


def reasons_page() -> str:
    """One line per code, then the words that plans use with them."""
    text = (
        "# Reasons\n\nEverything in a plan has a reason: a stable code, a sentence and the numbers in it "
        "(`reasons[].data` of `-o json`). The codes "
        "of mistakes in policies are in the [reference of policies](policy.md). The third column says how it ends that a node is "
        "kept.\n\n"
    )
    ends: dict[type[Because], str] = {keep.reason: keep.ends.value for keep in KEEPS}
    text += table(
        ["code", "when", "ends", "numbers"],
        (
            (f"{anchor}{code(one.code)}", _when(one), ends.get(one, ""), ", ".join(map(code, _numbers(one))))
            for anchor, one in _anchored()
        ),
    )
    for kind, title in _WORDS.items():
        text += f"\n## {title}\n\n" + ", ".join(code(str(member)) for member in kind) + "\n"
    return text


def _anchored() -> Iterator[tuple[str, type[Because]]]:
    """Each reason with the anchor that links to its code, `reasons.md#unneeded`; the first type of a code has it."""
    seen: set[str] = set()
    for one in reasons():
        yield "" if one.code in seen else f'<a id="{one.code.lower()}"></a>', one
        seen.add(one.code)


def _below(one: type[Because]) -> Iterator[type[Because]]:
    for child in one.__subclasses__():
        yield child
        yield from _below(child)


def _when(one: type[Because]) -> str:
    return inspect.cleandoc(one.__doc__ or "").split("\n\n")[0]


def _numbers(one: type[Because]) -> list[str]:
    return [_camel(field.name) for field in msgspec.structs.fields(one)]


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
