"""What somebody asks about a decision: a kind of thing and a name, whole or the beginning of one."""

import difflib
from collections.abc import Sequence

from reconciler.rendering.documents.explanation.case import Case


def value_names(case: Case) -> list[str]:
    """Everything that may be asked for: `group/scaleDown.unneededTime`."""
    return [f"{group.name}/{path}" for group in case.groups for path in group.chains]


KINDS = ("pod", "node", "group", "value")
_SHOWN, _NEAR = 10, 3
_ALIKE = 0.8


class UnknownSubjectError(Exception):
    """There is nothing of that name, or several; the message says which names there are."""


def chosen_node(case: Case, subject: str) -> str:
    """The node that is meant. Raises `UnknownSubjectError`."""
    return chosen_name("node", subject, [case.world.nodes[index].name for index in case.asked_nodes()])


def asked_group(case: Case, subject: str) -> str:
    """The group that is meant. Raises `UnknownSubjectError`."""
    return chosen_group(subject, [group.name for group in case.asked_groups()])


def chosen_group(subject: str, names: Sequence[str]) -> str:
    """The group that is meant by a name or the beginning of one. Raises `UnknownSubjectError`."""
    return chosen_name("group", subject, names)


def chosen_pods(case: Case, subject: str) -> list[int]:
    """The pod that is meant, or all that begin so."""
    pods = case.world.pods
    keys = {key: index for index in range(len(pods)) if case.chosen.about_pod(key := pods.key(index))}
    if not subject:
        raise several_begin_so("pod", subject, list(keys))
    named = [(key if "/" in subject else key.partition("/")[2], index) for key, index in keys.items()]
    indices = [index for name, index in named if name == subject]
    indices = indices or [index for name, index in named if name.startswith(subject)]
    if indices:
        return indices
    chosen = chosen_name("pod", subject, [name for name, _ in named])
    return [next(index for name, index in named if name == chosen)]


def chosen_name(what: str, subject: str, names: Sequence[str]) -> str:
    """The name that is meant: exactly, or as the only one that begins so."""
    if subject in names:
        return subject
    starting = [name for name in names if name.startswith(subject)]
    if len(starting) == 1:
        return starting[0]
    if starting:
        raise several_begin_so(what, subject, starting)
    near = _near(subject, names)
    meant = f" Did you mean {' or '.join(near)}?" if near else f" There are {len(names)}: {_some(sorted(names))}."
    raise UnknownSubjectError(f"no {what} {subject!r} in this cluster and policy.{meant if names else ' There is none at all.'}")


def _near(subject: str, names: Sequence[str]) -> list[str]:
    """The names most like `subject`, else those whose beginning is: whoever types `batch/gaint` leaves the hash out."""
    whole = difflib.get_close_matches(subject, names, n=_NEAR)
    if whole:
        return whole
    beginning = {name[: len(subject)]: name for name in sorted(names, reverse=True)}
    return [beginning[match] for match in difflib.get_close_matches(subject, beginning, n=_NEAR, cutoff=_ALIKE)]


def several_begin_so(what: str, subject: str, names: Sequence[str]) -> UnknownSubjectError:
    """The error for a name that several things begin with."""
    if not subject:
        return UnknownSubjectError(f"name a {what}. There are {len(names)}: {_some(names)}")
    return UnknownSubjectError(
        f"{what} {subject}: several names begin with it, and their answers differ. Name one: {_some(names)}"
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
