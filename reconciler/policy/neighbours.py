"""Files next to policies that are not policies: kustomizations, Helm values, patches, secrets, links.

A policy tree is seldom alone in its directory. A file that can be read and has none of our documents is skipped and named. A file
that cannot be read is skipped only if nothing suggests that one of our documents is in it.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from reconciler.policy.documents import API_GROUP, PolicySet
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.nearly_ours import may_hold_ours
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.values.shown_text import shown

Named = tuple[str, str, str]
"""Kind, namespace and name of a document of ours."""


class UnreadFile(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A file that its reader could not hand over: a link, one that is too large. `ours`: a document of ours may stand in it,
    since our group is in its text, or since nobody looked through it."""

    path: str
    code: str
    message: str
    hint: str = ""
    ours: bool = False

    def problem(self) -> Problem:
        """As an error, which has no line."""
        return Problem(place=Place(self.path, 1, 1), code=self.code, message=self.message, hint=self.hint)


def link_in_tree(path: str, link: str = "a symbolic link") -> UnreadFile:
    """A link that is not followed: its target is not part of the tree. `link` may describe it further."""
    message = f"{link} is not followed: a policy tree is plain files"
    return UnreadFile(path=path, code="SymbolicLink", message=message, hint="put a copy of the file there")


def too_large(path: str, size_bytes: int | None, chunks: Iterable[bytes] | None) -> UnreadFile:
    """A file above the limit, looked through in pieces for what may be ours. `size_bytes` None: more than the limit, `chunks`
    None: nobody looked."""
    size = f"{size_bytes}" if size_bytes is not None else f"more than {MAX_FILE_BYTES}"
    message = f"the file has {size} bytes, more than the limit of {MAX_FILE_BYTES}, and was not read"
    ours = chunks is None or may_hold_ours(chunks)
    if chunks is not None and ours:
        message += f", and {API_GROUP} is in its text"
    hint = "split it into several files, or keep it outside of the policies"
    return UnreadFile(path=path, code="FileTooLarge", message=message, hint=hint, ours=ours)


class Neighbour(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A file that was passed over: what it is. `unread`: it cannot be read, so that only its text or its place in the tree
    says that it is nobody's policy."""

    path: str
    code: str
    message: str
    unread: bool = False


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """What a new tree is compared with: the documents of the policy in force, and the files that were unreadable then."""

    documents: frozenset[Named] = frozenset()
    unread: frozenset[str] = frozenset()

    @staticmethod
    def of(sets: Iterable[PolicySet], neighbours: Iterable[Neighbour]) -> "InForce":
        """Of a tree that was read before."""
        return InForce.after(sets, (one.path for one in neighbours if one.unread))

    @staticmethod
    def after(sets: Iterable[PolicySet], unread: Iterable[str]) -> "InForce":
        """From policies, and the paths that could not be read next to them."""
        documents: set[Named] = set()
        for entry in sets:
            documents.add(("NodeGroupPolicy", "", entry.policy.name))
            documents |= {("NodeGroup", group.namespace, group.name) for group in entry.groups}
        return InForce(documents=frozenset(documents), unread=frozenset(unread))

    def moved(self, place: Callable[[str], str]) -> "InForce":
        """The same with other paths, for problems that people can open."""
        return InForce(documents=self.documents, unread=frozenset(map(place, self.unread)))


class Beside:
    """Collects what is passed over while a tree is read, with the problem that each would be."""

    def __init__(self) -> None:
        self._problems: dict[Neighbour, tuple[Problem, ...]] = {}

    def other(self, path: str, kind: str) -> None:
        """A document of another API group."""
        self._problems.setdefault(Neighbour(path=path, code="OtherKind", message=kind), ())

    def passed(self, problems: Sequence[Problem], *, unread: bool) -> None:
        """A file with what would be wrong were it ours, the gravest first; `unread`: it cannot be read."""
        first = problems[0]
        neighbour = Neighbour(path=first.place.path, code=first.code, message=first.message, unread=unread)
        self._problems.setdefault(neighbour, tuple(problems))

    def judge(self, findings: Findings, documents: frozenset[Named], before: InForce | None) -> None:
        """Report those that must not be skipped.

        A tree without a policy is an error, and an unreadable file is the likely reason. A document that left the policy in force
        may be in a file that became unreadable, or that is new and unreadable.
        """
        lost = sorted(before.documents - documents) if before is not None else []
        policy = any(kind == "NodeGroupPolicy" for kind, _, _ in documents)
        for neighbour, problems in list(self._problems.items()):
            reported: Sequence[Problem] = ()
            if neighbour.unread and before is not None and lost and neighbour.path not in before.unread:
                reported = (_lost(problems[0], lost),)
            elif (neighbour.unread and not policy) or not documents:
                reported = problems
            for problem in reported:
                findings.report(problem)
            if reported:
                del self._problems[neighbour]

    def sorted(self) -> tuple[Neighbour, ...]:
        """Those that were passed over, by path."""
        return tuple(sorted(self._problems))


def _lost(problem: Problem, lost: Sequence[Named]) -> Problem:
    kind, _, name = lost[0]
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    message = f"{problem.message}. {kind} {shown(name)}{more} of the policy in force is gone from the tree and may stand in it"
    hint = "make the file readable, or remove it together with the group"
    return msgspec.structs.replace(problem, message=message, hint=hint)
