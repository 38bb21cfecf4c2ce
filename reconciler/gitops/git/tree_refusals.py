"""Problems of a tree as problems of a policy. They have no line."""

from collections.abc import Iterable

from reconciler.gitops.git.tree_listing import TreeProblem
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.words.plain import plain, shortened

_PATH_CHARACTERS = 200


def refusals(problems: Iterable[TreeProblem], root: str, *, alone: bool = False) -> tuple[Problem, ...]:
    """`root` is the place in the source that was read; `alone`: it is a file, so that it is the path itself."""
    converted = []
    for problem in problems:
        name = problem.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        path = root if alone else "/".join(part for part in (root, name) if part)
        place = Place(shortened(plain(path or "."), _PATH_CHARACTERS), 1, 1)
        converted.append(Problem(place=place, code=problem.code, message=plain(problem.message), hint=problem.hint))
    return tuple(sorted(converted))
